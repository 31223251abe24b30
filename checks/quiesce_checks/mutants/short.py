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


def short(pairing: Pairing, graph: Graph, way: Sequence[int], found: Divergence, *, asked: bool) -> Divergence:
    """The divergence that a walk over the graph ended with, in fewer steps; ``asked`` says that its last step is one
    that the model forbids where the walk has come to.

    What the walk did before its last step usually does not matter: the shortest way to where that was taken is tried
    first, and then left out of it what can be. Where it does matter, executed steps are removed one lot after another.
    """
    if way:
        place = graph.targets[way[-1]] if asked else graph.sources[way[-1]]
        before = [graph.steps[int(graph.actions[edge])] for edge in way_to(graph, int(place))]
        again, _ = walk(pairing, (*before, found.steps[-1]), explored=True)
        if again is not None:
            return without_what_can_go(pairing, again)
    return shrink(pairing, found, budget=500, explored=True).divergence


def without_what_can_go(pairing: Pairing, found: Divergence, *, explored: bool = True) -> Divergence:
    """Steps left out one at a time, the last ones first, while the sides still differ."""
    best, position = found, len(found.steps) - 2
    while position >= 0:
        attempt: tuple[Step, ...] = (*best.steps[:position], *best.steps[position + 1 :])
        again, _ = walk(pairing, attempt, explored=explored)
        if again is not None and len(again.steps) < len(best.steps):
            best, position = again, min(position, len(again.steps) - 1)
        position -= 1
    return best
