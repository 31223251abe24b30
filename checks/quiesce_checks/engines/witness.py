"""From the index of a state to the shortest run that leads there, confirmed by the Machine itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from quiesce_model.language.machine import Machine, Step, apply, copy, judge, load, steps
from quiesce_model.language.outcome import Blocked, Fault

from ..relation.build import saturation_limits
from ..relation.terms import BOOL, evaluate
from ..trace import Disagreement, Failure, Trace, replay
from .built_in import NO_DEADLOCK, NO_FAULT
from .interpreted import Expand, readable
from .program import Program, Watch, faults
from .search import States

Confirm = Callable[[Trace, Watch, tuple[int | None, ...]], Trace]


class Witnesses:
    """Builds traces of one program's search; ``confirm`` replays them (None: there is no machine to ask)."""

    def __init__(self, program: Program, states: States, confirm: Confirm | None) -> None:
        self.program = program
        self.states = states
        self.confirm = confirm
        self.expand: Expand = readable(program).expand

    def trace(self, watch: Watch, at: int) -> Trace:
        """The shortest run on which ``watch`` strikes; ``at`` is the state where it did.

        Raises :class:`Disagreement` if the Machine does not go that way.
        """
        path = self.path(at)
        steps = [self.step_between(before, after) for before, after in pairwise(path)]
        relation = self.program.relation
        failure: Failure | None = None
        if watch.kind == "deadlock":
            failure = Failure(NO_DEADLOCK, "nothing can happen here, and the machine does not call it terminal")
        elif watch.kind == "fault":
            failure = self.fault(path[-1])
        elif watch.declared is not None and watch.kind == "step":
            step, after = self.broken_step(watch, path[-1])
            steps.append(step)
            path.append(after)
        if failure is None and watch.declared is not None and watch.violation:
            failure = Failure(watch.name, watch.declared.text, watch.declared.site)
        trace = Trace(relation.machine, tuple(path), tuple(steps), failure)
        return trace if self.confirm is None else self.confirm(trace, watch, saturation_limits(relation))

    def path(self, at: int) -> list[tuple[int, ...]]:
        """The states from the initial one to ``at``."""
        path = [self.states.leaves(at)]
        while at:
            at = self.states.parent(at)
            path.append(self.states.leaves(at))
        return path[::-1]

    def step_between(self, before: tuple[int, ...], after: tuple[int, ...]) -> Step:
        for move, new in self.expand(before):
            if new == after:
                return self.program.relation.actions[move].step
        raise Disagreement(f"{self.program.relation.name}: no action leads from {before} to {after}")

    def broken_step(self, watch: Watch, state: tuple[int, ...]) -> tuple[Step, tuple[int, ...]]:
        """The step from ``state`` that breaks a step property."""
        judged = watch.declared.steps if watch.declared is not None else None
        values = self.values(state)
        for move, new in self.expand(state):
            if judged is not None and move in judged and not evaluate(judged[move], values):
                return self.program.relation.actions[move].step, new
        raise Disagreement(f"{self.program.relation.name}.{watch.name}: no step from {state} breaks it")

    def fault(self, state: tuple[int, ...]) -> Failure:
        """What goes wrong in ``state``, and in which attempt."""
        values = self.values(state)
        for action in self.program.relation.actions:
            for leave in faults(action):
                if evaluate(leave.condition, values):
                    text = f"{leave.place}: {FAULTS[leave.kind]}"
                    return Failure(NO_FAULT, text, leave.site, action.step)
        raise Disagreement(f"{self.program.relation.name}: no action has a fault in {state}")

    def values(self, state: tuple[int, ...]) -> Callable[[str], int | bool]:
        table: dict[str, int | bool] = {}
        for variable, value in zip(self.program.relation.variables, state, strict=True):
            table[str(variable.term.data)] = bool(value) if variable.term.sort is BOOL else value
        return table.__getitem__


FAULTS = {
    "domain": "a value leaves its domain",
    "absent": "an absent value is used",
    "index": "an index is out of range",
    "division": "a division by zero",
}


def by_machine(trace: Trace, watch: Watch, limits: tuple[int | None, ...]) -> Trace:
    """Let the Machine take the steps, and hold its states, and what it says at the end, against the engine's.

    Raises :class:`Disagreement` where they differ.
    """
    taken = replay(trace.machine, trace.steps, limits)
    name = type(trace.machine).__name__
    for position, (mine, its) in enumerate(zip(trace.states, taken.states, strict=True)):
        if mine != its:
            where = "initially" if position == 0 else f"after step {position}, {trace.steps[position - 1]}"
            raise Disagreement(f"{name}: {where} the engine has {mine}, plain Python has {its}")
    objection = ENDINGS[watch.kind](taken.machine, trace, watch)
    load(taken.machine, trace.states[-1])
    if objection:
        last = f"after {len(trace.steps)} steps, in {trace.states[-1]}"
        raise Disagreement(f"{name}.{watch.name}: {last}, plain Python says otherwise: {objection}")
    return Trace(taken.machine, trace.states, trace.steps, trace.failure, trace.loop, trace.notes)


def holds_here(machine: Machine, trace: Trace, watch: Watch) -> str:
    """An objection to: the property does not hold in the last state."""
    return "" if not verdict_on_state(machine, trace, watch) else "the property holds"


def fails_here(machine: Machine, trace: Trace, watch: Watch) -> str:
    """An objection to: this is a state that was to be reached."""
    return "" if verdict_on_state(machine, trace, watch) else "this is no such state"


def verdict_on_state(machine: Machine, trace: Trace, watch: Watch) -> bool:
    load(machine, trace.states[-1])
    try:
        return judge(machine, watch.name)
    except Fault:
        return False


def step_holds(machine: Machine, trace: Trace, watch: Watch) -> str:
    """An objection to: the last step breaks the property."""
    before = copy(machine)
    load(before, trace.states[-2])
    load(machine, trace.states[-2])
    apply(machine, trace.steps[-1])  # not the saturated state: the property sees what the step left
    try:
        return "the property holds" if judge(machine, watch.name, before, trace.steps[-1]) else ""
    except Fault:
        return ""


def no_fault_here(machine: Machine, trace: Trace, watch: Watch) -> str:
    """An objection to: the attempt is a fault."""
    del watch
    load(machine, trace.states[-1])
    assert trace.failure is not None
    assert trace.failure.attempted is not None
    try:
        apply(machine, trace.failure.attempted)
    except Fault:
        return ""
    except Blocked as outcome:
        return f"{trace.failure.attempted} is {outcome}"
    return f"{trace.failure.attempted} is possible"


def not_stuck(machine: Machine, trace: Trace, watch: Watch) -> str:
    """An objection to: nothing is possible."""
    del watch
    for step in steps(machine):
        load(machine, trace.states[-1])
        try:
            apply(machine, step)
        except (Blocked, Fault):
            continue
        return f"{step} is possible"
    return ""


ENDINGS: dict[str, Callable[[Machine, Trace, Watch], str]] = {
    "invariant": holds_here,
    "reachable": fails_here,
    "step": step_holds,
    "fault": no_fault_here,
    "deadlock": not_stuck,
}
