"""A small zoo of machines, one for each thing that a search can come upon."""

from __future__ import annotations

from enum import Enum

from quiesce_model import (
    Age,
    Left,
    Machine,
    Record,
    action,
    age,
    between,
    constant,
    each,
    flag,
    invariant,
    left,
    one_of,
    optional,
    reachable,
    step_property,
    terminal,
    upto,
)


class Nothing(Machine):
    """No fields and no actions: one state."""


class Idle(Machine):
    """No fields, one action: one state, and a step from it to itself."""

    @action()
    def stay(self) -> None:
        pass


class Stuck(Machine):
    """An action that is never possible; what it is for is not declared."""

    n: int = upto(3)

    @action()
    def never(self) -> None:
        self.require(self.n == 3)
        self.n = 0

    @reachable()
    def three(self) -> bool:
        return self.n == 3


class Counter(Machine):
    """Counts to the limit; four properties that are broken, or met, at different distances."""

    limit: int = constant(12)
    n: int = upto(lambda c: c.limit)

    @action()
    def up(self) -> None:
        self.require(self.n < self.limit)
        self.n += 1

    @action()
    def jump(self) -> None:
        self.require(self.n % 3 == 1)
        self.require(self.n + 3 <= self.limit)
        self.n += 3

    @invariant()
    def below_nine(self) -> bool:
        return self.n < 9

    @invariant()
    def below_four(self) -> bool:
        return self.n < 4

    @invariant()
    def in_range(self) -> bool:
        return 0 <= self.n <= self.limit

    @step_property(on="jump")
    def jumps_low(self, before: Counter) -> bool:
        return before.n < 7

    @reachable()
    def full(self) -> bool:
        return self.n == self.limit

    @reachable()
    def beyond(self) -> bool:
        return self.n > self.limit

    @terminal
    def done(self) -> bool:
        return self.n == self.limit


class Trap(Machine):
    """Two ways to go; one ends where nothing is possible but time that changes nothing."""

    place: int = upto(4)
    rest: Left = left(2)

    @action()
    def safe(self) -> None:
        self.require(self.place == 0)
        self.place = 1
        self.rest.set(2)

    @action()
    def home(self) -> None:
        self.require(self.place == 1)
        self.require(self.rest.over)
        self.place = 0

    @action()
    def wrong(self) -> None:
        self.require(self.place == 1)
        self.place = 4

    @terminal
    def at_home(self) -> bool:
        return self.place == 0


class Overflow(Machine):
    """Leaves its domain in three steps, on one of two ways."""

    n: int = upto(5)
    fast: bool = flag()

    @action()
    def hurry(self) -> None:
        self.fast = not self.fast

    @action(by=2)
    def grow(self, by: int) -> None:
        self.n += (2 if self.fast else 1) + by


class Color(Enum):
    RED = 0
    GREEN = 1
    BLUE = 2


class Cell(Record):
    color: Color = one_of(Color)
    depth: int = between(-3, 4)
    mark: bool = flag()


class Signs(Machine):
    """Numbers below zero, and quotients of them: rounded down, with the divisor's sign."""

    a: int = between(-7, 7)
    b: int = between(-3, 3)
    cell: Cell | None = optional(Cell)

    @action(d=(-3, -2, -1, 1, 2, 3))
    def divide(self, d: int) -> None:
        self.a = self.a // d

    @action(d=(-3, -2, 2, 3))
    def rest(self, d: int) -> None:
        self.b = self.a % d

    @action()
    def by_field(self) -> None:
        self.require(self.b != 0)
        self.a = max(-7, min(7, self.a // self.b - self.a % self.b))

    @action()
    def turn(self) -> None:
        self.a = -self.a

    @action(c=Color)
    def paint(self, c: Color) -> None:
        self.cell = Cell(color=c, depth=max(-3, min(4, self.a)), mark=self.b > 0)

    @action()
    def wipe(self) -> None:
        self.require(self.cell is not None)
        self.cell = None

    @invariant()
    def never_minus_five(self) -> bool:
        return self.a != -5

    @step_property()
    def shrinks(self, before: Signs) -> bool:
        return self.a <= before.a + 6


class Lamp(Record):
    lit: Age = age()
    off: Left = left(3)
    level: int = upto(5)


class Lamps(Machine):
    """Ages and rests of several records."""

    lamps: int = constant(2)
    lamp: list[Lamp] = each("lamps", Lamp)

    @action(i="lamps")
    def light(self, i: int) -> None:
        me = self.lamp[i]
        self.require(me.off.over)
        self.require(not me.lit.running)
        me.lit.start()
        me.level = min(5, me.level + 1)

    @action(i="lamps")
    def douse(self, i: int) -> None:
        me = self.lamp[i]
        self.require(me.lit >= 2)
        if me.lit > 3:
            me.level = 0
        me.lit.stop()
        me.off.set(3)

    @invariant()
    def one_rests(self) -> bool:
        return self.lamp[0].off.over or self.lamp[1].off.over

    @invariant()
    def off_is_dark(self) -> bool:
        return all(x.off.over or not x.lit.running for x in self.lamp)

    @reachable()
    def bright(self) -> bool:
        return all(x.level == 5 for x in self.lamp)


class Cells(Machine):
    """Many numbers of which one or two move: wide states and many actions.

    ``moving`` of them can move, so that the scope stays small however many words a state takes.
    """

    size: int = constant(8)
    moving: int = constant(3)
    high: int = constant(1000)
    cell: list[int] = each("size", upto(lambda c: c.high))
    last: int = upto(lambda c: c.size - 1)

    @action(i="size")
    def push(self, i: int) -> None:
        self.require(i < self.moving or i == self.size - 1)
        self.require(self.cell[i] < 3)
        self.cell[i] += 1
        self.last = i

    @action(i="size")
    def drop(self, i: int) -> None:
        self.require(self.cell[i] == 3)
        self.cell[i] = 0
        self.last = i

    @invariant()
    def not_all_full(self) -> bool:
        return not all(self.cell[i] == 3 for i in range(self.moving))

    @reachable()
    def last_is_full(self) -> bool:
        return self.cell[self.size - 1] == 3
