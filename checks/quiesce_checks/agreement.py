"""Whether all readings of a model mean the same, state by state.

A model is read as plain Python, as the typed statement form, as terms, as native code and as formulas. Each reading
here answers the same two questions (what does this step come to, does this property hold), and :func:`differences`
asks them all about the same states. A difference is a bug of this tool, never of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from quiesce_model.language.machine import (
    Machine,
    PropertyInfo,
    Step,
    all_marked,
    apply,
    copy,
    judge,
    load,
    state,
)
from quiesce_model.language.outcome import Blocked, Fault

from .relation import terms as t
from .relation.build import Builder, relation, saturation_limits
from .relation.interpret import Interpreter
from .relation.relation import Relation
from .relation.terms import BOOL, Term
from .trace import saturate

State = tuple[int, ...]


@dataclass(frozen=True)
class Comes:
    """What an attempted step comes to: ``kind`` is ``step``, ``blocked`` or that of a fault; ``place`` names the rule
    or, for a domain that is left, the field; ``after`` is the state after a step."""

    kind: str
    place: str = ""
    after: State = ()


class Reading(Protocol):
    """One way to read a model."""

    name: str

    def comes_to(self, before: State, step: Step) -> Comes: ...

    def holds(self, name: str, now: State) -> bool: ...

    def holds_of(self, name: str, before: State, step: Step) -> bool | None:
        """Whether a step property holds of a step that is possible; None if it does not judge that action."""
        ...


@dataclass(frozen=True)
class Difference:
    """Two readings that do not mean the same."""

    first: str
    second: str
    state: State
    what: str
    answers: tuple[object, object]

    def __str__(self) -> str:
        a, b = self.answers
        return f"{self.what} from {self.state}: {self.first} says {a}, {self.second} says {b}"


class Plain:
    """The Machine itself under CPython, its ages saturated as in exploration."""

    name = "plain Python"

    def __init__(self, machine: Machine, limits: tuple[int | None, ...]) -> None:
        self.machine = copy(machine)
        self.before = copy(machine)
        self.limits = limits

    def comes_to(self, before: State, step: Step) -> Comes:
        load(self.machine, before)
        try:
            apply(self.machine, step)
        except Blocked as blocked:
            return Comes("blocked", blocked.rule or "")
        except Fault as fault:
            return Comes(fault.kind, fault.place if fault.kind == "domain" else "")
        return Comes("step", "", saturate(state(self.machine), self.limits))

    def holds(self, name: str, now: State) -> bool:
        load(self.machine, now)
        try:
            return judge(self.machine, name)
        except Fault:
            return False

    def holds_of(self, name: str, before: State, step: Step) -> bool | None:
        info = dict(all_marked(type(self.machine)))[name]
        assert isinstance(info, PropertyInfo)
        if info.on and step.action not in info.on:
            return None
        load(self.before, before)
        load(self.machine, before)
        apply(self.machine, step)
        try:
            return judge(self.machine, name, self.before, step)
        except Fault:
            return False


class Form:
    """The typed statement form, interpreted."""

    name = "statement form"

    def __init__(self, machine: Machine, limits: tuple[int | None, ...]) -> None:
        self.builder = Builder(machine, "explored", ())
        self.machine = machine
        self.limits = limits
        self.kinds = {leaf.name: leaf.kind for leaf in self.builder.layout.leaves}

    def comes_to(self, before: State, step: Step) -> Comes:
        row = list(before)
        try:
            self.take(row, step)
        except Blocked as blocked:
            return Comes("blocked", blocked.rule or "")
        except Fault as fault:
            return Comes(fault.kind, fault.place if fault.kind == "domain" else "")
        return Comes("step", "", saturate(tuple(row), self.limits))

    def take(self, row: list[int], step: Step) -> None:
        if step.action == "elapse":
            distance = dict(step.args)["d"]
            for n, leaf in enumerate(self.builder.layout.leaves):
                if leaf.kind == "age" and row[n] >= 0:
                    row[n] += distance
                elif leaf.kind == "left":
                    row[n] = max(0, row[n] - distance)
            return
        kinds = {name: type(v) if isinstance(v, Enum | bool) else int for name, v in step.args}
        function = self.builder.elaborator.method(step.action, kinds).function
        runner = Interpreter(self.builder.layout, self.machine.constants_, row)
        runner.call(
            function,
            [runner.whole(), *(number_of(value) for _, value in self.ordered(function.parameters, step))],
        )

    def ordered(self, parameters: tuple[str, ...], step: Step) -> list[tuple[str, Any]]:
        given = dict(step.args)
        names = [slot.split(".", 1)[1] for slot in parameters]
        return [(name, given[name]) for name in names if name in given]

    def holds(self, name: str, now: State) -> bool:
        function = self.builder.elaborator.method(name, {}).function
        runner = Interpreter(self.builder.layout, self.machine.constants_, list(now))
        try:
            return bool(runner.call(function, [runner.whole()]))
        except Fault:
            return False

    def holds_of(self, name: str, before: State, step: Step) -> bool | None:
        info = dict(all_marked(type(self.machine)))[name]
        assert isinstance(info, PropertyInfo)
        if info.on and step.action not in info.on:
            return None
        row = list(before)
        self.take(row, step)
        method = getattr(type(self.machine), name)
        wanted = method.__code__.co_varnames[2 : method.__code__.co_argcount]
        given = {key: value for key, value in step.args if key in wanted}
        kinds = {key: type(v) if isinstance(v, Enum | bool) else int for key, v in given.items()}
        function = self.builder.elaborator.method(name, kinds, before=True).function
        runner = Interpreter(self.builder.layout, self.machine.constants_, row, list(before))
        args = [
            number_of(value) for _, value in self.ordered(function.parameters, Step(step.action, tuple(given.items())))
        ]
        try:
            return bool(runner.call(function, [runner.whole(), runner.whole(before=True), *args]))
        except Fault:
            return False


class Terms:
    """The relation's terms, evaluated."""

    name = "terms"

    def __init__(self, made: Relation) -> None:
        self.made = made
        self.names = [variable.name for variable in made.variables]
        self.flags = [variable.term.sort is BOOL for variable in made.variables]
        self.actions = {action.step: (n, action) for n, action in enumerate(made.actions)}
        self.orders = [
            list(t.walk([*(e.condition for e in a.exits), a.enabled, *a.updates.values()])) for a in made.actions
        ]

    def values(self, now: State) -> Mapping[str, int | bool]:
        return {n: bool(v) if f else v for n, v, f in zip(self.names, now, self.flags, strict=True)}

    def value(self, term: Term, now: State) -> int | bool:
        return t.evaluate(term, self.values(now).__getitem__)

    def reader(self, position: int, now: State) -> Callable[[Term], int | bool]:
        """The values of one action's terms, all worked out at once."""
        found = t.evaluate_in_order(self.orders[position], self.values(now).__getitem__)
        return lambda term: found[term.number]

    def comes_to(self, before: State, step: Step) -> Comes:
        position, action = self.actions[step]
        value = self.reader(position, before)
        for exit in action.exits:
            if value(exit.condition):
                return Comes(exit.kind, exit.place if exit.kind in ("blocked", "domain") else "")
        assert value(action.enabled), f"{step} takes no exit and is not enabled"
        after = list(before)
        for n, new in action.updates.items():
            after[n] = int(value(new))
        return Comes("step", "", tuple(after))

    def holds(self, name: str, now: State) -> bool:
        term = self.made.property_named(name).holds
        assert term is not None
        return bool(self.value(term, now))

    def holds_of(self, name: str, before: State, step: Step) -> bool | None:
        judged = self.made.property_named(name).steps
        assert judged is not None
        position, _ = self.actions[step]
        return bool(self.value(judged[position], before)) if position in judged else None


def readings(machine: Machine) -> tuple[Reading, ...]:
    """Plain Python, statement form and terms, ready to be asked."""
    made = relation(machine)
    limits = saturation_limits(made)
    return Plain(machine, limits), Form(machine, limits), Terms(made)


def states_of(made: Relation, most: int) -> list[State]:
    """Reachable states in breadth-first order by the terms alone, no more than ``most``."""
    reading = Terms(made)
    nothing: dict[str, int | bool] = {}
    first = tuple(int(t.evaluate(term, nothing.__getitem__)) for term in made.initial)
    found = {first: None}
    queue = [first]
    for now in queue:
        for step in reading.actions:
            comes = reading.comes_to(now, step)
            if comes.kind == "step" and comes.after not in found:
                if len(found) >= most:
                    return list(found)
                found[comes.after] = None
                queue.append(comes.after)
    return list(found)


def differences(made: Relation, asked: tuple[Reading, ...], states: Iterable[State]) -> Iterator[Difference]:
    """Every answer in which a reading differs from the first of ``asked``."""
    first, *others = asked
    for now in states:
        for action in made.actions:
            step = action.step
            answer = first.comes_to(now, step)
            for other in others:
                second = other.comes_to(now, step)
                if second != answer:
                    yield Difference(first.name, other.name, now, str(step), (answer, second))
            if answer.kind == "step":
                for found in made.properties:
                    if found.kind == "step":
                        holds = first.holds_of(found.name, now, step)
                        for other in others:
                            if other.holds_of(found.name, now, step) != holds:
                                yield Difference(
                                    first.name, other.name, now, f"{found.name} of {step}", (holds, not holds)
                                )
        for found in made.properties:
            if found.kind != "step":
                holds = first.holds(found.name, now)
                for other in others:
                    if other.holds(found.name, now) != holds:
                        yield Difference(first.name, other.name, now, found.name, (holds, not holds))


def number_of(value: Any) -> int | bool:
    return list(type(value)).index(value) if isinstance(value, Enum) else value
