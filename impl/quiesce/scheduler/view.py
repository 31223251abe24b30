"""A scheduler's state as frozen records, for those who compare it, show it or test it. Looking changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from quiesce.scheduler.breaker_records import BreakerStats, PairState
from quiesce.scheduler.echo import Cause
from quiesce.scheduler.node import Kind, Node, Status
from quiesce.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class NodeView:
    """One registered node. Times are milliseconds of the scheduler's clock; 0 is no deadline."""

    label: str
    ordinal: int
    kind: Kind
    status: Status
    live: bool
    pending: bool
    retry_owed: bool
    causes: tuple[Cause, ...]
    runs: int
    debounce_ready_at: float
    throttle_ready_at: float
    backoff_until: float
    echo_backoff_until: float
    eligible_at: float


@dataclass(frozen=True, slots=True)
class SchedulerView:
    """A whole scheduler, its nodes by ordinal."""

    nodes: tuple[NodeView, ...]
    in_pass: int | None
    running: str | None
    tick_queued: bool
    wake_at: float | None
    events: int
    unsettled_commits: int
    idle: bool
    breaker: BreakerStats
    pairs: tuple[PairState, ...]


def view(scheduler: Scheduler) -> SchedulerView:
    """The state at this moment."""
    running, present = scheduler.runner.in_flight, scheduler.present_pass
    return SchedulerView(
        tuple(_node(node) for node in sorted(scheduler.nodes, key=lambda node: node.ordinal)),
        present.id if present is not None else None,
        running.node.label if running is not None else None,
        scheduler.tick_queued,
        scheduler.wake_at,
        len(scheduler.lane),
        scheduler.runner.unsettled,
        scheduler.is_idle(),
        scheduler.echo_breaker_stats(),
        scheduler.breaker.pairs(),
    )


def _node(node: Node) -> NodeView:
    gates = node.gates
    return NodeView(
        node.label,
        node.ordinal,
        node.kind,
        node.status,
        node.live,
        node.pending,
        node.owed,
        tuple(node.causes),
        node.runs,
        gates.debounce_ready_at,
        gates.throttle_ready_at,
        gates.backoff_until,
        gates.echo_backoff_until,
        gates.eligible_at,
    )
