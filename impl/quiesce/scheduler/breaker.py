"""The remote-echo breaker: a bound on runs that each succeed while another session undoes what they wrote.

A pair is a registered action and a document. Echo steps of a pair are counted in a window; enough of
them trip the pair, and from then on each further echo puts the action's next run off, twice as long as
the last, up to a cap. A convergence step, a long quiet, the end of the registration, or eviction from
the bounded table ends a pair (seed §1, *Trip condition*, and §2).

The breaker decides and remembers; it runs nothing. It is told the time with every call, in milliseconds
of one monotonic clock, and what it wants done it returns: the action's gate, and the moment when it
wants to be called again. No call does work that grows with the number of pairs held, except
:meth:`RemoteEchoBreaker.stats` and :meth:`RemoteEchoBreaker.pairs`, which are for people, and
:meth:`RemoteEchoBreaker.retire`, which visits the pairs that it drops."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from quiesce.address import Entity
from quiesce.scheduler.breaker_pairs import ActionPairs, Pair, PairTable
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import (
    Action,
    BreakerEvent,
    BreakerStats,
    Cleared,
    ClearReason,
    CountedLog,
    Gate,
    Move,
    PairState,
    Tripped,
)
from quiesce.scheduler.echo import (
    Cause,
    EchoCapture,
    ReadLog,
    Step,
    StepKind,
    WriteDetail,
    capture_run,
    form_steps,
)

TRIP_EVENT = "remote-echo-breaker-tripped"
"""The event of the one error line of a trip."""

MAX_WAITING_EVENTS = 1_024
"""Trips and clears kept for a reporter that does not come; the oldest are dropped, since reports are
best-effort."""


class RemoteEchoBreaker:
    """Counts echo steps and says until when each action waits.

    A scheduler calls it at six places: :meth:`capture` at commit kickoff; :meth:`steps` and
    :meth:`observe` once the commit has succeeded, both in one go, and never for a failed commit or for
    a registration that is no longer the current one; :meth:`gate` in the action's eligibility;
    :meth:`retire` when a registration ends; :meth:`housekeep` at :meth:`housekeeping_deadline`, which
    holds neither idle nor a wave open."""

    def __init__(self, log: CountedLog, policy: BreakerPolicy | None = None) -> None:
        self.policy = policy if policy is not None else BreakerPolicy()
        self.events_dropped = 0
        self._log = log
        self._actions: dict[int, ActionPairs] = {}  # by identity, which ActionPairs.action keeps alive
        self._table = PairTable()
        self._settling: OrderedDict[Pair, float] = OrderedDict()  # last instant of the period; earliest first
        self._orphans: list[tuple[float, int, Pair]] = []  # heap of deadlines of evicted pairs
        self._events: deque[BreakerEvent] = deque()
        self._trips = 0
        self._cycles = 0
        self.on_drop: Callable[[Action, Entity, ClearReason, float], None] | None = None
        """Told of every pair that is held no more, tripped or not."""
        self._kickoffs = 0

    # --- a run ---

    def capture(
        self,
        causes: Iterable[Cause],
        writes: Iterable[WriteDetail],
        now: float,
        registration: object = None,
    ) -> EchoCapture:
        """Which triggers a run overwrote; at commit kickoff, while its write details are staged."""
        self._kickoffs += 1
        return capture_run(
            causes,
            writes,
            kickoff=now,
            counted=self.policy.counted_origins,
            registration=registration,
            number=self._kickoffs,
        )

    def tracks(self, action: Action) -> bool:
        """Whether any pair of the action is held."""
        held = self._actions.get(id(action))
        return held is not None and bool(held.pairs)

    def steps(self, action: Action, capture: EchoCapture, reads: ReadLog) -> tuple[Step, ...]:
        """The steps of a run whose commit has just succeeded, against the pairs held now."""
        return form_steps(capture, reads, tracked=self.tracks(action))

    def observe(self, action: Action, steps: Iterable[Step], now: float) -> Gate:
        """Apply the steps of one successful run, at most one a document, and answer with the action's gate.

        All steps apply before the gate is made anew, as the latest deadline that still stands.
        """
        self.housekeep(now)
        held = self._actions.get(id(action))
        before = held.deadlines.latest() if held is not None else None
        for step in steps:
            if step.kind is StepKind.ECHO:
                self._echo(action, step, now)
            else:
                self._converge(action, step, now)
        return self._moved(action, before, now)

    # --- deadlines ---

    def gate(self, action: Action, now: float) -> float | None:
        """Until when the action waits, in milliseconds; ``None`` if it may run, as at the deadline itself."""
        held = self._actions.get(id(action))
        latest = held.deadlines.latest() if held is not None else None
        return latest if latest is not None and latest > now else None

    def retire(self, action: Action, now: float) -> Gate:
        """Drop all that is held of an action whose registration has ended; nothing is left for a later
        one."""
        self.housekeep(now)
        held = self._actions.pop(id(action), None)
        if held is None:
            return Gate(None, Move.KEPT)
        before = held.deadlines.latest()
        for pair in sorted(held.pairs.values(), key=lambda pair: pair.order):
            self._clear(pair, ClearReason.RETIRED, now)
        return Gate(None, Move.KEPT if before is None else Move.LIFTED)

    def housekeeping_deadline(self) -> float | None:
        """When :meth:`housekeep` next has something to clear, in milliseconds, or ``None``.

        A pair is due once *more* than its time has passed, so this is the first whole millisecond after it.
        """
        due = self._next_due()
        return due[0] + 1 if due is not None else None

    def housekeep(self, now: float) -> None:
        """Clear tripped pairs that have been quiet too long, and pairs that have settled.

        Late is as good as in time: every call that changes a pair does this first. No gate that is
        closed opens here, for a pair that is due has no deadline ahead."""
        while self._orphans and self._orphans[0][0] <= now:
            _, _, orphan = heappop(self._orphans)
            orphan.owner.deadlines.discard(orphan)
            self._forget_if_empty(orphan.owner)
        while (due := self._next_due()) is not None and due[0] < now:
            _, pair, reason = due
            self._clear(pair, reason, now)

    # --- what others see ---

    def stats(self, now: float) -> BreakerStats:
        """The counts of seed §3. Reading them changes nothing."""
        active = sum(held.deadlines.ahead(now) for held in self._actions.values())
        return BreakerStats(active, self._trips, self._cycles)

    def take_events(self) -> tuple[BreakerEvent, ...]:
        """Trips and clears since the last call, oldest first. ``events_dropped`` counts those that
        found no room."""
        events = tuple(self._events)
        self._events.clear()
        return events

    def pairs(self) -> tuple[PairState, ...]:
        """Every pair as it stands, the oldest first."""
        return tuple(self._state(pair) for pair in self._table)

    def pair(self, action: Action, document: Entity) -> PairState | None:
        """One pair as it stands, if it is held."""
        pair = self._pair(action, document)
        return self._state(pair) if pair is not None else None

    def _state(self, pair: Pair) -> PairState:
        return PairState(
            action=pair.owner.action.label,
            document=pair.document,
            echoes=pair.echoes,
            window_opened=pair.window_opened,
            last_echo=pair.last_echo,
            tripped=pair.tripped_at is not None,
            step_ms=pair.step_ms,
            renewals=pair.renewals,
            deadline=pair.owner.deadlines[pair],
            settles_after=self._settling.get(pair),
        )

    # --- the rules ---

    def _echo(self, action: Action, step: Step, now: float) -> None:
        pair = self._pair(action, step.document)
        if pair is None:
            pair = self._open(action, step, now)
        elif self._is_out_of_order(pair, step):
            return
        self._cycles += 1
        self._settling.pop(pair, None)
        pair.last_echo = now
        pair.last_kickoff = step.kickoff, step.number
        if pair.tripped_at is not None:
            pair.renewals += 1
            self._back_off(pair, min(self.policy.echo_backoff_max_ms, 2 * pair.step_ms), now)
        else:
            if pair.window_opened + self.policy.echo_window_ms < now:
                pair.window_opened = now
                pair.echoes = 0
            pair.echoes += 1
            if pair.echoes >= self.policy.echo_trip_threshold:
                self._trip(pair, now)
        self._table.make_youngest(pair)

    def _converge(self, action: Action, step: Step, now: float) -> None:
        pair = self._pair(action, step.document)
        if pair is None or self._is_out_of_order(pair, step):
            return
        if not self.policy.clear_when_settled:
            self._clear(pair, ClearReason.CONVERGENCE, now)
            return
        pair.last_kickoff = step.kickoff, step.number
        pair.owner.deadlines.discard(pair)
        # Every period is equally long, so the one started last ends last: the order is that of the ends.
        self._settling[pair] = now + self.policy.echo_backoff_max_ms
        self._settling.move_to_end(pair)

    def _pair(self, action: Action, document: Entity) -> Pair | None:
        held = self._actions.get(id(action))
        return held.pairs.get(document) if held is not None else None

    def _is_out_of_order(self, pair: Pair, step: Step) -> bool:
        return self.policy.kickoff_order and (step.kickoff, step.number) < pair.last_kickoff

    def _open(self, action: Action, step: Step, now: float) -> Pair:
        if len(self._table) >= self.policy.max_echo_pairs:
            self._evict(now)
        held = self._actions.setdefault(id(action), ActionPairs(action))
        pair = Pair(held, step.document, window_opened=now, last_echo=now, last_kickoff=(step.kickoff, step.number))
        held.pairs[step.document] = pair
        return pair

    def _trip(self, pair: Pair, now: float) -> None:
        pair.tripped_at = now
        self._trips += 1
        self._back_off(pair, self.policy.echo_backoff_base_ms, now)
        label = pair.owner.action.label
        self._log.error(
            TRIP_EVENT,
            f"action {label} rewrote document {pair.document} {self.policy.echo_trip_threshold} times "
            f"within {self.policy.echo_window_ms}ms against a remote writer; "
            f"backing off its re-runs, starting at {self.policy.echo_backoff_base_ms}ms",
        )
        self._report(Tripped(label, pair.document, now))

    def _back_off(self, pair: Pair, step_ms: int, now: float) -> None:
        pair.step_ms = step_ms
        pair.owner.deadlines.set(pair, now + step_ms)

    def _evict(self, now: float) -> None:
        pair = self._table.oldest(untripped_first=self.policy.evict_untripped_first)
        deadline = pair.owner.deadlines[pair]
        if deadline is not None and deadline > now:
            heappush(self._orphans, (deadline, pair.order, pair))
            self._drop(pair, ClearReason.EVICTED, now)
        else:
            self._clear(pair, ClearReason.EVICTED, now)

    # --- ends of pairs ---

    def _next_due(self) -> tuple[float, Pair, ClearReason] | None:
        """The pair that is due first, with the last instant at which it is not yet due."""
        due: tuple[float, Pair, ClearReason] | None = None
        settling = next(iter(self._settling), None)
        if settling is not None:
            due = (self._settling[settling], settling, ClearReason.CONVERGENCE)
        quiet = self._table.oldest_tripped()
        if quiet is not None:
            quiet_at = quiet.last_echo + self.policy.echo_quiet_reset_ms
            if due is None or quiet_at < due[0]:
                due = (quiet_at, quiet, ClearReason.QUIET)
        return due

    def _clear(self, pair: Pair, reason: ClearReason, now: float) -> None:
        pair.owner.deadlines.discard(pair)
        self._drop(pair, reason, now)

    def _drop(self, pair: Pair, reason: ClearReason, now: float) -> None:
        """Take a pair out of the table; its deadline is the caller's to leave or to discard."""
        if self.on_drop is not None:
            self.on_drop(pair.owner.action, pair.document, reason, now)
        self._table.remove(pair)
        self._settling.pop(pair, None)
        del pair.owner.pairs[pair.document]
        self._forget_if_empty(pair.owner)
        if pair.tripped_at is not None:
            self._report(
                Cleared(
                    pair.owner.action.label,
                    pair.document,
                    now,
                    reason,
                    pair.renewals,
                    now - pair.tripped_at,
                )
            )

    def _forget_if_empty(self, held: ActionPairs) -> None:
        key = id(held.action)
        if not held.pairs and not held.deadlines and self._actions.get(key) is held:
            del self._actions[key]

    def _moved(self, action: Action, before: float | None, now: float) -> Gate:
        held = self._actions.get(id(action))
        after = held.deadlines.latest() if held is not None else None
        until = after if after is not None and after > now else None
        if after == before:
            return Gate(until, Move.KEPT)
        if until is None:
            return Gate(None, Move.LIFTED)
        later = before is None or until > before
        return Gate(until, Move.LATER if later else Move.EARLIER)

    def _report(self, event: BreakerEvent) -> None:
        if len(self._events) >= MAX_WAITING_EVENTS:
            self._events.popleft()
            self.events_dropped += 1
        self._events.append(event)
