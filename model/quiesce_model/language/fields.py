"""The specifiers with which a model declares its fields.

A bound is a number, or a function of the machine's constants: ``upto(lambda c: c.threshold - 1)``. It is worked out
once for a machine, when the machine is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar, cast

from .outcome import Misuse
from .types import (
    START,
    AgeType,
    EachType,
    EnumType,
    FlagType,
    IntType,
    LeftType,
    Member,
    OptionalType,
    RecordType,
    Type,
)

Bound = int | Callable[[Any], Any]
E = TypeVar("E", bound=Enum)


def bound_at(bound: Bound, constants: Any) -> Any:
    return bound(constants) if callable(bound) else bound


class Spec:
    """What a field is declared to be, before the constants are known."""

    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        raise TypeError(type(self).__name__)

    def loose(self, name: str) -> Any:
        """The start value in a record that belongs to no machine."""
        raise TypeError(type(self).__name__)


@dataclass(frozen=True)
class Flag(Spec):
    start: bool
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return FlagType(self.start)

    def loose(self, name: str) -> Any:
        return self.start


@dataclass(frozen=True)
class Upto(Spec):
    low: Bound
    high: Bound
    start: Bound | None
    open: bool = False
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        low = bound_at(self.low, constants)
        start = low if self.start is None else bound_at(self.start, constants)
        return IntType(start, low, bound_at(self.high, constants), self.open)

    def loose(self, name: str) -> Any:
        start = self.low if self.start is None else self.start
        return START if callable(start) else start


@dataclass(frozen=True)
class OneOf(Spec):
    enum: type[Enum]
    start: Enum
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return EnumType(self.start, self.enum)

    def loose(self, name: str) -> Any:
        return self.start


class Overlay:
    """Constants of which a part of the machine has some fixed otherwise."""

    def __init__(self, constants: Any, fixed: dict[str, Any]) -> None:
        self.constants = constants
        self.__dict__.update(fixed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.constants, name)


@dataclass(frozen=True)
class Part(Spec):
    record: type[Any]
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        fixed: dict[str, Any] = getattr(self.record, "fixed_", {})
        return record_type(self.record, Overlay(constants, fixed) if fixed else constants)

    def loose(self, name: str) -> Any:
        return self.record()


@dataclass(frozen=True)
class EachOf(Spec):
    size: str | Bound
    item: Spec
    symmetric: bool = False
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return EachType(size_at(self.size, constants), self.item.resolve(constants), self.symmetric)

    def loose(self, name: str) -> Any:
        return START


@dataclass(frozen=True)
class OptionalOf(Spec):
    item: Spec
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return OptionalType(self.item.resolve(constants))

    def loose(self, name: str) -> Any:
        return None


@dataclass(frozen=True)
class AgeOf(Spec):
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return AgeType()

    def loose(self, name: str) -> Any:
        from .values import Age

        return Age()


@dataclass(frozen=True)
class LeftOf(Spec):
    high: Bound
    ghost: bool = False

    def resolve(self, constants: Any) -> Type:
        return LeftType(bound_at(self.high, constants))

    def loose(self, name: str) -> Any:
        return 0


def size_at(size: str | Bound, constants: Any) -> int:
    """How many indexes a range has; a string names a constant."""
    number = getattr(constants, size) if isinstance(size, str) else bound_at(size, constants)
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise Misuse(f"the size {size!r} has to be a whole number that is known at the scope, not {number!r}")


def record_type(record: type[Any], constants: Any) -> RecordType:
    """The type of a record class, or of a machine's own fields, at the given constants."""
    members = tuple(Member(field.name, field.spec.resolve(constants), field.spec.ghost) for field in record.__fields__)
    return RecordType(record, members)


class Field:
    """One declared field: a descriptor over the cells of a record or a machine."""

    __slots__ = ("index", "name", "spec")

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.name = ""
        self.index = -1

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, row: Any, owner: type | None = None) -> Any:
        if row is None:
            return self
        return row.items_[self.index]

    def __set__(self, row: Any, value: Any) -> None:
        try:
            layout = row.layout_
        except AttributeError:
            raise Misuse(
                f"{type(row).__name__}.{self.name} is set on a record that lies nowhere: give it when it is built"
            ) from None
        layout.members[self.index].type.put(row, self.index, value)

    def again(self) -> Field:
        """A descriptor of its own for a class in which the field has another position."""
        other = type(self)(self.spec)
        other.name = self.name
        return other


class OptionalField(Field):
    """A field whose cell is a slot: the model sees the value or None."""

    __slots__ = ()

    def __get__(self, row: Any, owner: type | None = None) -> Any:
        if row is None:
            return self
        item = row.items_[self.index]
        return item.value if hasattr(item, "present") else item


def collect(owner: type) -> tuple[Field, ...]:
    """The fields of a class, those of its bases first, each told its position."""
    found: dict[str, Field] = {}
    for base in reversed(owner.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, Field):
                found[name] = value
    ordered: list[Field] = []
    for index, field in enumerate(found.values()):
        if field.index not in (-1, index):
            # Inherited into another position: this class gets a descriptor of its own.
            field = field.again()
            setattr(owner, field.name, field)
        field.index = index
        ordered.append(field)
    return tuple(ordered)


def spec_of(item: Any) -> Spec:
    """A specifier from what a model writes: another field, a record class or an enum."""
    if isinstance(item, Field):
        return item.spec
    if isinstance(item, type) and issubclass(item, Enum):
        return OneOf(item, next(iter(item)))
    if isinstance(item, type) and hasattr(item, "__fields__"):
        return Part(cast("type[Any]", item))
    raise Misuse(f"{item!r} is no field: give a specifier such as flag() or upto(3), a record class or an enum")


def flag(start: bool = False) -> Any:
    """True or False."""
    return Field(Flag(start))


def upto(high: Bound, start: Bound = 0) -> Any:
    """A whole number 0..high, both included."""
    return Field(Upto(0, high, start))


def between(low: Bound, high: Bound, start: Bound | None = None) -> Any:
    """A whole number low..high, both included; it starts at ``low`` unless told otherwise."""
    return Field(Upto(low, high, start))


def counter(high: Bound, start: Bound = 0) -> Any:
    """A number that only exploration bounds, at ``high``; in a proof it is unbounded (a sequence number)."""
    return Field(Upto(0, high, start, open=True))


def one_of(enum: type[E], start: E | None = None) -> Any:
    """A member of an enum; it starts at the first unless told otherwise."""
    return Field(OneOf(enum, start if start is not None else next(iter(enum))))


def part(record: type[Any]) -> Any:
    """A record inside this one."""
    return Field(Part(record))


def each(size: str | Bound, item: Any, *, symmetric: bool = False) -> Any:
    """One value for each index 0..size-1. ``symmetric`` declares the indexes interchangeable."""
    return Field(EachOf(size, spec_of(item), symmetric))


def optional(item: Any) -> Any:
    """A value or None; it starts as None."""
    return OptionalField(OptionalOf(spec_of(item)))


def age() -> Any:
    """Time since it was started; it starts stopped."""
    return Field(AgeOf())


def left(high: Bound) -> Any:
    """Time until something is over, at most ``high``; it starts at 0, over."""
    return Field(LeftOf(high))


def ghost(item: Any) -> Any:
    """History for properties: no guard reads it and no implementation has it."""
    found: Any = spec_of(item)
    kept: Spec = cast(Spec, replace(found, ghost=True))
    return OptionalField(kept) if isinstance(kept, OptionalOf) else Field(kept)
