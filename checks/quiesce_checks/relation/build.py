"""A machine into its transition relation.

:func:`relation` gives the *explored* reading: numbers for all constants, ages saturated, time in single ticks.
:func:`proof_relation` gives the *proved* one: ages without bound, any duration, constants symbolic where asked. Both
come from the same terms; they differ in what stands for an age and in how far time goes in one step.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, TypeAlias

from quiesce_model.language.fields import record_type
from quiesce_model.language.machine import ActionInfo, Machine, PropertyInfo, Step, all_marked, choices, steps
from quiesce_model.language.outcome import Misuse
from quiesce_model.language.types import STOPPED, Leaf

from . import terms as t
from .calls import NOTHING
from .elaborate import Elaborator
from .errors import ModelError
from .form import Kind
from .inlined import Translated
from .layout import Layout
from .relation import Clock, GroundAction, Property, Relation, Site, Variable
from .symbolic import Comparison, Execution, Spot, as_term
from .terms import BOOL, FALSE, INT, TRUE, Term

Reading: TypeAlias = Literal["explored", "proved"]


def relation(machine: Machine) -> Relation:
    """The explored reading. Raises ModelError, with file, line, column and remedy, where the model cannot be read."""
    return Builder(machine, "explored", ()).build()


def proof_relation(machine: Machine, symbolic: Iterable[str] = ()) -> Relation:
    """The proved reading; ``symbolic`` names the constants that stay symbolic, under the machine's assumptions."""
    return Builder(machine, "proved", tuple(symbolic)).build()


class Constants:
    """What a bound such as ``lambda c: c.threshold - 1`` is asked of: numbers, or terms for symbolic constants."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)


@dataclass(frozen=True)
class Attempt:
    """One ground action executed on terms."""

    step: Step
    execution: Execution
    row: list[Term]
    site: Site


class Builder:
    """One translation of one machine; see :func:`relation`."""

    def __init__(self, machine: Machine, reading: Reading, symbolic: tuple[str, ...]) -> None:
        t.forget()
        self.machine = machine
        self.kind = type(machine)
        self.reading: Reading = reading
        values: dict[str, Any] = dict(machine.constants_)
        for name in symbolic:
            if name not in values:
                listed = ", ".join(values) or "none"
                raise Misuse(
                    f"{self.kind.__name__} has no constant {name!r} to keep symbolic; its constants are: {listed}"
                )
            values[name] = t.var(name, BOOL if isinstance(values[name], bool) else INT)
        self.symbolic = tuple(values[name] for name in symbolic)
        self.constants = {name: t.lift(value) for name, value in values.items()}
        constants = Constants(values)
        try:
            self.layout = Layout(record_type(self.kind, constants))
        except TypeError as error:
            raise Misuse(f"{self.kind.__name__}: {error}") from None
        self.elaborator = Elaborator(self.kind, self.layout.type, constants, machine.without_)
        self.comparisons: list[Comparison] = []
        self.variables = [self.variable(leaf) for leaf in self.layout.leaves]
        self.row = [variable.term for variable in self.variables]
        self.by_term = {variable.term.number: n for n, variable in enumerate(self.variables)}

    def variable(self, leaf: Leaf) -> Variable:
        low, high = t.lift(leaf.low), None if leaf.high is None else t.lift(leaf.high)
        if leaf.kind == "counter" and self.reading == "proved":
            high = None
        if leaf.kind == "flag":
            return Variable(leaf, t.make("var", (), BOOL, leaf.name), t.const(0), t.const(1))
        known_low = low.data if t.is_const(low) else None
        known_high = high.data if high is not None and t.is_const(high) else None
        if known_low is not None and known_high is not None and known_high < known_low:
            raise Misuse(
                f"{self.kind.__name__}.{leaf.name} has no value at all: {known_low}..{known_high}; correct its bounds"
            )
        return Variable(leaf, t.make("var", (), INT, leaf.name, known_low, known_high), low, high)

    def domain(self, offset: int) -> tuple[Term, Term | None]:
        variable = self.variables[offset]
        return variable.low, variable.high

    def execution(self, row: list[Term], before: list[Term] | None = None) -> Execution:
        return Execution(self.layout, self.constants, self.domain, list(row), before)

    def site_of(self, name: str) -> Site:
        return self.elaborator.library.source(getattr(self.kind, name)).site()

    # Parts

    def build(self) -> Relation:
        assumptions = tuple(
            self.state_property(name, info) for name, info in all_marked(self.kind) if has_kind(info, "assumption")
        )
        initial = self.initial()
        attempts = [self.attempt(step) for step in steps(self.machine)]
        timed = any(leaf.kind in ("age", "left") for leaf in self.layout.leaves)
        inputs: tuple[Term, ...] = ()
        if timed:
            distance = t.const(1) if self.reading == "explored" else t.var("d", INT, 1, None)
            inputs = () if t.is_const(distance) else (distance,)
            attempts.append(self.elapse(distance))
        properties = tuple(
            self.step_property(name, info, attempts) if info.kind == "step" else self.state_property(name, info)
            for name, info in all_marked(self.kind)
            if isinstance(info, PropertyInfo) and info.kind not in ("assumption", "initial")
        )
        actions: list[GroundAction] = []
        for attempt in attempts:
            self.check_ghosts(attempt)
            self.comparisons.extend(attempt.execution.comparisons)
            updates = {n: new for n, (new, old) in enumerate(zip(attempt.row, self.row, strict=True)) if new is not old}
            given = inputs if attempt.step.action == "elapse" else ()
            exits = tuple(attempt.execution.exits)
            actions.append(GroundAction(attempt.step, exits, attempt.execution.alive, updates, attempt.site, given))
        clocks = self.clocks(actions)
        made = Relation(
            self.machine,
            self.reading,
            tuple(self.variables),
            tuple(initial),
            tuple(actions),
            properties,
            self.symbolic,
            assumptions,
            clocks,
            tuple(self.elaborator.rules.items()),
        )
        return saturated(made) if self.reading == "explored" else made

    def initial(self) -> list[Term]:
        row = [as_term(leaf.start, leaf.kind) for leaf in self.layout.leaves]
        for name, info in all_marked(self.kind):
            if has_kind(info, "initial"):
                execution = self.execution(row)
                execution.run(self.elaborator.method(name, {}).function, [execution.whole()])
                for exit in execution.exits:
                    if exit.condition is TRUE:
                        raise ModelError(
                            f"the initial state leaves the domain of {exit.place or 'a guard'}",
                            "correct the value or the bound",
                            exit.site,
                        )
                row = execution.state.row
        for offset, value in enumerate(row):
            low, high = self.domain(offset)
            leaf = self.layout.leaves[offset]
            number = t.to_int(value)
            if t.le(low, number) is FALSE or (high is not None and t.le(number, high) is FALSE):
                upper = "" if high is None else t.show(high)
                raise Misuse(
                    f"{self.kind.__name__}.{leaf.name} starts at {t.show(number)}, outside {t.show(low)}..{upper}; "
                    "correct its start or its bounds"
                )
        return row

    def attempt(self, step: Step) -> Attempt:
        kinds: dict[str, Kind] = {name: kind_of_value(value) for name, value in step.args}
        translated = self.elaborator.method(step.action, kinds)
        if translated.kind is not NOTHING:
            source = self.elaborator.library.source(getattr(self.kind, step.action))
            source.error(
                source.node,
                f"the action {step.action} returns a value",
                "let an action only change the state",
            )
        execution = self.execution(self.row)
        execution.run(translated.function, self.arguments(execution, translated, dict(step.args)))
        return Attempt(step, execution, execution.state.row, self.site_of(step.action))

    def arguments(
        self, execution: Execution, translated: Translated, values: Mapping[str, Any], before: bool = False
    ) -> list[Term | Spot]:
        """The machine, the machine before the step where asked, and the values, in the order of the parameters."""
        args: list[Term | Spot] = [execution.whole()]
        if before:
            args.append(execution.whole(before=True))
        for slot in translated.function.parameters[len(args) :]:
            args.append(term_of_value(values[slot.split(".", 1)[1]]))
        return args

    def elapse(self, distance: Term) -> Attempt:
        """The step of time: every running age grows, every rest shrinks to no less than 0."""
        row = list(self.row)
        for n, leaf in enumerate(self.layout.leaves):
            value = row[n]
            if leaf.kind == "age":
                running = t.not_(t.eq(value, t.const(STOPPED)))
                row[n] = t.ite(running, t.add(value, distance), t.const(STOPPED))
            elif leaf.kind == "left":
                row[n] = t.ite(t.le(value, distance), t.const(0), t.sub(value, distance))
        step = Step("elapse", (("d", 1),) if t.is_const(distance) else ())
        return Attempt(step, self.execution(self.row), row, self.elaborator.library.source(self.kind.elapse).site())

    def state_property(self, name: str, info: Any) -> Property:
        translated = self.property_method(name, {}, before=False)
        execution = self.execution(self.row)
        found = execution.run(translated.function, [execution.whole()])
        self.comparisons.extend(execution.comparisons)
        holds = t.and_(self.as_condition(found), execution.alive)
        return Property(name, info.kind, info.rules, self.text(name), self.site_of(name), holds)

    def step_property(self, name: str, info: PropertyInfo, attempts: list[Attempt]) -> Property:
        source = self.elaborator.library.source(getattr(self.kind, name))
        known = {attempt.step.action for attempt in attempts}
        for action in info.on:
            if action not in known:
                source.error(
                    source.node,
                    f"{name} judges {action!r}, which is no action",
                    f"the actions are: {', '.join(sorted(known))}",
                )
        wanted = [arg.arg for arg in source.node.args.args][2:]
        judged: dict[int, Term] = {}
        for position, attempt in enumerate(attempts):
            if info.on and attempt.step.action not in info.on:
                continue
            values = {key: value for key, value in attempt.step.args if key in wanted}
            if attempt.step.action == "elapse" and "d" in wanted:
                source.error(source.node, f"{name} asks how long time passes", "compare ages before and after instead")
            kinds: dict[str, Kind] = {key: kind_of_value(value) for key, value in values.items()}
            translated = self.property_method(name, kinds, before=True)
            execution = self.execution(attempt.row, before=self.row)
            found = execution.run(translated.function, self.arguments(execution, translated, values, before=True))
            self.comparisons.extend(execution.comparisons)
            judged[position] = t.and_(self.as_condition(found), execution.alive)
        return Property(name, "step", info.rules, self.text(name), self.site_of(name), None, judged)

    def property_method(self, name: str, kinds: Mapping[str, Kind], before: bool) -> Translated:
        translated = self.elaborator.method(name, kinds, before=before)
        source = self.elaborator.library.source(getattr(self.kind, name))
        if translated.writes:
            source.error(source.node, f"the property {name} changes the state", "let a property only look")
        if translated.kind is NOTHING or (translated.kind is not bool and translated.kind is not int):
            source.error(source.node, f"the property {name} answers no condition", "return a condition")
        return translated

    def as_condition(self, found: Term | None) -> Term:
        assert found is not None
        return found if found.sort is BOOL else t.not_(t.eq(found, t.const(0)))

    def text(self, name: str) -> str:
        return (inspect.getdoc(getattr(self.kind, name)) or name.replace("_", " ")).split("\n\n")[0].replace("\n", " ")

    # Checks and clocks

    def check_ghosts(self, attempt: Attempt) -> None:
        """What is only history must not decide anything."""
        ghosts = {v.term.number: v.name for v in self.variables if v.leaf.ghost}
        if not ghosts:
            return
        for condition, site in attempt.execution.guards:
            for used in t.variables([condition]):
                if used.number in ghosts:
                    raise ModelError(
                        f"a guard of {attempt.step.action} reads {ghosts[used.number]}, which is a ghost",
                        "make it a plain field, or take it out of the guard: ghosts are for properties",
                        site,
                    )
        changed = [(n, new) for n, (new, old) in enumerate(zip(attempt.row, self.row, strict=True)) if new is not old]
        for n, new in changed:
            if self.variables[n].leaf.ghost:
                continue
            for used in t.variables([new]):
                if used.number in ghosts:
                    raise ModelError(
                        f"{attempt.step.action} changes {self.variables[n].name} by {ghosts[used.number]}, "
                        "which is a ghost",
                        "make it a plain field: what a ghost holds must decide nothing but other ghosts",
                        attempt.site,
                    )

    def clocks(self, actions: list[GroundAction]) -> tuple[Clock, ...]:
        """For each age, one past the largest number that it, or an age that it is copied to, is compared with."""
        compared: dict[int, list[Comparison]] = {n: [] for n, v in enumerate(self.variables) if v.leaf.kind == "age"}
        for comparison in self.comparisons:
            compared[comparison.offset].append(comparison)
        flows: set[tuple[int, int]] = set()
        for action in actions:
            for target, new in action.updates.items():
                if target in compared:
                    for used in t.variables([new]):
                        source = self.by_term.get(used.number)
                        if source is not None and source in compared and source != target:
                            flows.add((source, target))
        changed = True
        while changed:
            changed = False
            for source, target in sorted(flows):
                missing = [c for c in compared[target] if c not in compared[source]]
                if missing:
                    compared[source].extend(missing)
                    changed = True
        made: list[Clock] = []
        for offset, found in compared.items():
            limit = t.const(0)
            uppers = tuple(dict.fromkeys(self.upper(c.other, c.site) for c in found))
            for upper in uppers:
                limit = t.max_(limit, t.add(upper, t.const(1)))
            sites = tuple(dict.fromkeys(c.site for c in found))
            made.append(Clock(offset, limit, sites, uppers))
        return tuple(made)

    def upper(self, term: Term, site: Site) -> Term:
        """A number of constants alone that a term never exceeds."""
        match term.op:
            case "const":
                return term
            case "var":
                position = self.by_term.get(term.number)
                if position is None:
                    return term
                high = self.variables[position].high
                if high is not None:
                    return high
            case "ite":
                return t.max_(self.upper(term.args[1], site), self.upper(term.args[2], site))
            case "add":
                return t.add(self.upper(term.args[0], site), self.upper(term.args[1], site))
            case "sub" if (least := self.lower(term.args[1])) is not None:
                return t.sub(self.upper(term.args[0], site), least)
            case _ if not any(used.number in self.by_term for used in t.variables([term])):
                return term
            case "div" | "mod" if t.is_const(term.args[1]) and term.args[1].data > 0:
                return self.upper(term.args[0], site) if term.op == "div" else t.sub(term.args[1], t.const(1))
            case _ if term.high is not None:
                return t.const(term.high)
            case _:
                pass
        raise ModelError(
            "an age is compared with a number that has no bound",
            "compare it with constants, or with a field that has an upper bound",
            site,
        )

    def lower(self, term: Term) -> Term | None:
        """A number of constants alone that a term is never less than, if its form shows one."""
        position = self.by_term.get(term.number)
        if position is not None:
            return self.variables[position].low
        if not any(used.number in self.by_term for used in t.variables([term])):
            return term
        return None if term.low is None else t.const(term.low)


def has_kind(info: ActionInfo | PropertyInfo, kind: str) -> bool:
    return isinstance(info, PropertyInfo) and info.kind == kind


def kind_of_value(value: Any) -> Kind:
    if isinstance(value, Enum):
        return type(value)
    return bool if isinstance(value, bool) else int


def term_of_value(value: Any) -> Term:
    if isinstance(value, Enum):
        return t.const(list(type(value)).index(value))
    return t.const(value)


def saturated(made: Relation) -> Relation:
    """The explored reading from raw terms: every age bounded by its saturation, in variables and in updates."""
    limits: dict[int, int] = {}
    replacement: dict[int, Term] = {}
    variables = list(made.variables)
    for clock in made.clocks:
        assert t.is_const(clock.saturation)
        limit = limits[clock.variable] = clock.saturation.data
        old = variables[clock.variable]
        term = t.make("var", (), INT, old.name, STOPPED, limit)
        replacement[old.term.number] = term
        variables[clock.variable] = replace(old, term=term, high=t.const(limit))
    if not limits:
        return made

    def new(term: Term) -> Term:
        return t.substitute([term], lambda v: replacement.get(v.number))[0]

    actions: list[GroundAction] = []
    for action in made.actions:
        updates: dict[int, Term] = {}
        for n, value in action.updates.items():
            value = new(value)
            if n in limits and (value.high is None or value.high > limits[n]):
                value = t.min_(value, t.const(limits[n]))
            if value is not variables[n].term:
                updates[n] = value
        exits = tuple(replace(e, condition=new(e.condition)) for e in action.exits)
        exits = tuple(e for e in exits if e.condition is not FALSE)
        actions.append(replace(action, exits=exits, enabled=new(action.enabled), updates=updates))
    properties = tuple(
        replace(
            p,
            holds=None if p.holds is None else new(p.holds),
            steps=None if p.steps is None else {n: new(term) for n, term in p.steps.items()},
        )
        for p in made.properties
    )
    return replace(made, variables=tuple(variables), actions=tuple(actions), properties=properties)


def saturation_limits(made: Relation) -> tuple[int | None, ...]:
    """For each leaf, where exploration saturates it, None where it does not."""
    limits: list[int | None] = [None] * len(made.variables)
    for clock in made.clocks:
        if t.is_const(clock.saturation):
            limits[clock.variable] = clock.saturation.data
    return tuple(limits)


__all__ = ["Builder", "choices", "proof_relation", "relation", "saturation_limits"]
