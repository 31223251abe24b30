"""The runtime's bounded table of pairs, beside the model ``BreakerTable``.

Steps are handed to the breaker as they are; what forms them is the classifier's affair. The model may keep a pair that
has ended until its housekeeping comes; the runtime clears it before it does anything else. Neither can be told from
outside, so a pair that has ended is shown as not held, by both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiesce.address import Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_records import PairState
from quiesce.scheduler.echo import Step as EchoStep
from quiesce.scheduler.echo import StepKind
from quiesce_model.breaker_table import BreakerTable
from quiesce_model.language.machine import Step, leaves

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Refused, Value
from .breaker import Lines, Named, policy_of

PARTS = ("echoes", "opened", "tripped", "backoff", "deadline", "since_echo", "settling")

ACTIONS: dict[str, tuple[str, ...]] = {
    "run": ("a",),
    "echo": ("a", "d"),
    "converge": ("a", "d"),
    "echo_and_converge": ("a", "d", "e"),
    "forget": ("a", "d"),
    "retire": ("a",),
}

ABSENT: tuple[Value, ...] = (0, -1, False, 0, 0, -1, -1)


def fields_of(actions: int, documents: int) -> tuple[str, ...]:
    pairs = [(a, d) for a in range(actions) for d in range(documents)]
    return (
        *(f"node[{a}].gate" for a in range(actions)),
        *(f"node[{a}].pair[{d}].{part}" for a, d in pairs for part in PARTS),
        *(f"rank of node[{a}].pair[{d}]" for a, d in pairs),
    )


class TableSubject:
    """``actions`` registered actions over ``documents`` documents each."""

    def __init__(self, tick: int, actions: int, documents: int) -> None:
        self.tick = tick
        self.size = (actions, documents)

    def describe(self) -> Description:
        return Description(ACTIONS, fields_of(*self.size))

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        actions, documents = self.size
        policy = policy_of(
            constants,
            self.tick,
            max_echo_pairs=constants["capacity"],
            evict_untripped_first=constants["evict_untripped_first"],
        )
        self.breaker = RemoteEchoBreaker(Lines(), policy)
        # One label for all: what tells actions apart is the object.
        self.actions: list[Named] = [Named() for _ in range(actions)]
        self.documents = [[Entity("space", "space", f"{a}.{d}") for d in range(documents)] for a in range(actions)]

    def step(self, step: Step, at: int) -> None:
        args: dict[str, int] = dict(step.args)
        match step.action:
            case "run":
                if self.breaker.gate(self.actions[args["a"]], at) is not None:
                    raise Refused("the gate is closed")
            case "echo":
                self.land(at, args["a"], (args["d"], StepKind.ECHO))
            case "converge":
                self.land(at, args["a"], (args["d"], StepKind.CONVERGENCE))
            case "echo_and_converge":
                self.land(at, args["a"], (args["d"], StepKind.ECHO), (args["e"], StepKind.CONVERGENCE))
            case "forget":
                self.breaker.housekeep(at)
            case _:
                self.breaker.retire(self.actions[args["a"]], at)

    def land(self, at: int, a: int, *kinds: tuple[int, StepKind]) -> None:
        steps = [EchoStep(self.documents[a][d], kind, at) for d, kind in kinds]
        self.breaker.observe(self.actions[a], steps, at)

    def observe(self, at: int) -> Observation:
        held: dict[Entity, PairState] = {}
        for pair in self.breaker.pairs():  # the oldest first
            if not self.has_ended(pair, at):
                held[pair.document] = pair
        rank = {document: n + 1 for n, document in enumerate(held)}
        gates = [self.breaker.gate(action, at) for action in self.actions]
        seen: list[Value] = [0 if gate is None else self.ticks(gate - at) for gate in gates]
        for row in self.documents:
            for document in row:
                seen.extend(self.shown(held[document], at) if document in held else ABSENT)
        seen.extend(rank.get(document, 0) for row in self.documents for document in row)
        return tuple(seen)

    def has_ended(self, pair: PairState, at: int) -> bool:
        if pair.tripped and at - pair.last_echo > self.breaker.policy.echo_quiet_reset_ms:
            return True
        return pair.settles_after is not None and at > pair.settles_after

    def shown(self, pair: PairState, at: int) -> tuple[Value, ...]:
        deadline, settling = pair.deadline, pair.settles_after
        return (
            0 if pair.tripped else pair.echoes,
            -1 if pair.tripped else self.ticks(at - pair.window_opened),
            pair.tripped,
            self.ticks(pair.step_ms),
            0 if deadline is None or deadline <= at else self.ticks(deadline - at),
            self.ticks(at - pair.last_echo) if pair.tripped else -1,
            -1 if settling is None else self.ticks(at - (settling - self.breaker.policy.echo_backoff_max_ms)),
        )

    def ticks(self, duration: float) -> int:
        return round(duration) // self.tick if round(duration) % self.tick == 0 else -2


class Seen:
    """What the model shows of one pair's part, or of its rank, with what has ended left out."""

    def __init__(self, a: int, d: int, part: str) -> None:
        self.a, self.d, self.part = a, d, part

    def __call__(self, machine: Any) -> Value:
        pair = machine.node[self.a].pair[self.d]
        live = pair.held() and not pair.is_quiet(machine) and not pair.is_settled(machine)
        if self.part == "rank":
            return self.rank(machine) if live else 0
        if not live:
            return ABSENT[PARTS.index(self.part)]
        value = getattr(pair, self.part)
        return value if isinstance(value, int) else value.items_[0]

    def rank(self, machine: Any) -> int:
        """How many live pairs are no younger."""
        mine = machine.node[self.a].place[self.d]
        return sum(
            1
            for node in machine.node
            for place, pair in zip(node.place, node.pair, strict=True)
            if 0 < place <= mine and not pair.is_quiet(machine) and not pair.is_settled(machine)
        )


def table_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """The table of pairs at a scope."""
    model = BreakerTable(**constants)
    actions, documents = model.actions, model.documents
    derived = {
        name: Seen(a, d, part)
        for a in range(actions)
        for d in range(documents)
        for part in (*PARTS, "rank")
        for name in (f"node[{a}].pair[{d}].{part}" if part != "rank" else f"rank of node[{a}].pair[{d}]",)
    }
    order = [name for name in fields_of(actions, documents) if name in derived]
    hidden = {
        leaf.name: "the table's places are shown as ranks, and the deadlines of evicted pairs through the gate"
        for leaf in leaves(model)
        if ".place[" in leaf.name or leaf.name.endswith(".orphan")
    }
    return Pairing(
        name="table",
        machine=lambda: BreakerTable(**constants),
        subject=lambda: TableSubject(tick, actions, documents),
        seen=tuple(f"node[{a}].gate" for a in range(actions)),
        hidden=hidden,
        derived={name: derived[name] for name in order},
        refusable=frozenset({"BRK-18"}),
        tick=tick,
        implementation="quiesce.scheduler.breaker",
    )
