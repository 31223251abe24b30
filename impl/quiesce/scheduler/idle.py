"""When a system is idle, and which deferred work holds it open.

What an idle caller may rely on is in the table of ``holds_until``: a run that is only spaced out, of something
that has run before, is a bound on freshness and holds nothing; neither does the remote-echo breaker's backoff, for
any kind of node (seed §2, Backoff).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quiesce.scheduler.gates import IDLE_HOLD_PASSES
from quiesce.scheduler.node import Kind, Node


def holds_until(node: Node) -> float:
    """Until when a deferred node holds idle open, in milliseconds; 0 if it does not."""
    gates = node.gates
    if gates.hold_passes >= IDLE_HOLD_PASSES or not node.live:
        return 0.0
    if node.kind is Kind.EFFECT or (node.provisional and node.runs == 0):
        return max(gates.debounce_ready_at, gates.throttle_ready_at, gates.backoff_until)
    return gates.backoff_until


@dataclass(eq=False, slots=True)
class Waiter:
    """Somebody who waits for idle. ``durable``: for commits too."""

    durable: bool
    on_idle: Callable[[], None]
