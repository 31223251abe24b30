"""How values are spelled between quiesce and an adapter, and how what an adapter shows becomes leaves of the model.

The spelling is that of saved traces (ITF), but that whole numbers which every language's JSON keeps exact are plain:

=====================  ===========================================================================================
flag                   ``true``, ``false``
whole number           ``42``; beyond 2^53 - 1 ``{"#bigint": "…"}``, which may be written for any number
member of an enum      its name
age, rest              a whole number; an age that does not run is -1
record, ``each``       object, list
optional               ``{"tag": "Some", "value": …}``, ``{"tag": "None", "value": {"#tup": []}}``
queue, bag             a list of what is in it; of a bag, in any order
subset                 ``{"#set": [0, 2]}``, its indexes in any order
=====================  ===========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from quiesce_model.language.machine import Machine, leaves
from quiesce_model.language.types import (
    BagType,
    EachType,
    EnumType,
    FlagType,
    Leaf,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

from .subject import Observation, Value

SAFE = 2**53 - 1
"""The largest whole number that a language whose numbers are all floating point keeps exact."""


class Misspelled(Exception):
    """What an adapter shows is no value of its field; the text says what it is and what it should be."""


def spelled(value: Any) -> Any:
    """A constant or an argument as an adapter is given it."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return {"#bigint": str(value)}
    return value


def plain(data: object) -> object:
    """Data with a ``#bigint`` as the number that it is."""
    if not isinstance(data, dict) or "#bigint" not in data:
        return cast("object", data)
    digits = cast("dict[str, object]", data)["#bigint"]
    if len(cast("dict[str, object]", data)) == 1 and isinstance(digits, str) and re.fullmatch(r"-?\d{1,4000}", digits):
        return int(digits)
    raise Misspelled(f'{shown(data)} is no whole number: write {{"#bigint": "42"}} with digits as a text')


def shown(data: Any, most: int = 60) -> str:
    """Data in a message, cut where it is long."""
    import json

    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


@dataclass(frozen=True)
class Field:
    """A field that an adapter shows: a leaf, a place with several (``type`` is then its type), or, of a pairing of
    one's own, something that is worked out (neither)."""

    name: str
    leaf: Leaf | None = None
    type: Type | None = None

    def read(self, data: Any) -> Iterator[Value]:
        """The values of its leaves. Raises Misspelled."""
        if self.leaf is not None:
            yield of_kind(self.name, data, self.leaf.kind)
        elif self.type is not None:
            yield from flat(self.name, data, self.type)
        else:
            yield free(self.name, data)


class Fields:
    """What an adapter shows by its own names, and the leaves of the model that this amounts to."""

    def __init__(self, machine: Machine, names: Iterable[str]) -> None:
        known = {leaf.name: leaf for leaf in leaves(machine)}
        given = tuple(names)
        self.fields = tuple(field_of(name, machine, known, given) for name in given)
        self.names = frozenset(field.name for field in self.fields)
        self.leaves = tuple(leaf for field in self.fields for leaf in leaves_of(field, known))
        self.unknown = tuple(field.name for field in self.fields if field.leaf is None and field.type is None)

    def read(self, seen: Any) -> Observation:
        """The values of all leaves, in their order. Raises Misspelled."""
        if not isinstance(seen, dict):
            raise Misspelled(f"what is seen is an object with a value for each field, not {shown(seen)}")
        record = cast("dict[str, Any]", seen)
        if record.keys() != self.names:
            missing = [field.name for field in self.fields if field.name not in record]
            if missing:
                raise Misspelled(f"what is seen lacks {', '.join(missing)}, which describe names")
            extra = [name for name in record if name not in self.names]
            raise Misspelled(f"what is seen has {', '.join(extra)}, which describe does not name")
        return tuple(value for field in self.fields for value in field.read(record[field.name]))


def field_of(name: str, machine: Machine, known: Mapping[str, Leaf], names: tuple[str, ...]) -> Field:
    """Where an optional number is one leaf, its name means all of it, unless ``name?`` is given beside it."""
    whole = f"{name}?" in known and f"{name}?" not in names
    if name in known and not whole:
        return Field(name, leaf=known[name])
    return Field(name, type=place(machine, name))


def place(machine: Machine, name: str) -> Type | None:
    """The type of a place of the machine such as ``session[0].pair``, None if there is no such place."""
    found: Type = machine.layout_
    for part in re.findall(r"[^.\[\]]+|\[\d+\]", name):
        if isinstance(found, OptionalType):
            found = found.item
        if isinstance(found, RecordType) and not part.startswith("["):
            members = {member.name: member.type for member in found.members}
            if part not in members:
                return None
            found = members[part]
        elif isinstance(found, EachType) and part.startswith("[") and int(part[1:-1]) < found.size:
            found = found.item
        else:
            return None
    return found if isinstance(found, RecordType | EachType | OptionalType) and name else None


def leaves_of(field: Field, known: Mapping[str, Leaf]) -> list[str]:
    """The model's leaves that a field amounts to, by name."""
    if field.type is None:
        return [field.name]
    return [leaf.name for leaf in field.type.leaves(field.name, False) if leaf.name in known and not leaf.ghost]


def flat(name: str, data: Any, type: Type) -> Iterator[Value]:
    """The leaves of a value of a type, in the order in which the type lays them out."""
    if isinstance(type, RowType):
        yield from row(name, data, type)
    elif isinstance(type, SubsetType):
        yield from subset(name, data, type)
    elif isinstance(type, RecordType):
        members = {member.name: member.type for member in type.members if not member.ghost}
        if not isinstance(data, dict) or set(cast("dict[str, Any]", data)) != set(members):
            raise Misspelled(f"{name} is an object with {', '.join(members)}, not {shown(data)}")
        for member, item in members.items():
            yield from flat(f"{name}.{member}", data[member], item)
    elif isinstance(type, EachType):
        if not isinstance(data, list) or len(cast("list[Any]", data)) != type.size:
            raise Misspelled(f"{name} is a list of {type.size}, not {shown(data)}")
        for position, item in enumerate(cast("list[Any]", data)):
            yield from flat(f"{name}[{position}]", item, type.item)
    elif isinstance(type, OptionalType):
        match data:
            case {"tag": "Some", "value": item}:
                yield True
                yield from flat(name, item, type.item)
            case {"tag": "None"}:
                yield False
                yield from (start_of(leaf) for leaf in type.item.leaves(name, False) if not leaf.ghost)
            case _:
                options = '{"tag": "Some", "value": …} or {"tag": "None", "value": {"#tup": []}}'
                raise Misspelled(f"{name} is {options}, not {shown(data)}")
    else:
        kind = "flag" if isinstance(type, FlagType) else "enum" if isinstance(type, EnumType) else "int"
        yield of_kind(name, data, kind)


def row(name: str, data: Any, type: RowType) -> Iterator[Value]:
    """A queue or a bag: its length, what is in it, and the places that are not in use."""
    if not isinstance(data, list) or len(cast("list[Any]", data)) > type.size:
        raise Misspelled(f"{name} is a list of at most {type.size}, not {shown(data)}")
    given = cast("list[Any]", data)
    items = [tuple(flat(f"{name}[{position}]", item, type.item)) for position, item in enumerate(given)]
    if isinstance(type, BagType):
        kinds = tuple(type.item.leaves(name, False))
        items.sort(key=lambda item: [order(leaf, value) for leaf, value in zip(kinds, item, strict=False)])
    yield len(items)
    for item in items:
        yield from item
    for _ in range(type.size - len(items)):
        yield from (start_of(leaf) for leaf in type.item.leaves(name, False) if not leaf.ghost)


def order(leaf: Leaf, value: Value) -> int:
    """Where a value stands among those of its leaf; a name that no member of the enum has comes last."""
    if isinstance(value, str):
        return leaf.choices.index(value) if value in leaf.choices else len(leaf.choices)
    return int(value or 0)


def subset(name: str, data: Any, type: SubsetType) -> Iterator[Value]:
    """A flag for each index."""
    match data:
        case {"#set": [*given]}:
            indexes = [plain(index) for index in cast("list[object]", given)]
            if all(isinstance(index, int) and 0 <= index < type.size for index in indexes):
                yield from (index in indexes for index in range(type.size))
                return
        case _:
            pass
    raise Misspelled(f'{name} is {{"#set": […]}} with numbers from 0 to {type.size - 1}, not {shown(data)}')


def start_of(leaf: Leaf) -> Value:
    if leaf.kind == "flag":
        return bool(leaf.start)
    return leaf.choices[leaf.start] if leaf.choices else leaf.start


def of_kind(name: str, data: Any, kind: str) -> Value:
    """A value of one leaf, as it is compared."""
    if kind == "flag":
        if data is True or data is False:
            return data
        raise Misspelled(f"{name} is true or false, not {shown(data)}")
    if kind == "enum":
        if isinstance(data, str):
            return data
        raise Misspelled(f"{name} is the name of a member of its enum, not {shown(data)}")
    number = data if type(data) is int else plain(data)
    if type(number) is int:
        return number
    hint = " (an age that does not run is -1)" if kind == "age" else ""
    raise Misspelled(f"{name} is a whole number{hint}, not {shown(data)}")


def free(name: str, data: Any) -> Value:
    """A value of a field that is no place of the model."""
    value = plain(data)
    if value is None or isinstance(value, str | bool | int):
        return value
    raise Misspelled(f"{name} is a whole number, true, false, a text or null, not {shown(data)}")
