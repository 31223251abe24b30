"""Every transition of an explored graph on the real thing, compared after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

from quiesce_model.language.machine import Step, copy, load

from ..engines.explore import explore
from ..engines.graph import Graph
from ..engines.search import Limits, Stop
from .drive import ELAPSE, Divergence, walk
from .pairing import Pairing, saturated
from .plan import Tour, lower_bound, plan
from .subject import Observation, Refused, Subject, SubjectFailed


@dataclass(frozen=True)
class Toured:
    """What a tour found. ``refusals`` is how often the subject was asked for what the model forbids.

    ``exhausted`` is False if the exploration ended early, ``finished`` if the walks were interrupted.
    """

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
    finished: bool = True

    @property
    def rate(self) -> float:
        """Lockstep steps a second, the planning of the walks and the model's own states included."""
        return self.steps / self.seconds if self.seconds else 0.0


def tour(
    pairing: Pairing,
    *,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Toured:
    """Walk a subject over every transition of its model's explored graph, comparing after each.

    Ends at the first divergence, which is taken again by the plain driver before it is returned. At the end the first
    steps are taken once more, so that what a reset leaves behind shows even where one walk was enough. ``progress`` is
    told how many steps are done, of how many. Ctrl-C ends it with what is known by then. Raises Mismatch, and Flaky (or
    Leak) if the subject does not repeat what it did.
    """
    pairing.check()
    started = perf_counter()
    explored = explore(pairing.walked, properties=(), limits=limits, keep_graph=True)
    graph = explored.graph
    assert graph is not None
    exploring = perf_counter() - started
    planned = plan(graph)
    runner = Runner(pairing, graph)
    if progress is not None:
        runner.watch = lambda steps: progress(min(steps, planned.steps), planned.steps)
    divergence: Divergence | None = None
    steps, finished = 0, explored.stop is not Stop.INTERRUPTED
    try:
        for number, way in enumerate(with_another(planned.walks) if finished else ()):
            failed = runner.run(way)
            steps = min(runner.taken, planned.steps)
            if failed is not None:
                divergence = repeated(runner, planned.walks[:number], way[:failed])
                break
    except KeyboardInterrupt:
        finished, steps = False, min(runner.taken, planned.steps)
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
        finished,
    )


AGAIN = 1_000
"""How many steps are taken again when all is done."""

AHEAD = 64
"""For how many transitions a subject that can be asked ahead is."""

BEAT = 4_096
"""How many steps there are from one word of progress to the next."""


def with_another(walks: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, ...]]:
    """The walks, and the beginning of the first one again."""
    yield from walks
    if walks:
        yield walks[0][:AGAIN]


def repeated(runner: Runner, before: tuple[tuple[int, ...], ...], way: tuple[int, ...]) -> Divergence:
    """The divergence that the last walk ended with, again, and alone. Raises Flaky if it is not to be had."""
    pairing, failure = runner.pairing, runner.failure
    try:
        return confirmed(pairing, runner.graph, way, runner.refused)
    except Flaky as flaky:
        if flaky.times:
            raise
        for earlier in (before[-1:], before):
            if earlier and leaks(runner, earlier, way):
                raise Leak(pairing.name, flaky.steps, len(earlier), failure) from None
        raise Flaky(pairing.name, flaky.steps, 0, failure) from None


def leaks(runner: Runner, before: tuple[tuple[int, ...], ...], way: tuple[int, ...]) -> bool:
    """Whether a new subject differs on a walk after others, and each time."""
    for _ in range(2):
        runner.subject = runner.pairing.subject()
        if any(runner.run(earlier) is not None for earlier in before) or runner.run(way) is None:
            return False
    return True


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
        self.resting: list[Observation] = [(*shown, *self.quiet) for shown in self.shown]
        self.limited = [(n, limit) for n, limit in enumerate(pairing.limits) if limit is not None]
        self.waits = [step.action == ELAPSE for step in graph.steps]
        self.forbidden = self.forbid()
        self.refusals = 0
        self.refused: Asked = ()
        self.failure = ""
        self.taken = 0
        self.watch: Callable[[int], None] | None = None

    def forbid(self) -> list[tuple[Step, ...]]:
        """For each state, the steps that a rule of the subject's own forbids there; each is asked for once."""
        if not self.pairing.refusable:
            return [()] * self.graph.size
        from ..relation.terms import BOOL, evaluate_in_order
        from ..relation.terms import walk as term_walk

        names = [variable.name for variable in self.pairing.walked.variables]
        flags = [variable.term.sort is BOOL for variable in self.pairing.walked.variables]
        guarded = [
            (action.step, exit.condition, list(term_walk([exit.condition])))
            for action in self.pairing.walked.actions
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
        step, observe, ahead = subject.step, subject.observe, getattr(subject, "ahead", None)
        waits, resting, shown, views, rows = self.waits, self.resting, self.shown, self.views, self.rows
        sources = self.sources
        at, position, base = 0, -1, self.taken
        self.refused, self.failure = (), ""
        try:
            subject.reset(self.pairing.constants)
            if not self.same(observe(0), (*self.shown[0], *self.quiet)):
                return 0
            if self.forbidden[0] and not self.refuses(0, at, 0):
                return 0
            for position, edge in enumerate(way):
                if ahead is not None and not position % AHEAD:
                    coming = way[position : position + AHEAD]
                    ahead(self.coming(coming, at), refusals=any(self.forbidden[self.targets[edge]] for edge in coming))
                if not position % BEAT:
                    self.taken = base + position
                    if self.watch is not None:
                        self.watch(self.taken)
                number, target = self.actions[edge], self.targets[edge]
                taken = self.graph.steps[number]
                if waits[number]:
                    at += tick
                    expected = resting[target]
                elif views:
                    step(taken, at)
                    before, after = rows[sources[edge]], rows[target]
                    expected = (*shown[target], *[view(before, taken, after) for view in views])
                else:
                    step(taken, at)
                    expected = shown[target]
                seen = observe(at)
                if seen != expected and not self.same(seen, expected):
                    return position + 1
                if self.forbidden[target] and not self.refuses(target, at, position + 1):
                    return position + 1
        except Exception as error:  # a refusal, or a crash of the subject: the plain driver tells it again
            self.failure = str(error) if isinstance(error, SubjectFailed) else ""
            return position + 1
        finally:
            self.taken = base + position + 1
        return None

    def coming(self, way: tuple[int, ...], at: int) -> list[tuple[Step | None, int]]:
        """What the subject is going to be asked on these transitions, from ``at`` on, if it does what it should."""
        turns: list[tuple[Step | None, int]] = []
        asked: set[int] = set()
        for edge in way:
            number, target = self.actions[edge], self.targets[edge]
            at += self.pairing.tick if self.waits[number] else 0
            turns.append((None if self.waits[number] else self.graph.steps[number], at))
            if target not in asked:
                asked.add(target)
                turns += [(step, at) for step in self.forbidden[target]]
        return turns

    def same(self, seen: Observation, expected: Observation) -> bool:
        """Whether they are equal with what the subject shows saturated, as what is expected is already."""
        if len(seen) != len(expected):
            return False
        found = list(seen)
        for n, limit in self.limited:
            age = found[n]
            if isinstance(age, int) and age > limit:
                found[n] = limit
        return tuple(found) == expected

    def refuses(self, state: int, at: int, taken: int) -> bool:
        """Whether the subject refuses what the model forbids here, and is as it was. Asked once for each state."""
        asked, self.forbidden[state] = self.forbidden[state], ()
        for step in asked:
            self.refusals += 1
            self.refused = (*self.refused, (taken, step))
            try:
                self.subject.step(step, at)
            except Refused:
                if self.same(self.subject.observe(at), (*self.shown[state], *self.quiet)):
                    continue
            return False
        return True


Asked: TypeAlias = tuple[tuple[int, Step], ...]
"""Steps that a walk asked the subject for in vain, each with how many transitions had been taken before."""


def confirmed(pairing: Pairing, graph: Graph, way: tuple[int, ...], refused: Asked) -> Divergence:
    """The divergence again, by the plain driver. Raises Flaky if the subject does not repeat it."""
    steps: list[Step] = []
    asked = list(refused)
    for position in range(len(way) + 1):
        while asked and asked[0][0] == position:
            steps.append(asked.pop(0)[1])
        if position < len(way):
            steps.append(graph.steps[int(graph.actions[way[position]])])
    again, _ = walk(pairing, steps, explored=True)
    if again is None:
        raise Flaky(pairing.name, len(steps), repeats(pairing, steps))
    return again


@dataclass
class Flaky(Exception):
    """A subject that answers differently on replay: ``times`` of ten replays differed from the model. ``failure`` is
    how the subject failed the first time, if it did."""

    pairing: str
    steps: int
    times: int
    failure: str = ""

    def __str__(self) -> str:
        once = f" (it {self.failure})" if self.failure else ""
        return (
            f"{self.pairing}: the subject differed once{once} on a walk of {self.steps} steps and on {self.times} of "
            "10 replays: it is not deterministic; take its clock, its random source and what it keeps between walks "
            "into the adapter"
        )


@dataclass
class Leak(Flaky):
    """A subject that keeps something of one walk in the next: it differs only after ``times`` others."""

    def __str__(self) -> str:
        others = "another walk" if self.times == 1 else f"{self.times} other walks"
        how = f" (it {self.failure})" if self.failure else ""
        return (
            f"{self.pairing}: the subject differs{how} on a walk of {self.steps} steps after {others}, and not when it "
            "is new: its reset leaves something behind"
        )


def repeats(pairing: Pairing, steps: list[Step]) -> int:
    """How many of ten replays differ from the model."""
    return sum(walk(pairing, steps, explored=True)[0] is not None for _ in range(10))


def walks_of(graph: Graph, planned: Tour) -> Iterator[list[Step]]:
    """The walks as steps, for subjects that are driven from elsewhere."""
    for way in planned.walks:
        yield [graph.steps[int(graph.actions[edge])] for edge in way]
