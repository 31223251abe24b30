"""How a machine holds its state under plain Python.

Every composite value is a row of *cells*. Assigning copies into the cells that are already there, so a record is a
value and a local bound to ``self.session[1]`` stays an alias of that place. Every write goes through
:meth:`Cells.write`, which keeps a journal while an action runs: a guard that fails puts everything back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, dataclass_transform, overload

from . import fields as _fields
from .outcome import Fault, Misuse
from .types import STOPPED, EachType, PlacesType, RecordType, Type

T = TypeVar("T")


class Home:
    """What all cells of one machine share: the machine, and the journal of the action that is running, if one is."""

    __slots__ = ("journal", "machine", "unbounded")

    def __init__(self, machine: Any = None) -> None:
        self.machine = machine
        self.unbounded = False  # counters may exceed what bounds them in exploration
        self.journal: list[tuple[list[Any], int, Any]] | None = None

    def undo(self, mark: int = 0) -> None:
        """Take back what was written since the journal had ``mark`` entries."""
        journal = self.journal
        while journal is not None and len(journal) > mark:
            items, index, old = journal.pop()
            items[index] = old


LOOSE = Home()
"""The home of values that belong to no machine, such as a record that an action has just built."""


class Cells:
    """A row of values that can be assigned. ``guard`` is the optional slot that the row lies in, if any."""

    __slots__ = ("guard_", "home_", "items_", "where_")

    home_: Home
    items_: list[Any]
    where_: str
    guard_: Slot | None

    def place_(self, index: int) -> str:
        """The cell's name in the words of the model, such as ``session[1].pair.echoes``."""
        return self.where_

    def write_(self, index: int, value: Any) -> None:
        guard = self.guard_
        while guard is not None:
            if not guard.items_[1]:
                raise Fault("absent", self.place_(index), "written while the value that holds it is absent")
            guard = guard.guard_
        items = self.items_
        journal = self.home_.journal
        if journal is not None:
            journal.append((items, index, items[index]))
        items[index] = value


def join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


@dataclass_transform(
    field_specifiers=(
        _fields.flag,
        _fields.upto,
        _fields.between,
        _fields.one_of,
        _fields.part,
        _fields.each,
        _fields.optional,
        _fields.counter,
        _fields.age,
        _fields.left,
        _fields.ghost,
    ),
    kw_only_default=True,
)
class Record(Cells):
    """A value of named fields: the component that machines are made of.

    Fields are declared in the class body with the specifiers of this package. ``Record(name=value, …)`` builds a
    loose value, with every other field at its start, to be assigned somewhere.
    """

    __slots__ = ("layout_",)
    __fields__: tuple[_fields.Field, ...] = ()
    layout_: RecordType

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__fields__ = _fields.collect(cls)

    def __init__(self, **values: Any) -> None:
        self.home_ = LOOSE
        self.where_ = type(self).__name__
        self.guard_ = None
        known = [field.name for field in type(self).__fields__]
        for name in values:
            if name not in known:
                raise Misuse(f"{type(self).__name__} has no field {name!r}: it has {', '.join(known)}")
        self.items_ = [
            values[field.name] if field.name in values else field.spec.loose(field.name)
            for field in type(self).__fields__
        ]

    def furnish_(self, layout: RecordType, home: Home, where: str, guard: Slot | None) -> None:
        """Make the cells, each at its start."""
        self.layout_ = layout
        self.home_ = home
        self.where_ = where
        self.guard_ = guard
        self.items_ = [member.type.fresh(home, join(where, member.name), guard) for member in layout.members]

    def place_(self, index: int) -> str:
        return join(self.where_, type(self).__fields__[index].name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.items_ == other.items_  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{field.name}={item!r}" for field, item in zip(type(self).__fields__, self.items_, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"


class Each(Cells):
    """One value for each index of a range of constant size."""

    __slots__ = ("layout_",)
    layout_: EachType

    def __init__(self, layout: EachType, home: Home, where: str, guard: Slot | None) -> None:
        self.layout_ = layout
        self.home_ = home
        self.where_ = where
        self.guard_ = guard
        self.items_ = [layout.item.fresh(home, f"{where}[{n}]", guard) for n in range(layout.size)]

    def place_(self, index: int) -> str:
        return f"{self.where_}[{index}]"

    def at(self, index: int) -> int:
        if 0 <= index < len(self.items_):
            return index
        if isinstance(self.layout_, PlacesType) and index == len(self.items_):
            raise Fault("index", self.where_, "there is no such item, or no room for another")
        raise Fault("index", self.where_, f"index {index} is outside 0..{len(self.items_) - 1}")

    def __getitem__(self, index: int) -> Any:
        item = self.items_[self.at(index)]
        return item.value if isinstance(item, Slot) else item

    def __setitem__(self, index: int, value: Any) -> None:
        self.layout_.item.put(self, self.at(index), value)

    def __len__(self) -> int:
        return len(self.items_)

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self.items_)):
            yield self[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Each) and self.items_ == other.items_

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Slot(Cells):
    """The cell of an optional value: ``items`` is the value's own cell and whether it is present."""

    __slots__ = ("type",)
    type: Type

    def __init__(self, type: Type, home: Home, where: str, guard: Slot | None) -> None:
        self.type = type
        self.home_ = home
        self.where_ = where
        self.guard_ = guard
        self.items_ = [None, False]
        self.items_[0] = type.fresh(home, where, self)

    @property
    def present(self) -> bool:
        return self.items_[1]

    @property
    def value(self) -> Any:
        return self.items_[0] if self.items_[1] else None

    def write_(self, index: int, value: Any) -> None:
        if self.guard_ is not None and not self.guard_.items_[1]:
            raise Fault("absent", self.where_, "written while the value that holds it is absent")
        if self.home_.journal is not None:
            self.home_.journal.append((self.items_, index, self.items_[index]))
        self.items_[index] = value

    def assign(self, value: Any) -> None:
        if isinstance(value, Slot):
            value = value.value
        if value is None:
            self.write_(1, True)
            self.type.put(self, 0, self.type.fresh(LOOSE, self.where_, None))
            self.write_(1, False)
        else:
            self.write_(1, True)
            self.type.put(self, 0, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slot) and self.items_ == other.items_

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.value)


class Duration(Cells):
    """What ages and rests have in common: they compare with whole numbers and with each other."""

    __slots__ = ()

    def __init__(self, home: Home, where: str, guard: Slot | None, start: int) -> None:
        self.home_ = home
        self.where_ = where
        self.guard_ = guard
        self.items_ = [start]

    def __lt__(self, other: int | Duration) -> bool:
        return self.items_[0] < amount(other)

    def __le__(self, other: int | Duration) -> bool:
        return self.items_[0] <= amount(other)

    def __gt__(self, other: int | Duration) -> bool:
        return self.items_[0] > amount(other)

    def __ge__(self, other: int | Duration) -> bool:
        return self.items_[0] >= amount(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Duration) and self.items_[0] == amount(other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise Misuse("an age or a rest is no condition: write .running, .over or a comparison")


def amount(value: int | Duration) -> int:
    return value.items_[0] if isinstance(value, Duration) else value


class Age(Duration):
    """Time since :meth:`start`. A stopped age is younger than every duration, and it is one state."""

    __slots__ = ()

    def __init__(self, home: Home = LOOSE, where: str = "age", guard: Slot | None = None) -> None:
        super().__init__(home, where, guard, STOPPED)

    def start(self) -> None:
        """Begin to count from 0."""
        self.write_(0, 0)

    def stop(self) -> None:
        """Stop and forget."""
        self.write_(0, STOPPED)

    @property
    def running(self) -> bool:
        return self.items_[0] != STOPPED

    def assign(self, value: Age) -> None:
        self.write_(0, value.items_[0])

    def __repr__(self) -> str:
        return f"{self.items_[0]} old" if self.running else "stopped"


class Left(Duration):
    """Time until something is over, counted down to 0."""

    __slots__ = ("high",)
    high: int

    def __init__(self, home: Home = LOOSE, where: str = "left", guard: Slot | None = None, high: Any = 0) -> None:
        super().__init__(home, where, guard, 0)
        self.high = high

    def set(self, duration: int | Left) -> None:
        """Run for ``duration`` from now; 0 is over at once."""
        number = amount(duration)
        if not 0 <= number <= self.high:
            raise Fault("domain", self.where_, f"{number} is outside 0..{self.high}")
        self.write_(0, number)

    def clear(self) -> None:
        """Be over now."""
        self.write_(0, 0)

    @property
    def over(self) -> bool:
        return self.items_[0] == 0

    @property
    def remaining(self) -> int:
        """The time that is left, as a number."""
        return self.items_[0]

    def assign(self, value: int | Left) -> None:
        self.set(value)

    def __repr__(self) -> str:
        return f"{self.items_[0]} left"


@overload
def cell(value: Slot) -> Any: ...
@overload
def cell(value: T) -> T: ...
def cell(value: Any) -> Any:
    """What a model sees of a cell: the value, or None for an empty optional."""
    return value.value if isinstance(value, Slot) else value
