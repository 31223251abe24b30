"""What a run did to the documents that triggered it: the steps that the remote-echo breaker counts.

A run is an *echo* of a document when the document's change triggered it, it read the document, and it
overwrote the document where that change was. It is a *convergence* when it let the change stand. The
question is asked in two halves (seed §1, *Echo and convergence steps*): what was overwritten is read at
commit kickoff, while the write details are still there (:func:`capture_run`); the steps are formed when
the commit has succeeded, because another run of the action may have opened a pair in between
(:func:`form_steps`).

Everything here is a pure function. For an action of which the breaker holds no pair the cost is that of
the writes against the triggers; the reads are not looked at unless the run overwrote a trigger (seed
§5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Protocol

from quiesce.address import Address, Entity, Path, at_or_below
from quiesce.values import Maybe, at, equal


class Origin(StrEnum):
    """Where the change came from that made an address a cause of a run."""

    REMOTE = "remote"
    """Another session's commit."""
    LOCAL = "local"
    """A commit of this session: a handler's, or another action's; also the revert of one of those."""
    OWN_REVERT = "own-revert"
    """The revert of a rejected commit of the very action that runs."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One changed address that made an action run."""

    address: Address
    origin: Origin


class WriteDetail(Protocol):
    """One staged write of a transaction: the last value written at a path, and the value before the
    transaction.

    The address is resolved through the identity that the transaction serves, as that of a cause is: two
    session instances of one document are two entities."""

    @property
    def address(self) -> Address: ...

    @property
    def previous(self) -> Maybe: ...

    @property
    def value(self) -> Maybe: ...


class ReadLog(Protocol):
    """What a run read. Only the documents matter here, not how deep."""

    @property
    def deep(self) -> Iterable[Address]: ...

    @property
    def shallow(self) -> Iterable[Address]: ...


class StepKind(StrEnum):
    """What a successful run was for one document that triggered it."""

    ECHO = "echo"
    CONVERGENCE = "convergence"


@dataclass(frozen=True, slots=True)
class Step:
    """One document's part in one successful run. ``kickoff`` is when the run's commit was started, in ms, and
    ``number`` tells commits apart that were started in the same one, in their order."""

    document: Entity
    kind: StepKind
    kickoff: float
    number: int = 0


@dataclass(frozen=True, slots=True)
class EchoCapture:
    """What is kept of a run from commit kickoff until its commit's result is known.

    ``triggers`` are the documents among the run's causes, each once, in the order of the causes;
    ``overwritten`` are those that the run changed where they had triggered it. ``kickoff`` is in
    milliseconds, ``number`` its place among all kickoffs. ``registration`` is the scheduler's token of the
    registration that ran, handed back as it was given: a commit's result that arrives after that registration
    was retired makes no step, and this is where the scheduler finds what to compare."""

    triggers: tuple[Entity, ...]
    overwritten: frozenset[Entity]
    kickoff: float
    registration: object = None
    number: int = 0


ALL_ORIGINS = frozenset(Origin)


def capture_run(
    causes: Iterable[Cause],
    writes: Iterable[WriteDetail],
    *,
    kickoff: float,
    counted: Collection[Origin] = ALL_ORIGINS,
    registration: object = None,
    number: int = 0,
) -> EchoCapture:
    """Which of a run's triggers it changed, read at commit kickoff.

    A write at or below a triggering path reaches it when it changes anything, a write above it when the
    value at that path differs, a write beside it never; any changing write reaches a trigger at the
    whole document (seed §1). Several triggering paths of one document make one trigger, overwritten if
    any of them was.

    ``counted`` names the origins that count. A cause of another origin is no cause here: left alone with such
    causes a document is no candidate, neither for an echo nor for a convergence.
    """
    paths: dict[Entity, list[Path]] = {}
    for cause in causes:
        if cause.origin in counted:
            paths.setdefault(cause.address.entity, []).append(cause.address.path)
    overwritten: set[Entity] = set()
    if paths:
        for write in writes:
            document = write.address.entity
            if document not in paths or document in overwritten:
                continue
            if _reaches_any(write, paths[document]):
                overwritten.add(document)
    return EchoCapture(tuple(paths), frozenset(overwritten), kickoff, registration, number)


def form_steps(capture: EchoCapture, reads: ReadLog, *, tracked: bool) -> tuple[Step, ...]:
    """The steps of a run whose commit has succeeded, at most one a document.

    ``tracked`` says whether the breaker holds a pair of the action now. If it holds none, only an echo
    can matter, so only overwritten triggers are looked at, and a run that overwrote none never has its
    reads scanned. If it holds one, every trigger that the run read is an echo or a convergence."""
    if tracked:
        candidates = capture.triggers
    else:
        candidates = tuple(document for document in capture.triggers if document in capture.overwritten)
    read = _documents_read(reads, frozenset(candidates)) if candidates else frozenset[Entity]()
    return tuple(
        Step(
            document,
            StepKind.ECHO if document in capture.overwritten else StepKind.CONVERGENCE,
            capture.kickoff,
            capture.number,
        )
        for document in candidates
        if document in read
    )


def _documents_read(reads: ReadLog, wanted: frozenset[Entity]) -> frozenset[Entity]:
    found: set[Entity] = set()
    for address in chain(reads.deep, reads.shallow):
        if address.entity in wanted:
            found.add(address.entity)
            if len(found) == len(wanted):
                break
    return frozenset(found)


def _reaches_any(write: WriteDetail, triggers: list[Path]) -> bool:
    changes: bool | None = None  # whether the write changes anything: asked at most once, values can be large
    for trigger in triggers:
        written = write.address.path
        if at_or_below(written, trigger):
            if changes is None:
                changes = not equal(write.previous, write.value)
            if changes:
                return True
        elif at_or_below(trigger, written):
            rest = trigger[len(written) :]
            if not equal(at(write.previous, rest), at(write.value, rest)):
                return True
    return False
