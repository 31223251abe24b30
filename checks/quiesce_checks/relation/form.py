"""The typed statement form: a model's methods with names resolved, types known and aliases fixed.

This stands between Python's syntax and terms. It is what both the interpreter (``interpret.py``) and the symbolic
reading (``symbolic.py``) execute; where these two agree and plain Python does not, the translation from syntax is
wrong, and where they differ, the symbolic reading is.

A *place* is a part of the state (or a local alias of one): a root and steps into it. Values are of the kinds
``bool``, ``int``, an enum's class, or ``age`` (which can only be compared).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from quiesce_model.language.types import Type

from .relation import Site

Kind: TypeAlias = type[bool] | type[int] | type[Enum] | Literal["age"]


# Places


@dataclass(frozen=True)
class Field:
    """Into a record, at a member's position."""

    position: int
    name: str


@dataclass(frozen=True)
class Index:
    """Into a range of values."""

    at: Expr


@dataclass(frozen=True)
class Payload:
    """Into an optional; a fault if there is no value."""


@dataclass(frozen=True)
class Place:
    """``root`` is ``self`` (the machine after), ``before`` (the machine before a step), or a local's slot."""

    root: str
    steps: tuple[Field | Index | Payload, ...]
    type: Type
    site: Site


# Expressions


@dataclass(frozen=True)
class Literal_:
    value: int | bool
    kind: Kind
    site: Site


@dataclass(frozen=True)
class ConstantOf:
    """A constant of the machine."""

    name: str
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Local:
    slot: str
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Read:
    """The value of a one-leaf place."""

    place: Place
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Present:
    """Whether an optional has a value."""

    place: Place
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Not:
    of: Expr
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Junction:
    """``and`` or ``or`` of conditions, from left to right and no further than needed."""

    op: Literal["and", "or"]
    parts: tuple[Expr, ...]
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Compare:
    op: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Same:
    """Whether two composite values are equal."""

    left: Place
    right: Place
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Precedes:
    """Whether one composite value comes before another: leaf by leaf, in their order."""

    left: Place
    right: Place
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Arithmetic:
    op: Literal["+", "-", "*", "//", "%", "min", "max"]
    left: Expr
    right: Expr
    kind: Kind
    site: Site


@dataclass(frozen=True)
class IfElse:
    test: Expr
    then: Expr
    other: Expr
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Range:
    """The numbers from ``low`` to below ``high``, which are known at the scope."""

    low: Expr
    high: Expr


@dataclass(frozen=True)
class Values:
    """A few values that are written out."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Items:
    """The values of an ``each``: bound as aliases where they are composite, read where they are not."""

    place: Place
    size: int


@dataclass(frozen=True)
class Loop:
    """``for`` over a range or items. ``index`` and ``item`` are the slots that are bound, where they are; ``by_alias``
    says that an item is a place and not a value."""

    over: Range | Items | Values
    index: str | None
    item: str | None
    by_alias: bool = False


@dataclass(frozen=True)
class Fold:
    """``all any sum min max`` over a comprehension. ``default`` is for an empty ``min`` or ``max``."""

    op: Literal["all", "any", "sum", "min", "max"]
    loops: tuple[tuple[Loop, tuple[Expr, ...]], ...]
    body: Expr
    default: Expr | None
    kind: Kind
    site: Site


@dataclass(frozen=True)
class Call:
    """A call of another function of the model. Arguments are values or places, in the order of its parameters."""

    function: Function
    args: tuple[Expr | Place, ...]
    kind: Kind
    site: Site


Expr: TypeAlias = (
    Literal_
    | ConstantOf
    | Local
    | Read
    | Present
    | Not
    | Junction
    | Compare
    | Same
    | Precedes
    | Arithmetic
    | IfElse
    | Fold
    | Call
)


# Statements


@dataclass(frozen=True)
class SetLocal:
    slot: str
    value: Expr
    site: Site


@dataclass(frozen=True)
class Alias:
    """Fix a place under a slot: indexes are worked out now."""

    slot: str
    place: Place
    site: Site


@dataclass(frozen=True)
class Assign:
    """Write a one-leaf place; a fault if the value is outside the place's domain and ``checked``."""

    place: Place
    value: Expr
    checked: bool
    site: Site


@dataclass(frozen=True)
class CopyValue:
    """Write a composite place from another one."""

    place: Place
    source: Place
    site: Site


@dataclass(frozen=True)
class Build:
    """Write a composite place: the named members as given, all else at its start."""

    place: Place
    members: Mapping[int, Expr | Place | Build | None]
    site: Site


@dataclass(frozen=True)
class Clear:
    """Put a value back to its start: an optional is then absent."""

    place: Place
    site: Site


@dataclass(frozen=True)
class Swap:
    """Exchange two items of one range."""

    left: Place
    right: Place
    site: Site


@dataclass(frozen=True)
class If:
    test: Expr
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]
    site: Site


@dataclass(frozen=True)
class For:
    loop: Loop
    body: tuple[Statement, ...]
    site: Site


@dataclass(frozen=True)
class Require:
    """A guard; ``off`` if its rule is switched off (the condition is worked out all the same)."""

    condition: Expr
    rule: str
    off: bool
    site: Site


@dataclass(frozen=True)
class Do:
    """A call for its effect."""

    call: Call
    site: Site


@dataclass(frozen=True)
class Return:
    value: Expr | Place | None
    site: Site


Statement: TypeAlias = SetLocal | Alias | Assign | CopyValue | Build | Clear | Swap | If | For | Require | Do | Return


@dataclass(frozen=True, eq=False)
class Function:
    """A method or plain function at given kinds of arguments. ``parameters`` are slots, in order."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    site: Site
