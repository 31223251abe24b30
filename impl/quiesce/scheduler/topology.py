"""Who writes what others read: the edges between nodes.

Dirtiness is a matter of scope instances, and the trigger index keeps those apart; who writes for whom is a matter
of declared scopes, since one node declares one surface for all instances. An edge stands for every document, by
declared scope, over which a write of one node and a read of the other overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from quiesce.address import Address, Entity, Path
from quiesce.scheduler.node import NO_READS, Node, ReadSet
from quiesce.scheduler.triggers import PathIndex

Name = tuple[str, str, str]
"""A document by space, scope name and id."""

WIDEST_SURFACE = 64
"""So many paths of one document are kept of a surface; beyond that it is the whole document."""


def name_of(entity: Entity) -> Name:
    """The document's name, whichever instance it is."""
    return entity.space, entity.instance.partition(":")[0], entity.id


def joined(surface: frozenset[Address], more: Iterable[Address]) -> frozenset[Address]:
    """A surface with more writes, kept small. The same object if nothing is new."""
    fresh = [address for address in more if address not in surface and Address(address.entity) not in surface]
    if not fresh:
        return surface
    grown = surface.union(fresh)
    counts: defaultdict[Entity, int] = defaultdict(int)
    for address in grown:
        counts[address.entity] += 1
    wide = {entity for entity, count in counts.items() if count > WIDEST_SURFACE}
    if not wide:
        return grown
    return frozenset(Address(address.entity) if address.entity in wide else address for address in grown)


class _Reads:
    __slots__ = ("deep", "shallow")

    def __init__(self) -> None:
        self.deep: PathIndex[Node] = PathIndex()
        self.shallow: PathIndex[Node] = PathIndex()


class Topology:
    """The edges, kept as reads and writes come and go.

    ``joined`` and ``parted`` are told ``(reader, writer)`` when an edge appears or disappears. A node's own reads of
    what it writes are no edge.
    """

    def __init__(self, joined: Callable[[Node, Node], None], parted: Callable[[Node, Node], None]) -> None:
        self._readers: dict[Name, _Reads] = {}
        self._writers: dict[Name, PathIndex[Node]] = {}
        self._joined = joined
        self._parted = parted

    def reads(self, node: Node, old: ReadSet, new: ReadSet) -> None:
        """The node's registered reads are others now."""
        if old == new:
            return
        before, after = _by_name(old), _by_name(new)
        for name in (*before, *(name for name in after if name not in before)):
            was, now = before.get(name, _NOTHING), after.get(name, _NOTHING)
            if was == now:
                continue
            self._index_reads(name, node, was, now)
            writers = self._writers.get(name)
            if writers is not None:
                self._adjust(
                    ((node, writer) for writer in _writers(writers, was)),
                    ((node, writer) for writer in _writers(writers, now)),
                )

    def writes(self, node: Node, old: frozenset[Address], new: frozenset[Address]) -> None:
        """The node's known surface is another now."""
        if old == new:
            return
        before, after = _paths_by_name(old), _paths_by_name(new)
        for name in (*before, *(name for name in after if name not in before)):
            was, now = before.get(name, frozenset()), after.get(name, frozenset())
            if was == now:
                continue
            index = self._writers.setdefault(name, PathIndex())
            for path in was - now:
                index.remove(path, node)
            for path in now - was:
                index.add(path, node)
            if not index:
                del self._writers[name]
            readers = self._readers.get(name)
            if readers is not None:
                self._adjust(
                    ((reader, node) for reader in _readers(readers, was)),
                    ((reader, node) for reader in _readers(readers, now)),
                )

    def forget(self, node: Node) -> None:
        """The node takes no part any more."""
        self.reads(node, node.reads, NO_READS)
        self.writes(node, node.writes, frozenset())

    def writers_over(self, reads: Iterable[Address]) -> dict[Node, None]:
        """The nodes that write what would be read so, deeply."""
        found: dict[Node, None] = {}
        for address in reads:
            index = self._writers.get(name_of(address.entity))
            if index is not None:
                found.update(dict.fromkeys(_writers(index, (frozenset((address.path,)), frozenset()))))
        return found

    def _index_reads(self, name: Name, node: Node, was: _Paths, now: _Paths) -> None:
        held = self._readers.get(name)
        if held is None:
            held = self._readers[name] = _Reads()
        for index, old, new in ((held.deep, was[0], now[0]), (held.shallow, was[1], now[1])):
            for path in old - new:
                index.remove(path, node)
            for path in new - old:
                index.add(path, node)
        if not held.deep and not held.shallow:
            del self._readers[name]

    def _adjust(self, before: Iterable[tuple[Node, Node]], after: Iterable[tuple[Node, Node]]) -> None:
        was, now = dict.fromkeys(before), dict.fromkeys(after)
        for reader, writer in was:
            if (reader, writer) not in now and reader is not writer:
                reader.upstream[writer] -= 1
                writer.downstream[reader] -= 1
                if not reader.upstream[writer]:
                    del reader.upstream[writer]
                    del writer.downstream[reader]
                    self._parted(reader, writer)
        for reader, writer in now:
            if (reader, writer) not in was and reader is not writer:
                count = reader.upstream.get(writer, 0) + 1
                reader.upstream[writer] = writer.downstream[reader] = count
                if count == 1:
                    self._joined(reader, writer)


_Paths = tuple[frozenset[Path], frozenset[Path]]
_NOTHING: _Paths = (frozenset(), frozenset())


def _by_name(reads: ReadSet) -> dict[Name, _Paths]:
    made: dict[Name, tuple[set[Path], set[Path]]] = {}
    for kind, addresses in enumerate((reads.deep, reads.shallow)):
        for address in addresses:
            made.setdefault(name_of(address.entity), (set(), set()))[kind].add(address.path)
    return {name: (frozenset(deep), frozenset(shallow)) for name, (deep, shallow) in made.items()}


def _paths_by_name(writes: Iterable[Address]) -> dict[Name, frozenset[Path]]:
    made: dict[Name, set[Path]] = {}
    for address in writes:
        made.setdefault(name_of(address.entity), set()).add(address.path)
    return {name: frozenset(paths) for name, paths in made.items()}


def _writers(index: PathIndex[Node], reads: _Paths) -> dict[Node, None]:
    """Writers that overlap these reads: a deep one either way, a shallow one at most one segment below."""
    found: dict[Node, None] = {}
    for path in reads[0]:
        found.update(dict.fromkeys(index.at_or_above(path)))
        for _, nodes in index.below(path):
            found.update(dict.fromkeys(nodes))
    for path in reads[1]:
        found.update(dict.fromkeys(index.at_or_above(path)))
        for longer, nodes in index.below(path):
            if len(longer) == len(path) + 1:
                found.update(dict.fromkeys(nodes))
    return found


def _readers(readers: _Reads, writes: Iterable[Path]) -> dict[Node, None]:
    found: dict[Node, None] = {}
    for path in writes:
        found.update(dict.fromkeys(readers.deep.at_or_above(path)))
        for _, nodes in readers.deep.below(path):
            found.update(dict.fromkeys(nodes))
        for read in (path[:-1], path) if path else (path,):
            found.update(dict.fromkeys(readers.shallow.at(read)))
        for _, nodes in readers.shallow.below(path):
            found.update(dict.fromkeys(nodes))
    return found
