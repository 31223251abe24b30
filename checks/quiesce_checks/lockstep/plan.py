"""Every transition of a graph, in few and short walks.

The directed Chinese postman's problem, with walks that may begin anew at the start. The optimum is a minimum-cost flow;
:func:`plan` supplies each state from its nearest source instead, which takes a moment where the flow takes minutes, and
:func:`lower_bound` says how near it comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from ..engines.graph import Graph


@dataclass(frozen=True)
class Tour:
    """Walks over all transitions of a graph: each a list of transitions by number."""

    walks: tuple[tuple[int, ...], ...]
    transitions: int

    @cached_property
    def steps(self) -> int:
        return sum(len(way) for way in self.walks)


RESET = 2
"""What it is worth, in steps, to go on with a walk instead of beginning another."""


def plan(graph: Graph) -> Tour:
    """Walks that together take every transition.

    Some transitions have to be taken more than once, so that each state is entered as often as it is left; ways to the
    states that lack arrivals are added from the nearest states where walks would end, or from the start. What then is
    left is an Eulerian circuit with a jump back to the start at each place where a walk ends.
    """
    import numpy as np

    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    entered = np.bincount(graph.targets, minlength=graph.size)
    surplus: list[int] = (entered - np.diff(graph.offsets)).tolist()
    times = [1] * len(targets)
    while any(extra < 0 for extra in surplus[1:]):
        supply(offsets, targets, surplus, times)
    loops = idle(graph)
    return Tour(tuple(late(way, targets, loops) for way in circuit(offsets, targets, surplus, times)), len(targets))


def idle(graph: Graph) -> frozenset[int]:
    """The transitions by which time passes and nothing changes."""
    passes = [step.action == "elapse" for step in graph.steps]
    ends = zip(graph.sources.tolist(), graph.targets.tolist(), graph.actions.tolist(), strict=True)
    return frozenset(edge for edge, (here, there, action) in enumerate(ends) if here == there and passes[action])


def late(way: tuple[int, ...], targets: list[int], loops: frozenset[int]) -> tuple[int, ...]:
    """The same walk with time that changes nothing passing as late as it can, at the last visit of its state.

    A rest that is over and one that has been over for long are one state of the model. What else is done in it comes
    before, where it can: at the very moment at which the rest is over, where an implementation that is off by one errs.
    """
    kept = [edge for edge in way if edge not in loops]
    waiting: dict[int, list[int]] = {}
    for edge in way:
        if edge in loops:
            waiting.setdefault(targets[edge], []).append(edge)
    made: list[int] = []
    for edge in reversed(kept):
        made += waiting.pop(targets[edge], ())
        made.append(edge)
    for left in waiting.values():  # states that the walk only begins in
        made += left
    return tuple(reversed(made))


def supply(offsets: list[int], targets: list[int], surplus: list[int], times: list[int]) -> None:
    """Lead arrivals to states that lack some, each from its nearest source and the nearest first, while sources last.

    The start is a source without limit, ``RESET`` steps further off than it is.
    """
    came = [-1] * (len(offsets) - 1)
    root = [-1] * len(came)
    order: list[int] = []
    level = [n for n, extra in enumerate(surplus) if extra > 0 and n]
    for n in level:
        root[n] = n
    distance = 0
    while level or distance <= RESET:
        if distance == RESET and root[0] < 0:
            root[0] = 0
            level = [*level, 0]
        order.extend(level)
        following: list[int] = []
        for here in level:
            for edge in range(offsets[here], offsets[here + 1]):
                there = targets[edge]
                if root[there] < 0:
                    root[there] = root[here]
                    came[there] = edge
                    following.append(there)
        level, distance = following, distance + 1
    source_of = sources_of(offsets)
    taken = [0] * len(came)
    for here in order:  # nearest first
        if here and surplus[here] < 0:
            source = root[here]
            amount = -surplus[here] if source == 0 else min(-surplus[here], max(0, surplus[source]))
            taken[here] = amount
            surplus[here] += amount
            if source:
                surplus[source] -= amount
    for here in reversed(order):
        if taken[here] and came[here] >= 0:
            times[came[here]] += taken[here]
            taken[source_of[came[here]]] += taken[here]


def sources_of(offsets: list[int]) -> list[int]:
    """The source of each transition."""
    return [n for n in range(len(offsets) - 1) for _ in range(offsets[n], offsets[n + 1])]


def circuit(offsets: list[int], targets: list[int], surplus: list[int], times: list[int]) -> Iterator[tuple[int, ...]]:
    """An Eulerian circuit through the start (Hierholzer), cut where it jumps back there. A jump is edge -1."""
    left = list(times)
    at = offsets[:-1]
    jumps = [max(0, extra) if n else 0 for n, extra in enumerate(surplus)]
    stack: list[tuple[int, int]] = [(0, -2)]
    made: list[int] = []
    while stack:
        here, _ = stack[-1]
        while at[here] < offsets[here + 1] and left[at[here]] == 0:
            at[here] += 1
        if at[here] < offsets[here + 1]:
            edge = at[here]
            left[edge] -= 1
            stack.append((targets[edge], edge))
        elif jumps[here]:
            jumps[here] -= 1
            stack.append((0, -1))
        else:
            made.append(stack.pop()[1])
    way: list[int] = []
    for edge in made[-2::-1]:
        if edge >= 0:
            way.append(edge)
        elif way:
            yield tuple(way)
            way = []
    if way:
        yield tuple(way)


def distances(offsets: list[int], targets: list[int], starts: list[int]) -> list[int]:
    """How many transitions each state is from the nearest of the starts."""
    found = [-1] * (len(offsets) - 1)
    queue = deque(starts)
    for start in starts:
        found[start] = 0
    while queue:
        here = queue.popleft()
        for edge in range(offsets[here], offsets[here + 1]):
            there = targets[edge]
            if found[there] < 0:
                found[there] = found[here] + 1
                queue.append(there)
    return found


def lower_bound(graph: Graph, *, exact_up_to: int = 4_000) -> int:
    """Steps that no set of walks from the start can do without.

    Every transition once, and for each state that is left more often than it is entered the way to it from states where
    a walk can end or begin. With up to ``exact_up_to`` transitions this is the optimum (a minimum-cost flow); beyond,
    each such state is charged its distance from the nearest source, whatever others do, which can only be less.
    """
    import numpy as np

    nx: Any = import_module("networkx")  # it has no types

    entered = np.bincount(graph.targets, minlength=graph.size)
    surplus: list[int] = (entered - np.diff(graph.offsets)).tolist()  # more entered than left: a walk can end there
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    if graph.edges > exact_up_to:
        near = distances(offsets, targets, [0, *(n for n, extra in enumerate(surplus) if extra > 0 and n)])
        return graph.edges + sum(-extra * near[n] for n, extra in enumerate(surplus) if extra < 0)
    network: Any = nx.DiGraph()
    for source in range(graph.size):
        network.add_node(source, demand=-max(surplus[source], 0) + max(-surplus[source], 0))
        for edge in range(offsets[source], offsets[source + 1]):
            if targets[edge] != source:
                network.add_edge(source, targets[edge], weight=1)
    missing = sum(-extra for extra in surplus)
    total = graph.edges + 1  # walks begin at the start as often as needed, and end anywhere
    network.add_node("begin", demand=-total)
    network.add_node("end", demand=total - missing)
    network.add_edge("begin", 0, weight=0)
    network.add_edge("begin", "end", weight=0)
    for n in range(graph.size):
        network.add_edge(n, "end", weight=0)
    return graph.edges + round(nx.min_cost_flow_cost(network))
