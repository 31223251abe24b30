"""Names inside one function while it is translated."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from quiesce_model.language.containers import Container
from quiesce_model.language.types import (
    AgeType,
    EachType,
    EnumType,
    FlagType,
    IntType,
    LeftType,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

from . import form
from .form import Kind
from .source import Source

OptionalKey: TypeAlias = tuple[type[Any], str]
"""An optional member of a record class: what an assignment may make absent behind an alias's back."""


@dataclass(frozen=True)
class Scalar:
    """A name that holds a number, a flag or a choice."""

    value: form.Expr
    kind: Kind


@dataclass(frozen=True)
class AliasOf:
    """A name that stands for a place. ``optional`` is the optional member that the place goes through last."""

    place: form.Place
    optional: OptionalKey | None = None


@dataclass(frozen=True)
class Unbound:
    """A name that cannot be used here, and why."""

    why: str
    remedy: str


Binding: TypeAlias = Scalar | AliasOf | Unbound


@dataclass
class Scope:
    """One function being translated. ``assigned`` collects the optional members that it assigns, callees included."""

    source: Source
    number: int
    names: dict[str, Binding] = field(default_factory=dict[str, Binding])
    returns: list[tuple[ast.AST, form.Expr | form.Place | None]] = field(default_factory=list)  # type: ignore[type-arg]
    assigned: set[OptionalKey] = field(default_factory=set[OptionalKey])
    writes: bool = False
    inner: int = 0

    def slot(self, name: str) -> str:
        return f"{self.number}.{name}"

    def forget(self, keys: set[OptionalKey]) -> None:
        """Aliases into optional members that have just been assigned mean something else in Python: unbind them."""
        for name, binding in self.names.items():
            if isinstance(binding, AliasOf) and binding.optional in keys:
                if issubclass(binding.optional[0], Container):
                    kind = binding.optional[0].__name__.lower()
                    self.names[name] = Unbound(
                        f"{name} was bound to an item before a {kind} changed, and may mean another item now",
                        f"read what you need of {name} first, or bind it again",
                    )
                    continue
                self.names[name] = Unbound(
                    f"{name} was bound before .{binding.optional[1]} was assigned, and may mean the old value",
                    f"bind {name} again after the assignment",
                )


def merged(then: dict[str, Binding], other: dict[str, Binding]) -> dict[str, Binding]:
    """The names after an if of which both branches can be left."""
    result: dict[str, Binding] = {}
    for name in [*then, *(n for n in other if n not in then)]:
        a, b = then.get(name), other.get(name)
        if a is None or b is None:
            result[name] = Unbound(
                f"{name} is bound on one branch only",
                f"give {name} a value before the if, or on both branches",
            )
        elif isinstance(a, Unbound) or isinstance(b, Unbound):
            result[name] = a if isinstance(a, Unbound) else b
        elif a == b or (isinstance(a, Scalar) and isinstance(b, Scalar) and a.kind == b.kind):
            result[name] = a
        else:
            result[name] = Unbound(
                f"{name} stands for different places on the two branches",
                "use an index instead: choose a number in the branches, then bind the alias once",
            )
    return result


def kind_of(type: Type) -> Kind | None:
    """The kind of a one-leaf type, None for a composite one."""
    match type:
        case FlagType():
            return bool
        case IntType() | LeftType():
            return int
        case EnumType():
            return type.enum
        case AgeType():
            return "age"
        case _:
            return None


def kind_name(kind: Kind) -> str:
    if kind == "age":
        return "an age"
    if kind is bool:
        return "a condition"
    if kind is int:
        return "a number"
    return f"a {kind.__name__}"


def type_name(type: Type) -> str:
    match type:
        case RowType():
            return f"a {type.record.__name__.lower()} of {type_name(type.item)}"
        case SubsetType():
            return "a subset"
        case RecordType():
            return type.record.__name__
        case EachType():
            return f"a range of {type_name(type.item)}"
        case OptionalType():
            return f"{type_name(type.item)} or None"
        case _:
            kind = kind_of(type)
            return "a value" if kind is None else kind_name(kind)


def is_enum(kind: Kind) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def optional_keys(type: Type) -> set[OptionalKey]:
    """Every optional member inside a type."""
    match type:
        case RecordType():
            found: set[OptionalKey] = set()
            for member in type.members:
                if isinstance(member.type, OptionalType):
                    found.add((type.record, member.name))
                found |= optional_keys(member.type)
            return found
        case EachType() | OptionalType():
            return optional_keys(type.item)
        case _:
            return set()
