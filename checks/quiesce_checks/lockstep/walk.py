"""Random walks at production constants: the model runs unsaturated, and time is let pass to the edges that matter.

An explored graph has small constants. Here the constants are the real ones, one unit of time is one millisecond, and
Hypothesis chooses the steps. What it chooses of time is always an edge: just before, at and just after the moment at
which an age reaches something that it is compared with, or a rest is over. Everything else is between two edges, where
nothing can change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import cast

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from quiesce_model.language.machine import Machine, Step, is_timed, leaves, state, steps
from quiesce_model.language.outcome import Blocked

from ..engines.interpreted import readable
from ..engines.program import program
from ..relation import terms as t
from ..relation.build import proof_relation, saturation_limits
from ..trace import saturate
from .drive import ELAPSE, Divergence, Pair, Turn, diverged
from .pairing import Pairing

EVERY_HEALTH_CHECK = tuple(cast("list[HealthCheck]", list(HealthCheck)))
"""Walks are long on purpose, and slow where the implementation is."""


@dataclass(frozen=True)
class Walked:
    """What random walks came to. ``edges`` counts how often a walk stood at an edge of time, by distance: -1 just
    before, 0 at, 1 just after."""

    pairing: str
    walks: int
    steps: int
    actions: tuple[tuple[str, int], ...]
    edges: tuple[tuple[int, int], ...]
    seconds: float
    divergence: Divergence | None


class Edges:
    """The moments of a machine's time at which anything can change."""

    def __init__(self, machine: Machine) -> None:
        made = proof_relation(machine)
        values = {name: int(value) for name, value in machine.constants_.items()}
        self.ages: list[tuple[int, tuple[int, ...]]] = []
        for clock in made.clocks:
            found = {int(t.evaluate(term, values.__getitem__)) for term in clock.compared}
            self.ages.append((clock.variable, tuple(sorted(found))))
        self.rests = [n for n, leaf in enumerate(leaves(machine)) if leaf.kind == "left"]

    def distances(self, machine: Machine) -> tuple[tuple[int, int], ...]:
        """How far time can go to stand just before (-1), at (0) or just after (1) the next edges, each as
        (distance, which), nearest first, without repeats."""
        now = state(machine)
        found: dict[int, int] = {}
        for variable, limits in self.ages:
            age = now[variable]
            if age >= 0:
                for limit in limits:
                    if age <= limit:
                        for offset in (-1, 0, 1):
                            found.setdefault(limit - age + offset, offset)
        for variable in self.rests:
            if now[variable] > 0:
                for offset in (-1, 0, 1):
                    found.setdefault(now[variable] + offset, offset)
        return tuple(sorted((distance, which) for distance, which in found.items() if distance > 0))


class Possible:
    """Which actions a machine can take, by its relation's guards as plain functions."""

    def __init__(self, pairing: Pairing) -> None:
        problem = program(pairing.relation, ())
        self.expand = readable(problem).expand
        self.steps = [action.step for action in pairing.relation.actions]  # moves are in their order
        self.limits = saturation_limits(pairing.relation)

    def now(self, machine: Machine) -> list[Step]:
        """The actions that are possible now, time left out."""
        state_now = saturate(state(machine), self.limits)
        return [self.steps[number] for number, _ in self.expand(state_now) if self.steps[number].action != ELAPSE]


@dataclass
class Tally:
    """What was walked so far."""

    walks: int = 0
    steps: int = 0
    actions: dict[str, int] | None = None
    edges: dict[int, int] | None = None

    def note(self, step: Step, which: int | None) -> None:
        self.steps += 1
        if self.actions is not None:
            self.actions[step.action] = self.actions.get(step.action, 0) + 1
        if self.edges is not None and which is not None:
            self.edges[which] = self.edges.get(which, 0) + 1


def production_walks(
    pairing: Pairing,
    *,
    walks: int = 100,
    length: int = 60,
    seconds: float | None = None,
    seed: int = 0,
) -> Walked:
    """Walk a pairing at random until the sides differ, ``walks`` are done or ``seconds`` have passed.

    Each walk switches some actions off (Hypothesis does so by itself where it helps), so that one that ends everything
    does not end every walk early. A divergence is the first that is found, as it was walked.
    """
    walker = Walker(pairing)
    rounds = 1 if seconds is None else 1_000_000
    for number in range(rounds):
        if walker.divergence is not None or (seconds is not None and walker.seconds >= seconds):
            break
        walker.round(seed + number, walks, length)
    return walker.walked()


class Walker:
    """Random walks of a pairing, round after round, all on one subject. A round is decided by its seed alone."""

    def __init__(self, pairing: Pairing) -> None:
        pairing.check()
        self.pairing = pairing
        self.subject = pairing.subject()
        self.edges = Edges(pairing.model)
        self.can = Possible(pairing)
        self.tally = Tally(actions={}, edges={})
        self.divergence: Divergence | None = None
        self.started = perf_counter()

    def round(self, seed: int, walks: int = 100, length: int = 60) -> None:
        """Up to ``walks`` walks of so many steps or a few more, or up to the first divergence."""
        self.divergence = one_round(self, walks, length, seed)

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started

    def walked(self) -> Walked:
        """What it all came to so far; after an interruption, too."""
        tally = self.tally
        return Walked(
            self.pairing.name,
            tally.walks,
            tally.steps,
            tuple(sorted((tally.actions or {}).items())),
            tuple(sorted((tally.edges or {}).items())),
            self.seconds,
            self.divergence,
        )


def one_round(walker: Walker, walks: int, length: int, seed: int) -> Divergence | None:
    """Up to ``walks`` walks from one seed."""
    pairing, subject, edges, can, tally = walker.pairing, walker.subject, walker.edges, walker.can, walker.tally
    actions = sorted({step.action for step in steps(pairing.model)})

    @st.composite
    def walked(draw: st.DrawFn) -> Divergence | None:
        tally.walks += 1
        pair = Pair(pairing, subject)
        start = pair.reset()
        if not start.agrees:
            return diverged(pairing, start, ())
        turns: list[Turn] = []
        switched_off = draw(st.sets(st.sampled_from(actions), max_size=max(1, min(3, len(actions) // 2))))
        while len(turns) < length:
            planned = draw_stretch(draw, pair.machine, can, edges, switched_off, turns)
            if not planned:
                break
            for step, which in planned:
                try:
                    turn = pair.take(step)
                except Blocked:
                    continue
                tally.note(step, which)
                turns.append(turn)
                if not turn.agrees:
                    return diverged(pairing, start, tuple(turns))
        return None

    try:
        return find(
            walked(),
            lambda found: found is not None,
            settings=settings(
                max_examples=walks,
                database=None,
                deadline=None,
                derandomize=False,
                phases=(Phase.generate,),  # what is found is shrunk over executed steps, see shrink.py
                suppress_health_check=EVERY_HEALTH_CHECK,
            ),
            random=seeded(seed),
        )
    except NoSuchExample:
        return None


def seeded(seed: int):
    import random

    return random.Random(seed)


Planned = list[tuple[Step, int | None]]
"""Steps with, for time that passes, which side of an edge it leads to."""


def draw_stretch(
    draw: st.DrawFn, machine: Machine, can: Possible, edges: Edges, switched_off: set[str], turns: list[Turn]
) -> Planned:
    """What to do next: a step that is possible (any, or one of an action that this walk has taken least), time that
    passes to an edge, or the last few steps over and over, without which no walk would ever count to a threshold. Empty
    if nothing can happen."""
    choices = [step for step in can.now(machine) if step.action not in switched_off]
    waits = edges.distances(machine) if is_timed(machine) else ()
    kind = draw(st.integers(0, 5))
    if kind == 0 and turns:
        pattern = [turn.step for turn in turns[-draw(st.integers(1, 3)) :]]
        return [(step, None) for step in pattern * draw(st.integers(1, 13))]
    if waits and (kind == 1 or not choices):
        distance, which = draw(st.sampled_from(waits))
        return [(Step(ELAPSE, (("d", distance),)), which)]
    if kind > 2 and choices:
        taken = Counter(turn.step.action for turn in turns)
        least = min(taken[step.action] for step in choices)
        choices = [step for step in choices if taken[step.action] == least]
    return [(draw(st.sampled_from(choices)), None)] if choices else []


__all__ = ["Edges", "Possible", "Walked", "Walker", "production_walks"]
