"""From the index of a state to the shortest run that leads there, confirmed by the Machine itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from quiesce_model.language.machine import Step, apply, load
from quiesce_model.language.outcome import Blocked, Fault

from ..relation.terms import evaluate
from ..trace import Disagreement, Failure, Trace, replay
from .interpreted import Expand, readable
from .program import NO_DEADLOCK, Program, Watch, faults
from .search import States

Confirm = Callable[[Trace, tuple[int | None, ...]], Trace]


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
        return trace if self.confirm is None else self.confirm(trace, saturation(self.program))

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
                    return Failure("no_fault", text, leave.site, action.step)
        raise Disagreement(f"{self.program.relation.name}: no action has a fault in {state}")

    def values(self, state: tuple[int, ...]) -> Callable[[str], int | bool]:
        table: dict[str, int | bool] = {}
        for variable, value in zip(self.program.relation.variables, state, strict=True):
            table[str(variable.term.data)] = bool(value) if variable.term.sort == "bool" else value
        return table.__getitem__


FAULTS = {
    "domain": "a value leaves its domain",
    "absent": "an absent value is used",
    "index": "an index is out of range",
    "division": "a division by zero",
}


def saturation(program: Program) -> tuple[int | None, ...]:
    """Per leaf, where an age stops counting."""
    return tuple(
        int(variable.high.data) if variable.leaf.kind == "age" and variable.high is not None else None
        for variable in program.relation.variables
    )


def by_machine(trace: Trace, limits: tuple[int | None, ...]) -> Trace:
    """Let the Machine take the steps, and hold its states, its faults and its properties against the engine's.

    Raises :class:`Disagreement` where they differ.
    """
    taken = replay(trace.machine, trace.steps, limits)
    name = type(trace.machine).__name__
    for position, (mine, its) in enumerate(zip(trace.states, taken.states, strict=True)):
        if mine != its:
            where = "initially" if position == 0 else f"after step {position}, {trace.steps[position - 1]}"
            raise Disagreement(f"{name}: {where} the engine has {mine}, plain Python has {its}")
    failure = trace.failure
    if failure is not None and failure.attempted is not None:
        load(taken.machine, taken.states[-1])
        try:
            apply(taken.machine, failure.attempted)
        except Fault:
            load(taken.machine, taken.states[-1])
        except Blocked as outcome:
            raise Disagreement(f"{name}: {failure.attempted} is no fault under plain Python but {outcome}") from None
        else:
            raise Disagreement(f"{name}: {failure.attempted} is no fault under plain Python: {failure.text}")
    return Trace(taken.machine, trace.states, trace.steps, failure, trace.loop, trace.notes)
