"""A killing walk made short, with the explored graph at hand."""

from __future__ import annotations

from collections.abc import Sequence

from quiesce_model.language.machine import Step

from ..engines.graph import Graph
from ..lockstep.drive import Divergence, walk
from ..lockstep.pairing import Pairing
from ..lockstep.shrink import shrink


def way_to(graph: Graph, goal: int) -> list[int]:
    """The transitions of a shortest way from the start to a state."""
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    came: dict[int, tuple[int, int]] = {}
    level = [0]
    while level and goal not in came and goal != 0:
        following: list[int] = []
        for here in level:
            for edge in range(offsets[here], offsets[here + 1]):
                there = targets[edge]
                if there and there not in came:
                    came[there] = (here, edge)
                    following.append(there)
        level = following
    way: list[int] = []
    while goal:
        goal, edge = came[goal]
        way.append(edge)
    return way[::-1]


def short(pairing: Pairing, graph: Graph, way: Sequence[int], found: Divergence) -> Divergence:
    """The divergence that a walk over the graph ended with, in fewer steps.

    What the walk did before its last transition usually does not matter: the shortest way to where that begins is tried
    first, and then left out of it what can be. Where it does matter, executed steps are removed one lot after another.
    """
    steps = [graph.steps[int(graph.actions[edge])] for edge in way]
    last = found.steps[len(steps) - 1 :] if steps else found.steps
    if way:
        before = [graph.steps[int(graph.actions[edge])] for edge in way_to(graph, int(graph.sources[way[-1]]))]
        again, _ = walk(pairing, (*before, *last), explored=True)
        if again is not None:
            return without_what_can_go(pairing, again)
    return shrink(pairing, found, budget=500).divergence


def without_what_can_go(pairing: Pairing, found: Divergence) -> Divergence:
    """Steps left out one at a time, the last ones first, while the sides still differ."""
    best, position = found, len(found.steps) - 2
    while position >= 0:
        attempt: tuple[Step, ...] = (*best.steps[:position], *best.steps[position + 1 :])
        again, _ = walk(pairing, attempt, explored=True)
        if again is not None and len(again.steps) < len(best.steps):
            best, position = again, len(again.steps) - 1
        position -= 1
    return best
