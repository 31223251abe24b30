"""The scheduler of one session: when each action runs.

Sans-IO. It is told of visible changes by the replica, of bodies that ended, and of the time; it does one thing for
each ``step``, and says what it wants: another step (``tick_queued``), a body awaited (the step ``Awaiting``), or to be
called at a moment (``timer_at``). It never sleeps, and reads no clock but the one it was given. All times are
milliseconds of that clock.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from quiesce.address import Address
from quiesce.clock import Clock
from quiesce.counts import Counts
from quiesce.scheduler.agenda import Agenda, wanted
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerEvent, BreakerStats, Gate, Move
from quiesce.scheduler.convergence import ConvergencePolicy
from quiesce.scheduler.definition import verify
from quiesce.scheduler.demand import Demand
from quiesce.scheduler.echo import Cause
from quiesce.scheduler.events import Event, Lane
from quiesce.scheduler.idle import Idle
from quiesce.scheduler.invalidation import Invalidation
from quiesce.scheduler.loads import Loads, Source
from quiesce.scheduler.node import NO_READS, Kind, Node, ReadSet, Registration, Status
from quiesce.scheduler.retry import MAX_RETRIES_FOR_REACTIVE, STALE_WARNING_INTERVAL
from quiesce.scheduler.run import Ended, Failure, Run, Step
from quiesce.scheduler.runner import Runner
from quiesce.scheduler.settle import Pass
from quiesce.scheduler.shaping import Shaping
from quiesce.scheduler.topology import Topology
from quiesce.scheduler.tracing import trace_of
from quiesce.scheduler.triggers import TriggerIndex
from quiesce.storage.replica import Replica
from quiesce.storage.transaction import CommitHandle, Transaction

RESUME_HOLD_MS = 2_000.0
"""The longest that a resumed action waits for what it will read."""

Told = TypeVar("Told", Failure, BreakerEvent)


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where a scheduler says things. None of them may call it back at once, except to ask. If one raises, that is
    logged and nothing else happens.

    ``work``: it wants a step, or a timer other than before. ``failed``: a program must hear of this. ``reported``:
    a breaker's trip or clear, for the server. ``needed``: something that is run elsewhere is needed
    here from now on, or not any more.
    """

    work: Callable[[], None] = lambda: None
    failed: Callable[[Failure], None] = lambda failure: None
    reported: Callable[[BreakerEvent], None] = lambda event: None
    needed: Callable[[Node], None] = lambda node: None


class Scheduler:
    """The actions of one session over its replica.

    ``random`` spreads the retries of events. ``checked``: after every step, compare what is kept incrementally with
    its definition, at a cost that grows with the whole graph; for tests.
    """

    def __init__(
        self,
        replica: Replica,
        clock: Clock,
        counts: Counts,
        outlets: Outlets | None = None,
        *,
        policy: BreakerPolicy | None = None,
        convergence: ConvergencePolicy | None = None,
        random: Callable[[], float] = random_module.random,
        checked: bool = False,
    ) -> None:
        self.replica = replica
        self.clock = clock
        self.log = counts.logger("scheduler")
        self.breaker = RemoteEchoBreaker(self.log, policy)
        self.nodes: dict[Node, None] = {}
        self.agenda = Agenda()
        self.triggers = TriggerIndex()
        self.demand = Demand(self._liveness_changed)
        self.topology = Topology(self.demand.joined, self.demand.parted)
        self.lane = Lane(random)
        self.runner = Runner(self)
        self.invalidation = Invalidation(self)
        self.idle = Idle(self)
        self.shaping = Shaping(self)
        self.loads: Loads | None = None
        self.provisional: dict[Node, None] = {}
        self.backed_off: dict[Node, None] = {}
        self.convergence = convergence or ConvergencePolicy()
        self.reactive_budget = MAX_RETRIES_FOR_REACTIVE
        self.stale_warning_interval = STALE_WARNING_INTERVAL
        self.tick_queued = False
        """Whether the next step has something to do."""
        self.wake_at: float | None = None
        """What the single wake is armed for."""
        self.disposed = False
        self.checked = checked
        self._outlets = outlets or Outlets()
        self._pass: Pass | None = None
        self._steps: Iterator[Step] = iter(())
        self._passes = 0
        self._ordinals = 0
        self._unsubscribe = replica.subscribe(self.invalidation.notified)
        self.trace = trace_of(self)
        if self.trace is not None:
            self.breaker.on_drop = self.trace.dropped

    # -- registration

    def register(self, node: Node, parent: Node | None = None) -> None:
        """Let a node take part. Raises ``RuntimeError`` if it does already, or after ``dispose``."""
        if node.registered or self.disposed:
            why = "is registered already: take it out first" if node.registered else "comes after dispose"
            raise RuntimeError(f"the registration of {node.label} {why}")
        node.registration = Registration()
        if node.ordinal < 0:
            node.ordinal = self._ordinals
            self._ordinals += 1
        self.nodes[node] = None
        if parent is not None:
            node.parent = parent
            parent.children[node] = None
        if node.kind is Kind.HANDLER:
            node.status = Status.CLEAN
        elif node.status is Status.CLEAN:
            node.status = Status.INVALID
        if node.kind is not Kind.HANDLER:
            node.writes = frozenset(node.declared_writes)
            self.topology.writes(node, frozenset(), node.writes)
        if node.declared_reads:
            node.reads, node.hinted = ReadSet(node.declared_reads), True
            self.topology.reads(node, NO_READS, node.reads)
        if node.standing:
            self.demand.add_root(node)
        elif node.kind is Kind.COMPUTATION and parent is not None and parent.live:
            node.provisional = True
            self.provisional[node] = None
            self.demand.add_root(node)
        now = self.clock()
        if node.kind is not Kind.HANDLER:
            self.arm_debounce(node, now)
        self.reconsider(node)
        if self.trace is not None:
            self.trace.registered(node, now)

    def unregister(self, node: Node) -> None:
        """Take a node out, and its children. What it still has under way comes to nothing here. Idempotent.

        Its pairs are dropped and its echo gate with them, so that a later registration inherits neither (seed §2,
        Reset)."""
        if not node.registered:
            return
        self.retire_children(list(node.children))
        node.registration = None
        del self.nodes[node]
        if node.parent is not None:
            node.parent.children.pop(node, None)
        self.expire_provisional(node)
        if node.standing:
            self.demand.drop_root(node)
        self.ask(node, asked=False)
        if not node.hinted:
            self.triggers.replace(node, node.reads, NO_READS)
        self.topology.forget(node)
        node.reads, node.writes, node.hinted = NO_READS, frozenset(), False
        node.causes.clear()
        if node.status is Status.INVALID:
            node.status = Status.CLEAN
        node.pending = node.event_demanded = node.owed = False
        had_deadline = node.gates.eligible_at > 0
        node.gates.retire()
        self.agenda.refresh(node)
        self.lane.retire(node)
        self.shaping.drop(node, retired=True)
        self.breaker.retire(node, self.clock())
        self._report()
        if had_deadline:
            self.recompute_wake()
        if self.trace is not None:
            self.trace.retired(node)
        if node.elsewhere:
            self._outlets.needed(node)
        self.check_idle()

    def hand_over(self, node: Node, *, elsewhere: bool) -> None:
        """Leave a node's runs to somebody else, or take them back. Its registration ends and another begins, so that
        what is under way comes to nothing here and its pairs and gates are gone; who reads it still does."""
        if node.elsewhere == elsewhere:
            return
        registered, parent = node.registered, node.parent
        self.unregister(node)
        node.elsewhere = elsewhere
        if registered:
            self.register(node, parent)

    def ask(self, node: Node, *, asked: bool) -> None:
        """Somebody outside needs what a node derives, or does not any more."""
        if node.asked == asked:
            return
        node.asked = asked
        if asked:
            self.demand.add_root(node)
        else:
            self.demand.drop_root(node)

    def send(
        self,
        handler: Node,
        payload: object,
        *,
        retries: bool = True,
        on_done: Callable[[Event], None] | None = None,
        origin: Run | None = None,
    ) -> Event:
        """Queue an event for a handler. One that a run sends (``origin``) is dispatched when that attempt has
        committed, and is withdrawn if it does not. Raises ``BacklogFull``, and ``RuntimeError`` if the handler is not
        registered."""
        if handler.registration is None or handler.kind is not Kind.HANDLER:
            raise RuntimeError(f"{handler.label} is no registered handler: register it before sending it events")
        event = Event(handler, handler.registration, payload, retries, on_done, origin)
        self.lane.add(event)
        if origin is None:
            self.queue_tick()
        else:
            origin.on_fate(lambda committed: self._origin_decided(event, committed))
        return event

    def _origin_decided(self, event: Event, committed: bool) -> None:
        event.origin = None
        if not committed:
            self.lane.withdraw(event)
        self.queue_tick()

    def commit(self, transaction: Transaction) -> CommitHandle:
        """Commit what no action does, and count it among what a durable idle waits for."""
        handle = transaction.commit()
        self.runner.unsettled += 1
        handle.on_settled(self._outside_settled)
        return handle

    def _outside_settled(self, handle: CommitHandle) -> None:
        self.runner.unsettled -= 1
        self.check_idle()

    def set_gates(self, node: Node, *, debounce_ms: float | None = None, throttle_ms: float | None = None) -> None:
        """Change what an author set. A deadline that is armed is lowered if the new wait ends earlier."""
        now = self.clock()
        before = node.gates.eligible_at
        if debounce_ms is not None:
            node.gates.debounce_ms = debounce_ms
            if node.gates.debounce_ready_at:
                node.gates.debounce_ready_at = min(node.gates.debounce_ready_at, now + debounce_ms)
        if throttle_ms is not None:
            lowered = node.gates.throttle_ready_at - node.gates.throttle_ms + throttle_ms
            node.gates.throttle_ready_at = min(node.gates.throttle_ready_at, max(0.0, lowered))
            node.gates.throttle_ms = throttle_ms
        if node.gates.eligible_at < before:
            self.agenda.refresh(node)
            self.recompute_wake()
        if self.trace is not None:
            self.trace.gates_set(node)

    def load_from(self, source: Source) -> None:
        """Not every document is followed: those that are read and are not come from here."""
        self.loads = Loads(self, source)

    def hold(self, node: Node, at_most_ms: float = RESUME_HOLD_MS) -> None:
        """Put a node's first run off until ``release_hold``, but no longer than this: what it will read is on its way,
        and a run before would only be done again."""
        now = self.clock()
        node.gates.hold(now + at_most_ms)
        self.backed_off[node] = None
        self.reconsider(node)
        if self.trace is not None:
            self.trace.held(node, now, at_most_ms)

    def release_hold(self, node: Node) -> None:
        """What a held node waited for is here."""
        if node.gates.backoff_until:
            node.gates.release_hold()
            self.agenda.refresh(node)
            self.recompute_wake()
        if self.trace is not None:
            self.trace.released(node)

    # -- what moves it

    def step(self) -> Step | None:
        """Do one thing: begin a pass, run one body, or end the pass. None if there is nothing to do now.

        After ``Awaiting`` nothing is done until ``body_done``."""
        if self.runner.awaiting:
            return None
        if self._pass is None:
            if not self.tick_queued or self.disposed:
                return None
            self.tick_queued = False
            self._passes += 1
            self._pass = Pass(self, self._passes)
            self._steps = self._pass.steps()
        step = next(self._steps, None)
        assert step is not None, "a pass ends with the step that says so"
        if isinstance(step, Ended):
            self._pass = None
        if self.checked:
            verify(self)
        self.check_idle()
        return step

    def body_done(self, run: Run, error: BaseException | None = None) -> None:
        """An awaited body has ended. A later end of the same body changes nothing."""
        if self.runner.in_flight is run and self.runner.awaiting:
            run.error = error
            run.over = True
            self.runner.awaiting = False
            self._outlets.work()

    @property
    def timer_at(self) -> float | None:
        """When ``timer_fired`` should be called: the wake, a held wake of somebody's typing, the breaker's
        housekeeping, or the end of a hold that an idle waiter waits for. Early is harmless."""
        candidates = (
            self.wake_at,
            self.shaping.next_release(),
            self.breaker.housekeeping_deadline(),
            self.idle.next_look(),
        )
        return min((at for at in candidates if at is not None), default=None)

    def timer_fired(self) -> None:
        """The moment has come, or may have."""
        now = self.clock()
        self.breaker.housekeep(now)
        self._report()
        self.shaping.release_due(now)
        if self.wake_at is not None and self.wake_at <= now:
            self.wake_at = None
            self.queue_tick()
            if self.trace is not None:
                self.trace.woke()
        self.check_idle()

    def dispose(self) -> None:
        """Nothing runs any more. Whoever waits for idle is released once the body at work, if any, has ended."""
        if self.trace is not None:
            self.trace.disposed()
        self.disposed = True
        self.tick_queued = False
        self.wake_at = None
        self._unsubscribe()
        for node in list(self.nodes):
            self.unregister(node)
        self.tick_queued = False
        self.wake_at = None
        self.check_idle()

    # -- idle

    def is_idle(self, *, durable: bool = False) -> bool:
        """Whether nothing is to be waited for. ``durable``: nor any commit. Neither an armed wake nor an echo backoff
        counts."""
        return self.idle.is_so(durable=durable)

    def has_armed_gate_wake(self) -> bool:
        """Whether a deferred run is to come, so that a space that serves it must not be put away."""
        return self.wake_at is not None

    def when_idle(self, on_idle: Callable[[], None], *, durable: bool = False) -> Callable[[], None]:
        """Call once it is idle, at once if it is. Returns what takes the wish back."""
        forget = self.idle.wait(on_idle, durable=durable)
        self._outlets.work()
        return forget

    def check_idle(self) -> None:
        """Release those who wait for what is now so."""
        self.idle.check()

    # -- what others see

    def echo_breaker_stats(self) -> BreakerStats:
        """The breaker's counts (seed §3). Reading them changes nothing."""
        return self.breaker.stats(self.clock())

    @property
    def present_pass(self) -> Pass | None:
        """The pass that is under way."""
        return self._pass

    @property
    def passes(self) -> int:
        """How many passes have begun."""
        return self._passes

    # -- for the parts: invalidation

    def arm_debounce(self, node: Node, now: float) -> None:
        """A trailing debounce starts again, except before a first run that nobody asked to wait, and while a retry is
        owed."""
        if node.gates.debounce_ms > 0 and not node.owed and (node.runs > 0 or node.provisional):
            node.gates.arm_debounce(now)

    def reconsider(self, node: Node) -> None:
        """It may have to run: see to it that it will."""
        self.agenda.refresh(node)
        if wanted(node):
            if node.gates.closed(self.clock()):
                self.lower_wake(node.gates.eligible_at)
            else:
                self.queue_tick()

    def _liveness_changed(self, node: Node) -> None:
        if not node.registered:
            return
        if node.elsewhere:
            self._outlets.needed(node)
        self.reconsider(node)
        if not wanted(node) and node.runnable and self.wake_at == node.gates.eligible_at:
            self.recompute_wake()  # it was armed for this one, which nobody needs any more
        if self.trace is not None:
            self.trace.liveness(node)

    def retry(self, node: Node, causes: Iterable[Cause], *, owed: bool) -> None:
        """Run it again with the causes that it had. ``owed``: after a conflict, past debounce and throttle."""
        now = self.clock()
        node.causes = {**dict.fromkeys(causes), **node.causes}
        node.status = Status.INVALID
        node.pending = True
        if owed:
            node.owed = True
            if node.gates.release_for_retry():
                self.recompute_wake()
        else:
            self.arm_debounce(node, now)
        self.reconsider(node)
        if self.trace is not None:
            self.trace.retry(node, now, owed=owed)

    def subscribe(self, node: Node, reads: ReadSet, writes: frozenset[Address]) -> None:
        """What the node's last run read, and its surface."""
        if node.kind is Kind.HANDLER:
            self.topology.reads(node, node.reads, reads)
            node.reads = reads
            return
        self.triggers.replace(node, NO_READS if node.hinted else node.reads, reads)
        self.topology.reads(node, node.reads, reads)
        node.reads, node.hinted = reads, False
        if writes is not node.writes:
            self.topology.writes(node, node.writes, writes)
            node.writes = writes

    # -- for the parts: runs

    def begin(self, node: Node, pass_id: int) -> None:
        """A run starts: it takes its causes, and is clean unless something changes from now on."""
        self.retire_children([child for child in node.children if not child.kept])
        node.causes.clear()
        if len(self.shaping):
            self.shaping.drop(node)
        node.status = Status.CLEAN
        node.pending = node.owed = False
        node.pass_runs = node.runs_in(pass_id) + 1
        node.pass_id = pass_id
        self.agenda.refresh(node)

    def retire_children(self, children: Iterable[Node]) -> None:
        """These end with what made them."""
        for child in list(children):
            self.unregister(child)

    def expire_provisional(self, node: Node) -> None:
        """A child has had its first run: whoever needs it reads it by now."""
        if node.provisional:
            node.provisional = False
            self.provisional.pop(node, None)
            self.demand.drop_root(node)

    def apply_echo_gate(self, node: Node, gate: Gate) -> None:
        """What the breaker says about a node's next run."""
        node.gates.echo_backoff_until = gate.until or 0.0
        self._report()
        self._outlets.work()
        if gate.move in (Move.EARLIER, Move.LIFTED):
            self.agenda.refresh(node)
            self.recompute_wake()

    def fail(self, failure: Failure) -> None:
        """A program has to hear of it."""
        self.log.error(failure.code, failure.message)
        self._tell(self._outlets.failed, failure)

    def _report(self) -> None:
        for event in self.breaker.take_events():
            self._tell(self._outlets.reported, event)

    def _tell(self, outlet: Callable[[Told], None], what: Told) -> None:
        """A listener that raises must not leave a run's fate undecided."""
        try:
            outlet(what)
        except Exception as error:
            self.log.error("listener-raised", f"a listener raised {type(error).__name__}: {error}")

    # -- for the parts: ticks and the wake

    def queue_tick(self) -> None:
        """There is something to do."""
        if not self.tick_queued and not self.disposed:
            self.tick_queued = True
            self._outlets.work()

    def lower_wake(self, at: float) -> None:
        """There will be something to do then; an earlier wake stands."""
        if not self.disposed and (self.wake_at is None or at < self.wake_at):
            self.wake_at = at
            if self.trace is not None:
                self.trace.wake_set()
            self._outlets.work()

    def recompute_wake(self) -> None:
        """A deadline was deleted or lowered: look at everything again, an event that waits for a gate included."""
        self.wake_at = None
        self.lane.unpark()
        self.queue_tick()

    def timer_moved(self) -> None:
        """``timer_at`` is another now."""
        self._outlets.work()

    def continue_or_sleep(self) -> float | None:
        """At a pass's end: another tick if there is work, else the wake for the first deadline."""
        now = self.clock()
        if self.agenda.any_ready(now) or self.lane.ready(now):
            self.queue_tick()
            self.wake_at = None
            return None
        if self.tick_queued:
            self.wake_at = None
            return None
        deadlines = (self.agenda.next_deadline(now), self.lane.next_look())
        self.wake_at = min((at for at in deadlines if at is not None), default=None)
        self._outlets.work()
        return self.wake_at
