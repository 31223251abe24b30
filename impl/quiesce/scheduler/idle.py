"""When a system is idle, which deferred work holds it open, and who waits for it.

What an idle caller may rely on is in ``holds_until``: a run that is only spaced out, of something that has run before,
is a bound on freshness and holds nothing; neither does the remote-echo breaker's backoff, for any kind of node (seed
§2, Backoff).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiesce.scheduler.node import Node

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler


def holds_until(node: Node, most_passes: int) -> float:
    """Until when a deferred node holds idle open, in milliseconds; 0 if it does not. One that ``most_passes`` passes
    have put off since the last idle moment does not."""
    gates = node.gates
    if gates.hold_passes >= most_passes or not node.live:
        return 0.0
    if node.standing or (node.provisional and node.runs == 0):
        return max(gates.debounce_ready_at, gates.throttle_ready_at, gates.backoff_until)
    return gates.backoff_until


@dataclass(eq=False, slots=True)
class Waiter:
    """Somebody who waits for idle. ``durable``: for commits too."""

    durable: bool
    on_idle: Callable[[], None]


class Idle:
    """Idleness of one scheduler, and those who wait for it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiters: list[Waiter] = []

    def is_so(self, *, durable: bool) -> bool:
        """Whether it is idle now. Changes nothing."""
        scheduler = self._scheduler
        if scheduler.disposed:
            return scheduler.runner.in_flight is None
        if scheduler.present_pass is not None or scheduler.tick_queued or len(scheduler.lane):
            return False
        if len(scheduler.shaping) or (scheduler.loads is not None and scheduler.loads.under_way):
            return False
        if scheduler.runner.in_flight is not None or (durable and scheduler.runner.unsettled):
            return False
        now = scheduler.clock()
        return all(node.gates.closed(now) and self._holds_until(node) <= now for node in scheduler.agenda.members())

    def wait(self, on_idle: Callable[[], None], *, durable: bool) -> Callable[[], None]:
        """Call once it is so, at once if it is. Returns what takes the wish back."""
        waiter = Waiter(durable, on_idle)
        self._waiters.append(waiter)
        self.check()
        return lambda: self._waiters.remove(waiter) if waiter in self._waiters else None

    def check(self) -> None:
        """Release those who wait for what is now so. An idle moment starts every node's count of holds anew."""
        released = [waiter for waiter in self._waiters if self.is_so(durable=waiter.durable)]
        if not released:
            return
        self._waiters = [waiter for waiter in self._waiters if waiter not in released]
        for node in self._scheduler.backed_off:
            node.gates.hold_passes = 0
        if self._scheduler.trace is not None:
            self._scheduler.trace.idle()
        for waiter in released:
            waiter.on_idle()

    def next_look(self) -> float | None:
        """When a hold ends that somebody waits for; the run that it belongs to may be due much later."""
        if not self._waiters:
            return None
        now = self._scheduler.clock()
        holds = (self._holds_until(node) for node in self._scheduler.agenda.members())
        return min((until for until in holds if until > now), default=None)

    def _holds_until(self, node: Node) -> float:
        return holds_until(node, self._scheduler.convergence.idle_hold_passes)
