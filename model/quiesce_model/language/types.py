"""The types of a model's fields, with the bounds that they have at one scope.

A type lays a value out as *leaves*: whole numbers, in the order in which the fields are declared. A state of a
machine is the tuple of all its leaves, and every reading of a model means the same tuple.

=================  ==========================================================================================
type               leaves
=================  ==========================================================================================
flag               one: 0 or 1
whole number       one: the number
choice (enum)      one: the position of the member in its enum
age                one: the time since it started, or -1 while it is stopped
left               one: the time that is left, 0 when it is over
record             those of its fields
each               those of its items
optional           one that says whether there is a value, then those of the value, all at their start if absent
queue, bag         one for the length, then those of every place, all at their start where it is not in use
subset             a flag for each index
=================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from .outcome import Fault

if TYPE_CHECKING:
    from .values import Cells, Home

START: Any = object()
"""What a loose record holds for a field that was not given and whose start depends on the scope."""

STOPPED = -1
"""The leaf of an age that is not running: younger than every duration."""


@dataclass(frozen=True)
class Leaf:
    """One whole number of a state. ``high`` is None where the type has no upper bound (an age)."""

    name: str
    kind: str
    low: int
    high: Any
    start: int
    ghost: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Type:
    """Base of all types. A type knows how a value is made, kept in a cell, and laid out."""

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        """A new value at its start, for a cell of ``home``."""
        raise TypeError(type(self).__name__)

    def put(self, cells: Cells, index: int, value: Any) -> None:
        """Assign: check the domain and copy ``value`` into the cell."""
        raise TypeError(type(self).__name__)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        raise TypeError(type(self).__name__)

    def encode(self, value: Any, out: list[int]) -> None:
        """Append the leaves of ``value``."""
        raise TypeError(type(self).__name__)

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        """Fill a cell from leaves, unchecked."""
        raise TypeError(type(self).__name__)

    def plain(self, value: Any) -> Any:
        """The value as JSON-like data, for traces and observations."""
        raise TypeError(type(self).__name__)


@dataclass(frozen=True)
class Scalar(Type):
    """A type of one leaf that is kept as an immutable Python value."""

    start: Any

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        return self.start

    def put(self, cells: Cells, index: int, value: Any) -> None:
        cells.write_(index, self.accept(value, cells, index))

    def accept(self, value: Any, cells: Cells, index: int) -> Any:
        raise TypeError(type(self).__name__)

    def to_leaf(self, value: Any) -> int:
        return int(value)

    def of_leaf(self, leaf: int) -> Any:
        return leaf

    def encode(self, value: Any, out: list[int]) -> None:
        out.append(self.to_leaf(value))

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        cells.items_[index] = self.of_leaf(next(leaves))

    def plain(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class FlagType(Scalar):
    def accept(self, value: Any, cells: Cells, index: int) -> bool:
        if value is True or value is False:
            return value
        raise Fault("domain", cells.place_(index), f"{value!r} is not a flag")

    def of_leaf(self, leaf: int) -> bool:
        return bool(leaf)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        yield Leaf(name, "flag", 0, 1, int(self.start), ghost)


@dataclass(frozen=True)
class IntType(Scalar):
    """Whole numbers from ``low`` to ``high``, both included. ``open`` ones have no upper bound in a proof."""

    low: Any
    high: Any
    open: bool = False

    def accept(self, value: Any, cells: Cells, index: int) -> int:
        number = int(value)
        if self.low <= number and (number <= self.high or (self.open and cells.home_.unbounded)):
            return number
        raise Fault("domain", cells.place_(index), f"{number} is outside {self.low}..{self.high}")

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        yield Leaf(name, "counter" if self.open else "int", self.low, self.high, self.start, ghost)


@dataclass(frozen=True)
class EnumType(Scalar):
    enum: type[Enum]

    @property
    def members(self) -> tuple[Enum, ...]:
        return tuple(self.enum)

    def accept(self, value: Any, cells: Cells, index: int) -> Enum:
        if isinstance(value, self.enum):
            return value
        raise Fault("domain", cells.place_(index), f"{value!r} is not a member of {self.enum.__name__}")

    def to_leaf(self, value: Any) -> int:
        return self.members.index(value)

    def of_leaf(self, leaf: int) -> Enum:
        return self.members[leaf]

    def plain(self, value: Any) -> Any:
        return value.name

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        names = tuple(member.name for member in self.members)
        yield Leaf(name, "enum", 0, len(names) - 1, self.to_leaf(self.start), ghost, names)


@dataclass(frozen=True)
class AgeType(Type):
    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        from .values import Age

        return Age(home, where, guard)

    def put(self, cells: Cells, index: int, value: Any) -> None:
        cells.items_[index].assign(value)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        yield Leaf(name, "age", STOPPED, None, STOPPED, ghost)

    def encode(self, value: Any, out: list[int]) -> None:
        out.append(value.items_[0])

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        cells.items_[index].items_[0] = next(leaves)

    def plain(self, value: Any) -> Any:
        return value.items_[0] if value.running else None


@dataclass(frozen=True)
class LeftType(Type):
    high: Any

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        from .values import Left

        return Left(home, where, guard, self.high)

    def put(self, cells: Cells, index: int, value: Any) -> None:
        cells.items_[index].assign(value)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        yield Leaf(name, "left", 0, self.high, 0, ghost)

    def encode(self, value: Any, out: list[int]) -> None:
        out.append(value.items_[0])

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        cells.items_[index].items_[0] = next(leaves)

    def plain(self, value: Any) -> Any:
        return value.items_[0]


@dataclass(frozen=True)
class Member:
    """One field of a record type."""

    name: str
    type: Type
    ghost: bool


@dataclass(frozen=True)
class RecordType(Type):
    record: type[Any]
    members: tuple[Member, ...]

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        value: Any = object.__new__(self.record)
        value.furnish_(self, home, where, guard)
        return value

    def put(self, cells: Cells, index: int, value: Any) -> None:
        self.copy_into(cells.items_[index], value)

    def copy_into(self, target: Any, value: Any) -> None:
        source = list(value.items_)
        for position, member in enumerate(self.members):
            item = source[position]
            if item is START:
                item = started(member)
            member.type.put(target, position, item)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        for member in self.members:
            yield from member.type.leaves(f"{name}.{member.name}" if name else member.name, ghost or member.ghost)

    def encode(self, value: Any, out: list[int]) -> None:
        for member, item in zip(self.members, value.items_, strict=True):
            member.type.encode(item, out)

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        self.decode_into(cells.items_[index], leaves)

    def decode_into(self, target: Any, leaves: Iterator[int]) -> None:
        for position, member in enumerate(self.members):
            member.type.decode(target, position, leaves)

    def plain(self, value: Any) -> Any:
        return {member.name: member.type.plain(item) for member, item in zip(self.members, value.items_, strict=True)}


@dataclass(frozen=True)
class EachType(Type):
    """``size`` values of one type. ``symmetric`` says that the indexes are interchangeable."""

    size: int
    item: Type
    symmetric: bool = False

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        from .values import Each

        return Each(self, home, where, guard)

    def put(self, cells: Cells, index: int, value: Any) -> None:
        target = cells.items_[index]
        source = list(value)
        if len(source) != self.size:
            raise Fault("domain", cells.place_(index), f"{len(source)} values for {self.size} places")
        for position, item in enumerate(source):
            self.item.put(target, position, item)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        for position in range(self.size):
            yield from self.item.leaves(f"{name}[{position}]", ghost)

    def encode(self, value: Any, out: list[int]) -> None:
        for item in value.items_:
            self.item.encode(item, out)

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        target = cells.items_[index]
        for position in range(self.size):
            self.item.decode(target, position, leaves)

    def plain(self, value: Any) -> Any:
        return [self.item.plain(item) for item in value.items_]


def started(member: Member) -> Any:
    """A loose value for a field, at its start."""
    from .values import LOOSE

    return member.type.fresh(LOOSE, member.name, None)


@dataclass(frozen=True)
class PlacesType(EachType):
    """The places of a queue or a bag."""


@dataclass(frozen=True)
class RowType(RecordType):
    """A queue or a bag: a length, then a range of items of which so many are in use."""

    @property
    def item(self) -> Type:
        return cast(EachType, self.members[1].type).item

    @property
    def size(self) -> int:
        """How many items it can hold."""
        return cast(EachType, self.members[1].type).size

    def plain(self, value: Any) -> Any:
        return [self.item.plain(item) for item in value.items_[1].items_[: value.items_[0]]]


@dataclass(frozen=True)
class QueueType(RowType):
    """Items, first in, first out."""


@dataclass(frozen=True)
class BagType(RowType):
    """Items in the order of their leaves, which is no order of the model's."""


@dataclass(frozen=True)
class SubsetType(RecordType):
    """Some of the indexes of a range: a flag for each."""

    @property
    def size(self) -> int:
        """How many indexes there are."""
        return cast(EachType, self.members[0].type).size

    def plain(self, value: Any) -> Any:
        return [index for index, held in enumerate(value.items_[0].items_) if held]


@dataclass(frozen=True)
class OptionalType(Type):
    """A value or None. The leaves of an absent value are those of its start, so absence is one state."""

    item: Type

    def fresh(self, home: Home, where: str, guard: Any) -> Any:
        from .values import Slot

        return Slot(self.item, home, where, guard)

    def put(self, cells: Cells, index: int, value: Any) -> None:
        cells.items_[index].assign(value)

    def leaves(self, name: str, ghost: bool) -> Iterator[Leaf]:
        yield Leaf(f"{name}?", "flag", 0, 1, 0, ghost)
        yield from self.item.leaves(name, ghost)

    def encode(self, value: Any, out: list[int]) -> None:
        out.append(int(value.present))
        self.item.encode(value.items_[0], out)

    def decode(self, cells: Cells, index: int, leaves: Iterator[int]) -> None:
        slot = cells.items_[index]
        slot.items_[1] = bool(next(leaves))
        self.item.decode(slot, 0, leaves)

    def plain(self, value: Any) -> Any:
        return self.item.plain(value.items_[0]) if value.present else None
