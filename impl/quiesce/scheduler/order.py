"""The order of one work set: who is read runs before who reads, and where neither decides, who came first."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from quiesce.scheduler.node import Kind, Node


def seeds_of(ready: list[Node]) -> list[Node]:
    """Where an iteration begins: materializers wait until nothing else is left, or until something that has to run
    reads what they may write."""
    urgent = dict.fromkeys(node for node in ready if not node.materializer)
    if not urgent or len(urgent) == len(ready):
        return ready
    return [node for node in ready if node in urgent or any(reader in urgent for reader in node.downstream)]


def work_set(seeds: Iterable[Node], now: float) -> dict[Node, None]:
    """The seeds, the writers that a seed which never ran declares to read, and one tier of live readers.

    A reader that is clean is taken, so that it can run in its turn if this work set makes it invalid, and is not
    gone past; one that has to run is gone past.
    """
    found: dict[Node, None] = dict.fromkeys(seeds)
    idle = all(node.materializer for node in found)
    queue = list(found)
    for node in queue:
        if node.runs == 0 and node.declared_reads:
            for writer in node.upstream:
                if writer not in found and writer.runnable and _eligible(writer, now):
                    found[writer] = None
                    queue.append(writer)
    for node in queue:
        for reader in node.downstream:
            if reader in found or not _eligible(reader, now) or (reader.materializer and not idle):
                continue
            found[reader] = None
            if reader.runnable:
                queue.append(reader)
    return found


def _eligible(node: Node, now: float) -> bool:
    return node.registered and node.demanded and node.kind is not Kind.HANDLER and not node.gates.closed(now)


def topological(work: dict[Node, None]) -> list[Node]:
    """The work set in order: data edges first, then the ordinal, which puts a parent before its children. A cycle
    is entered at its lowest ordinal."""
    waits: dict[Node, int] = dict.fromkeys(work, 0)
    readers: dict[Node, list[Node]] = {}
    for node in work:
        for writer in _shared(node.upstream, work):
            waits[node] += 1
            readers.setdefault(writer, []).append(node)
    ready = [(node.ordinal, node) for node, count in waits.items() if count == 0]
    heapify(ready)
    stuck: list[Node] | None = None
    placed: dict[Node, None] = {}
    while len(placed) < len(work):
        if ready:
            node = heappop(ready)[1]
        else:
            if stuck is None:
                stuck = sorted(work, key=lambda node: node.ordinal, reverse=True)
            node = stuck.pop()
        if node in placed:
            continue
        placed[node] = None
        for reader in readers.get(node, ()):
            waits[reader] -= 1
            if waits[reader] == 0 and reader not in placed:
                heappush(ready, (reader.ordinal, reader))
    return list(placed)


def _shared(upstream: dict[Node, int], work: dict[Node, None]) -> Iterable[Node]:
    """What is in both, at the cost of the smaller."""
    if len(upstream) <= len(work):
        return [writer for writer in upstream if writer in work]
    return [writer for writer in work if writer in upstream]
