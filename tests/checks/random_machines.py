"""Random small machines, as source text: what all readings of the language are held against.

:func:`machine_source` writes one from a seed and counts the constructs that it used; :func:`load` makes it a class.
The machines are nonsense on purpose; numbers are mostly kept inside their domains, so that there is something to
explore, and sometimes not, so that faults are compared as well.
"""

from __future__ import annotations

import linecache
import random
import sys
import types
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

HEAD = """\
from __future__ import annotations
from enum import Enum
from quiesce_model import (Age, Bag, Left, Machine, Queue, Record, Subset, action, age, assumption, bag, between,
                           constant, each, flag, ghost, initial, invariant, left, one_of, optional, part, queue,
                           reachable, step_property, subset, terminal, upto)


class Colour(Enum):
    RED = 0
    GREEN = 1
    BLUE = 2


class Parcel(Record):
    weight: int = upto(2)
    fresh: bool = flag()
    tags: list[bool] = each(2, flag())


class Box(Record):
    colour: Colour = one_of(Colour)
    count: int = upto(3)
    open: bool = flag()
    parcel: Parcel | None = optional(Parcel)
    marks: Subset = subset(3)
    since: Age = age()
    rest: Left = left(2)

    def heavier(self, other: Box) -> bool:
        if self.parcel is None:
            return False
        if other.parcel is None:
            return True
        return self.parcel.weight > other.parcel.weight

    def put(self, weight: int) -> bool:
        if self.parcel is not None:
            return False
        self.parcel = Parcel(weight=weight % 3, fresh=True)
        self.count = min(self.count + 1, 3)
        return True

    @property
    def busy(self) -> bool:
        return self.open or self.count > 1


def spread(a: int, b: int) -> int:
    return a - b if a > b else b - a


class M(Machine):
    boxes: int = constant(2)
    top: int = constant(3)
    total: int = upto(lambda c: c.top + 1)
    low: int = between(-2, 2, 0)
    lit: bool = flag(True)
    shade: Colour = one_of(Colour, Colour.GREEN)
    level: list[int] = each("boxes", upto(2))
    box: list[Box] = each("boxes", Box)
    seen: int = ghost(upto(4))
    spare: Box = part(Box)
    mail: Queue[Parcel] = queue("boxes", Parcel)
    pile: Bag[Parcel] = bag(3, Parcel)
    line: Queue[int] = queue(2, upto(3))
    marks: Subset = subset(3)

    def at(self, b: int) -> Box:
        return self.box[b]

    @initial
    def begin(self) -> None:
        self.box[1].colour = Colour.BLUE
        self.level[0] = 1
"""

COLOURS = ("Colour.RED", "Colour.GREEN", "Colour.BLUE")


@dataclass
class Writer:
    """Writes one machine; ``used`` counts constructs."""

    random: random.Random
    used: Counter[str] = field(default_factory=Counter[str])
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def use(self, construct: str, text: str) -> str:
        self.used[construct] += 1
        return text

    def used_one(self, *choices: tuple[str, str]) -> str:
        """One of several texts, each with the construct that it uses, if any."""
        construct, text = self.pick(*choices)
        return self.use(construct, text) if construct else text

    # Expressions. ``b`` is a name that holds a box, ``i`` an expression for an index.

    def number(self, depth: int, b: str, i: str) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.used_one(
                ("", str(self.random.randint(0, 3))), ("", "self.total"), ("", "self.low"), ("", f"{b}.count"),
                ("", f"self.level[{i}]"), ("", "self.top"), ("", i),
                ("left read as a number", f"{b}.rest.remaining"),
            )  # fmt: skip
        a, c = (self.number(depth - 1, b, i) for _ in range(2))
        match self.random.randrange(14):
            case 12:
                held = self.pick("self.mail", "self.pile", "self.line", "self.marks", f"{b}.marks")
                return self.use("len of a container", f"len({held})")
            case 13:
                return self.used_one(
                    ("fold over a queue", "sum(m.weight for m in self.mail)"),
                    ("fold over a bag", "max((m.weight + n for n, m in enumerate(self.pile)), default=0)"),
                    ("fold over a subset", f"sum(n for n in {b}.marks)"),
                    ("item of a container", self.pick("self.mail.first.weight", f"self.line[{i}]")),
                )
            case 0:
                return self.use("+", f"({a} + {c})")
            case 1:
                return self.use("-", f"({a} - {c})")
            case 2:
                return self.use("*", f"({a} * {c})")
            case 3:
                return self.use("//", f"({a} // {self.pick('2', '3', '-2', c)})")
            case 4:
                return self.use("%", f"({a} % {self.pick('2', '3', '-3', c)})")
            case 5:
                return self.use("min max", f"{self.pick('min', 'max')}({a}, {c})")
            case 6:
                return self.use("abs", f"abs({a})")
            case 7:
                return self.use("conditional expression", f"({a} if {self.condition(depth - 1, b, i)} else {c})")
            case 8:
                return self.use("sum", f"sum(x.count for x in self.box if {self.condition(depth - 1, 'x', i)})")
            case 9:
                return self.use("min max fold", f"{self.pick('min', 'max')}((x.count for x in self.box), default=0)")
            case 10:
                return self.use("function", f"spread({a}, {c})")
            case _:
                return self.use("flag as a number", f"(self.lit + {a})")

    def condition(self, depth: int, b: str, i: str) -> str:
        if depth <= 0 or self.chance(0.2):
            return self.used_one(
                ("", "self.lit"), ("", f"{b}.open"), ("is None", f"{b}.parcel is {self.pick('', 'not ')}None"),
                ("age running", f"{b}.since.running"), ("left over", f"{b}.rest.over"),
                ("enum comparison", f"{b}.colour {self.pick('==', '!=', 'is')} {self.pick(*COLOURS)}"),
                ("property", f"{b}.busy"),
            )  # fmt: skip
        match self.random.randrange(17):
            case 14:
                return self.use("in a subset", f"({self.number(0, b, i)} {self.pick('in', 'not in')} {b}.marks)")
            case 15:
                op = self.pick("<=", ">=", "==", "!=")
                return self.use("subset comparison", f"({b}.marks {op} self.marks)")
            case 16:
                return self.use("full", self.pick("self.mail.full", "self.pile.full", "self.line.full"))
            case 0 | 1:
                op = self.pick("==", "!=", "<", "<=", ">", ">=")
                return self.use("comparison", f"({self.number(depth - 1, b, i)} {op} {self.number(depth - 1, b, i)})")
            case 2:
                a, c, d = (self.number(depth - 1, b, i) for _ in range(3))
                return self.use("chained comparison", f"({a} <= {c} < {d})")
            case 3:
                op = self.pick("<", "<=", ">", ">=", "==")
                return self.use("age comparison", f"({b}.since {op} {self.pick('1', '2', 'self.top')})")
            case 4:
                return self.use("not", f"(not {self.condition(depth - 1, b, i)})")
            case 5 | 6:
                op = self.pick("and", "or")
                return self.use(op, f"({self.condition(depth - 1, b, i)} {op} {self.condition(depth - 1, b, i)})")
            case 7:
                return self.use("in", f"({self.number(depth - 1, b, i)} in (0, 2, {self.number(0, b, i)}))")
            case 8:
                return self.use(
                    "all any", f"{self.pick('all', 'any')}({self.condition(depth - 1, 'x', i)} for x in self.box)"
                )
            case 9:
                return self.use(
                    "range fold", f"any(self.level[n] == {self.number(0, b, 'n')} for n in range(self.boxes))"
                )
            case 10:
                return self.use(
                    "optional read", f"({b}.parcel is not None and {b}.parcel.weight > {self.number(0, b, i)})"
                )
            case 11:
                return self.use("method with a value", f"{b}.heavier(self.box[{i}])")
            case 12:
                return self.use("record comparison", f"({b} {self.pick('==', '!=')} self.spare)")
            case _:
                return self.use("enumerate fold", "all(n <= x.count for n, x in enumerate(self.box) if x.open)")

    # Statements

    def block(self, depth: int, b: str, i: str, indent: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, b, i, indent)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def within(self, expr: str, size: int) -> str:
        return f"({expr}) % {size}" if self.chance(0.85) else expr

    def statement(self, depth: int, b: str, i: str, indent: int) -> None:
        number = lambda d=2: self.number(d, b, i)  # noqa: E731
        condition = lambda d=2: self.condition(d, b, i)  # noqa: E731
        match self.random.randrange(30):
            case 20:
                self.put(indent, "if not self.mail.full:")
                parcel = self.pick(f"Parcel(weight={self.within(number(), 3)}, fresh=self.lit)", "Parcel()")
                self.put(indent + 1, self.use("push", f"self.mail.push({parcel})"))
            case 21:
                self.put(indent, "if not self.pile.full:")
                parcel = self.pick(f"Parcel(weight={self.within(number(), 3)})", "Parcel(fresh=True)")
                self.put(indent + 1, self.use("add to a bag", f"self.pile.add({parcel})"))
            case 22:
                self.put(indent, self.use("push a number", f"self.line.push({self.within(number(), 4)})"))
            case 23:
                q = self.pick("mail", "line")
                self.put(indent, f"if len(self.{q}) > 0:")
                self.put(indent + 1, self.use("drop", f"self.{q}.drop()"))
            case 24:
                gone = self.pick(f"self.pile.remove({i})", f"self.mail.remove({i})", "self.pile.clear()")
                self.put(indent, self.use("remove", gone))
            case 25:
                change = self.pick("add", "discard")
                self.put(indent, self.use("subset change", f"{b}.marks.{change}({self.within(number(1), 3)})"))
            case 26:
                op = self.pick("|=", "&=", "-=")
                self.put(indent, self.use("subset with another", f"{b}.marks {op} self.marks"))
                self.put(indent, self.use("subset copied", f"self.marks = self.box[{i}].marks"))
            case 27:
                self.names += 1
                name = f"m{self.names}"
                if self.chance(0.5):
                    self.put(indent, self.use("for over a queue", f"for {name} in self.mail:"))
                    self.put(indent + 1, f"{name}.weight = {self.within(number(1), 3)}")
                else:
                    self.put(indent, self.use("for over a bag", f"for {name} in self.pile:"))
                    self.put(indent + 1, f"self.total = min({name}.weight + self.total, 3)")
            case 28 | 29 if depth > 0:
                self.names += 1
                name = f"m{self.names}"
                self.put(indent, self.use("for over a subset", f"for {name} in {b}.marks:"))
                self.block(depth - 1, b, f"{name} % 2", indent + 1)
            case 0:
                self.put(indent, self.use("assignment", f"self.total = {self.within(number(), 4)}"))
            case 1:
                self.put(indent, self.use("assignment", f"{b}.count = {self.within(number(), 4)}"))
            case 2:
                self.put(indent, self.use("assignment to an item", f"self.level[{i}] = {self.within(number(), 3)}"))
            case 3:
                self.put(indent, self.use("augmented assignment", f"self.low {self.pick('+=', '-=')} 1"))
            case 4:
                self.put(indent, self.use("flag assignment", f"{self.pick('self.lit', f'{b}.open')} = {condition()}"))
            case 5:
                self.put(indent, self.use("enum assignment", f"{b}.colour = {self.pick(*COLOURS, 'self.shade')}"))
            case 6:
                self.put(indent, self.use("optional cleared", f"{b}.parcel = None"))
            case 7:
                fresh = self.pick("", f", fresh={condition(1)}")
                self.put(
                    indent, self.use("record built", f"{b}.parcel = Parcel(weight={self.within(number(), 3)}{fresh})")
                )
            case 8:
                self.put(
                    indent,
                    self.use("record copied", self.pick(f"self.spare = {b}", f"{b} .parcel = self.spare.parcel")),
                )
            case 9:
                self.put(indent, self.use("age", f"{b}.since.{self.pick('start', 'stop')}()"))
            case 10:
                self.put(
                    indent,
                    self.use("left", self.pick(f"{b}.rest.set({self.within(number(), 3)})", f"{b}.rest.clear()")),
                )
            case 11 | 12 if depth > 0:
                self.put(indent, self.use("if", f"if {condition()}:"))
                self.block(depth - 1, b, i, indent + 1)
                if self.chance(0.4):
                    self.put(indent, self.use("elif", f"elif {condition()}:"))
                    self.block(depth - 1, b, i, indent + 1)
                if self.chance(0.5):
                    self.put(indent, self.use("else", "else:"))
                    self.block(depth - 1, b, i, indent + 1)
            case 13 if depth > 0:
                self.names += 1
                name = f"x{self.names}"
                self.put(indent, self.use("for over items", f"for {name} in self.box:"))
                self.block(depth - 1, name, i, indent + 1)
            case 14 if depth > 0:
                self.names += 1
                name = f"n{self.names}"
                self.put(indent, self.use("for over a range", f"for {name} in range(self.boxes):"))
                self.block(depth - 1, b, name, indent + 1)
            case 15 if depth > 0:
                self.put(indent, self.use("match", f"match {b}.colour:"))
                self.put(indent + 1, "case Colour.RED:")
                self.block(depth - 1, b, i, indent + 2)
                self.put(indent + 1, self.pick("case _:", "case Colour.GREEN | Colour.BLUE:"))
                self.block(depth - 1, b, i, indent + 2)
            case 16:
                self.names += 1
                name = f"v{self.names}"
                self.put(indent, self.use("local", f"{name} = {number()}"))
                self.put(indent, f"self.total = {name} % 4")
            case 17:
                self.put(indent, self.use("require", f'self.require({condition()}, "R-{self.random.randint(1, 4)}")'))
            case 18:
                self.put(
                    indent,
                    self.use(
                        "method with an effect", self.pick(f"{b}.put({number(1)})", f"self.lit = {b}.put({number(1)})")
                    ),
                )
            case _:
                self.names += 1
                name = f"a{self.names}"
                self.put(indent, self.use("alias", f"{name} = self.at({i})"))
                self.put(indent, f"{name}.count = {self.within(self.number(2, name, i), 4)}")
                if self.chance(0.3):
                    self.put(
                        indent,
                        self.use(
                            "tuple assignment",
                            f"self.total, {name}.count = {name}.count, {self.within('self.total', 4)}",
                        ),
                    )

    def machine(self) -> str:
        for n in range(self.random.randint(2, 4)):
            self.put(1, f'@action(i="boxes"{self.pick("", ", tint=Colour", ", odd=bool")})')
            tint = self.lines[-1]
            extra = ", tint: Colour" if "tint" in tint else ", odd: bool" if "odd" in tint else ""
            self.put(1, f"def act{n}(self, i: int{extra}) -> None:")
            self.put(2, "me = self.box[i]")
            if "tint" in tint:
                self.put(2, self.use("enum parameter", "me.colour = tint"))
            if "odd" in tint:
                self.put(2, self.use("flag parameter", "self.require(odd != me.open)"))
            self.block(2, "me", "i", 2)
            if self.chance(0.3):
                self.put(2, self.use("early return", f"if {self.condition(1, 'me', 'i')}:"))
                self.put(3, "return")
                self.block(1, "me", "i", 2)
            if self.chance(0.3):
                self.put(2, self.use("ghost", "self.seen = min(self.seen + 1, 4)"))
            self.put(0, "")
        for n in range(2):
            self.put(1, "@invariant" + self.pick("", '("R-1")'))
            self.put(1, f"def holds{n}(self) -> bool:")
            if self.chance(0.3):
                self.put(2, f"if {self.condition(1, 'self.spare', '0')}:")
                self.put(3, "return True")
            self.put(2, f"return {self.condition(3, 'self.box[0]', '1')}")
            self.put(0, "")
        self.put(1, self.use("step property", f'@step_property(on="act{self.random.randint(0, 1)}")'))
        self.put(1, "def steps_well(self, before: M, i: int) -> bool:")
        self.put(2, f"return before.total <= self.total or {self.condition(2, 'before.box[i]', 'i')}")
        self.put(0, "")
        self.put(1, "@reachable")
        self.put(1, "def found(self) -> bool:")
        self.put(2, f"return {self.condition(2, 'self.box[1]', '0')}")
        return HEAD + "\n" + "\n".join(self.lines) + "\n"


def machine_source(seed: int) -> tuple[str, Counter[str]]:
    """The source text of machine number ``seed``, and how often it uses each construct."""
    writer = Writer(random.Random(seed))
    return writer.machine(), writer.used


def load(source: str, name: str) -> Any:
    """The class ``M`` of a source text, which readers of source can find again."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, file, "exec"), module.__dict__)
    return module.M
