"""One session at the table: the derivation, run and committed behind the runtime's own echo breaker.

What a scheduler does around the breaker is kept to what matters for its steps. A change of the text
that the session sees is a cause; the derivation runs when the gate is open and no commit of its own is
on its way; its commit's result is known a round trip later. If somebody else's edit reached the session
meanwhile, the commit was made on a stale basis: it is rejected, its write is taken back, and the run is
owed again with its causes. A run that wrote nothing succeeds at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quiesce.address import Address
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerEvent
from quiesce.scheduler.echo import Cause, EchoCapture, Origin, StepKind
from quiesce_checks.traffic.shared_text import TEXT, Derivation, SharedText
from quiesce_checks.traffic.typing_sessions import Edit


@dataclass(frozen=True, slots=True)
class DerivationNode:
    """The action that the breaker keeps pairs of; ``eq`` by value does no harm, since identity is by
    object."""

    label: str


@dataclass(frozen=True, slots=True)
class ReadTheText:
    """The derivation's read log: the text, every time."""

    deep: tuple[Address, ...] = (TEXT,)
    shallow: tuple[Address, ...] = ()


class CountingLog:
    """Error lines, counted."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def error(self, event: str, message: str) -> None:
        """Keep the line as it would be shown."""
        self.lines.append(f"{event} {message}")


@dataclass(frozen=True, slots=True)
class SeatResult:
    """What happened at one seat. ``held_ms`` is the time for which a change waited behind the echo
    gate, in all; ``most_in_a_row`` the highest count that a pair reached; instants are milliseconds
    from the first edit."""

    runs: int
    commits: int
    rejected: int
    echoes: int
    convergences: int
    most_in_a_row: int
    events: tuple[BreakerEvent, ...]
    held_ms: float
    line: str | None


@dataclass(slots=True)
class _OnItsWay:
    capture: EchoCapture
    causes: dict[Cause, None]
    result_at: float
    stale: bool = False


class Seat:
    """A session whose user is writer ``local`` (``None``: nobody's, it only watches)."""

    def __init__(
        self, derivation: Derivation, policy: BreakerPolicy, *, local: int | None, round_trip_ms: float
    ) -> None:
        self._text = SharedText(derivation)
        self._wrote_the_text = derivation in (Derivation.TRIM, Derivation.HEADING)
        self._local = local
        self._round_trip_ms = round_trip_ms
        self._log = CountingLog()
        self._breaker = RemoteEchoBreaker(self._log, policy)
        self._node = DerivationNode(f"{derivation} of the text")
        self._causes: dict[Cause, None] = {}
        self._on_its_way: _OnItsWay | None = None
        self._waiting_since: float | None = None
        self._runs = self._commits = self._rejected = self._convergences = self._most = 0
        self._held = 0.0
        self._events: list[BreakerEvent] = []

    def replay(self, edits: Iterable[Edit]) -> SeatResult:
        """All edits, and then until nothing is left to do."""
        now = 0.0
        for edit in edits:
            self._proceed(edit.at)
            now = edit.at
            self._receive(edit)
        self._proceed(float("inf"))
        self._events.extend(self._breaker.take_events())
        return SeatResult(
            runs=self._runs,
            commits=self._commits,
            rejected=self._rejected,
            echoes=self._breaker.stats(now).cycles_observed,
            convergences=self._convergences,
            most_in_a_row=self._most,
            events=tuple(self._events),
            held_ms=self._held,
            line=self._log.lines[0] if self._log.lines else None,
        )

    def _receive(self, edit: Edit) -> None:
        changed = self._text.edit(edit.patches)
        remote = edit.writer != self._local
        if remote and self._on_its_way is not None:
            self._on_its_way.stale = True
        if changed:
            self._causes[Cause(TEXT, Origin.REMOTE if remote else Origin.LOCAL)] = None
        self._run(edit.at)

    def _proceed(self, until: float) -> None:
        """What falls due before ``until``: a commit's result, or the gate's deadline."""
        while True:
            if self._on_its_way is not None:
                due = self._on_its_way.result_at
            elif self._waiting_since is not None:
                # The gate only moves when a run ends, and none is under way: it stands as when the wait
                # began.
                due = self._breaker.gate(self._node, self._waiting_since) or self._waiting_since
            else:
                return
            if due >= until:
                return
            if self._on_its_way is not None:
                self._result(self._on_its_way, due)
            self._run(due)

    def _run(self, now: float) -> None:
        if not self._causes or self._on_its_way is not None:
            return
        if self._breaker.gate(self._node, now) is not None:
            if self._waiting_since is None:
                self._waiting_since = now
            return
        if self._waiting_since is not None:
            self._held += now - self._waiting_since
            self._waiting_since = None
        causes, self._causes = self._causes, {}
        writes = self._text.derive()
        self._runs += 1
        capture = self._breaker.capture(causes, writes, now)
        if writes:
            self._on_its_way = _OnItsWay(capture, causes, now + self._round_trip_ms)
            if not self._round_trip_ms:
                self._result(self._on_its_way, now)
        else:
            self._succeeded(capture, now)

    def _result(self, commit: _OnItsWay, now: float) -> None:
        self._on_its_way = None
        if commit.stale:
            self._rejected += 1
            self._text.reject()
            self._causes = commit.causes | self._causes
            if self._wrote_the_text:
                self._causes[Cause(TEXT, Origin.OWN_REVERT)] = None
        else:
            self._commits += 1
            self._text.accept()
            self._succeeded(commit.capture, now)

    def _succeeded(self, capture: EchoCapture, now: float) -> None:
        steps = self._breaker.steps(self._node, capture, ReadTheText())
        self._breaker.observe(self._node, steps, now)
        self._convergences += sum(step.kind is StepKind.CONVERGENCE for step in steps)
        self._most = max((self._most, *(pair.echoes for pair in self._breaker.pairs())))
        self._events.extend(self._breaker.take_events())
