"""One question about a pairing: do model and implementation agree? Tours, walks at random, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Any

from ..engines.search import Limits
from ..machines import short_name
from ..problems import Problem
from ..report.figures import plural
from ..verdict import Outcome, Verdict
from .drive import Divergence
from .pairing import Mismatch, Misnamed, Pairing
from .replays import Replays, made_short
from .subject import SubjectFailed
from .tour import Flaky, Toured, tour
from .walk import Walked, Walker

Watcher = Callable[[Any], None]


@dataclass(frozen=True)
class Beat:
    """A word of progress: ``states`` counts steps taken, ``queue`` those that are left."""

    machine: str
    states: int
    seconds: float
    queue: int | None = None
    engine: str = "lockstep"
    properties: tuple[str, ...] = ()
    unit: str = "steps"


@dataclass(frozen=True)
class Compared:
    """What came of a comparison: the verdict, and what was walked."""

    verdict: Verdict
    toured: Toured | None = None
    walked: Walked | None = None


def toured(pairing: Pairing, limits: Limits | None = None, watcher: Watcher | None = None) -> Compared:
    """Every transition of the model's graph, and the divergence made short if there is one. Raises :class:`Problem`
    for a pairing that its own model does not know."""
    started = perf_counter()

    def progress(done: int, of: int) -> None:
        if watcher is not None:
            watcher(Beat(pairing.name, done, perf_counter() - started, of - done))

    try:
        found = tour(pairing, limits=limits, progress=progress)
    except (Mismatch, Flaky, SubjectFailed) as problem:
        return Compared(failed(pairing, problem, perf_counter() - started))
    seconds = perf_counter() - started
    if found.divergence is not None:
        short, again = made_short(pairing, found.divergence, explored=True)
        return Compared(diverged(pairing, short, "tour", perf_counter() - started, again), found)
    outcome = Outcome.AGREES if found.exhausted and found.finished else Outcome.INCONCLUSIVE
    return Compared(Verdict(model_of(pairing), title(pairing), outcome, "tour", how_toured(found), seconds), found)


def how_toured(found: Toured) -> str:
    """``24,730 transitions, all walked in 349 walks, 150,757 steps (bound 93,216); …``"""
    if found.finished:
        walked = f"{plural(found.transitions, 'transition')}, all walked in {plural(found.walks, 'walk')}"
        steps = f"{plural(found.steps, 'step')} (bound {found.bound:,})"
    else:
        walked = f"interrupted in the walks over {plural(found.transitions, 'transition')}"
        steps = f"{plural(found.steps, 'step')} without a difference"
    states = plural(found.states, "state") + ("" if found.exhausted else ", not all there are")
    asked = f"{plural(found.refusals, 'refusal')} asked for"
    return f"{walked}, {steps}; {states}; {asked}; {found.rate:,.0f} steps/s"


def at_random(pairing: Pairing, seconds: float, watcher: Watcher | None = None, seed: int = 0) -> Compared:
    """Random walks for so many seconds, or up to the first divergence. The seed decides which; how many, the time."""
    started = perf_counter()
    walker: Walker | None = None
    interrupted = False
    try:
        walker = Walker(pairing)
        for number in count():
            walker.round(seed + number, ROUND)
            if watcher is not None:
                watcher(Beat(pairing.name, walker.tally.steps, walker.seconds))
            if walker.divergence is not None or walker.seconds >= seconds:
                break
    except KeyboardInterrupt:
        interrupted = True
    except (Mismatch, SubjectFailed) as problem:
        return Compared(failed(pairing, problem, perf_counter() - started))
    total = walker.walked() if walker is not None else Walked(pairing.name, 0, 0, (), (), 0.0, None)
    if total.divergence is not None:
        short, again = made_short(pairing, total.divergence, explored=False)
        return Compared(diverged(pairing, short, "walks", perf_counter() - started, again), walked=total)
    outcome = Outcome.INCONCLUSIVE if interrupted or not total.steps else Outcome.AGREES
    how = f"{how_walked(total, interrupted)}; seed {seed}"
    return Compared(Verdict(model_of(pairing), title(pairing), outcome, "walks", how, total.seconds), walked=total)


ROUND = 20
"""Walks between two looks at the clock."""


def how_walked(found: Walked, interrupted: bool) -> str:
    sides = {-1: "just before", 0: "at", 1: "just after"}
    edges = ", ".join(f"{number:,} {sides[side]}" for side, number in found.edges if side in sides)
    at_edges = f"; edges of time: {edges}" if edges else ""
    rate = found.steps / found.seconds if found.seconds else 0.0
    said = "interrupted after " if interrupted else ""
    walked = f"{said}{plural(found.walks, 'random walk')}, {plural(found.steps, 'step')} without a difference"
    return f"{walked}{at_edges}; {rate:,.0f} steps/s"


def diverged(pairing: Pairing, short: Divergence, engine: str, seconds: float, again: Replays) -> Verdict:
    """The verdict on a divergence: one that the subject does not repeat, or that is its own failure, says that the
    subject failed."""
    last = short.turns[-1].subject
    how = f"at step {len(short.steps):,}, found in {plural(short.found_after, 'step')}"
    if last.broken:
        how = f"{last.kind} {how}: {last.text}"
    if not again.steady:
        how = f"flaky, {how}; {again}"
    outcome = Outcome.FAILED if last.broken or not again.steady else Outcome.DIVERGES
    return Verdict(model_of(pairing), title(pairing), outcome, engine, how, seconds, divergence=short)


def failed(pairing: Pairing, problem: Exception, seconds: float) -> Verdict:
    """A subject that does not repeat what it did has failed; where it and the model describe different things, nothing
    was covered."""
    if isinstance(problem, Misnamed):
        raise Problem(str(problem)) from None
    said = str(problem).removeprefix(f"{pairing.name}: ")
    outcome = Outcome.VACUOUS if isinstance(problem, Mismatch) else Outcome.FAILED
    return Verdict(model_of(pairing), title(pairing), outcome, "lockstep", said, seconds)


def model_of(pairing: Pairing) -> str:
    return short_name(type(pairing.model))


def title(pairing: Pairing) -> str:
    """``lockstep with quiesce.scheduler.breaker``."""
    return f"lockstep with {pairing.implementation}"
