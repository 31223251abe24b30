"""The whole replay: which traffic is sent through the detector under which rules, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, Tripped
from quiesce_checks.traffic.generated import (
    QuietResult,
    StormResult,
    published_storms,
    replay_quiet,
    replay_storm,
)
from quiesce_checks.traffic.seat import Seat, SeatResult
from quiesce_checks.traffic.shared_text import Derivation
from quiesce_checks.traffic.typing_sessions import SESSIONS, Edit, TypingSession, load_session

AS_GIVEN = "as given"
REPAIRS = tuple(known.name for known in fields(BreakerPolicy) if isinstance(known.default, bool))


class Traffic(StrEnum):
    """What can be replayed."""

    TRACES = "traces"
    STORMS = "storms"
    QUIET = "quiet"


class Table(StrEnum):
    """Who sits at the table at which the derivation runs."""

    AMONG = "among"
    """Writer 0 is this session's own user; what the others type comes from elsewhere."""
    ALONE = "alone"
    """Every edit is this session's own user's: nobody else is there."""


@dataclass(frozen=True, slots=True)
class TypingCase:
    """One recording under one derivation and one set of rules (``rule``: ``as given``, or the repair
    added)."""

    session: str
    table: Table
    derivation: Derivation
    rule: str
    edits: int
    span_ms: float
    result: SeatResult

    @property
    def came_of_it(self) -> tuple[object, ...]:
        """All but the names: equal for two rules that make no difference here."""
        return (self.session, self.table, self.derivation, self.result)

    @property
    def trips(self) -> int:
        return sum(isinstance(event, Tripped) for event in self.result.events)

    @property
    def first_trip_ms(self) -> float | None:
        return next((event.at for event in self.result.events if isinstance(event, Tripped)), None)

    @property
    def clears(self) -> tuple[Cleared, ...]:
        return tuple(event for event in self.result.events if isinstance(event, Cleared))

    @property
    def held_share(self) -> float:
        """The share of the recording for which a change waited behind the gate, between 0 and 1."""
        return min(1.0, self.result.held_ms / self.span_ms)


@dataclass(frozen=True, slots=True)
class Replay:
    """All that was asked for; what was not is empty."""

    policy: BreakerPolicy
    round_trip_ms: float
    typing: tuple[TypingCase, ...] = ()
    storms: tuple[StormResult, ...] = ()
    quiet: tuple[QuietResult, ...] = ()

    @property
    def distinct_typing(self) -> tuple[TypingCase, ...]:
        """The typing cases without those in which a repair changed nothing."""
        given = {case.came_of_it for case in self.typing if case.rule == AS_GIVEN}
        return tuple(case for case in self.typing if case.rule == AS_GIVEN or case.came_of_it not in given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to replay. ``edits`` cuts each recording after that many; ``each_repair`` replays it again
    with each repair that the policy has off."""

    traffic: frozenset[Traffic] = frozenset(Traffic)
    policy: BreakerPolicy = field(default_factory=BreakerPolicy)
    sessions: Sequence[str] = SESSIONS
    tables: Sequence[Table] = tuple(Table)
    derivations: Sequence[Derivation] = tuple(Derivation)
    each_repair: bool = False
    round_trip_ms: float = 60.0
    edits: int | None = None
    weeks: int = 3
    documents: int = 20
    seed: int = 1


def replay_traffic(request: Request) -> Replay:
    """Send the traffic through the runtime's own capture and breaker. The same request gives the same
    answer."""
    storms = published_storms(request.policy) if Traffic.STORMS in request.traffic else ()
    return Replay(
        request.policy,
        request.round_trip_ms,
        typing=tuple(_typing(request)) if Traffic.TRACES in request.traffic else (),
        storms=tuple(replay_storm(storm, request.policy, request.seed) for storm in storms),
        quiet=(replay_quiet(request.policy, weeks=request.weeks, documents=request.documents, seed=request.seed),)
        if Traffic.QUIET in request.traffic
        else (),
    )


def _typing(request: Request) -> list[TypingCase]:
    rules = {AS_GIVEN: request.policy}
    if request.each_repair:
        for repair in REPAIRS:
            if not getattr(request.policy, repair):
                rules[repair] = replace(request.policy, **{repair: True})
    cases: list[TypingCase] = []
    for name in request.sessions:
        session = load_session(name)
        for table in request.tables:
            edits = _seated(session, table)[: request.edits]
            for derivation in request.derivations:
                for rule, policy in rules.items():
                    seat = Seat(derivation, policy, local=0, round_trip_ms=request.round_trip_ms)
                    result = seat.replay(edits)
                    cases.append(TypingCase(name, table, derivation, rule, len(edits), edits[-1].at, result))
    return cases


def _seated(session: TypingSession, table: Table) -> tuple[Edit, ...]:
    if table is Table.AMONG:
        return session.edits
    return tuple(replace(edit, writer=0) for edit in session.edits)
