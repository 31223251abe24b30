"""Why a line of a log is no step of the model: for each action that it could have been, the guard that forbids it, or
the places where log and model differ."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from quiesce_model.language.machine import Machine, Step, copy, load, state
from quiesce_model.language.outcome import Blocked, Fault

from ..explain import Part as Condition
from ..explain import parts as failing_parts
from ..explain import spell
from ..relation.relation import Site
from .mapping import Did, Part
from .search import Alive, Search
from .seen import Differs, State


@dataclass(frozen=True)
class Guard:
    """A guard that forbids a step: its rule, if it has one, where it stands, and what of it fails."""

    rule: str | None
    site: Site | None
    conditions: tuple[Condition, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Tried:
    """One step that a line could have been, and what is in its way: a guard, differences, or a fault of the model.

    ``step`` is None for a mere observation. ``states`` counts the states alive in which it is so.
    """

    step: Step | None
    guard: Guard | None = None
    differs: tuple[Differs, ...] = ()
    fault: str = ""
    states: int = 1


@dataclass(frozen=True)
class Refusal:
    """Why no state is left after a line: the states that were alive at the part of it that failed, and what each
    attempt came to. ``hidden`` are hidden steps that no state alive could take before it."""

    states: tuple[State, ...]
    tried: tuple[Tried, ...]
    hidden: tuple[Tried, ...] = ()


def refusal(search: Search, options: Iterable[tuple[Part, ...]]) -> Refusal:
    """What to say of a line that no state survives. ``search`` is as it was before the line."""
    states: dict[State, None] = {}
    tried: list[Tried] = []
    for parts in options:
        whole, ways = search.whole, search.ways
        for part in parts:
            after: tuple[dict[State, State], Alive] = search.after(whole, ways, part)
            if not after[0]:
                states.update(dict.fromkeys(whole.values()))
                tried += [one for state in whole.values() for one in attempts(search, state, part)]
                break
            whole, ways = after
    hidden = [attempt(search, one, step, {}) for one in search.alive for step in search.hidden]
    return Refusal(tuple(states), counted(tried), counted([one for one in hidden if one.guard is not None]))


def counted(tried: Iterable[Tried]) -> tuple[Tried, ...]:
    """Attempts that came to the same in several states, as one."""
    found: dict[Any, Tried] = {}
    for one in tried:
        key = (one.step, one.guard, repr(one.differs), one.fault)
        before = found.get(key)
        found[key] = one if before is None else replace(before, states=before.states + 1)
    return tuple(found.values())


def attempts(search: Search, one: State, part: Part) -> Iterable[Tried]:
    if not isinstance(part, Did):
        yield Tried(None, differs=tuple(search.looking.differences(one, part.seen)))
        return
    for step in search.known_steps(part):
        yield attempt(search, one, step, part.seen)


def attempt(search: Search, one: State, step: Step, seen: dict[str, Any]) -> Tried:
    runner = copy(search.looking.machine)
    guards: list[Guard] = []

    def require(condition: bool, rule: str | None = None) -> None:
        if not condition and (rule is None or rule not in runner.without_):
            guards.append(guard_at(inspect.currentframe(), rule))
            raise Blocked(rule)

    vars(runner)["require"] = require
    load(runner, one)
    try:
        getattr(runner, step.action)(**dict(step.args))
    except Blocked as blocked:
        return Tried(step, guards[-1] if guards else Guard(blocked.rule, None))
    except Fault as fault:
        return Tried(step, fault=str(fault))
    return Tried(step, differs=tuple(search.looking.differences(state(runner), seen)))


def guard_at(here: FrameType | None, rule: str | None) -> Guard:
    """The guard that has just failed, with what of it fails and the values there. ``here`` is the frame that the model
    called."""
    frame = here.f_back if here is not None else None
    if frame is None:
        return Guard(rule, None)
    file, line = frame.f_code.co_filename, frame.f_lineno
    site = Site(file, line, 0)
    call = call_at(file, line)
    if call is None or not call.args:
        return Guard(rule, site)
    condition = call.args[0]
    names = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    try:
        return Guard(rule, site, tuple(failing_parts(condition, names, 0)), spell(condition))
    except Exception:  # an explanation that cannot be had is left out; the guard's place is told all the same
        return Guard(rule, site, (), spell(condition))


def call_at(file: str, line: int) -> ast.Call | None:
    """The call of ``require`` that stands at a line of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "require"
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ):
            return node
    return None


def machine_in(machine: Machine, one: State) -> Machine:
    """A machine in that state."""
    made = copy(machine)
    load(made, one)
    return made
