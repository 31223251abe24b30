"""A pass: the next event if it may be dispatched, then runs in order until nothing is left that may run.

One pass is a sequence of steps, and between two of them anything may be observed. It ends when nothing may run, when a
node has used up its runs, or when the settle loop has gone round too often; whatever did not converge waits behind a
growing backoff, and nobody else does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quiesce.scheduler.events import unsettled_upstream, upstream_of
from quiesce.scheduler.node import Node, Status
from quiesce.scheduler.order import seeds_of, topological, work_set
from quiesce.scheduler.run import Began, Ended, Step

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler


class Pass:
    """One pass. ``order`` and ``position`` are the present work set and the place in it, for observers."""

    def __init__(self, scheduler: Scheduler, pass_id: int) -> None:
        self.id = pass_id
        self.iteration = 0
        self.order: list[Node] = []
        self.position = 0
        self._scheduler = scheduler
        self._event_demand: list[Node] = []

    def steps(self) -> Iterator[Step]:
        """Every step in its turn."""
        scheduler = self._scheduler
        if scheduler.trace is not None:
            scheduler.trace.pass_began(self.id)
        yield Began(self.id)
        yield from self._event()
        if self._event_demand or scheduler.agenda.any_ready(scheduler.clock()):
            yield from self._settle()
        yield self._end()

    # -- the event phase

    def _event(self) -> Iterator[Step]:
        scheduler, now = self._scheduler, self._scheduler.clock()
        head = scheduler.lane.head
        if head is None or not scheduler.lane.ready(now):
            return
        self._demand_upstream(head.handler)
        if any(not node.gates.closed(now) for node in self._event_demand):
            return  # they run in this pass; the event looks again in the next
        if self._event_demand:
            scheduler.lane.park(min(node.gates.eligible_at for node in self._event_demand))
            return
        yield from scheduler.runner.dispatch(scheduler.lane.take())

    def _demand_upstream(self, handler: Node) -> None:
        if len(self._scheduler.shaping):
            self._scheduler.shaping.release(upstream_of(handler.upstream), self._scheduler.clock())
        found = unsettled_upstream(handler.upstream)
        for node in self._event_demand:
            if node.event_demanded and node not in found:
                node.event_demanded = False
                self._scheduler.agenda.refresh(node)
        self._event_demand = found
        for node in found:
            if not node.event_demanded:
                node.event_demanded = True
                self._scheduler.agenda.refresh(node)

    # -- the settle loop

    def _settle(self) -> Iterator[Step]:
        scheduler = self._scheduler
        for self.iteration in range(1, scheduler.convergence.iterations + 1):
            head = scheduler.lane.head
            if self._event_demand and head is not None:
                self._demand_upstream(head.handler)
            now = scheduler.clock()
            seeds = seeds_of(scheduler.agenda.ready(now))
            if not seeds:
                return
            for node in seeds:
                node.gates.debounce_ready_at = 0.0
            self.order = topological(work_set(seeds, now))
            for position, node in enumerate(self.order):
                self.position = position
                if self._may_run(node):
                    yield from scheduler.runner.run(node, self.id)
            exhausted = [node for node in self.order if node.runs_in(self.id) >= scheduler.convergence.run_budget]
            if exhausted:
                self._back_off(exhausted)
                return
        if scheduler.agenda.any_ready(scheduler.clock()):
            self._back_off([*self.order, *(node for node in self._event_demand if node not in self.order)])

    def _may_run(self, node: Node) -> bool:
        """At its turn: all may have changed since it was put into the work set."""
        if not node.registered or not node.runnable or not node.demanded:
            return False
        if node.runs_in(self.id) >= self._scheduler.convergence.run_budget:
            return False
        if node.gates.closed(self._scheduler.clock()):
            if node.live:
                node.pending = False
            self._scheduler.agenda.refresh(node)
            return False
        return True

    def _back_off(self, nodes: list[Node]) -> None:
        scheduler, now = self._scheduler, self._scheduler.clock()
        deferred = [
            node for node in nodes if node.registered and node.runnable and node.demanded and not node.gates.closed(now)
        ]
        for node in deferred:
            node.gates.back_off(now, scheduler.convergence)
            scheduler.backed_off[node] = None
            scheduler.agenda.refresh(node)
            if scheduler.trace is not None:
                scheduler.trace.backed_off(node, now)
        if deferred:
            names = ", ".join(node.label for node in deferred[:10])
            scheduler.log.warn(
                "pass-did-not-converge",
                f"pass {self.id} put off {len(deferred)} actions that kept invalidating each other ({names}): "
                "make their writes agree",
            )

    # -- the end

    def _end(self) -> Ended:
        scheduler = self._scheduler
        for node in self._event_demand:
            node.event_demanded = False
            scheduler.agenda.refresh(node)
        self._event_demand = []
        self.order, self.position = [], 0
        for node in [node for node in scheduler.provisional if node.runs > 0 or not node.registered]:
            scheduler.expire_provisional(node)
        deleted = False
        for node in [node for node in scheduler.backed_off if node.status is Status.CLEAN]:
            deleted = node.gates.clear_backoff() or deleted
            del scheduler.backed_off[node]
            if scheduler.trace is not None:
                scheduler.trace.converged(node)
        if deleted:
            scheduler.recompute_wake()
        ended = Ended(self.id, scheduler.continue_or_sleep())
        if scheduler.trace is not None:
            scheduler.trace.pass_ended(self.id)
        return ended
