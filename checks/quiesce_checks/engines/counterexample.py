"""What the solver found, as a run of the Machine itself: replayed under plain Python before it is shown."""

from __future__ import annotations

from inspect import signature
from typing import Any

from quiesce_model.language.machine import Machine, Step, apply, copy, load, state, unbounded
from quiesce_model.language.outcome import Blocked, Fault

from ..relation.relation import Exit, Property, Relation
from ..relation.terms import BOOL, Term, evaluate
from ..trace import Disagreement, Failure, Trace, saturate
from .built_in import NO_FAULT
from .unrolling import Run


def machine_of(relation: Relation, run: Run, unchecked: tuple[str, ...] = ()) -> Machine:
    """The relation's machine with the constants of a run; ``unchecked`` names assumptions they may break."""
    given = relation.machine
    flags = {term.data for term in relation.constants if term.sort is BOOL}
    found: dict[str, Any] = {name: bool(value) if name in flags else value for name, value in run.constants}
    made = type(given)(without=given.without_, unchecked=given.unchecked_ + unchecked, **(given.constants_ | found))
    return unbounded(made) if relation.reading == "proved" else made


def steps_of(relation: Relation, run: Run) -> tuple[Step, ...]:
    """The steps by name, an ``elapse`` with its duration."""
    found: list[Step] = []
    for action, inputs in zip(run.actions, run.inputs, strict=True):
        step = relation.actions[action].step
        given = tuple((name.rpartition(".")[2], value) for name, value in inputs)
        found.append(Step(step.action, given) if given else step)
    return tuple(found)


def limits_of(relation: Relation) -> tuple[int | None, ...]:
    """Where each leaf saturates in this reading: ages of an explored relation, nothing in a proved one."""
    points: dict[int, int] = {}
    if relation.reading == "explored":
        for clock in relation.clocks:
            points[clock.variable] = int(evaluate(clock.saturation, no_variable))
    return tuple(points.get(position) for position in range(len(relation.variables)))


def no_variable(name: str) -> int:
    raise ValueError(f"an explored relation has numbers for all constants, but {name} is none")


def replayed(relation: Relation, run: Run, machine: Machine, start: tuple[int, ...] | None = None) -> Trace:
    """The run as plain Python takes it: from the machine's initial state, or from any state given as
    ``start``.

    Raises :class:`~..trace.Disagreement` where a step is not possible or leads elsewhere than the solver
    says.
    """
    runner = copy(machine)
    if start is not None:
        load(runner, start)
    limits = limits_of(relation)
    steps = steps_of(relation, run)
    states = [saturate(state(runner), limits)]
    agree(relation, states[0], run.states[0], "the initial state")
    for position, step in enumerate(steps):
        try:
            apply(runner, step)
        except (Blocked, Fault) as outcome:
            raise Disagreement(
                f"{relation.name}: the solver takes step {position + 1}, {step}; plain Python says: {outcome}"
            ) from None
        states.append(saturate(state(runner), limits))
        load(runner, states[-1])
        agree(relation, states[-1], run.states[position + 1], f"step {position + 1}, {step}")
    return Trace(runner, tuple(states), steps)


def agree(relation: Relation, python: tuple[int, ...], solver: tuple[int, ...], where: str) -> None:
    for variable, ours, theirs in zip(relation.variables, python, solver, strict=True):
        if ours != theirs:
            raise Disagreement(
                f"{relation.name}: after {where}, {variable.name} is {ours} under plain Python"
                f" and {theirs} in the solver's run"
            )


def violation(relation: Relation, run: Run, judged: Property, unchecked: tuple[str, ...] = ()) -> Trace:
    """The run as a trace that ends in the failure of ``judged``, each step and the failure seen by Python."""
    machine = machine_of(relation, run, unchecked)
    if judged.name == NO_FAULT:
        return faulting(relation, run, judged, machine)
    trace = replayed(relation, run, machine)
    before = copy(machine)
    if judged.steps is not None:
        load(before, trace.states[-2])
    if python_says(trace.machine, before, judged, trace.steps[-1] if trace.steps else None) is True:
        raise Disagreement(
            f"{relation.name}: {judged.name} fails in the solver's run of {trace.length} steps"
            " and holds under plain Python"
        )
    return Trace(
        machine,
        trace.states,
        trace.steps,
        Failure(judged.name, judged.text, judged.site),
        notes=notes_of(run),
    )


def witness(relation: Relation, run: Run, judged: Property, unchecked: tuple[str, ...] = ()) -> Trace:
    """The run to a state in which ``judged`` holds, replayed."""
    machine = machine_of(relation, run, unchecked)
    trace = replayed(relation, run, machine)
    if python_says(trace.machine, machine, judged, None) is False:
        raise Disagreement(
            f"{relation.name}: {judged.name} holds after the solver's {trace.length} steps and not under plain Python"
        )
    return Trace(machine, trace.states, trace.steps, notes=notes_of(run))


def python_says(after: Machine, before: Machine, judged: Property, step: Step | None) -> bool | None:
    """Whether a property holds under plain Python; None for one that no method of the machine states."""
    method = getattr(after, judged.name, None)
    if method is None:
        return None
    arguments: dict[str, Any] = {}
    if judged.steps is not None and step is not None:
        wanted = list(signature(method).parameters)
        arguments = {name: value for name, value in step.args if name in wanted}
    try:
        return bool(method(before, **arguments) if judged.steps is not None else method())
    except Fault:
        return False


def faulting(relation: Relation, run: Run, judged: Property, machine: Machine) -> Trace:
    """A run to a state in which an attempt faults; it is made under plain Python, and has to fault."""
    trace = replayed(relation, run, machine)
    found = fault_in(relation, run)
    if found is not None:
        attempted, exit = found
        text = fault_of(relation, copy(trace.machine), attempted)
        failure = Failure(judged.name, f"{attempted} faults: {text}", exit.site, attempted)
        return Trace(machine, trace.states, trace.steps, failure, notes=notes_of(run))
    values = readings(relation, run, trace.states[-1])
    outside = [
        v.name
        for v, value in zip(relation.variables, trace.states[-1], strict=True)
        if not (
            evaluate(v.low, values.__getitem__) <= value
            and (v.high is None or value <= evaluate(v.high, values.__getitem__))
        )
    ]
    text = f"starts outside its domain: {', '.join(outside)}"
    return Trace(machine, trace.states, trace.steps, Failure(judged.name, text, judged.site), notes=notes_of(run))


def fault_in(relation: Relation, run: Run) -> tuple[Step, Exit] | None:
    """An action whose attempt goes wrong in the last state of a run, and how."""
    values = readings(relation, run, run.states[-1])
    for action in relation.actions:
        for exit in action.exits:
            if exit.kind != "blocked" and holds(exit.condition, values):
                return action.step, exit
    return None


def fault_of(relation: Relation, machine: Machine, attempted: Step) -> str:
    """What plain Python says of an attempt that the solver calls a fault."""
    try:
        apply(machine, attempted)
    except (Fault, ZeroDivisionError) as fault:
        return str(fault)
    except Blocked as blocked:
        raise Disagreement(
            f"{relation.name}: {attempted} faults for the solver, but under plain Python: {blocked}"
        ) from None
    raise Disagreement(f"{relation.name}: {attempted} faults for the solver and not under plain Python")


def readings(relation: Relation, run: Run, leaves: tuple[int, ...]) -> dict[str, int | bool]:
    """What each name stands for in a state: constants and variables."""
    values: dict[str, int | bool] = dict(run.constants)
    for term in relation.constants:
        if term.sort is BOOL:
            values[term.data] = bool(values[term.data])
    for variable, leaf in zip(relation.variables, leaves, strict=True):
        if variable.term.op == "var":
            values[variable.term.data] = bool(leaf) if variable.term.sort is BOOL else leaf
    return values


def holds(condition: Term, values: dict[str, int | bool]) -> bool:
    return bool(evaluate(condition, values.__getitem__))


def notes_of(run: Run) -> tuple[str, ...]:
    """The values of symbolic constants, said once."""
    if not run.constants:
        return ()
    return ("constants: " + ", ".join(f"{name}={value}" for name, value in run.constants),)


def from_anywhere(relation: Relation, run: Run, judged: Property, unchecked: tuple[str, ...] = ()) -> Trace:
    """A counterexample to induction: the run from its own first state, reachable or not, replayed."""
    machine = machine_of(relation, run, unchecked)
    trace = replayed(relation, run, machine, run.states[0])
    found = fault_in(relation, run) if judged.name == NO_FAULT else None
    text = f"{found[0]} faults" if found is not None else judged.text
    failure = Failure(judged.name, text, judged.site, None if found is None else found[0])
    return Trace(machine, trace.states, trace.steps, failure, notes=notes_of(run))
