"""Who is needed: a node is live if it is a root, or if a live node reads what it writes.

Kept as a forest: every live node that is no root has a live reader as its witness, and the witnesses lead to a
root. Counting readers would keep a ring of nodes alive that only need each other. A node that loses its witness
looks for another among its readers, and only what hung on it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quiesce.scheduler.node import Node


class Demand:
    """Liveness under changing edges and roots. ``changed`` is told each node whose liveness changed."""

    def __init__(self, changed: Callable[[Node], None]) -> None:
        self._changed = changed

    def add_root(self, node: Node) -> None:
        """One more reason of its own."""
        node.roots += 1
        if node.roots > 1:
            return
        self._unwitness(node)
        if not node.live:
            self._enliven(node, None)

    def drop_root(self, node: Node) -> None:
        """One reason fewer."""
        node.roots -= 1
        if node.roots == 0 and node.live:
            self._detach(node)

    def joined(self, reader: Node, writer: Node) -> None:
        """``reader`` reads what ``writer`` writes from now on."""
        if reader.live and not writer.live:
            self._enliven(writer, reader)

    def parted(self, reader: Node, writer: Node) -> None:
        """``reader`` does not any more."""
        if writer.witness is reader:
            self._detach(writer)

    def _enliven(self, node: Node, witness: Node | None) -> None:
        waiting: list[tuple[Node, Node | None]] = [(node, witness)]
        woken: list[Node] = []
        while waiting:
            found, reader = waiting.pop()
            if found.live:
                continue
            self._witness(found, reader)
            found.live = True
            woken.append(found)
            waiting.extend((writer, found) for writer in found.upstream if not writer.live)
        for found in woken:
            self._changed(found)

    def _detach(self, node: Node) -> None:
        """Its ground is gone: what hung on it stands if another reader holds it, and else is needed no more."""
        fallen = [node]
        for found in fallen:
            fallen.extend(found.witnessed)
        for found in fallen:
            found.live = False
            self._unwitness(found)
        held = [found for found in fallen if found.roots or any(reader.live for reader in found.downstream)]
        rescued: set[Node] = set()
        while held:
            found = held.pop()
            if found.live:
                continue
            reader = None if found.roots else next(reader for reader in found.downstream if reader.live)
            found.live = True
            self._witness(found, reader)
            rescued.add(found)
            held.extend(writer for writer in found.upstream if not writer.live)
        for found in fallen:
            if found not in rescued:
                self._changed(found)

    def _witness(self, node: Node, reader: Node | None) -> None:
        node.witness = reader
        if reader is not None:
            reader.witnessed[node] = None

    def _unwitness(self, node: Node) -> None:
        if node.witness is not None:
            node.witness.witnessed.pop(node, None)
            node.witness = None


def live_by_definition(nodes: Iterable[Node]) -> set[Node]:
    """Liveness from the roots, from scratch: what the forest must equal."""
    reached: set[Node] = set()
    waiting = [node for node in nodes if node.roots]
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting.extend(node.upstream)
    return reached
