"""What is compared of one session, which part of the model is walked, and what is left out.

Walked are two derivations in a chain or in a cycle, whose readers come and go. Left out, each because model and runtime
are known to take other steps there:

- what makes a node eligible, or due, in a round of a pass that has begun without it (``nudges``, ``longest_echo`` with
  a ``cycle``). The model gives it a turn in that round, the runtime in the next; where another node has used up its
  runs meanwhile there is no next one, and it runs in the next pass, which is queued. Both keep to SCH-6 and SCH-9;
- commits that are refused (``foreign``, ``refusals``). The runtime refuses a commit by itself when what its run read
  was changed here meanwhile, and lets what rests on a refused commit fall with it; the model has neither. The echo loop
  walks refusals by a real server;
- the lane of events (``backlog``). The model looks at the head as a pass begins, the runtime as its first step is
  taken, and what changes between the two is seen by one of them only;
- the repairs, which the runtime does not have.

As of one node, it is not compared when a pass is queued, but whether what is due is looked at in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quiesce.commits import Document
from quiesce.scheduler.agenda import wanted
from quiesce.scheduler.idle import holds_until
from quiesce.scheduler.node import Node
from quiesce.scheduler.scheduler import Scheduler

from ..lockstep.pairing import Derived
from ..lockstep.subject import Observation, Value
from .one_node_seen import PASSES, STATUS

NODE = ("status", "ran", "runs", "gates.debounce", "gates.throttle", "gates.backoff", "gates.step", "gates.holds",
        "gates.echo")  # fmt: skip
SEEN = (
    *(f"value[{n}]" for n in range(3)),
    "passing",
    "body?",
    *(f"node[{n}].{name}" for n in range(2) for name in NODE),
)

EVENTS = "the lane is left out"
COMMITS = "commits that are refused are left out"
OWED = "retries are left out, and what an event asks for"

HIDDEN: Mapping[str, str] = {
    "behind": COMMITS,
    "turn": "seen by whose run is next",
    "queued": PASSES,
    "wake.armed": PASSES,
    "wake.rest": PASSES,
    "body.node": "seen by who reads",
    "body.value": "seen by what is written",
    "next_event": EVENTS,
    "park": EVENTS,
    "parked": EVENTS,
    "waited": EVENTS,
    **{f"taken.of[{d}]": COMMITS for d in range(3)},
    **{f"carried[{n}].of[{d}]": COMMITS for n in range(2) for d in range(3)},
    **{f"tries[{n}]": COMMITS for n in range(2)},
    **{f"flight[{n}]{part}": "the adapter plays the store" for n in range(2) for part in ("?", ".before", ".stale")},
    **{f"node[{n}].cause[{d}]": "seen as causes" for n in range(2) for d in range(3)},
    **{
        f"node[{n}].{name}": why
        for n in range(2)
        for name, why in {
            "effect": "it never changes",
            "registered": "it never changes",
            "own": "only a repair asks for it",
            "demanded": "seen as live",
            "provisional": "nobody awaits these",
            "pending": OWED,
            "owed": OWED,
            "gates.patience": "longest_debounce is left out",
            "gates.hold": "hold_apart is left out",
        }.items()
    },
}


def causes(n: int) -> Derived:
    """Which of the data have changed since node ``n`` ran, or something else that it has as an input. Before its first
    run it is to run anyway: the runtime has nothing registered that could change, and the model has."""

    def shown(machine: Any) -> Value:
        node = machine.node[n]
        return " ".join(str(d) for d in range(3) if node.cause[d]) if node.ran else ""

    return shown


def live(n: int) -> Derived:
    return lambda machine: machine.node[n].live()


def reads(machine: Any) -> Value:
    return None if machine.body is None else machine.body.node


def idle_but_for_passes(machine: Any) -> bool:
    if machine.body is not None or any(node.runnable(machine) for node in machine.node):
        return False
    return not any(node.holds_idle(machine) for node in machine.node)


DERIVED: Mapping[str, Derived] = {
    "causes of node 0": causes(0),
    "causes of node 1": causes(1),
    "node 0 is live": live(0),
    "node 1 is live": live(1),
    "reads": reads,
    "looked at in time": lambda machine: machine.what_is_due_has_a_wake(),
    "idle but for passes": idle_but_for_passes,
}
FIELDS = (*SEEN, *DERIVED)


class SessionLooker:
    """Looks at the nodes of a scheduler and at their data."""

    def __init__(
        self, scheduler: Scheduler, nodes: Sequence[Node], data: Sequence[Document], tick: int, hold_passes: int
    ) -> None:
        self.scheduler = scheduler
        self.nodes = nodes
        self.data = data
        self.tick = tick
        self.hold_passes = hold_passes

    def seen(self, now: float, reading: int | None) -> Observation:
        scheduler = self.scheduler
        visible = [scheduler.replica.visible(document) for document in self.data]
        values: list[Value] = [value if isinstance(value, int) else None for value in visible]
        return (
            *values,
            scheduler.present_pass is not None,
            scheduler.runner.in_flight is not None,
            *(value for node in self.nodes for value in self.of(node, now)),
            *(self.causes(n, node) for n, node in enumerate(self.nodes)),
            *(node.live for node in self.nodes),
            reading,
            all(self.in_time(node, now) for node in self.nodes),
            self.idle_but_for_passes(now),
        )

    def of(self, node: Node, now: float) -> tuple[Value, ...]:
        gates, present = node.gates, self.scheduler.present_pass
        deadlines = (gates.debounce_ready_at, gates.throttle_ready_at, gates.backoff_until)
        return (
            STATUS[node.status],
            node.runs > 0,
            node.runs_in(present.id) if present is not None else 0,
            *(self.left(deadline, now) for deadline in deadlines),
            self.ticks(gates.backoff_step_ms) if gates.backoff_streak else 0,
            min(gates.hold_passes, self.hold_passes),
            self.left(gates.echo_backoff_until, now),
        )

    def causes(self, n: int, node: Node) -> str:
        """What else a node has as an input counts as the document that it reads."""
        if not node.runs:
            return ""
        names = {document.id: str(d) for d, document in enumerate(self.data)}
        return " ".join(sorted({names.get(cause.address.entity.id, str(n)) for cause in node.causes}))

    def in_time(self, node: Node, now: float) -> bool:
        scheduler = self.scheduler
        if not wanted(node) or scheduler.tick_queued or scheduler.present_pass is not None:
            return True
        return scheduler.wake_at is not None and scheduler.wake_at <= max(now, node.gates.eligible_at)

    def idle_but_for_passes(self, now: float) -> bool:
        """What the scheduler says, or would say after a pass that finds nothing to run."""
        scheduler = self.scheduler
        if scheduler.runner.in_flight is not None:
            return False
        if not scheduler.tick_queued and scheduler.present_pass is None:
            return scheduler.is_idle()
        due = [node for node in self.nodes if wanted(node)]
        return all(node.gates.closed(now) and holds_until(node, self.hold_passes) <= now for node in due)

    def left(self, deadline: float, now: float) -> int | str:
        return self.ticks(max(0.0, deadline - now))

    def ticks(self, duration: float) -> int | str:
        """A duration in the model's unit; a part of one is shown in ms, and differs from every whole."""
        whole, rest = divmod(duration, self.tick)
        return int(whole) if rest == 0 else f"{duration:g} ms"
