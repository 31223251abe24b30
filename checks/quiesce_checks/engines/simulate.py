"""Simulation: random walks through a machine whose states are too many to be visited. It finds; it never proves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Literal

from quiesce_model.language.machine import Machine

from ..relation.relation import Relation
from ..trace import Trace
from ..verdict import ActionCount, Outcome, Verdict
from .explore import read, required
from .interpreted import readable
from .program import Program, program
from .search import Limits, Progress, Watchman
from .shorten import Shortener
from .simulation import DEPTH, RUNS, Coverage, Ended, Simulation, Strike, said
from .swarm import Swarm
from .walk_kernel import WalkKernel
from .walks import NativeWalker, PlainWalker, Walked, Walker
from .witness import Confirm, Witnesses, by_machine

ENGINE = "simulate"
STEPS = 200_000
"""About how many steps a block of walks has: between two of them limits are looked at."""


def simulate(
    model: Machine | Relation,
    properties: Iterable[str] | None = None,
    *,
    runs: int = RUNS,
    depth: int = DEPTH,
    seconds: float | None = None,
    seed: int = 0,
    stop: Literal["first", "all"] = "all",
    threads: int = 1,
    engine: Literal["auto", "native", "interpreted"] = "auto",
    deadlock: bool | None = None,
    progress: Callable[[Progress], None] | None = None,
    confirm: Confirm | None = by_machine,
) -> Simulation:
    """Take ``runs`` random walks of at most ``depth`` steps each, and look for everything that exploration looks for.

    Each walk switches actions off or weighs them in its own way, see :mod:`.swarm`. What is found depends on ``seed``,
    ``runs`` and ``depth`` alone, on neither ``threads`` nor ``engine``; with ``seconds`` it depends on the time, too.
    A walk ends early where nothing is possible, or where a property strikes for the first time. With ``stop="first"``
    the walking ends at the first violation, else when everything asked is decided.

    Raises KeyError, ValueError and TooWide as :func:`~.explore.explore` does, and
    :class:`~..trace.Disagreement` if plain Python does not confirm a trace.
    """
    if runs < 1 or depth < 1 or threads < 1:
        raise ValueError("runs, depth and threads are at least 1")
    started = perf_counter()
    relation = model if isinstance(model, Relation) else read(model)
    named = None if properties is None else tuple(properties)
    problem = program(relation, named, deadlock=deadlock)
    watchman = Watchman(
        problem,
        Limits(seconds=seconds),
        stop_at_first=stop == "first",
        required=required(problem, named),
        progress=progress,
        started=started,
    )
    tally = Tally(problem, watchman, runs, depth)
    ended = tally.walk(walkers(problem, seed, depth, threads, engine))
    return tally.simulation(named, ended, confirm, started)


def walkers(problem: Program, seed: int, depth: int, threads: int, engine: str) -> list[Walker]:
    kernel = WalkKernel(problem)
    swarm = Swarm([problem.relation.actions[number].step.action for number, _ in kernel.moves], seed)
    if engine == "interpreted" or (engine == "auto" and find_spec("llvmlite") is None):
        return [PlainWalker(problem, kernel.moves, swarm, depth)]
    from .jit import loaded

    code = loaded(kernel.module())
    return [NativeWalker(problem, kernel, code, swarm, depth) for _ in range(threads)]


class Tally:
    """Gives blocks of walks out and puts together what comes back, in the order of the walks."""

    def __init__(self, problem: Program, watchman: Watchman, runs: int, depth: int) -> None:
        self.problem = problem
        self.watchman = watchman
        self.runs = runs
        self.at_once = max(1, min(256, STEPS // depth))
        self.depth = depth
        self.found: list[int | None] = [None] * len(problem.watches)
        self.strikes: list[Strike] = []
        self.lengths: list[int] = []
        self.steps = 0
        self.taken = [0] * len(problem.moves)
        self.earliest = [0] * len(problem.moves)

    def walk(self, walkers: list[Walker]) -> Ended:
        """Until the runs are done, the time is over or all is decided. KeyboardInterrupt ends it with what it has."""
        next_run = 0
        try:
            with ThreadPoolExecutor(max(1, len(walkers) - 1)) as pool:
                while next_run < self.runs:
                    if self.watchman.overdue():
                        return "seconds"
                    starts = range(next_run, min(self.runs, next_run + self.at_once * len(walkers)), self.at_once)
                    wanted = self.wanted()
                    jobs = [(first, min(self.at_once, self.runs - first), wanted, self.enough) for first in starts]
                    others = [pool.submit(w.block, *job) for w, job in zip(walkers[1:], jobs[1:], strict=False)]
                    blocks = [walkers[0].block(*jobs[0]), *(other.result() for other in others)]
                    for job, walked in zip(jobs, blocks, strict=True):
                        self.add(
                            walked if self.news(walked) else walkers[0].block(*job[:2], self.wanted(), self.enough)
                        )
                        if self.watchman.decided(self.found):
                            return "decided"
                    next_run = starts[-1] + jobs[-1][1]
                    self.watchman.report(
                        ENGINE, self.found, depth=max(self.lengths), states=self.steps, queue=0, memory=0
                    )
        except KeyboardInterrupt:
            return "interrupted"
        return "runs"

    def wanted(self) -> set[int]:
        """The watches still looked for."""
        return {i for i, at in enumerate(self.found) if at is None}

    def news(self, walked: Walked) -> bool:
        """Whether a block found nothing that an earlier one, taken at the same time, had found: walks ended for it."""
        return all(self.found[strike.watch] is None for strike in walked.strikes)

    def enough(self, new: Collection[int]) -> bool:
        return self.watchman.decided([0 if i in new else at for i, at in enumerate(self.found)])

    def add(self, walked: Walked) -> None:
        for strike in walked.strikes:
            if self.found[strike.watch] is None:
                self.found[strike.watch] = strike.run
                self.strikes.append(Strike(strike.watch, strike.run, strike.moves, self.steps + strike.steps))
        self.lengths += walked.lengths
        self.steps += sum(walked.lengths)
        self.taken = [a + b for a, b in zip(self.taken, walked.taken, strict=True)]
        self.earliest = [min(a, b) if a and b else a or b for a, b in zip(self.earliest, walked.earliest, strict=True)]

    def coverage(self) -> Coverage:
        counts = tuple(
            ActionCount(str(action.step), taken, first or None)
            for action, taken, first in zip(self.problem.relation.actions, self.taken, self.earliest, strict=True)
        )
        lengths = self.lengths or [0]
        return Coverage(len(self.lengths), self.steps, min(lengths), median(lengths), max(lengths), counts)

    def simulation(
        self, named: tuple[str, ...] | None, ended: Ended, confirm: Confirm | None, started: float
    ) -> Simulation:
        coverage = self.coverage()
        asked = required(self.problem, named)
        verdicts: list[Verdict] = []
        for position, watch in enumerate(self.problem.watches):
            strike = next((s for s in self.strikes if s.watch == position), None)
            if strike is None and ended == "decided" and position not in asked:
                continue  # nobody asked, and nothing was found by the way
            trace = None if strike is None else self.trace(strike, confirm)
            outcome = Outcome.INCONCLUSIVE
            if strike is not None:
                outcome = Outcome.VIOLATED if watch.violation else Outcome.HOLDS
            verdicts.append(
                Verdict(
                    self.problem.relation.name,
                    watch.name,
                    outcome,
                    ENGINE,
                    said(strike, trace, coverage, ended),
                    perf_counter() - started,
                    trace,
                )
            )
        return Simulation(tuple(verdicts), coverage, perf_counter() - started, ended, tuple(self.strikes))

    def trace(self, strike: Strike, confirm: Confirm | None) -> Trace:
        path = Shortener(self.problem, readable(self.problem), strike.watch).shorten(strike.moves)
        witnesses = Witnesses(self.problem, Path(path), confirm)
        return witnesses.trace(self.problem.watches[strike.watch], len(path) - 1)


@dataclass(frozen=True)
class Path:
    """The states of one run, as a search would have found them."""

    states: tuple[tuple[int, ...], ...]

    def leaves(self, index: int) -> tuple[int, ...]:
        return self.states[index]

    def parent(self, index: int) -> int:
        return max(0, index - 1)
