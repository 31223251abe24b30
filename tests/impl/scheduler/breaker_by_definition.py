"""The breaker once more, by its definitions: lists, searched from end to end at every question.

It is slow and has no order, heap or housekeeping of its own to get wrong, so the production breaker can
be held against it after every step."""

from __future__ import annotations

from dataclasses import dataclass, field

from quiesce.address import Entity
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import ClearReason
from quiesce.scheduler.echo import Step, StepKind


@dataclass
class Held:
    action: object
    document: Entity
    opened: float
    last_echo: float
    last_kickoff: float
    count: int = 1
    tripped_at: float | None = None
    step: int = 0
    renewals: int = 0
    deadline: float | None = None
    settling_from: float | None = None


@dataclass
class BreakerByDefinition:
    policy: BreakerPolicy
    pairs: list[Held] = field(default_factory=list[Held])
    orphans: list[tuple[object, float]] = field(default_factory=list[tuple[object, float]])
    ends: list[tuple[Entity, ClearReason, int, float]] = field(
        default_factory=list[tuple[Entity, ClearReason, int, float]]
    )
    trips: int = 0
    cycles: int = 0

    def find(self, action: object, document: Entity) -> Held | None:
        for pair in self.pairs:
            if pair.action is action and pair.document == document:
                return pair
        return None

    def end(self, pair: Held, reason: ClearReason, now: float) -> None:
        self.pairs = [other for other in self.pairs if other is not pair]
        if pair.tripped_at is not None:
            self.ends.append((pair.document, reason, pair.renewals, now - pair.tripped_at))

    def elapse(self, now: float) -> None:
        due: list[tuple[float, int, Held, ClearReason]] = []
        for pair in self.pairs:
            quiet_at = pair.last_echo + self.policy.echo_quiet_reset_ms
            if pair.tripped_at is not None and now > quiet_at:
                due.append((quiet_at, 1, pair, ClearReason.QUIET))
            if pair.settling_from is not None:
                settled_at = pair.settling_from + self.policy.echo_backoff_max_ms
                if now > settled_at:
                    due.append((settled_at, 0, pair, ClearReason.CONVERGENCE))
        for _, _, pair, reason in sorted(due, key=lambda item: item[:2]):
            if any(other is pair for other in self.pairs):
                self.end(pair, reason, now)

    def observe(self, action: object, steps: list[Step], now: float) -> None:
        self.elapse(now)
        for step in steps:
            pair = self.find(action, step.document)
            if pair is not None and self.policy.kickoff_order and step.kickoff < pair.last_kickoff:
                continue
            if step.kind is StepKind.ECHO:
                self.echo(action, pair, step, now)
            elif pair is not None:
                self.converge(pair, step, now)

    def echo(self, action: object, pair: Held | None, step: Step, now: float) -> None:
        self.cycles += 1
        if pair is None:
            if len(self.pairs) == self.policy.max_echo_pairs:
                self.evict(now)
            pair = Held(action, step.document, now, now, step.kickoff)
        else:
            self.pairs = [other for other in self.pairs if other is not pair]
            if pair.tripped_at is None:
                if now - pair.opened > self.policy.echo_window_ms:
                    pair.opened, pair.count = now, 0
                pair.count += 1
        self.pairs.append(pair)  # the list is in the order of the last counted echo
        pair.last_echo, pair.last_kickoff, pair.settling_from = now, step.kickoff, None
        if pair.tripped_at is not None:
            pair.renewals += 1
            pair.step = min(self.policy.echo_backoff_max_ms, 2 * pair.step)
            pair.deadline = now + pair.step
        elif pair.count == self.policy.echo_trip_threshold:
            self.trips += 1
            pair.tripped_at, pair.step = now, self.policy.echo_backoff_base_ms
            pair.deadline = now + pair.step

    def converge(self, pair: Held, step: Step, now: float) -> None:
        if self.policy.clear_when_settled:
            pair.deadline, pair.settling_from, pair.last_kickoff = None, now, step.kickoff
        else:
            self.end(pair, ClearReason.CONVERGENCE, now)

    def evict(self, now: float) -> None:
        victims = self.pairs
        if self.policy.evict_untripped_first:
            victims = [pair for pair in self.pairs if pair.tripped_at is None] or self.pairs
        if victims[0].deadline is not None:
            self.orphans.append((victims[0].action, victims[0].deadline))
        self.end(victims[0], ClearReason.EVICTED, now)

    def retire(self, action: object, now: float) -> None:
        self.elapse(now)
        for pair in [pair for pair in self.pairs if pair.action is action]:
            self.end(pair, ClearReason.RETIRED, now)
        self.orphans = [orphan for orphan in self.orphans if orphan[0] is not action]

    def ahead(self, now: float, action: object | None = None) -> list[float]:
        """Deadlines still ahead, of one action or of all."""
        deadlines = [(pair.action, pair.deadline) for pair in self.pairs if pair.deadline is not None]
        return [
            deadline
            for owner, deadline in (*deadlines, *self.orphans)
            if deadline > now and (action is None or owner is action)
        ]
