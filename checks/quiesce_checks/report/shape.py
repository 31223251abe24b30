"""A state as it is shown: a tree of fields and indexes with short texts at its ends, and what changed
between two.

Flags are yes and no, members of an enum their names, a stopped age and an absent value a dash; a queue or bag is
what is in it, a subset {0, 2}. Indexes
whose values are the same are shown once: ``session[0..2].triggered``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from quiesce_model.language.types import (
    STOPPED,
    AgeType,
    EachType,
    EnumType,
    FlagType,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

ABSENT = "–"

SHORT = 24
"""Letters that a content may take, before and after, to be shown whole."""

T = TypeVar("T")


@dataclass(frozen=True)
class Atom:
    text: str


@dataclass(frozen=True)
class Fields:
    items: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Items:
    items: tuple[Node, ...]


Node = Atom | Fields | Items

NOTHING = Fields(())
"""What is left of a node that is hidden: it has no line."""


@dataclass(frozen=True)
class Change:
    """One place, what it was and what it is."""

    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


@dataclass(frozen=True)
class Entry:
    """One place and its value."""

    path: str
    value: str


def shape(type: Type, leaves: Iterator[int]) -> Node:
    """The node of a value, taking its leaves from the iterator."""
    if isinstance(type, RowType):
        length, items = next(leaves), [shape(type.item, leaves) for _ in range(type.size)]
        return Items(tuple(items[:length]))
    if isinstance(type, SubsetType):
        return Atom("{" + ", ".join(str(n) for n in [n for n in range(type.size) if next(leaves)]) + "}")
    if isinstance(type, RecordType):
        return Fields(tuple((member.name, shape(member.type, leaves)) for member in type.members))
    if isinstance(type, EachType):
        return Items(tuple(shape(type.item, leaves) for _ in range(type.size)))
    if isinstance(type, OptionalType):
        present = next(leaves)
        value = shape(type.item, leaves)
        return value if present else Atom(ABSENT)
    leaf = next(leaves)
    if isinstance(type, FlagType):
        return Atom(yes(bool(leaf)))
    if isinstance(type, EnumType):
        return Atom(type.members[leaf].name)
    if isinstance(type, AgeType) and leaf == STOPPED:
        return Atom(ABSENT)
    return Atom(number(leaf))


def yes(value: bool) -> str:
    return "yes" if value else "no"


def number(value: int) -> str:
    """``60,000``, but ``4096``."""
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def inline(node: Node) -> str:
    """A whole node in one text: ``(value 1, base 4)``."""
    if isinstance(node, Atom):
        return node.text
    if isinstance(node, Fields):
        return f"({', '.join(f'{name} {inline(item)}' for name, item in node.items if item != NOTHING)})"
    return f"[{', '.join(inline(item) for item in node.items)}]"


def entries(node: Node, path: str = "") -> list[Entry]:
    """Every end of the tree with its value, equal neighbours taken together."""
    if isinstance(node, Atom):
        return [Entry(path, node.text)]
    if isinstance(node, Fields):
        return [entry for name, item in node.items for entry in entries(item, join(path, name))]
    if not node.items and path:
        return [Entry(path, "[]")]
    inner = [[(entry.path, entry.value) for entry in entries(item)] for item in node.items]
    return [Entry(path + index + dotted(sub), value) for index, (sub, value) in together(inner)]


def changes(before: Node, after: Node, path: str = "", spell: Callable[[Node], str] = inline) -> list[Change]:
    """Where two states of one machine differ, at the deepest place that both have, and how ``spell`` says it."""
    if before == after:
        return []
    if isinstance(before, Fields) and isinstance(after, Fields):
        old = dict(before.items)
        return [
            change
            for name, item in after.items
            if name in old
            for change in changes(old[name], item, join(path, name), spell)
        ]
    if isinstance(before, Items) and isinstance(after, Items) and len(before.items) == len(after.items):
        inner = [
            [(change.path, (change.before, change.after)) for change in changes(old, new, spell=spell)]
            for old, new in zip(before.items, after.items, strict=True)
        ]
        return [Change(path + index + dotted(sub), was, now) for index, (sub, (was, now)) in together(inner)]
    if isinstance(before, Items) and isinstance(after, Items):
        return [content_change(before, after, path, spell)]
    return [Change(path, spell(before), spell(after))]


def content_change(before: Items, after: Items, path: str, spell: Callable[[Node], str]) -> Change:
    """A queue or bag that has more or fewer items: whole if that is short, else the one item that came or went."""
    whole = Change(path, spell(before), spell(after))
    if len(whole.before) + len(whole.after) <= SHORT:
        return whole
    fewer, more, word = (before, after, "with") if len(before.items) < len(after.items) else (after, before, "less")
    for place, item in enumerate(more.items):
        if (*more.items[:place], *more.items[place + 1 :]) == fewer.items:
            return Change(path, str(len(before.items)), f"{len(after.items)}, {word} {spell(item)}")
    return whole


def leaves(node: Node, path: str = "") -> Iterator[tuple[str, str]]:
    """Every end of the tree, each by itself. What is empty is an end too."""
    if isinstance(node, Atom):
        yield path, node.text
    elif isinstance(node, Fields):
        for name, item in node.items:
            yield from leaves(item, join(path, name))
    elif not node.items:
        yield path, "[]"
    else:
        for index, item in enumerate(node.items):
            yield from leaves(item, f"{path}[{index}]")


def differing(before: Node, after: Node) -> set[str]:
    """The ends at which two states differ."""
    old, new = dict(leaves(before)), dict(leaves(after))
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def together(inner: Sequence[Sequence[tuple[str, T]]]) -> list[tuple[str, tuple[str, T]]]:
    """Equal findings of several indexes under one: ``[0..1]``, in the order in which they first come."""
    places: dict[tuple[str, T], list[int]] = {}
    for index, found in enumerate(inner):
        for finding in found:
            places.setdefault(finding, []).append(index)
    return [(f"[{spans(indexes)}]", finding) for finding, indexes in places.items()]


def spans(indexes: Sequence[int]) -> str:
    """``0..2, 5``."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(low) if low == high else f"{low}..{high}" for low, high in runs)


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def dotted(path: str) -> str:
    return f".{path}" if path and not path.startswith("[") else path


def matcher(show: Sequence[str], hide: Sequence[str]) -> Callable[[str], bool]:
    """Whether a place is shown. A pattern names a place and all within it; ``*`` stands for anything."""
    shown, hidden = pattern(show), pattern(hide)

    def keep(path: str) -> bool:
        return (not show or shown.match(path) is not None) and not (hide and hidden.match(path) is not None)

    return keep


def pattern(parts: Sequence[str]) -> re.Pattern[str]:
    """``session.pair`` means the pair of every session; ``session[1]`` one of them."""
    spelled: list[str] = []
    for part in parts:
        steps = [re.escape(step).replace(r"\*", ".*") for step in part.split(".")]
        spelled.append(r"(\[\d+\])*\.".join(steps))
    return re.compile(rf"(?:{'|'.join(spelled) or '(?!)'})(?=$|[.\[])")


def select(node: Node, keep: Callable[[str], bool], path: str = "") -> Node:
    """The tree without the ends that are not kept."""
    if isinstance(node, Atom):
        return node if keep(path) else NOTHING
    if isinstance(node, Fields):
        kept = ((name, select(item, keep, join(path, name))) for name, item in node.items)
        return Fields(tuple((name, item) for name, item in kept if item != NOTHING))
    if not node.items:
        return node if keep(path) else NOTHING
    items = tuple(select(item, keep, f"{path}[{index}]") for index, item in enumerate(node.items))
    return Items(items) if any(item != NOTHING for item in items) else NOTHING
