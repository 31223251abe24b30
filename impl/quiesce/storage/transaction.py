"""One transaction: reads of one snapshot, writes over it, and the record of both that a commit needs.

What a scheduler needs from it: ``source_action`` (object identity, for self-suppression), ``before_commit``
(the only moment when write details exist), and the log with deep and shallow reads. Every write reads its
diff base, so a document that is written is in the read set. A write of an equal value leaves no detail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from quiesce.address import Address, Path, at_or_below
from quiesce.commits import (
    CommitClass,
    DeleteDocument,
    Document,
    Edit,
    Operation,
    PatchDocument,
    Precondition,
    Put,
    Remove,
    Seq,
    SetDocument,
    Verdict,
)
from quiesce.overlap import WHOLE, Touched, apply_edits
from quiesce.values import (
    ABSENT,
    Json,
    Maybe,
    PathError,
    at,
    checked,
    equal,
    is_array,
    is_object,
    keys_of,
    reach,
    same_shape,
    with_value,
    without,
)

if TYPE_CHECKING:
    from quiesce.storage.replica import Replica


@dataclass(frozen=True, slots=True)
class WriteDetail:
    """One path that a transaction changed: its last value, and the value before the transaction."""

    address: Address
    value: Maybe
    previous: Maybe


@dataclass(frozen=True, slots=True)
class TransactionLog:
    """What a transaction did, as addresses with resolved scope instances. Reads include every write's diff
    base.
    """

    reads: tuple[Address, ...]
    shallow_reads: tuple[Address, ...]
    writes: tuple[WriteDetail, ...]


class Settled(StrEnum):
    """How a commit ended, told apart by what its owner does next."""

    COMMITTED = "committed"
    """Durable, and visible state covers it."""
    STALE = "stale"
    """Something it read has changed; the replica has caught up: run again now."""
    PERMANENT = "permanent"
    """A condition did not hold: do not run it again unchanged."""
    TERMINAL = "terminal"
    """Not allowed or not possible: a fault of the program. Never retry."""
    LOST = "lost"
    """The session is gone and its fate with it: it may or may not have been accepted. Look before running
    again.
    """


@dataclass(frozen=True, slots=True)
class Result:
    """A settled commit. ``seq`` is set when it was accepted and wrote something."""

    settled: Settled
    seq: Seq | None = None
    code: str = ""
    message: str = ""


class CommitHandle:
    """A commit on its way. It settles once: when the replica shows its outcome, not merely when it is
    known.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.local_seq: int | None = None
        self.verdict: Verdict | None = None
        self.result: Result | None = None
        self._listeners: list[Callable[[CommitHandle], None]] = []

    def on_settled(self, listener: Callable[[CommitHandle], None]) -> None:
        """Call ``listener`` when it settles; at once if it has."""
        if self.result is not None:
            listener(self)
        else:
            self._listeners.append(listener)

    def settle(self, result: Result) -> None:
        """For the replica: the end. Later calls change nothing."""
        if self.result is not None:
            return
        self.result = result
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(self)


@dataclass(frozen=True, slots=True)
class Overlay:
    """What one commit does to one document: a whole value (``ABSENT`` deletes), or edits."""

    whole: bool
    value: Maybe
    edits: tuple[Edit, ...]
    touched: Touched

    def over(self, base: Maybe) -> Maybe:
        """The document as this commit leaves it. Edits that no longer apply leave the base as it is: their
        commit is about to be refused, since it read what has gone."""
        if self.whole:
            return self.value
        if base is ABSENT:
            return base
        try:
            return apply_edits(base, self.edits)[0]
        except PathError:
            return base


class Transaction:
    """Reads and writes of one run. Made by ``Replica.begin``; ends with ``commit`` or ``abort``.

    Values that it returns are shared and must not be changed. Reads see the replica as it was when the
    transaction began, with the transaction's own writes over it.
    """

    def __init__(self, replica: Replica, source_action: object | None) -> None:
        self.source_action = source_action
        """The action that this transaction runs for; compared by identity, never by name."""
        self.commit_class = CommitClass.EVENT
        self.certificate = ""
        """The name of its action's declared surface, if it has one."""
        self.handle: CommitHandle | None = None
        self._replica = replica
        self._snapshot: dict[Document, Maybe] = {}
        self._current: dict[Document, Maybe] = {}
        self._reads: dict[tuple[Document, Path], None] = {}
        self._shallow: dict[tuple[Document, Path], None] = {}
        self._written: dict[Document, dict[Path, None]] = {}
        self._preconditions: list[Precondition] = []
        self._before_commit: list[Callable[[TransactionLog], None]] = []
        self._open = True

    # -- reading

    def read(self, document: Document, path: Path = ()) -> Maybe:
        """The value at ``path``, or ``ABSENT``. A deep read: any change at, above or below it matters."""
        self._check_open()
        self._reads[document, path] = None
        return at(self._value(document), path)

    def read_keys(self, document: Document, path: Path = ()) -> tuple[str, ...] | int:
        """What a container looks like from outside: an object's keys or an array's length; no keys where there is none.

        A shallow read: changes inside the members do not matter.
        """
        self._check_open()
        self._shallow[document, path] = None
        return keys_of(at(self._value(document), path))

    # -- writing

    def write(self, document: Document, path: Path, value: object) -> None:
        """Set the value at ``path``; objects that are missing on the way are made.

        Raises ``ValueRefused`` for what is not JSON, ``PathError`` where a leaf or an array's end is in the
        way.
        """
        self._check_open()
        new = checked(value)
        base = self._value(document)
        # Write where the first missing object would be: its parent path is the change that others see.
        while path and at(base, path[:-1]) is ABSENT:
            new = {path[-1]: new}
            path = path[:-1]
        self._reads[document, path] = None
        if equal(at(base, path), new):
            return
        changed = with_value(base, path, new)
        if path and is_array(at(base, path[:-1])) and at(base, path) is ABSENT:
            self._shallow[document, path[:-1]] = None  # appending rests on the array's length, and on who made it so
        self._current[document] = changed
        self._mark(document, path)

    def delete(self, document: Document, path: Path = ()) -> None:
        """Remove what is at ``path``, or the whole document; in an array the later elements move up.

        Removing what is absent changes nothing.
        """
        self._check_open()
        base = self._value(document)
        self._reads[document, path] = None
        if at(base, path) is ABSENT:
            return
        if not path:
            self._current[document] = ABSENT
            self._mark(document, ())
            return
        parent = path[:-1]
        shifted = is_array(at(base, parent))
        self._current[document] = without(base, path)
        if shifted:
            self._reads[document, parent] = None
        self._mark(document, parent if shifted else path)

    def require(self, condition: Precondition) -> None:
        """Ask the server for a condition. It is judged where the commit is, and only if something is
        written.
        """
        self._check_open()
        self._preconditions.append(condition)

    def before_commit(self, hook: Callable[[TransactionLog], None]) -> None:
        """Call ``hook`` with the log when the commit starts, before anything is validated or visible."""
        self._check_open()
        self._before_commit.append(hook)

    # -- ending

    def commit(self) -> CommitHandle:
        """Validate, take effect optimistically, and send. Nothing written: committed at once, nothing
        validated.
        """
        self._check_open()
        try:
            if self._before_commit:
                log = self.log()
                for hook in self._before_commit:
                    hook(log)
        finally:
            self._close()
        self.handle = self._replica.kick_off(self)
        return self.handle

    def drop_writes(self) -> None:
        """Forget all that it has written, and keep what it has read."""
        self._current.clear()
        self._written.clear()

    def abort(self) -> None:
        """Forget it. Idempotent."""
        self._close()

    def log(self) -> TransactionLog:
        """What was read and what is different now; one detail for each changed path, none below another."""
        entity = self._replica.entity
        return TransactionLog(
            tuple(Address(entity(document), path) for document, path in self._reads),
            tuple(Address(entity(document), path) for document, path in self._shallow),
            tuple(
                WriteDetail(Address(entity(document), path), at(self._current[document], path), previous)
                for document in self._written
                for path, previous in self._changed(document)
            ),
        )

    @property
    def replica(self) -> Replica:
        """Whose view it reads and whose it changes."""
        return self._replica

    # -- for the replica

    def keep(self, document: Document, value: Maybe) -> None:
        """The replica is about to change a document: hold on to what this transaction's snapshot sees."""
        self._snapshot.setdefault(document, value)

    def still_true(self) -> Document | None:
        """The first document of which something that was read is different now, or None."""
        for document, path in self._reads:
            if document in self._snapshot and not _same_at(
                self._snapshot[document], self._replica.visible(document), path
            ):
                return document
        for document, path in self._shallow:
            if document in self._snapshot:
                now = self._replica.visible(document)
                if not same_shape(at(self._snapshot[document], path), at(now, path)):
                    return document
        return None

    def reads(self) -> list[tuple[Document, Path, bool]]:
        """Document, path and whether shallow, without reads that a deeper-reaching one includes."""
        deep = list(self._reads)
        paths: dict[Document, set[Path]] = {}
        for document, path in deep:
            paths.setdefault(document, set()).add(path)

        def included(document: Document, path: Path) -> bool:
            known = paths.get(document)
            return known is not None and any(path[:length] in known for length in range(len(path)))

        kept = [(document, path, False) for document, path in deep if not included(document, path)]
        kept += [
            (document, path, True)
            for document, path in self._shallow
            if not included(document, path) and path not in paths.get(document, ())
        ]
        return kept

    @property
    def preconditions(self) -> tuple[Precondition, ...]:
        """What was required."""
        return tuple(self._preconditions)

    def overlays(self) -> dict[Document, Overlay]:
        """What it does to each document, from the changed paths alone."""
        made: dict[Document, Overlay] = {}
        for document in self._written:
            changed = self._changed(document)
            if not changed:
                continue
            value = self._current[document]
            if changed[0][0] == ():
                made[document] = Overlay(True, value, (), WHOLE)
                continue
            edits: list[Edit] = []
            for path, _ in changed:
                new = at(value, path)
                edits.append(Remove(path) if new is ABSENT else Put(path, new))
            _, touched = apply_edits(self._base(document), edits)
            made[document] = Overlay(False, value, tuple(edits), touched)
        return made

    # -- inside

    def _base(self, document: Document) -> Json:
        base = self._before(document)
        assert base is not ABSENT, "edits lie below a document that exists"
        return base

    def _before(self, document: Document) -> Maybe:
        if document in self._snapshot:
            return self._snapshot[document]
        return self._replica.visible(document)

    def _value(self, document: Document) -> Maybe:
        if document in self._current:
            return self._current[document]
        return self._before(document)

    def _mark(self, document: Document, path: Path) -> None:
        self._written.setdefault(document, {})[path] = None

    def _changed(self, document: Document) -> list[tuple[Path, Maybe]]:
        """Changed paths with their earlier values, in the order written; none at or below another."""
        paths = self._written[document]
        before, after = self._before(document), self._current[document]
        top = [path for path in paths if not any(other != path and at_or_below(path, other) for other in paths)]
        return [(path, at(before, path)) for path in top if not equal(at(before, path), at(after, path))]

    def _check_open(self) -> None:
        if not self._open:
            raise RuntimeError("this transaction has ended: begin another")

    def _close(self) -> None:
        self._open = False
        self._replica.forget(self)


def _same_at(before: Maybe, now: Maybe, path: Path) -> bool:
    """Whether a deep read sees the same.

    What is absent is so at a depth and in a container of a kind, and an edit may rest on that: a key can be put into
    an object and not into a number, and appending to an array rests on its length.
    """
    was, found = at(before, path), at(now, path)
    if was is not ABSENT or found is not ABSENT:
        return equal(was, found)
    depth = reach(before, path)
    if depth != reach(now, path):
        return False
    old, new = at(before, path[: max(depth, 0)]), at(now, path[: max(depth, 0)])
    if is_array(old):
        return is_array(new) and len(old) == len(new)
    return is_object(old) == is_object(new) and not is_array(new)


def operation(document: Document, overlay: Overlay) -> Operation:
    """An overlay as the operation that is sent."""
    if not overlay.whole:
        return PatchDocument(document.id, overlay.edits, document.scope)
    if overlay.value is ABSENT:
        return DeleteDocument(document.id, document.scope)
    return SetDocument(document.id, overlay.value, document.scope)
