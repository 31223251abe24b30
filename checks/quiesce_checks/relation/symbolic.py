"""The typed statement form executed on terms: all ways through an action at once.

Branches are executed side by side and merged where they meet again, so a term grows with the text of the model and not
with the number of ways through it. Loops are unrolled. What comes to no step (a guard that blocks, a fault) is
collected as an *exit* with the condition under which it is taken; exits exclude each other, earlier ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from quiesce_model.language import containers
from quiesce_model.language.types import STOPPED, AgeType, EachType, OptionalType, RecordType, Type

from . import form
from . import terms as t
from .errors import ModelError
from .form import Expr, Place, Statement
from .layout import Layout
from .relation import Exit, Site
from .terms import BOOL, FALSE, TRUE, Term

LIBRARY = containers.__file__


@dataclass(frozen=True)
class Spot:
    """A place worked out: one of a few offsets, each under its own condition (these exclude each other)."""

    row: str
    choices: tuple[tuple[Term, int], ...]
    type: Type

    def moved(self, by: int, type: Type) -> Spot:
        return Spot(self.row, tuple((when, offset + by) for when, offset in self.choices), type)


@dataclass(frozen=True)
class Comparison:
    """An age was compared: with what, and where. What its saturation has to respect."""

    offset: int
    other: Term
    site: Site


@dataclass
class Frame:
    """One call: whether it has returned, and with what."""

    returned: Term = FALSE
    value: Term | None = None


@dataclass
class State:
    """What a branch changes: the row of leaves, the locals, and how far the current call has come."""

    row: list[Term]
    slots: dict[str, Any]
    frame: Frame

    def split(self) -> State:
        return State(list(self.row), dict(self.slots), Frame(self.frame.returned, self.frame.value))


@dataclass
class Execution:
    """One run of a function on terms.

    ``before`` is the row before a step, for step properties. ``domain`` gives a leaf's bounds as terms. ``exits`` and
    ``comparisons`` are what was met, ``guards`` the blocking conditions by themselves; ``alive`` is the condition that
    none of the exits was taken. ``within`` is the condition under which the present point is reached, ``pending`` the
    part of it that lies inside the expression that is being worked out.
    """

    layout: Layout
    constants: Mapping[str, Term]
    domain: Callable[[int], tuple[Term, Term | None]]
    row: list[Term]
    before: list[Term] | None = None
    exits: list[Exit] = field(default_factory=list[Exit])
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    guards: list[tuple[Term, Site]] = field(default_factory=list[tuple[Term, Site]])
    alive: Term = TRUE
    within: Term = TRUE
    pending: Term = TRUE
    caller: Site | None = None
    """Where the model calls a method of a container, while that is executed: a fault in it is the caller's."""

    def __post_init__(self) -> None:
        self.state = State(self.row, {}, Frame())

    def run(self, function: form.Function, args: list[Term | Spot]) -> Term | None:
        """Execute a function from the row's present values; afterwards ``state.row`` has the new ones."""
        return self.call(function, args, TRUE)

    def whole(self, before: bool = False) -> Spot:
        """The machine itself, as an argument."""
        return Spot("before" if before else "self", ((TRUE, 0),), self.layout.type)

    def leave(
        self,
        kind: Literal["blocked", "domain", "absent", "index", "division"],
        when: Term,
        place: str,
        site: Site,
    ) -> None:
        """An exit under ``when`` and whatever has to hold for this point to be reached."""
        site = self.caller or site
        condition = t.and_(self.alive, self.within, when)
        if kind == "blocked":
            self.guards.append((t.and_(self.within, when), site))
        if condition is not FALSE:
            self.exits.append(Exit(kind, condition, place, site))
            self.alive = t.and_(self.alive, t.not_(t.and_(self.within, when)))

    # Branches

    def under(self, condition: Term, body: Callable[[], None]) -> None:
        """Execute ``body`` for the case that ``condition`` holds, and merge what it changes."""
        if condition is FALSE:
            return
        if condition is TRUE:
            body()
            return
        outer, outside, pending = self.state, self.within, self.pending
        self.state, self.within, self.pending = outer.split(), t.and_(outside, condition), TRUE
        if self.within is not FALSE:
            body()
        then = self.state
        self.state, self.within, self.pending = outer, outside, pending
        self.merge(condition, then, outer)

    def merge(self, condition: Term, then: State, other: State) -> None:
        """Make ``other`` what ``then`` is where the condition holds."""
        for offset, (a, b) in enumerate(zip(then.row, other.row, strict=True)):
            if a is not b:
                other.row[offset] = t.ite(condition, a, b)
        for slot, a in then.slots.items():
            b = other.slots.get(slot)
            if b is None:
                other.slots[slot] = a
            elif a is not b:
                if isinstance(a, Spot) and isinstance(b, Spot):
                    other.slots[slot] = join(condition, a, b)
                else:
                    other.slots[slot] = both(condition, cast(Term, a), cast(Term, b))
        other.frame.returned = t.ite(condition, then.frame.returned, other.frame.returned)
        if then.frame.value is not None:
            old = other.frame.value
            other.frame.value = then.frame.value if old is None else both(condition, then.frame.value, old)

    # Statements

    def call(self, function: form.Function, args: list[Term | Spot], when: Term) -> Term | None:
        def body() -> None:
            outer, names = self.state.frame, self.state.slots
            self.state.frame = Frame()
            self.state.slots = dict(zip(function.parameters, args, strict=True))
            self.block(function.body)
            result.append(self.state.frame.value)
            self.state.frame, self.state.slots = outer, names

        result: list[Term | None] = []
        self.under(when, body)
        return result[0] if result else None

    def block(self, statements: tuple[Statement, ...]) -> None:
        for position, statement in enumerate(statements):
            self.execute(statement)
            returned = self.state.frame.returned
            if returned is TRUE:
                return
            if returned is not FALSE:
                rest = statements[position + 1 :]
                if rest:
                    self.under_rest(rest)
                return

    def under_rest(self, rest: tuple[Statement, ...]) -> None:
        """The statements after one that returns on some ways, for the other ways."""
        returned = self.state.frame.returned

        def body() -> None:
            self.state.frame.returned = FALSE
            self.block(rest)

        self.under(t.not_(returned), body)

    def execute(self, statement: Statement) -> None:
        match statement:
            case form.SetLocal():
                self.state.slots[statement.slot] = self.value(statement.value)
            case form.Alias():
                self.state.slots[statement.slot] = self.spot(statement.place)
            case form.Assign():
                value = self.value(statement.value)
                self.put(self.spot(statement.place), value, statement.checked, statement.site)
            case form.CopyValue():
                self.copy(self.spot(statement.source), self.spot(statement.place), statement.site)
            case form.Build():
                held = self.prepare(statement)
                self.build(self.spot(statement.place), held, statement.site)
            case form.Clear():
                self.reset(self.spot(statement.place))
            case form.Swap():
                self.swap(self.spot(statement.left), self.spot(statement.right))
            case form.If():
                test = self.value(statement.test)
                self.branch(test, statement)
            case form.For():
                self.loop(statement)
            case form.Require():
                condition = self.value(statement.condition)
                if not statement.off:
                    self.leave("blocked", t.not_(condition), statement.rule, statement.site)
            case form.Do():
                self.value_of_call(statement.call)
            case form.Return():
                if statement.value is not None:
                    self.state.frame.value = self.value(cast(Expr, statement.value))
                self.state.frame.returned = TRUE

    def branch(self, test: Term, statement: form.If) -> None:
        if test is TRUE or test is FALSE:
            self.block(statement.then if test is TRUE else statement.other)
            return
        outer, outside = self.state, self.within
        then, other = outer.split(), outer
        self.state, self.within = then, t.and_(outside, test)
        if self.within is not FALSE:
            self.block(statement.then)
        self.state, self.within = other, t.and_(outside, t.not_(test))
        if self.within is not FALSE:
            self.block(statement.other)
        self.within = outside
        self.merge(test, then, other)

    def loop(self, statement: form.For) -> None:
        for _ in self.iterate(statement.loop, statement.site):
            returned = self.state.frame.returned
            if returned is TRUE:
                return
            if returned is FALSE:
                self.block(statement.body)
            else:

                def body() -> None:
                    self.state.frame.returned = FALSE
                    self.block(statement.body)

                self.under(t.not_(returned), body)

    def iterate(self, loop: form.Loop, site: Site) -> Iterator[None]:
        match loop.over:
            case form.Range():
                low, high = self.value(loop.over.low), self.value(loop.over.high)
                if not (t.is_const(low) and t.is_const(high)):
                    raise ModelError(
                        "the size of this loop is not known at the scope",
                        "loop over a constant range, and give sizes of ranges numbers also in a proof",
                        site,
                    )
                for index in range(low.data, high.data):
                    self.state.slots[cast(str, loop.index)] = t.const(index)
                    yield
            case form.Values():
                for value in loop.over.values:
                    self.state.slots[cast(str, loop.item)] = self.value(value)
                    yield
            case form.Items():
                here = self.spot(loop.over.place)
                each = cast(EachType, here.type)
                width = self.layout.width(each.item)
                for index in range(each.size):
                    if loop.index is not None:
                        self.state.slots[loop.index] = t.const(index)
                    item = here.moved(index * width, each.item)
                    self.state.slots[cast(str, loop.item)] = item if loop.by_alias else self.read(item)
                    yield

    # Places

    def spot(self, place: Place) -> Spot:
        if place.root in ("self", "before"):
            here = self.whole(place.root == "before")
        else:
            here = cast(Spot, self.state.slots[place.root])
        for step in place.steps:
            match step:
                case form.Field():
                    record = cast(RecordType, here.type)
                    by = self.layout.member(record, step.position)
                    here = here.moved(by, record.members[step.position].type)
                case form.Payload():
                    present = self.read(here)
                    self.leave("absent", t.not_(present), self.layout.name(here.choices[0][1]), place.site)
                    here = here.moved(1, cast(OptionalType, here.type).item)
                case form.Index():
                    here = self.indexed(here, self.value(step.at), place.site)
        return here

    def indexed(self, here: Spot, index: Term, site: Site) -> Spot:
        each = cast(EachType, here.type)
        index = t.to_int(index)
        width = self.layout.width(each.item)
        inside = t.and_(t.le(t.const(0), index), t.le(index, t.const(each.size - 1)))
        name = self.layout.name(here.choices[0][1]).rsplit("[", 1)[0] if each.size and width else "?"
        self.leave("index", t.not_(inside), name, site)
        choices: list[tuple[Term, int]] = []
        for when, offset in here.choices:
            for n in range(each.size):
                # The last index needs no test of its own: whatever is none of the others has left by now.
                condition = t.and_(when, t.eq(index, t.const(n)))
                if condition is not FALSE:
                    choices.append((condition, offset + n * width))
        if not choices:
            choices = [(FALSE, here.choices[0][1])] if each.size else [(FALSE, 0)]
        return Spot(here.row, tuple(choices), each.item)

    def row_of(self, spot: Spot) -> list[Term]:
        if spot.row == "self":
            return self.state.row
        assert self.before is not None
        return self.before

    def read(self, spot: Spot, by: int = 0) -> Term:
        """The leaf ``by`` places into a spot."""
        row = self.row_of(spot)
        found = row[spot.choices[-1][1] + by]
        for when, offset in spot.choices[-2::-1]:
            found = both(when, row[offset + by], found)
        return found

    def write(self, spot: Spot, by: int, value: Term) -> None:
        row = self.row_of(spot)
        for when, offset in spot.choices:
            row[offset + by] = t.ite(when, self.of_sort(offset + by, value), row[offset + by])

    def of_sort(self, offset: int, value: Term) -> Term:
        if self.layout.leaves[offset].kind == "flag":
            return value if value.sort is BOOL else t.not_(t.eq(value, t.const(0)))
        return t.to_int(value)

    def put(self, spot: Spot, value: Term, checked: bool, site: Site) -> None:
        by = 0
        if isinstance(spot.type, OptionalType):
            self.write(spot, 0, TRUE)
            by = 1
        if checked:
            self.check(spot, by, value, site)
        self.write(spot, by, value)

    def check(self, spot: Spot, by: int, value: Term, site: Site) -> None:
        """Leave where the value is outside the domain of the leaf that it is to be written to."""
        for when, offset in spot.choices:
            leaf = self.layout.leaves[offset + by]
            if leaf.kind in ("flag", "enum"):
                continue
            low, high = self.domain(offset + by)
            number = t.to_int(value)
            inside = t.le(low, number) if high is None else t.and_(t.le(low, number), t.le(number, high))
            self.leave("domain", t.and_(when, t.not_(inside)), leaf.name, site)

    def start_terms(self, type: Type) -> list[Term]:
        return [
            as_term(value, leaf.kind)
            for value, leaf in zip(self.layout.start(type), type.leaves("", False), strict=True)
        ]

    def reset(self, spot: Spot, by: int = 0) -> None:
        for n, value in enumerate(self.start_terms(spot.type)):
            self.write(spot, by + n, value)

    def copy(self, source: Spot, target: Spot, site: Site) -> None:
        if isinstance(target.type, OptionalType):
            if isinstance(source.type, OptionalType):
                present = self.read(source)
                inner = source.moved(1, source.type.item)
                self.under(t.not_(present), lambda: self.reset(target))
                self.under(present, lambda: self.copy(inner, target, site))
                return
            self.write(target, 0, TRUE)
            target = target.moved(1, target.type.item)
        for n in range(self.layout.width(target.type)):
            value = self.read(source, n)
            self.check(target, n, value, site)
            self.write(target, n, value)

    def swap(self, a: Spot, b: Spot) -> None:
        held = [(self.read(a, n), self.read(b, n)) for n in range(self.layout.width(a.type))]
        for n, (one, other) in enumerate(held):
            self.write(a, n, other)
            self.write(b, n, one)

    def prepare(self, build: form.Build) -> dict[int, Any]:
        held: dict[int, Any] = {}
        for position, member in build.members.items():
            if isinstance(member, form.Build):
                held[position] = self.prepare(member)
            elif isinstance(member, Place):
                held[position] = self.spot(member)
            elif member is not None:
                held[position] = self.value(member)
            else:
                held[position] = None
        return held

    def build(self, spot: Spot, held: dict[int, Any], site: Site) -> None:
        if isinstance(spot.type, OptionalType):
            self.write(spot, 0, TRUE)
            spot = spot.moved(1, spot.type.item)
        record = cast(RecordType, spot.type)
        for position, member in enumerate(record.members):
            inner = spot.moved(self.layout.member(record, position), member.type)
            value = held.get(position)
            if isinstance(value, dict):
                self.build(inner, cast("dict[int, Any]", value), site)
            elif isinstance(value, Spot):
                self.copy(value, inner, site)
            elif value is None:
                self.reset(inner)
            else:
                self.put(inner, value, True, site)

    # Expressions

    def value(self, expr: Expr) -> Term:
        match expr:
            case form.Literal_():
                return t.const(expr.value)
            case form.ConstantOf():
                return self.constants[expr.name]
            case form.Local():
                return self.state.slots[expr.slot]
            case form.Read():
                return self.read(self.spot(expr.place))
            case form.Present():
                return self.read(self.spot(expr.place))
            case form.Not():
                return t.not_(self.value(expr.of))
            case form.Junction():
                return self.junction(expr)
            case form.Compare():
                return self.compare(expr)
            case form.Same():
                return self.same(self.spot(expr.left), self.spot(expr.right))
            case form.Precedes():
                return self.precedes(self.spot(expr.left), self.spot(expr.right))
            case form.Arithmetic():
                return self.arithmetic(expr)
            case form.IfElse():
                test = self.value(expr.test)
                then = self.guarded(test, expr.then)
                other = self.guarded(t.not_(test), expr.other)
                return both(test, then, other)
            case form.Fold():
                return self.fold(expr)
            case form.Call():
                found = self.value_of_call(expr)
                return found if found is not None else (FALSE if expr.kind is bool else t.const(0))

    def value_of_call(self, call: form.Call) -> Term | None:
        args: list[Term | Spot] = [self.spot(a) if isinstance(a, Place) else self.value(a) for a in call.args]
        caller = self.caller
        if caller is None and call.function.site.file == LIBRARY:
            self.caller = call.site
        found = self.call(call.function, args, self.pending)
        self.caller = caller
        return found

    def guarded(self, condition: Term, expr: Expr) -> Term:
        """A value that is worked out only where the condition holds; elsewhere it is never looked at."""
        if condition is FALSE:
            return FALSE if expr.kind is bool else t.const(0)
        if condition is TRUE:
            return self.value(expr)
        within, pending = self.within, self.pending
        self.within, self.pending = t.and_(within, condition), t.and_(pending, condition)
        found = self.value(expr)
        self.within, self.pending = within, pending
        return found

    def junction(self, expr: form.Junction) -> Term:
        found = self.value(expr.parts[0])
        for part in expr.parts[1:]:
            if expr.op == "and":
                found = t.and_(found, self.guarded(found, part))
            else:
                found = t.or_(found, self.guarded(t.not_(found), part))
        return found

    def compare(self, expr: form.Compare) -> Term:
        a, b = self.value(expr.left), self.value(expr.right)
        self.note_age(expr.left, b, expr.site)
        self.note_age(expr.right, a, expr.site)
        match expr.op:
            case "==":
                return t.eq(a, b)
            case "!=":
                return t.not_(t.eq(a, b))
            case "<":
                return t.lt(a, b)
            case "<=":
                return t.le(a, b)
            case ">":
                return t.lt(b, a)
            case ">=":
                return t.le(b, a)

    def note_age(self, expr: Expr, other: Term, site: Site) -> None:
        if isinstance(expr, form.Read) and isinstance(expr.place.type, AgeType):
            spot = self.spot(expr.place)
            for _, offset in spot.choices:
                self.comparisons.append(Comparison(offset, other, site))

    def same(self, a: Spot, b: Spot) -> Term:
        return t.and_(*(t.eq(self.read(a, n), self.read(b, n)) for n in range(self.layout.width(a.type))))

    def precedes(self, a: Spot, b: Spot) -> Term:
        found = FALSE
        for n in reversed(range(self.layout.width(a.type))):
            x, y = t.to_int(self.read(a, n)), t.to_int(self.read(b, n))
            found = t.or_(t.lt(x, y), t.and_(t.eq(x, y), found))
        return found

    def arithmetic(self, expr: form.Arithmetic) -> Term:
        a, b = t.to_int(self.value(expr.left)), t.to_int(self.value(expr.right))
        match expr.op:
            case "+":
                return t.add(a, b)
            case "-":
                return t.sub(a, b)
            case "*":
                return t.mul(a, b)
            case "min":
                return t.min_(a, b)
            case "max":
                return t.max_(a, b)
            case _:
                self.leave("division", t.eq(b, t.const(0)), "division", expr.site)
                return t.div(a, b) if expr.op == "//" else t.mod(a, b)

    def fold(self, expr: form.Fold) -> Term:
        found: list[tuple[Term, Term]] = []
        stop: list[Term] = []

        def level(n: int, when: Term) -> None:
            if n == len(expr.loops):
                reached = t.and_(when, *stop)
                value = self.guarded(reached, expr.body)
                found.append((when, value))
                if expr.op == "all":  # Python looks no further than the first that decides
                    stop.append(t.or_(t.not_(when), value))
                elif expr.op == "any":
                    stop.append(t.not_(t.and_(when, value)))
                return
            loop, tests = expr.loops[n]
            for _ in self.iterate(loop, expr.site):
                condition = when
                for test in tests:
                    condition = t.and_(condition, self.guarded(t.and_(condition, *stop), test))
                level(n + 1, condition)

        level(0, TRUE)
        match expr.op:
            case "all":
                return t.and_(*(t.implies(when, value) for when, value in found))
            case "any":
                return t.or_(*(t.and_(when, value) for when, value in found))
            case "sum":
                total = t.const(0)
                for when, value in found:
                    total = t.add(total, t.ite(when, t.to_int(value), t.const(0)))
                return total
            case _:
                return self.extreme(expr, found)

    def extreme(self, expr: form.Fold, found: list[tuple[Term, Term]]) -> Term:
        choose = t.min_ if expr.op == "min" else t.max_
        best, any_yet = t.const(0), FALSE
        for when, value in found:
            number = t.to_int(value)
            here = t.ite(any_yet, choose(best, number), number)
            best = t.ite(when, here, best)
            any_yet = t.or_(any_yet, when)
        if any_yet is TRUE or expr.default is None:
            return best
        default = self.guarded(t.not_(any_yet), expr.default)
        return t.ite(any_yet, best, t.to_int(default))


def both(condition: Term, a: Term, b: Term) -> Term:
    """``ite`` of values of which one may count a flag as a number."""
    if a.sort is not b.sort:
        a, b = t.to_int(a), t.to_int(b)
    return t.ite(condition, a, b)


def join(condition: Term, a: Spot, b: Spot) -> Spot:
    """One of two spots, as the condition says."""
    choices = [(t.and_(condition, when), offset) for when, offset in a.choices]
    choices += [(t.and_(t.not_(condition), when), offset) for when, offset in b.choices]
    return Spot(a.row, tuple(choice for choice in choices if choice[0] is not FALSE), a.type)


def as_term(value: object, kind: str) -> Term:
    """A start value, which may be a term of symbolic constants."""
    if isinstance(value, Term):
        return value
    number = int(cast(int, value))
    return t.const(bool(number)) if kind == "flag" else t.const(number)


__all__ = ["STOPPED", "Comparison", "Execution", "Spot", "State", "as_term"]
