"""A model and a subject as a Hypothesis state machine, for those who already test with Hypothesis.

    TestCounter = state_machine(counter_pairing()).TestCase

Hypothesis then chooses steps that the model allows and lets time pass to the edges that matter, compares after each,
and shrinks what it finds. With an adapter it is

    TestGate = state_machine(adapter_pairing(Gate(debounce=2), "node gate_adapter.js")).TestCase
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from quiesce_model.language.machine import ActionInfo, Step, all_marked, is_timed

from .drive import ELAPSE, Pair
from .pairing import Pairing
from .stdio import StdioSubject
from .walk import Edges, Possible


def state_machine(pairing: Pairing) -> type[RuleBasedStateMachine]:
    """A state machine with one rule for each action of the model, and one for the passing of time. A subject in another
    process is started once, and reset for each example."""
    pairing.check()
    first = pairing.subject()
    shared = first if isinstance(first, StdioSubject) else None
    edges = Edges(pairing.model)
    can = Possible(pairing)

    class Lockstep(RuleBasedStateMachine):
        """Model and subject side by side."""

        def __init__(self) -> None:
            super().__init__()
            self.pair = Pair(pairing, shared)
            self.judge(self.pair.reset())

        def judge(self, turn: Any) -> None:
            assert turn.agrees, (
                f"after {turn.step} at {turn.at} ms the model shows {shown(pairing, turn.model)}, "
                f"the subject {shown(pairing, turn.subject)}"
            )

        def choices(self, action: str) -> list[Step]:
            return [step for step in can.now(self.pair.machine) if step.action == action]

    def action_rule(name: str) -> Any:
        def take(self: Lockstep, data: st.DataObject) -> None:
            self.judge(self.pair.take(data.draw(st.sampled_from(self.choices(name)), label=name)))

        take.__name__ = name
        return precondition(lambda self: bool(self.choices(name)))(rule(data=st.data())(take))

    for name, info in all_marked(type(pairing.model)):
        if isinstance(info, ActionInfo):
            setattr(Lockstep, name, action_rule(name))
    if is_timed(pairing.model):

        def elapse(self: Lockstep, data: st.DataObject) -> None:
            distance, _ = data.draw(st.sampled_from(edges.distances(self.pair.machine)), label="elapse")
            self.judge(self.pair.take(Step(ELAPSE, (("d", distance),))))

        timed = precondition(lambda self: bool(edges.distances(self.pair.machine)))(rule(data=st.data())(elapse))
        setattr(Lockstep, ELAPSE, timed)
    Lockstep.__name__ = f"{pairing.name}_lockstep"
    return Lockstep


def shown(pairing: Pairing, answer: Any) -> str:
    if answer.kind != "done":
        return f"{answer.kind} ({answer.text})"
    return ", ".join(f"{name}={value}" for name, value in zip(pairing.fields, answer.seen, strict=True))
