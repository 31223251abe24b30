"""What is compared of one node, and what is not.

Status, demand, retries and every gate are compared as they are, to the millisecond in walks. When the scheduler looks
at the node again is compared by what that is for: model and runtime both may queue a pass that finds nothing to run,
and do so in different places (the runtime arms the wake where the model queues a pass that arms it). So it is not
compared whether a pass is queued or for when the wake is armed, but whether what is due is looked at in time, whether
the wake is ever armed for nothing, and whether idle would be resolved if there were no such pass. A pass begins in the
runtime where one begins in the model.

The model has no slow bodies that debounce themselves (the author's to switch off, and off here), and no race with a
change of what a running body has read (see ``one_session``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiesce.scheduler.agenda import wanted
from quiesce.scheduler.idle import holds_until
from quiesce.scheduler.node import Node
from quiesce.scheduler.scheduler import Scheduler
from quiesce_model.language.machine import Step
from quiesce_model.scheduler import Status as ModelStatus

from ..lockstep.pairing import Derived, Happened
from ..lockstep.subject import Observation, Value

SEEN = (
    "node.registered", "node.status", "node.ran", "node.provisional", "node.pending", "node.owed", "node.runs",
    "node.gates.debounce", "node.gates.throttle", "node.gates.backoff", "node.gates.step", "node.gates.holds",
    "node.gates.echo", "running", "passing",
)  # fmt: skip

STORE = "the adapter plays the store"
PASSES = "passes that find nothing to run are no difference; see whether what is due is looked at in time"
NONE = "the runtime has none"

HIDDEN: Mapping[str, str] = {
    "node.effect": "it never changes",
    "node.cause[0]": "nothing sets it in this model; causes are compared in one_session",
    "node.own": "only a repair asks for it, which the runtime does not have",
    "node.demanded": "seen as live",
    "node.gates.patience": f"longest_debounce: {NONE}",
    "node.gates.hold": f"hold_apart: {NONE}; the hold shares the field of the backoff",
    "held": "what is being fetched is the adapter's; its hold is seen as a backoff",
    "flight?": STORE,
    "flight.stale": STORE,
    "flight.outlived": STORE,
    "catching_up": STORE,
    "queued": PASSES,
    "wake.armed": PASSES,
    "wake.rest": PASSES,
}


def idle_but_for_passes(machine: Any) -> bool:
    """Whether idle would be resolved if no pass were queued or under way."""
    return not (machine.running or machine.node.runnable(machine) or machine.node.holds_idle(machine))


def armed_for_nothing(before: Any, step: Step, after: Any) -> Value:
    """Whether a step armed the wake although nobody wants the node to run. ``before`` and ``after`` are rows."""
    wanted = after.node_effect or after.node_demanded or after.node_provisional or after.node_pending
    due = after.node_registered and after.node_status != ModelStatus.CLEAN.value and wanted
    return bool(after.wake_armed and not before.wake_armed and not due)


DERIVED: Mapping[str, Derived] = {
    "live": lambda machine: machine.node.live(),
    "rest": lambda machine: machine.node.gates.rest(machine),
    "looked at in time": lambda machine: machine.what_is_due_has_a_wake(),
    "idle but for passes": idle_but_for_passes,
    "idle while moving": lambda machine: machine.is_idle() and (machine.running or machine.passing or machine.queued),
}
HAPPENED: Mapping[str, Happened] = {"armed for nothing": armed_for_nothing}
FIELDS = (*SEEN, *DERIVED, *HAPPENED)

STATUS = {"never-ran": "NEVER_RAN", "clean": "CLEAN", "invalid": "INVALID"}


class Looker:
    """Looks at one node of a scheduler. ``never`` is the deadline of those who are only there to be there."""

    def __init__(self, scheduler: Scheduler, node: Node, tick: int, hold_passes: int, never: float) -> None:
        self.scheduler = scheduler
        self.node = node
        self.tick = tick
        self.hold_passes = hold_passes
        self.never = never
        self.was_armed = False
        self.for_nothing: bool | None = None

    def before(self) -> None:
        """A step is about to be taken."""
        self.was_armed = self.armed

    def after(self) -> None:
        """It was taken."""
        self.for_nothing = self.armed and not self.was_armed and not wanted(self.node)

    @property
    def armed(self) -> bool:
        at = self.scheduler.wake_at
        return at is not None and at < self.never

    def seen(self, now: float) -> Observation:
        node, gates, scheduler = self.node, self.node.gates, self.scheduler
        present = scheduler.present_pass
        told, self.for_nothing = self.for_nothing, None
        return (
            node.registered,
            STATUS[node.status],
            node.runs > 0,
            node.provisional,
            node.pending,
            node.owed,
            node.runs_in(present.id) if present is not None else 0,
            self.left(gates.debounce_ready_at, now),
            self.left(gates.throttle_ready_at, now),
            self.left(gates.backoff_until, now),
            self.ticks(gates.backoff_step_ms) if gates.backoff_streak else 0,
            min(gates.hold_passes, self.hold_passes),
            self.left(gates.echo_backoff_until, now),
            scheduler.runner.in_flight is not None,
            present is not None,
            node.live,
            self.left(gates.eligible_at, now),
            self.in_time(now),
            self.idle_but_for_passes(now),
            self.moving and scheduler.is_idle(),
            told,
        )

    def in_time(self, now: float) -> bool:
        scheduler = self.scheduler
        if not wanted(self.node) or scheduler.tick_queued or scheduler.present_pass is not None:
            return True
        return scheduler.wake_at is not None and scheduler.wake_at <= max(now, self.node.gates.eligible_at)

    @property
    def moving(self) -> bool:
        scheduler = self.scheduler
        busy = scheduler.runner.in_flight is not None
        return busy or scheduler.tick_queued or scheduler.present_pass is not None

    def idle_but_for_passes(self, now: float) -> bool:
        """What the scheduler says, or would say after a pass that finds nothing to run."""
        if not self.moving:
            return self.scheduler.is_idle()
        if self.scheduler.runner.in_flight is not None:
            return False
        return not wanted(self.node) or (
            self.node.gates.closed(now) and holds_until(self.node, self.hold_passes) <= now
        )

    def left(self, deadline: float, now: float) -> int | str:
        return self.ticks(max(0.0, deadline - now))

    def ticks(self, duration: float) -> int | str:
        """A duration in the model's unit; a part of one is shown in ms, and differs from every whole."""
        whole, rest = divmod(duration, self.tick)
        return int(whole) if rest == 0 else f"{duration:g} ms"
