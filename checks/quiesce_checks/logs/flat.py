"""A machine's state put in and taken out as one row, without walking its types: a log has many lines.

The cells of a machine stay where they are for its whole life (assigning copies into them), so each leaf is a place in
a list that can be looked up once. What :func:`~quiesce_model.language.machine.load` and ``state`` do is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from quiesce_model.language.machine import Machine, layout
from quiesce_model.language.types import (
    AgeType,
    EachType,
    EnumType,
    FlagType,
    LeftType,
    OptionalType,
    RecordType,
    Scalar,
    Type,
)

from .seen import State

Place = tuple[list[Any], int, tuple[Any, ...] | None]
"""A list, the position in it, and (for flags and enums) what each number stands for there."""

FLAGS = (False, True)


class Flat:
    """The leaves of one machine, by place."""

    def __init__(self, machine: Machine) -> None:
        self.places: list[Place] = []
        for position, (member, item) in enumerate(zip(layout(machine).members, machine.items_, strict=True)):
            self.places += places_of(member.type, machine.items_, position, item)
        self.numbers = [
            None if table is None else {value: number for number, value in enumerate(table)}
            for _, _, table in self.places
        ]

    def load(self, state: State) -> None:
        for (items, index, table), number in zip(self.places, state, strict=True):
            items[index] = number if table is None else table[number]

    def state(self) -> State:
        return tuple(
            [
                items[index] if numbers is None else numbers[items[index]]
                for (items, index, _), numbers in zip(self.places, self.numbers, strict=True)
            ]
        )


def places_of(type: Type, items: list[Any], index: int, value: Any) -> Iterator[Place]:
    """The places of a value's leaves, in their order. ``items[index]`` is where the value lies."""
    if isinstance(type, RecordType):
        for position, (member, item) in enumerate(zip(type.members, value.items_, strict=True)):
            yield from places_of(member.type, value.items_, position, item)
    elif isinstance(type, EachType):
        for position, item in enumerate(value.items_):
            yield from places_of(type.item, value.items_, position, item)
    elif isinstance(type, OptionalType):
        yield value.items_, 1, FLAGS
        yield from places_of(type.item, value.items_, 0, value.items_[0])
    elif isinstance(type, AgeType | LeftType):
        yield value.items_, 0, None
    elif isinstance(type, FlagType):
        yield items, index, FLAGS
    elif isinstance(type, EnumType):
        yield items, index, cast("tuple[Any, ...]", type.members)
    elif isinstance(type, Scalar):
        yield items, index, None
    else:
        raise TypeError(f"a field of {type} has no place")
