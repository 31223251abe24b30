"""The life of a run: its causes are taken, the body runs, the commit is kicked off, and much later its fate is known.

The breaker is asked at two of these moments. What the run overwrote is captured at commit kickoff, while write details
exist; steps are formed when the commit has succeeded, against the pairs held then (seed §1).
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING

from quiesce.address import Address
from quiesce.commits import CommitClass
from quiesce.scheduler.echo import Cause
from quiesce.scheduler.events import Event, unsettled_upstream
from quiesce.scheduler.identity import Surface
from quiesce.scheduler.node import Kind, Node, ReadSet
from quiesce.scheduler.retry import Fate, fate_of
from quiesce.scheduler.run import Awaiting, Failure, NotLoaded, NotYet, Ran, Run, RunAgain, Step
from quiesce.scheduler.topology import joined
from quiesce.scheduler.triggers import fires
from quiesce.storage.transaction import CommitHandle, Result, Settled, TransactionLog

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler

ASKED = "its body asked to be run again"

MOST_WRITTEN = 512
"""Places that an effect is known to write; beyond that only those of its last run, and what it declares. It is needed
whoever reads them, so this decides about order only."""


class Runner:
    """Runs one body at a time and deals with what becomes of it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.in_flight: Run | None = None
        """The run whose body is at work, or has ended and is not dealt with yet: what changes meanwhile is noted."""
        self.awaiting = False
        """Whether its body is awaited."""
        self.unsettled = 0
        """Commits whose fate is not known yet."""

    # -- the body

    def run(self, node: Node, pass_id: int) -> Iterator[Step]:
        """Run a computation or an effect."""
        assert node.registration is not None
        scheduler = self._scheduler
        causes = tuple(node.causes)
        scheduler.begin(node, pass_id)
        run = Run(node, node.registration, scheduler.replica.begin(node, CommitClass.DERIVED), causes)
        run.transaction.certificate = node.certificate if node.surface is not None else ""
        if scheduler.trace is not None:
            scheduler.trace.run_started(run)
        yield from self._body(run)
        self._finish_reactive(run)
        yield Ran(run)

    def dispatch(self, event: Event) -> Iterator[Step]:
        """Run a handler for an event."""
        node = event.handler
        run = Run(node, event.registration, self._scheduler.replica.begin(node), payload=event.payload)
        if self._scheduler.trace is not None:
            self._scheduler.trace.run_started(run)
        yield from self._body(run)
        self._finish_event(run, event)
        yield Ran(run)

    def _body(self, run: Run) -> Iterator[Step]:
        self.in_flight = run
        run.started, run.loads = self._scheduler.clock(), self._scheduler.loads
        try:
            made = run.node.body(run)
        except Exception as error:
            run.error = error
        else:
            if isinstance(made, Awaitable):
                self.awaiting = True
                yield Awaiting(run, made)  # pyright: ignore[reportUnknownArgumentType]
        self.in_flight = None
        run.over = True
        run.node.runs += 1

    # -- the end of a body

    def _finish_reactive(self, run: Run) -> None:
        scheduler, node = self._scheduler, run.node
        now = scheduler.clock()
        if node.registration is not run.registration:
            if scheduler.trace is not None:
                scheduler.trace.run_ended(run)
            self._throw_away(run)
            return
        node.gates.debounce_ready_at = 0.0
        if not node.owed:
            node.gates.arm_throttle(now)
        self._debounce_if_slow(node, now - run.started)
        scheduler.agenda.refresh(node)
        if scheduler.trace is not None:
            scheduler.trace.run_ended(run, now)
        if isinstance(run.error, RunAgain):
            self._throw_away(run)
            self._budgeted(run, str(run.error) or ASKED)
            return
        if isinstance(run.error, NotLoaded):
            self._resubscribe(run, run.transaction.log())
            self._throw_away(run)
            node.causes = {**dict.fromkeys(run.causes), **node.causes}
            return
        self._report_body(run)
        handle = self._kick_off(run, now)
        if run.log is not None:
            self._resubscribe(run, run.log)
        if handle is not None:
            handle.on_settled(lambda settled: self._reactive_settled(run, settled))

    def _debounce_if_slow(self, node: Node, took_ms: float) -> None:
        node.spent_ms += took_ms
        if node.kind is Kind.EFFECT and node.gates.debounce_if_slow(node.runs, node.spent_ms):
            self._scheduler.log.info(
                "action-auto-debounced",
                f"effect {node.label} takes {node.spent_ms / node.runs:.0f} ms on average, and from now on waits for "
                f"{node.gates.debounce_ms:g} ms without a change: give it debounce_ms, or auto_debounce=False",
            )
            if self._scheduler.trace is not None:
                self._scheduler.trace.gates_set(node)

    def _finish_event(self, run: Run, event: Event) -> None:
        scheduler, node = self._scheduler, run.node
        if scheduler.trace is not None:
            scheduler.trace.run_ended(run)
        if node.registration is not run.registration:
            self._throw_away(run)
            event.finish("retired")
            return
        if isinstance(run.error, RunAgain):
            self._throw_away(run)
            event.asked_again += 1
            if event.asked_again < scheduler.reactive_budget:
                self._look_again(event)
            else:
                message = f"handler {node.label} was run {event.asked_again} times for one event: {run.error or ASKED}"
                self._event_failed(run, event, "retries-exhausted", message)
            return
        if isinstance(run.error, NotLoaded):
            self._throw_away(run)
            missing = run.error.document
            event.awaits = missing if scheduler.loads is not None and scheduler.loads.loading(missing) else None
            self._look_again(event)
            return
        if run.error is None or isinstance(run.error, NotYet):
            self._resubscribe(run, run.transaction.log())
            # What it read was about to be derived, which could not be known before it ran.
            looks = 1 if run.error is None else scheduler.reactive_budget
            if event.looks < looks and unsettled_upstream(node.upstream):
                self._throw_away(run)
                event.looks += 1
                self._look_again(event)
                return
        if run.error is not None:
            self._throw_away(run)
            self._event_failed(
                run, event, "body-failed", f"handler {node.label} raised {type(run.error).__name__}: {run.error}"
            )
            return
        handle = self._kick_off(run, scheduler.clock())
        if handle is None:
            event.finish("failed")
        else:
            handle.on_settled(lambda settled: self._event_settled(run, event, settled))

    def _look_again(self, event: Event) -> None:
        self._scheduler.lane.put_back(event)
        self._scheduler.queue_tick()

    def _event_failed(self, run: Run, event: Event, code: str, message: str) -> None:
        event.error = run.error
        event.finish("failed")
        self._scheduler.fail(Failure(run.node.label, code, message, run.error))

    def _throw_away(self, run: Run) -> None:
        """Nothing of the attempt stays: neither its writes, nor what it made, nor what it sent."""
        run.transaction.abort()
        self._scheduler.retire_children(run.children)
        run.decide(committed=False)

    def _report_body(self, run: Run) -> None:
        if run.error is not None and not isinstance(run.error, NotYet):
            message = f"{run.node.kind.value} {run.node.label} raised {type(run.error).__name__}: {run.error}"
            self._scheduler.fail(Failure(run.node.label, "body-failed", message, run.error))

    # -- commit kickoff

    def _kick_off(self, run: Run, now: float) -> CommitHandle | None:
        """Start the commit. None if that failed: it is dealt with like a refused one."""

        def before_commit(log: TransactionLog) -> None:
            run.log = log
            if run.node.kind is not Kind.HANDLER:
                run.capture = self._scheduler.breaker.capture(run.causes, log.writes, now, run.registration)

        try:
            run.transaction.before_commit(before_commit)
            run.handle = run.transaction.commit()
        except Exception as error:
            run.transaction.abort()
            run.decide(committed=False)
            if self._scheduler.trace is not None:
                self._scheduler.trace.not_kicked_off(run)
            if run.node.kind is Kind.HANDLER:
                message = f"the commit of handler {run.node.label} could not be made: {error}"
                self._scheduler.fail(Failure(run.node.label, "commit-refused", message, error))
            else:
                self._budgeted(run, f"its commit could not be made: {error}")
            return None
        self.unsettled += 1
        if self._scheduler.trace is not None:
            self._scheduler.trace.kicked_off(run)
        return run.handle

    def _resubscribe(self, run: Run, log: TransactionLog) -> None:
        """Register what the run read; what it read must not have changed meanwhile unnoticed."""
        scheduler, node = self._scheduler, run.node
        scheduler.subscribe(node, ReadSet(log.reads, log.shallow_reads), _surface(node, run.surface(log)))
        if node.kind is Kind.HANDLER:
            return
        if node.surface is not None:
            self._hold_to_surface(run, log, node.surface)
        now = scheduler.clock()
        for notification in run.meanwhile:
            if scheduler.invalidation.skips(node, notification):
                continue
            origin = scheduler.invalidation.origin(node, notification)
            for change in notification.changes:
                if fires(change, node.reads) and not scheduler.invalidation.own_output(node, change):
                    scheduler.invalidation.invalidate(node, Cause(change.address, origin), now)

    def _hold_to_surface(self, run: Run, log: TransactionLog, surface: Surface) -> None:
        beyond = surface.exceeded_by((*log.reads, *log.shallow_reads), run.surface(log))
        if beyond is not None:
            run.node.surface = None
            self._scheduler.log.warn(
                "surface-exceeded",
                f"action {run.node.label} touched {beyond}, which its author did not declare: nobody relies on the "
                "declaration any more; declare it, or leave it alone",
            )

    # -- the fate of a commit

    def _reactive_settled(self, run: Run, handle: CommitHandle) -> None:
        scheduler, node = self._scheduler, run.node
        self.unsettled -= 1
        result = _result(handle)
        run.decide(committed=result.settled is Settled.COMMITTED)
        if node.registration is run.registration:
            fate = fate_of(result)
            if scheduler.trace is not None and fate is not Fate.SUCCESS:
                scheduler.trace.not_committed(run, "stale" if fate is Fate.STALE else "refused", result.code)
            if fate is Fate.SUCCESS:
                self._succeeded(run)
            elif fate is Fate.STALE:
                node.stale_failures += 1
                if node.stale_failures % scheduler.stale_warning_interval == 0:
                    scheduler.log.error(
                        "reactive-retry-not-converging",
                        f"action {node.label} has met {node.stale_failures} conflicts in a row; "
                        "let fewer sessions write what it reads",
                    )
                # A race inside this replica needs no catching up, and keeps its debounce.
                scheduler.retry(node, run.causes, owed=result.code != "inconsistent")
            else:
                node.failures = node.stale_failures = 0
                scheduler.retire_children(run.children)
                if run.log is not None:
                    scheduler.invalidation.forgive_revert(node, run.log.writes)
                message = f"the commit of {node.kind.value} {node.label} was refused: {result.message}"
                scheduler.fail(Failure(node.label, result.code or "commit-refused", message))
        elif scheduler.trace is not None:
            scheduler.trace.not_committed(run, "outlived", result.code)
        scheduler.check_idle()

    def _succeeded(self, run: Run) -> None:
        scheduler, node = self._scheduler, run.node
        node.failures = node.stale_failures = 0
        assert run.capture is not None, "captured at kickoff"
        assert run.log is not None, "kept at kickoff"
        now = scheduler.clock()
        steps = scheduler.breaker.steps(node, run.capture, ReadSet(run.log.reads, run.log.shallow_reads))
        if steps:
            scheduler.apply_echo_gate(node, scheduler.breaker.observe(node, steps, now))
        if scheduler.trace is not None:
            scheduler.trace.committed(run, steps, now)

    def _budgeted(self, run: Run, why: str) -> None:
        """A failure that is no stale basis: so many in a row, and then only a new change tries again."""
        scheduler, node = self._scheduler, run.node
        node.failures += 1
        if node.failures < scheduler.reactive_budget:
            scheduler.retry(node, run.causes, owed=False)
            return
        scheduler.retire_children(run.children)
        message = f"action {node.label} failed {node.failures} times in a row and waits for its inputs to change: {why}"
        scheduler.fail(Failure(node.label, "retries-exhausted", message, run.error))

    def _event_settled(self, run: Run, event: Event, handle: CommitHandle) -> None:
        scheduler, node = self._scheduler, run.node
        self.unsettled -= 1
        result = _result(handle)
        run.decide(committed=result.settled is Settled.COMMITTED)
        if result.settled is Settled.COMMITTED:
            event.finish("committed")
        elif node.registration is not run.registration:
            event.finish("retired")
        elif result.settled is Settled.STALE:
            self._event_conflict(run, event)
        else:
            # A lost session may have committed it: doing it again could do it twice.
            event.finish("lost" if result.settled is Settled.LOST else "refused")
            message = f"the commit of handler {node.label} ended as {result.settled.value}: {result.message}"
            scheduler.fail(Failure(node.label, result.code or "commit-refused", message))
        scheduler.check_idle()

    def _event_conflict(self, run: Run, event: Event) -> None:
        scheduler = self._scheduler
        scheduler.retire_children(run.children)
        if scheduler.lane.again(event, scheduler.clock()):
            scheduler.lower_wake(event.not_before)
            return
        event.finish("did-not-converge" if event.retries else "dropped")
        message = f"handler {run.node.label} met {event.attempts} conflicts and was given up; send the event again"
        scheduler.fail(Failure(run.node.label, "commit-did-not-converge", message))


def _surface(node: Node, written: tuple[Address, ...]) -> frozenset[Address]:
    known = joined(node.writes, written)
    if node.kind is Kind.EFFECT and len(known) > MOST_WRITTEN:
        return joined(frozenset(node.declared_writes), written)
    return known


def _result(handle: CommitHandle) -> Result:
    assert handle.result is not None, "listeners are called when it has settled"
    return handle.result
