"""A small project and a few small machines for the tests of what people see."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from quiesce_model import (
    Age,
    Left,
    Machine,
    Record,
    action,
    age,
    between,
    constant,
    counter,
    each,
    flag,
    ghost,
    left,
    one_of,
    optional,
    part,
    terminal,
    upto,
)

LAMP = '''\
from quiesce_model import Left, Machine, action, constant, each, flag, ghost, invariant, left
from quiesce_model import reachable, step_property, upto


class Lamp(Machine):
    """Lamps with one switch each; a lamp that was switched rests."""

    lamps: int = constant(2)
    most: int = constant(1)
    dim: bool = constant(False)

    on: list[bool] = each("lamps", flag())
    switched: int = ghost(upto(9))
    rest: Left = left(3)

    @action(n="lamps")
    def switch(self, n: int) -> None:
        self.require(self.rest.over, "LMP-1")
        self.on[n] = not self.on[n]
        if self.rule("LMP-2"):
            self.rest.set(2)
        self.switched = min(9, self.switched + 1)

    @invariant("LMP-2")
    def few_on(self) -> bool:
        """No more than ``most`` lamps are on at a time."""
        return self.switched >= 0 and sum(1 for lamp in self.on if lamp) <= self.most

    @step_property("LMP-1", on="switch")
    def rests(self, before: "Lamp") -> bool:
        return before.rest.over

    @reachable()
    def all_on(self) -> bool:
        return all(lamp for lamp in self.on)
'''

SUITE = """\
machine = "lamp.py:Lamp"

[[check]]
name = "enough"
scope = { lamps = 2, most = 2 }

[[check]]
name = "too-many"
scope = { lamps = 3, most = 2 }
properties = ["few_on"]
expect = "violated"
witness = "findings/too-many.itf.json"

[[check]]
name = "any-most"
engine = "prove"
symbolic = ["most"]
properties = ["rests"]

[[check]]
name = "without-LMP-1"
without = ["LMP-1"]
properties = ["rests"]
expect = "violated"

[[check]]
name = "big"
tier = "full"
scope = { lamps = 5, most = 5 }
"""

RULES = """\
# Lamps

Prose about `LMP-9` is no rule.

| id | rule | seed | properties | ablation |
| --- | --- | --- | --- | --- |
| LMP-1 | a lamp **rests** | §1 | `rests` | `rests` fails |
| LMP-2 | switching makes it rest | §2 | `few_on` | redundant: a lamp that never rests is not asked for |
"""


def project(folder: Path, suite: str = SUITE) -> Path:
    """A project of two files and a table of rules, in a folder of its own."""
    (folder / "specs" / "findings").mkdir(parents=True)
    (folder / "lamp.py").write_text(LAMP, encoding="utf-8")
    (folder / "specs" / "lamp.toml").write_text(suite, encoding="utf-8")
    (folder / "specs" / "lamp.md").write_text(RULES, encoding="utf-8")
    return folder


class Colour(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Parcel(Record):
    weight: int = upto(3)
    colour: Colour = one_of(Colour)


class Room(Record):
    open: bool = flag()
    since: Age = age()
    parcel: Parcel | None = optional(Parcel)
    number: int | None = optional(upto(4))


class Board(Machine):
    """Fields that every reader of the Informal Trace Format can read: no optional values."""

    size: int = constant(2)
    loud: bool = constant(True)

    colour: Colour = one_of(Colour, Colour.GREEN)
    level: int = between(-2, 2, 0)
    since: Age = age()
    grid: list[list[int]] = each("size", each(2, upto(3)))
    best: Parcel = part(Parcel)

    @action(n="size", colour=Colour)
    def paint(self, n: int, colour: Colour) -> None:
        self.colour = colour
        self.best = Parcel(weight=3, colour=colour)
        self.grid[n][1] = 3
        self.since.start()
        self.level = -2


class Zoo(Machine):
    """One field of every kind."""

    rooms: int = constant(2)
    loud: bool = constant(True)

    colour: Colour = one_of(Colour, Colour.GREEN)
    level: int = between(-2, 2, 0)
    seen: int = counter(100_000)
    rest: Left = left(5)
    room: list[Room] = each("rooms", Room)
    grid: list[list[int]] = each(2, each(2, upto(3)))
    best: Parcel = part(Parcel)
    history: int | None = ghost(optional(upto(2)))

    @action(r="rooms", colour=Colour)
    def put(self, r: int, colour: Colour) -> None:
        room = self.room[r]
        self.require(room.parcel is None)
        room.parcel = Parcel(weight=2, colour=colour)
        room.since.start()
        room.open = True
        self.grid[r][0] = 3

    @action(r="rooms")
    def take(self, r: int) -> None:
        room = self.room[r]
        self.require(room.parcel is not None, "ZOO-1")
        self.best = Parcel(weight=3, colour=Colour.BLUE)
        room.parcel = None
        room.number = 4
        self.rest.set(5)

    @terminal
    def done(self) -> bool:
        return False
