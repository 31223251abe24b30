"""What is to be done: every node that has to run and is needed, split by whether a gate holds it.

A node that waits is looked at again when its time has come or something about it has changed, never in between:
a pass costs nothing for those that wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from quiesce.scheduler.node import Kind, Node


def wanted(node: Node) -> bool:
    """Whether a node has to run: registered, not clean, and needed. Handlers run for events only."""
    return node.registered and node.runnable and node.demanded and node.kind is not Kind.HANDLER


class Agenda:
    """The nodes that are wanted, kept as their state changes."""

    def __init__(self) -> None:
        self._due: dict[Node, None] = {}
        self._waiting: dict[Node, float] = {}
        self._heap: list[tuple[float, int, Node]] = []
        self._pushed = 0

    def refresh(self, node: Node) -> None:
        """Something about the node has changed."""
        self._waiting.pop(node, None)
        if wanted(node):
            self._due[node] = None
        else:
            self._due.pop(node, None)
            if not self._due:
                self._due.clear()  # a dictionary that was large is slow to walk, however little is left in it

    def ready(self, now: float) -> list[Node]:
        """The nodes that may run now, by ordinal."""
        self._sort_out(now)
        return sorted(self._due, key=lambda node: node.ordinal)

    def any_ready(self, now: float) -> bool:
        """Whether there is one."""
        self._sort_out(now)
        return bool(self._due)

    def next_deadline(self, now: float) -> float | None:
        """When the first of those that wait may run."""
        self._sort_out(now)
        while self._heap:
            at, _, node = self._heap[0]
            if self._waiting.get(node) == at:
                return at
            heappop(self._heap)
        return None

    def members(self) -> Iterator[Node]:
        """All of them."""
        yield from self._due
        yield from self._waiting

    def _sort_out(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            at, _, node = heappop(self._heap)
            if self._waiting.get(node) == at:
                del self._waiting[node]
                self._due[node] = None
        for node in [node for node in self._due if node.gates.closed(now)]:
            del self._due[node]
            at = node.gates.eligible_at
            self._waiting[node] = at
            self._pushed += 1
            heappush(self._heap, (at, self._pushed, node))
        if len(self._heap) > 2 * len(self._waiting) + 64:
            self._heap = sorted((at, number, node) for number, (node, at) in enumerate(self._waiting.items()))
