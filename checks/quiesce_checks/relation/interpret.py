"""The typed statement form executed on numbers: the reading between plain Python and terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from quiesce_model.language.outcome import Blocked, Fault
from quiesce_model.language.types import EachType, OptionalType, RecordType, Type

from . import form
from .form import Expr, Place, Statement
from .layout import Layout


@dataclass(frozen=True)
class Spot:
    """A place worked out: which row of leaves, from where, of what type."""

    row: list[int]
    offset: int
    type: Type


class Returned(Exception):
    """Unwinds to the call that is being executed."""

    def __init__(self, value: int | bool | None) -> None:
        self.value = value


class Interpreter:
    """Executes functions of one machine on a row of leaves, changing it.

    ``before`` is the row before a step, for step properties. Raises Blocked and Fault as the machine itself would;
    the row is then in no particular state, and the caller drops it.
    """

    def __init__(
        self,
        layout: Layout,
        constants: Mapping[str, int | bool],
        row: list[int],
        before: list[int] | None = None,
    ) -> None:
        self.layout = layout
        self.constants = constants
        self.row = row
        self.before = before
        self.slots: dict[str, Any] = {}

    def call(self, function: form.Function, args: list[Any]) -> Any:
        """Execute a function; ``args`` are numbers and spots, one for each parameter."""
        self.slots.update(zip(function.parameters, args, strict=True))
        try:
            self.block(function.body)
        except Returned as returned:
            return returned.value
        return None

    def whole(self, before: bool = False) -> Spot:
        """The machine itself, as an argument."""
        row = self.before if before else self.row
        assert row is not None
        return Spot(row, 0, self.layout.type)

    # Places

    def spot(self, place: Place) -> Spot:
        if place.root in ("self", "before"):
            here = self.whole(place.root == "before")
        else:
            here = cast(Spot, self.slots[place.root])
        for step in place.steps:
            match step:
                case form.Field():
                    record = cast(RecordType, here.type)
                    offset = here.offset + self.layout.member(record, step.position)
                    here = Spot(here.row, offset, record.members[step.position].type)
                case form.Payload():
                    if not here.row[here.offset]:
                        raise Fault("absent", self.layout.name(here.offset), "used while it is absent")
                    here = Spot(here.row, here.offset + 1, cast(OptionalType, here.type).item)
                case form.Index():
                    each = cast(EachType, here.type)
                    index = self.value(step.at)
                    if not 0 <= index < each.size:
                        raise Fault("index", self.collection(here), f"index {index} is outside 0..{each.size - 1}")
                    here = Spot(here.row, here.offset + index * self.layout.width(each.item), each.item)
        return here

    def collection(self, spot: Spot) -> str:
        return self.layout.name(spot.offset).rsplit("[", 1)[0] if self.layout.width(spot.type) else "?"

    def inside(self, spot: Spot) -> slice:
        """Where the leaves of a place lie."""
        return slice(spot.offset, spot.offset + self.layout.width(spot.type))

    # Statements

    def block(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.execute(statement)

    def execute(self, statement: Statement) -> None:
        match statement:
            case form.SetLocal():
                self.slots[statement.slot] = self.value(statement.value)
            case form.Alias():
                self.slots[statement.slot] = self.spot(statement.place)
            case form.Assign():
                value = self.value(statement.value)
                self.put(self.spot(statement.place), value, statement.checked)
            case form.CopyValue():
                self.copy(self.spot(statement.source), self.spot(statement.place))
            case form.Build():
                held = self.prepare(statement)
                self.build(self.spot(statement.place), held)
            case form.Clear():
                spot = self.spot(statement.place)
                self.reset(spot)
            case form.Swap():
                a, b = self.spot(statement.left), self.spot(statement.right)
                one, other = self.inside(a), self.inside(b)
                a.row[one], a.row[other] = a.row[other], a.row[one]
            case form.If():
                self.block(statement.then if self.value(statement.test) else statement.other)
            case form.For():
                for _ in self.iterate(statement.loop):
                    self.block(statement.body)
            case form.Require():
                if not self.value(statement.condition) and not statement.off:
                    raise Blocked(statement.rule or None)
            case form.Do():
                self.value(statement.call)
            case form.Return():
                raise Returned(None if statement.value is None else self.value(cast(Expr, statement.value)))

    def put(self, spot: Spot, value: int | bool, checked: bool) -> None:
        """Assign a number to a one-leaf place, or to an optional one."""
        offset = spot.offset
        if isinstance(spot.type, OptionalType):
            spot.row[offset] = 1
            offset += 1
        if checked:
            self.check(offset, int(value))
        spot.row[offset] = int(value)

    def check(self, offset: int, value: int) -> None:
        leaf = self.layout.leaves[offset]
        if value < leaf.low or (leaf.high is not None and value > leaf.high):
            raise Fault("domain", leaf.name, f"{value} is outside {leaf.low}..{leaf.high}")

    def reset(self, spot: Spot) -> None:
        start = cast("tuple[int, ...]", self.layout.start(spot.type))
        spot.row[spot.offset : spot.offset + len(start)] = start

    def copy(self, source: Spot, target: Spot) -> None:
        if isinstance(target.type, OptionalType):
            if isinstance(source.type, OptionalType):
                if not source.row[source.offset]:
                    self.reset(target)
                    return
                source = Spot(source.row, source.offset + 1, source.type.item)
            target.row[target.offset] = 1
            target = Spot(target.row, target.offset + 1, target.type.item)
        width = self.layout.width(target.type)
        for n, value in enumerate(source.row[source.offset : source.offset + width]):
            self.check(target.offset + n, value)
            target.row[target.offset + n] = value

    def prepare(self, build: form.Build) -> dict[int, Any]:
        """The members' values, worked out before anything is written."""
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

    def build(self, spot: Spot, held: dict[int, Any]) -> None:
        if isinstance(spot.type, OptionalType):
            spot.row[spot.offset] = 1
            spot = Spot(spot.row, spot.offset + 1, spot.type.item)
        record = cast(RecordType, spot.type)
        for position, member in enumerate(record.members):
            inner = Spot(spot.row, spot.offset + self.layout.member(record, position), member.type)
            value = held.get(position)
            if isinstance(value, dict):
                self.build(inner, cast("dict[int, Any]", value))
            elif isinstance(value, Spot):
                self.copy(value, inner)
            elif value is None:
                self.reset(inner)
            else:
                self.put(inner, value, True)

    # Loops

    def iterate(self, loop: form.Loop) -> Iterator[None]:
        match loop.over:
            case form.Range():
                for index in range(self.value(loop.over.low), self.value(loop.over.high)):
                    self.slots[cast(str, loop.index)] = index
                    yield
            case form.Values():
                for value in loop.over.values:
                    self.slots[cast(str, loop.item)] = self.value(value)
                    yield
            case form.Items():
                here = self.spot(loop.over.place)
                each = cast(EachType, here.type)
                width = self.layout.width(each.item)
                for index in range(each.size):
                    if loop.index is not None:
                        self.slots[loop.index] = index
                    item = Spot(here.row, here.offset + index * width, each.item)
                    alias = loop.by_alias
                    self.slots[cast(str, loop.item)] = item if alias else item.row[item.offset]
                    yield

    # Expressions

    def value(self, expr: Expr) -> Any:
        match expr:
            case form.Literal_():
                return expr.value
            case form.ConstantOf():
                return self.constants[expr.name]
            case form.Local():
                return self.slots[expr.slot]
            case form.Read():
                spot = self.spot(expr.place)
                return spot.row[spot.offset]
            case form.Present():
                spot = self.spot(expr.place)
                return bool(spot.row[spot.offset])
            case form.Not():
                return not self.value(expr.of)
            case form.Junction():
                if expr.op == "and":
                    return all(self.value(part) for part in expr.parts)
                return any(self.value(part) for part in expr.parts)
            case form.Compare():
                return compare(expr.op, self.value(expr.left), self.value(expr.right))
            case form.Same():
                a, b = self.spot(expr.left), self.spot(expr.right)
                width = self.layout.width(a.type)
                return a.row[a.offset : a.offset + width] == b.row[b.offset : b.offset + width]
            case form.Precedes():
                a, b = self.spot(expr.left), self.spot(expr.right)
                return a.row[self.inside(a)] < b.row[self.inside(b)]
            case form.Arithmetic():
                return self.arithmetic(expr)
            case form.IfElse():
                return self.value(expr.then if self.value(expr.test) else expr.other)
            case form.Fold():
                return self.fold(expr)
            case form.Call():
                args = [self.spot(arg) if isinstance(arg, Place) else self.value(arg) for arg in expr.args]
                return self.call(expr.function, args)

    def arithmetic(self, expr: form.Arithmetic) -> int:
        a, b = self.value(expr.left), self.value(expr.right)
        match expr.op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "min":
                return min(a, b)
            case "max":
                return max(a, b)
            case _:
                if b == 0:
                    raise Fault("division", "division", "the divisor is 0")
                return a // b if expr.op == "//" else a % b

    def fold(self, expr: form.Fold) -> Any:
        found = self.folded(expr, 0)
        match expr.op:
            case "all":
                return all(found)
            case "any":
                return any(found)
            case "sum":
                return sum(found)
            case _:
                values = list(found)
                if not values and expr.default is not None:
                    return self.value(expr.default)
                return min(values) if expr.op == "min" else max(values)

    def folded(self, expr: form.Fold, level: int) -> Iterator[Any]:
        if level == len(expr.loops):
            yield self.value(expr.body)
            return
        loop, tests = expr.loops[level]
        for _ in self.iterate(loop):
            if all(self.value(test) for test in tests):
                yield from self.folded(expr, level + 1)


def compare(op: str, a: Any, b: Any) -> bool:
    match op:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case _:
            return a >= b
