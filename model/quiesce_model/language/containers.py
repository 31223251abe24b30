"""Containers: queues, bags and subsets, each bounded at the scope.

They are records, and their methods are written in the modelling language itself, so every reading of a model reads
them as it reads the model. Only three things need help from a reading: what a ``for`` runs over, the order of two
items, and an item put back to its start (:func:`precedes`, :func:`swap`, :func:`blank`).

A place that is not in use is always at its start, and the items of a bag lie in order, so a content is one state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .fields import Bound, Field, Spec, each, flag, size_at, spec_of, upto
from .outcome import Misuse
from .types import START, BagType, EachType, FlagType, IntType, Member, PlacesType, QueueType, SubsetType, Type
from .values import LOOSE, Each, Record

T = TypeVar("T")


def blank(row: Any, place: int) -> None:
    """Put an item back to its start."""
    row[place] = row.layout_.item.fresh(LOOSE, row.where_, None)


def swap(row: Any, a: int, b: int) -> None:
    """Exchange two items."""
    held = Each(EachType(1, row.layout_.item), LOOSE, row.where_, None)
    held[0] = row[a]
    row[a] = row[b]
    row[b] = held[0]


def precedes(row: Any, a: int, b: int) -> bool:
    """Whether the item at ``a`` comes before that at ``b``: field by field, in the order of declaration."""
    one: list[int] = []
    other: list[int] = []
    row.layout_.item.encode(row.items_[row.at(a)], one)
    row.layout_.item.encode(row.items_[row.at(b)], other)
    return one < other


class Container(Record):
    """What queues, bags and subsets have in common: a length, a loop over what is in them, and being emptied."""


class Row(Container, Generic[T]):
    """Items in the places 0 … length - 1 of a range of constant size."""

    length: int = upto(0)
    item: list[T] = each(0, flag())

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T]:
        for place in range(len(self.item)):
            if place < self.length:
                yield self.item[place]

    def __getitem__(self, place: int) -> T:
        return self.item[place if place < self.length else len(self.item)]

    @property
    def full(self) -> bool:
        """Whether there is no room for another item."""
        return self.length == len(self.item)

    def remove(self, place: int) -> None:
        """Take out the item at a place; those behind it move up. A fault if there is none."""
        blank(self.item, place if place < self.length else len(self.item))
        for n in range(len(self.item) - 1):
            if n >= place:
                self.item[n] = self.item[n + 1]
        self.length -= 1
        blank(self.item, self.length)

    def clear(self) -> None:
        """Take out everything."""
        for n in range(len(self.item)):
            blank(self.item, n)
        self.length = 0


class Queue(Row[T]):
    """First in, first out."""

    @property
    def first(self) -> T:
        """The item that came in first. A fault if there is none."""
        return self.item[0 if self.length > 0 else len(self.item)]

    def push(self, item: T) -> None:
        """Put an item, of which a copy is kept, behind all others. A fault if the queue is full."""
        self.item[self.length] = item
        self.length += 1

    def drop(self) -> None:
        """Take out the first item. A fault if there is none."""
        self.remove(0)


class Bag(Row[T]):
    """Items in no order of their own: two bags with the same items are the same."""

    def add(self, item: T) -> None:
        """Put an item, of which a copy is kept, into the bag. A fault if it is full."""
        self.item[self.length] = item
        self.length += 1
        self.settle()

    def settle(self) -> None:
        """Bring the item in the last place to where it belongs."""
        for n in range(len(self.item) - 1):
            place = len(self.item) - 1 - n
            if place < self.length and precedes(self.item, place, place - 1):
                swap(self.item, place, place - 1)


class Subset(Container):
    """Some of the indexes 0 … size - 1."""

    member: list[bool] = each(0, flag())

    def __len__(self) -> int:
        return sum(1 for held in self.member if held)

    def __iter__(self) -> Iterator[int]:
        for index in range(len(self.member)):
            if self.member[index]:
                yield index

    def __contains__(self, index: int) -> bool:
        return self.member[index]

    def __le__(self, other: Subset) -> bool:
        return all(other.member[n] for n in range(len(self.member)) if self.member[n])

    def __ge__(self, other: Subset) -> bool:
        return all(self.member[n] for n in range(len(self.member)) if other.member[n])

    def __ior__(self, other: Subset) -> Subset:
        self.update(other)
        return self

    def __iand__(self, other: Subset) -> Subset:
        self.intersect(other)
        return self

    def __isub__(self, other: Subset) -> Subset:
        self.subtract(other)
        return self

    def add(self, index: int) -> None:
        """Put an index in, if it is not in already."""
        self.member[index] = True

    def discard(self, index: int) -> None:
        """Take an index out, if it is in."""
        self.member[index] = False

    def update(self, other: Subset) -> None:
        """Put in whatever ``other`` has."""
        for n in range(len(self.member)):
            if other.member[n]:
                self.member[n] = True

    def intersect(self, other: Subset) -> None:
        """Keep what ``other`` has too."""
        for n in range(len(self.member)):
            if not other.member[n]:
                self.member[n] = False

    def subtract(self, other: Subset) -> None:
        """Take out whatever ``other`` has."""
        for n in range(len(self.member)):
            if other.member[n]:
                self.member[n] = False

    def clear(self) -> None:
        """Take out everything."""
        for n in range(len(self.member)):
            self.member[n] = False


@dataclass(frozen=True)
class RowOf(Spec):
    size: str | Bound
    item: Spec
    ordered: bool
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        size, item = size_at(self.size, constants), self.item.resolve(constants)
        what = "queue" if self.ordered else "bag"
        if size == 0:
            raise Misuse(f"a {what} of no items holds nothing: give it a size of 1 or more")
        if not self.ordered and any(leaf.kind in ("age", "left") for leaf in item.leaves("", False)):
            raise Misuse("the items of a bag have an order that time must not change: keep ages and rests elsewhere")
        members = (
            Member("length", IntType(0, 0, size), False),
            Member("item", PlacesType(size, item), False),
        )
        return QueueType(Queue, members) if self.ordered else BagType(Bag, members)

    def loose(self, name: str) -> Any:
        return START


@dataclass(frozen=True)
class SubsetOf(Spec):
    size: str | Bound
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        size = size_at(self.size, constants)
        return SubsetType(Subset, (Member("member", EachType(size, FlagType(False)), False),))

    def loose(self, name: str) -> Any:
        return START


def queue(size: str | Bound, item: Any) -> Any:
    """First in, first out, at most ``size`` items; it starts empty."""
    return Field(RowOf(size, held(item), ordered=True))


def bag(size: str | Bound, item: Any) -> Any:
    """At most ``size`` items in no order; it starts empty."""
    return Field(RowOf(size, held(item), ordered=False))


def subset(size: str | Bound) -> Any:
    """Some of the indexes 0..size-1; it starts with none."""
    return Field(SubsetOf(size))


def held(item: Any) -> Spec:
    from .fields import OptionalOf

    spec = spec_of(item)
    if isinstance(spec, OptionalOf):
        raise Misuse("an item of a queue or bag is there or not there: hold the value itself, not optional(…)")
    return spec
