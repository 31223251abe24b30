"""Rows of leaves as terms: where a place lies, how it is read and written, and what comes to no step.

A place whose index depends on the state is one of a few offsets, each under its own condition. Branches are executed on
rows of their own, which are merged where they meet again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from quiesce_model.language.types import EachType, OptionalType, RecordType, Type

from . import form
from . import terms as t
from .form import Expr, Place
from .layout import Layout
from .relation import Exit, Site
from .terms import BOOL, FALSE, TRUE, Term


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
class Rows:
    """The rows of one execution, and the condition under which its present point is reached.

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

    def whole(self, before: bool = False) -> Spot:
        """The machine itself, as an argument."""
        return Spot("before" if before else "self", ((TRUE, 0),), self.layout.type)

    def value(self, expr: Expr) -> Term:
        raise TypeError("defined by Execution")

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
