"""Traces that are kept: a violation that is known, replayed and still a violation."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from quiesce_model.language.machine import MARK, Machine, PropertyInfo, Step, apply, copy, load, steps
from quiesce_model.language.outcome import Blocked, Fault

from .formats.itf import dumps, read, trace_of
from .problems import Problem
from .trace import Disagreement, Trace, replay

NO_DEADLOCK = "no_deadlock"
"""The property that something is possible in every state that is not terminal."""


def keep(trace: Trace, path: Path, source: str | None = None) -> None:
    """Write a trace. ``source`` is the name by which its machine is found."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(trace, source), encoding="utf-8")


def load_witness(path: Path, machine: Machine) -> Trace:
    """The kept trace, if it is one of this machine at these constants. Raises :class:`Problem` if it is
    not.
    """
    if not path.is_file():
        raise Problem("there is no such witness", file=str(path))
    document = read(path)
    for what, kept, now in (
        ("constants", dict(document.constants), machine.constants_),
        ("rules switched off", sorted(document.without), sorted(machine.without_)),
    ):
        if kept != now:
            raise Problem(f"the witness has other {what} than the check", file=str(path))
    try:
        return trace_of(document, type(machine))
    except Problem as problem:
        raise problem.at(str(path)) from None


def why_stale(trace: Trace, property: str) -> str:
    """What a kept trace no longer shows; empty if it is possible and breaks the property still."""
    if trace.failure is None or trace.failure.property != property:
        kept = trace.failure.property if trace.failure else "no failure"
        return f"it shows {kept}, not {property}"
    try:
        run = replay(trace.machine, trace.steps)
    except Disagreement as difference:
        return str(difference)
    if still_fails(run, property, trace.failure.attempted):
        return ""
    return f"all its {trace.length} steps are possible, but {property} holds at their end"


def still_fails(run: Trace, property: str, attempted: Step | None = None) -> bool:
    """Whether plain Python says that the property fails at the end of a run."""
    last = copy(run.machine)
    load(last, run.states[-1])
    if attempted is not None:
        return came_to(last, attempted) is Fault
    if property == NO_DEADLOCK:
        return all(came_to(last, step) is not None for step in steps(last))
    method = getattr(last, property)
    info = getattr(method, MARK, None)
    try:
        if isinstance(info, PropertyInfo) and info.kind == "step":
            before = copy(run.machine)
            load(before, run.states[-2])
            return not method(before, **arguments(method, run.steps[-1]))
        return not method()
    except Fault:
        return True


def arguments(method: Any, step: Step) -> dict[str, Any]:
    """The step's arguments that a step property asks for."""
    wanted = signature(method).parameters
    return {name: value for name, value in step.args if name in wanted}


def came_to(machine: Machine, step: Step) -> type[Exception] | None:
    """What an attempt comes to, from the machine's state, which it leaves as it is: None is a step."""
    tried = copy(machine)
    try:
        apply(tried, step)
    except Blocked:
        return Blocked
    except Fault:
        return Fault
    return None
