"""Who reads what: from a change to the nodes whose reads it touches.

A deep read fires when the value at its path differs, or is absent at another depth; a shallow one when the
shape at its path differs (container type, keys, length, or a leaf's value). Only registered reads that can be
concerned are looked at: those above the change, and those below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from quiesce.address import Address, Entity, Path
from quiesce.scheduler.node import Node, ReadSet
from quiesce.storage.notification import Change
from quiesce.values import ABSENT, Maybe, at, equal, reach, same_shape

Item = TypeVar("Item")


class PathIndex(Generic[Item]):
    """Items by path in one document, found from above and from below."""

    __slots__ = ("_below", "_exact")

    def __init__(self) -> None:
        self._exact: dict[Path, dict[Item, None]] = {}
        self._below: dict[Path, dict[Path, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._exact)

    def add(self, path: Path, item: Item) -> None:
        """Put an item at a path; it is there at most once."""
        held = self._exact.get(path)
        if held is None:
            held = self._exact[path] = {}
            for length in range(len(path)):
                self._below.setdefault(path[:length], {})[path] = None
        held[item] = None

    def remove(self, path: Path, item: Item) -> None:
        """Take an item away; it need not be there."""
        held = self._exact.get(path)
        if held is None:
            return
        held.pop(item, None)
        if not held:
            del self._exact[path]
            for length in range(len(path)):
                below = self._below[path[:length]]
                del below[path]
                if not below:
                    del self._below[path[:length]]

    def at(self, path: Path) -> Iterable[Item]:
        """Items at exactly this path."""
        return self._exact.get(path, ())

    def at_or_above(self, path: Path) -> Iterator[Item]:
        """Items at the path or at a prefix of it."""
        for length in range(len(path) + 1):
            yield from self._exact.get(path[:length], ())

    def below(self, path: Path) -> Iterator[tuple[Path, Iterable[Item]]]:
        """Longer paths under this one, with their items."""
        for longer in self._below.get(path, ()):
            yield longer, self._exact[longer]

    def entries(self) -> Iterator[tuple[Path, Item]]:
        """Everything, for checks."""
        for path, items in self._exact.items():
            for item in items:
                yield path, item


def deep_differs(before: Maybe, after: Maybe, path: Path) -> bool:
    """Whether a deep read at ``path`` sees a difference between two states of a document."""
    was, now = at(before, path), at(after, path)
    if not equal(was, now):
        return True
    return now is ABSENT and reach(before, path) != reach(after, path)


def shallow_differs(before: Maybe, after: Maybe, path: Path) -> bool:
    """Whether a shallow read at ``path`` sees a difference between two states of a document."""
    return not same_shape(at(before, path), at(after, path))


def fires(change: Change, reads: ReadSet) -> bool:
    """Whether a change touches any of these reads: the definition that the index answers faster."""
    entity, path = change.address.entity, change.address.path
    return any(
        read.entity == entity and _related(read.path, path) and deep_differs(change.before, change.after, read.path)
        for read in reads.deep
    ) or any(
        read.entity == entity and _related(read.path, path) and shallow_differs(change.before, change.after, read.path)
        for read in reads.shallow
    )


def _related(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


class TriggerIndex:
    """The registered reads of all nodes, by document."""

    def __init__(self) -> None:
        self._deep: dict[Entity, PathIndex[Node]] = {}
        self._shallow: dict[Entity, PathIndex[Node]] = {}

    def replace(self, node: Node, old: ReadSet, new: ReadSet) -> None:
        """The node reads something else now."""
        _replace(self._deep, node, old.deep, new.deep)
        _replace(self._shallow, node, old.shallow, new.shallow)

    def fired(self, change: Change) -> dict[Node, None]:
        """The nodes whose reads a change touches."""
        entity, path = change.address.entity, change.address.path
        found: dict[Node, None] = {}
        deep = self._deep.get(entity)
        if deep is not None:
            found.update(dict.fromkeys(deep.at_or_above(path)))
            _collect_below(deep, change, deep_differs, found)
        shallow = self._shallow.get(entity)
        if shallow is not None:
            for read in (path[:-1], path) if path else (path,):
                if shallow.at(read) and shallow_differs(change.before, change.after, read):
                    found.update(dict.fromkeys(shallow.at(read)))
            _collect_below(shallow, change, shallow_differs, found)
        return found

    def entries(self) -> Iterator[tuple[Node, Address, bool]]:
        """Every registered read, with whether it is shallow; for checks."""
        for indexes, is_shallow in ((self._deep, False), (self._shallow, True)):
            for entity, index in indexes.items():
                for path, node in index.entries():
                    yield node, Address(entity, path), is_shallow


def _collect_below(
    index: PathIndex[Node],
    change: Change,
    differs: Callable[[Maybe, Maybe, Path], bool],
    found: dict[Node, None],
) -> None:
    for longer, nodes in index.below(change.address.path):
        if differs(change.before, change.after, longer):
            found.update(dict.fromkeys(nodes))


def _replace(
    indexes: dict[Entity, PathIndex[Node]], node: Node, old: tuple[Address, ...], new: tuple[Address, ...]
) -> None:
    if old == new:
        return
    keep = frozenset(new)
    for address in old:
        if address not in keep:
            index = indexes.get(address.entity)
            if index is not None:
                index.remove(address.path, node)
                if not index:
                    del indexes[address.entity]
    had = frozenset(old)
    for address in new:
        if address not in had:
            index = indexes.get(address.entity)
            if index is None:
                index = indexes[address.entity] = PathIndex()
            index.add(address.path, node)
