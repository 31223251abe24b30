"""Every transition of an explored graph on the real thing, in few and short walks.

The directed Chinese postman's problem, with walks that may begin anew at the start. The optimum is a minimum-cost flow;
:func:`plan` supplies each state from its nearest source instead, which takes a moment where the flow takes minutes, and
:func:`lower_bound` says how near it comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

from quiesce_model.language.machine import Step, copy, load

from ..engines.explore import explore
from ..engines.graph import Graph
from ..engines.search import Limits
from .drive import ELAPSE, Divergence, walk
from .pairing import Pairing, saturated
from .subject import Observation, Refused, Subject


@dataclass(frozen=True)
class Tour:
    """Walks over all transitions of a graph: each a list of transitions by number."""

    walks: tuple[tuple[int, ...], ...]
    transitions: int

    @property
    def steps(self) -> int:
        return sum(len(way) for way in self.walks)


@dataclass(frozen=True)
class Toured:
    """What a tour found. ``refusals`` is how often the subject was asked for what the model forbids."""

    pairing: str
    states: int
    transitions: int
    walks: int
    steps: int
    bound: int
    refusals: int
    seconds: float
    explore_seconds: float
    divergence: Divergence | None
    exhausted: bool

    @property
    def rate(self) -> float:
        """Lockstep steps a second, the planning of the walks and the model's own states included."""
        return self.steps / self.seconds if self.seconds else 0.0


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
    return Tour(tuple(circuit(offsets, targets, surplus, times)), len(targets))


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
    a walk can end or begin. With up to ``exact_up_to`` transitions this is the optimum (a minimum-cost flow); beyond, each
    such state is charged its distance from the nearest source, whatever others do, which can only be less.
    """
    import networkx as nx
    import numpy as np

    entered = np.bincount(graph.targets, minlength=graph.size)
    surplus = (entered - np.diff(graph.offsets)).tolist()  # more entered than left: a walk can end there
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    if graph.edges > exact_up_to:
        near = distances(offsets, targets, [0, *(n for n, extra in enumerate(surplus) if extra > 0 and n)])
        return graph.edges + sum(-extra * near[n] for n, extra in enumerate(surplus) if extra < 0)
    network = nx.DiGraph()
    for source in range(graph.size):
        network.add_node(source, demand=-max(surplus[source], 0) + max(-surplus[source], 0))
        for edge in range(offsets[source], offsets[source + 1]):
            if targets[edge] != source:
                network.add_edge(source, targets[edge], weight=1)
    missing = sum(network.nodes[n]["demand"] for n in range(graph.size))
    total = graph.edges + 1  # walks begin at the start as often as needed, and end anywhere
    network.add_node("begin", demand=-total)
    network.add_node("end", demand=total - missing)
    network.add_edge("begin", 0, weight=0)
    network.add_edge("begin", "end", weight=0)
    for n in range(graph.size):
        network.add_edge(n, "end", weight=0)
    cost: int = nx.min_cost_flow_cost(network)
    return graph.edges + cost


def tour(
    pairing: Pairing,
    *,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Toured:
    """Walk a subject over every transition of its model's explored graph, comparing after each.

    Ends at the first divergence, which is taken again by the plain driver before it is returned. ``progress`` is told
    how many transitions are done, of how many. ``exhausted`` is False if ``limits`` ended the exploration.
    """
    pairing.check()
    started = perf_counter()
    explored = explore(pairing.relation, properties=(), limits=limits, keep_graph=True)
    graph = explored.graph
    assert graph is not None
    exploring = perf_counter() - started
    planned = plan(graph)
    runner = Runner(pairing, graph)
    divergence: Divergence | None = None
    steps = 0
    for way in planned.walks:
        failed = runner.run(way)
        steps += len(way) if failed is None else failed
        if progress is not None:
            progress(steps, planned.steps)
        if failed is not None:
            divergence = confirmed(pairing, graph, way[:failed], runner.refused)
            break
    return Toured(
        pairing.name,
        graph.size,
        graph.edges,
        len(planned.walks),
        steps,
        lower_bound(graph),
        runner.refusals,
        perf_counter() - started - exploring,
        exploring,
        divergence,
        explored.statistics.exhausted,
    )


class Runner:
    """Takes walks over a graph on one subject, against what the model shows in each state of it."""

    def __init__(self, pairing: Pairing, graph: Graph) -> None:
        self.pairing = pairing
        self.graph = graph
        self.subject: Subject = pairing.subject()
        self.sources: list[int] = graph.sources.tolist()
        self.targets: list[int] = graph.targets.tolist()
        self.actions: list[int] = graph.actions.tolist()
        self.rows = [pairing.row(graph.leaves(n)) for n in range(graph.size)]
        machine = copy(pairing.model)
        limits = pairing.limits[: len(pairing.seen) + len(pairing.derived)]
        self.shown: list[Observation] = []
        for row in self.rows:
            if pairing.derived:
                load(machine, row)
            self.shown.append(saturated(pairing.shown(row, machine), limits))
        self.views = tuple(pairing.happened.values())
        self.quiet: Observation = (None,) * len(self.views)
        self.waits = [step.action == ELAPSE for step in graph.steps]
        self.forbidden = self.forbid()
        self.refusals = 0
        self.refused: Step | None = None

    def forbid(self) -> list[tuple[Step, ...]]:
        """For each state, the steps that a rule of the subject's own forbids there; each is asked for once."""
        if not self.pairing.refusable:
            return [()] * self.graph.size
        from ..relation.terms import BOOL, evaluate_in_order
        from ..relation.terms import walk as term_walk

        names = [variable.name for variable in self.pairing.relation.variables]
        flags = [variable.term.sort is BOOL for variable in self.pairing.relation.variables]
        guarded = [
            (action.step, exit.condition, list(term_walk([exit.condition])))
            for action in self.pairing.relation.actions
            for exit in action.exits
            if exit.kind == "blocked" and exit.place in self.pairing.refusable
        ]
        found: list[tuple[Step, ...]] = []
        for row in self.rows:
            values = {n: bool(v) if f else v for n, v, f in zip(names, row, flags, strict=True)}
            found.append(
                tuple(
                    step
                    for step, condition, order in guarded
                    if evaluate_in_order(order, values.__getitem__)[condition.number]
                )
            )
        return found

    def run(self, way: tuple[int, ...]) -> int | None:
        """Take one walk; how many steps it was until the sides differed, or None if they never did."""
        subject, tick = self.subject, self.pairing.tick
        step, observe = subject.step, subject.observe
        at = 0
        try:
            subject.reset(self.pairing.constants)
            if not self.same(observe(0), (*self.shown[0], *self.quiet)):
                return 0
            if self.forbidden[0] and not self.refuses(0, at):
                return 0
            for position, edge in enumerate(way):
                number, target = self.actions[edge], self.targets[edge]
                taken = self.graph.steps[number]
                if self.waits[number]:
                    at += tick
                    expected = (*self.shown[target], *self.quiet) if self.views else self.shown[target]
                else:
                    step(taken, at)
                    expected = self.shown[target]
                    if self.views:
                        before, after = self.rows[self.sources[edge]], self.rows[target]
                        expected = (*expected, *[view(before, taken, after) for view in self.views])
                seen = observe(at)
                if seen != expected and not self.same(seen, expected):
                    return position + 1
                if self.forbidden[target] and not self.refuses(target, at):
                    return position + 1
        except Refused:
            return position + 1
        except Exception:  # a crash of the subject: the plain driver tells it again, with its text
            return position + 1 if way else 0
        return None

    def same(self, seen: Observation, expected: Observation) -> bool:
        return saturated(seen, self.pairing.limits) == saturated(expected, self.pairing.limits)

    def refuses(self, state: int, at: int) -> bool:
        """Whether the subject refuses what the model forbids here. Asked once for each state."""
        asked, self.forbidden[state] = self.forbidden[state], ()
        for step in asked:
            self.refusals += 1
            try:
                self.subject.step(step, at)
            except Refused:
                continue
            self.refused = step
            return False
        return True


def confirmed(pairing: Pairing, graph: Graph, way: tuple[int, ...], refused: Step | None) -> Divergence:
    """The divergence again, by the plain driver. Raises Flaky if the subject does not repeat it."""
    steps = [graph.steps[int(graph.actions[edge])] for edge in way]
    if refused is not None:
        steps.append(refused)
    again, _ = walk(pairing, steps, explored=True)
    if again is None:
        raise Flaky(pairing.name, len(steps), repeats(pairing, steps))
    return again


@dataclass
class Flaky(Exception):
    """A subject that answers differently on replay: ``times`` of ten replays differed from the model."""

    pairing: str
    steps: int
    times: int

    def __str__(self) -> str:
        return (
            f"{self.pairing}: the subject differed once on a walk of {self.steps} steps and on {self.times} of 10 replays: "
            "it is not deterministic; take its clock, its random source and what it keeps between walks into the adapter"
        )


def repeats(pairing: Pairing, steps: list[Step]) -> int:
    """How many of ten replays differ from the model."""
    return sum(walk(pairing, steps, explored=True)[0] is not None for _ in range(10))


def walks_of(graph: Graph, planned: Tour) -> Iterator[list[Step]]:
    """The walks as steps, for subjects that are driven from elsewhere."""
    for way in planned.walks:
        yield [graph.steps[int(graph.actions[edge])] for edge in way]
