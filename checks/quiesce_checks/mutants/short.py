"""A killing walk made short, with the explored graph at hand."""

from __future__ import annotations

from quiesce_model.language.machine import Step

from ..engines.graph import Graph
from ..lockstep.drive import Divergence, walk
from ..lockstep.pairing import Pairing
from ..lockstep.shrink import shrink
from ..lockstep.tour import Runner, confirmed


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


def fall_of(runner: Runner, way: tuple[int, ...]) -> Divergence:
    """The difference that a walk over the graph ended with, in few steps, taken again by the plain driver.

    What the walk did before its last step usually does not matter: the shortest way to where that was taken is tried
    first, and then left out of it what can be. Where it does matter the walk is taken again as it was, and executed
    steps are removed one lot after another. Raises Flaky if the subject does not repeat itself.
    """
    pairing, graph = runner.pairing, runner.graph
    asked = bool(runner.refused) and runner.refused[-1][0] == len(way)
    if way:
        place = graph.targets[way[-1]] if asked else graph.sources[way[-1]]
        last = runner.refused[-1][1] if asked else step_of(graph, way[-1])
        before = [step_of(graph, edge) for edge in way_to(graph, int(place))]
        again, _ = walk(pairing, (*before, last), explored=True)
        if again is not None:
            return without_what_can_go(pairing, again)
    found = confirmed(pairing, graph, way, runner.refused)
    return shrink(pairing, found, budget=500, explored=True).divergence


def step_of(graph: Graph, edge: int) -> Step:
    return graph.steps[int(graph.actions[edge])]


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
