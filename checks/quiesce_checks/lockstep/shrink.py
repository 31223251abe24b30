"""A divergence made short: fewer executed steps first, then a shorter way through the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from quiesce_model.language.machine import Step, apply, copy, state, steps
from quiesce_model.language.outcome import Blocked, Fault

from ..trace import saturate
from .drive import ELAPSE, Divergence, walk
from .pairing import Pairing


@dataclass(frozen=True)
class Shrunk:
    """The shortest divergence found, and how many walks it took to find."""

    divergence: Divergence
    walks: int


LONG = 1_000_000
"""How many steps all attempts together may take before the shortest walk so far has to do."""


def shrink(
    pairing: Pairing, found: Divergence, *, budget: int = 2_000, explored: bool = False, seconds: float | None = None
) -> Shrunk:
    """Remove executed steps while the sides still differ at the end of what is left (delta debugging), shorten what
    time passes, and try the model's own shortest way to the last state: before the others too, since a walk over a
    whole graph is long and its last step is mostly what matters. Every attempt is a walk from the start, and a step
    that the model's guard no longer allows is left out, so what is returned is a real walk. ``explored`` compares as
    exploration does, see :class:`~.drive.Pair`. After ``seconds``, if given, the shortest walk so far has to do.
    """
    ends = inf if seconds is None else perf_counter() + seconds
    best, walks = shorter_way(pairing, found, explored)
    taken, size = 0, max(1, len(best.steps) // 2)
    while size >= 1 and walks < budget and taken < LONG and perf_counter() < ends:
        position, shorter = 0, False
        while position < len(best.steps) and walks < budget and taken < LONG and perf_counter() < ends:
            before, after = best.steps[:position], best.steps[position + size :]
            # Without the step that took a place, the later ones may mean the place before theirs.
            for candidate in [(*before, *after), *([(*before, *map(one_lower, after))] if size == 1 else [])]:
                walks += 1
                again, steps = walk(pairing, candidate, explored=explored)
                taken += steps
                if again is not None and cost(again) < cost(best):
                    best, shorter = again, True
                    break
            else:
                position += size
        if not shorter:
            size //= 2
    if perf_counter() >= ends:
        return Shrunk(replace(best, found_after=found.found_after), walks)
    best, more = less_time(pairing, best, budget - walks, explored)
    walks += more
    best, more = shorter_way(pairing, best, explored)
    return Shrunk(replace(best, found_after=found.found_after), walks + more)


def one_lower(step: Step) -> Step:
    """A step with each index one lower, where it can be."""
    return step if step.action == ELAPSE else Step(step.action, tuple((n, lowered(value)) for n, value in step.args))


def lowered(value: object) -> object:
    return value - 1 if isinstance(value, int) and not isinstance(value, bool) and value > 0 else value


def cost(divergence: Divergence) -> tuple[int, int]:
    return len(divergence.turns), divergence.turns[-1].at if divergence.turns else 0


def less_time(pairing: Pairing, found: Divergence, budget: int, explored: bool = False) -> tuple[Divergence, int]:
    """Let each stretch of time be shorter, by halves and then by one, while the sides still differ."""
    best, walks, position = found, 0, 0
    if budget > 0:
        again, _ = walk(pairing, merged(list(best.steps)), explored=explored)
        walks, best = 1, again if again is not None and cost(again) < cost(best) else best
    while position < len(best.steps):
        step = best.steps[position]
        if step.action == ELAPSE:
            distance = dict(step.args)["d"]
            for shorter in (distance // 2, distance - distance // 4, distance - 1):
                if not 0 < shorter < distance or walks >= budget:
                    continue
                attempt = list(best.steps)
                attempt[position] = Step(ELAPSE, (("d", shorter),))
                walks += 1
                again, _ = walk(pairing, attempt, explored=explored)
                if again is not None and cost(again) < cost(best):
                    best, position = again, position - 1
                    break
        position += 1
    return best, walks


def shorter_way(
    pairing: Pairing, found: Divergence, explored: bool = False, *, most: int = 20_000
) -> tuple[Divergence, int]:
    """The model's shortest way to where the sides differed, and the last step: taken if they differ there too."""
    if len(found.steps) < 2:
        return found, 0
    *before, last = found.steps
    limits = tuple(clock_limits(pairing))
    target = copy(pairing.model)
    for step in before:
        if step.action == ELAPSE:
            target.elapse(dict(step.args)["d"])
        else:
            try:
                apply(target, step)
            except Blocked:
                continue
    goal = saturate(state(target), limits)
    way = path_to(pairing, goal, limits, len(before), most)
    if way is None:
        return found, 0
    again, _ = walk(pairing, (*merged(way), last), explored=explored)
    if again is not None and cost(again) < cost(found):
        return again, 1
    return found, 1


def clock_limits(pairing: Pairing) -> list[int | None]:
    from ..relation.build import saturation_limits

    return list(saturation_limits(pairing.relation))


def path_to(
    pairing: Pairing, goal: tuple[int, ...], limits: tuple[int | None, ...], longest: int, most: int
) -> list[Step] | None:
    """The shortest way through the model to a state, no more than ``longest`` steps and ``most`` states looked at."""
    from quiesce_model.language.machine import is_timed, load

    runner = copy(pairing.model)
    first = saturate(state(runner), limits)
    came: dict[tuple[int, ...], tuple[tuple[int, ...], Step] | None] = {first: None}
    level = [first]
    choices = [*steps(runner), *([Step(ELAPSE, (("d", 1),))] if is_timed(runner) else [])]
    for _ in range(longest):
        following: list[tuple[int, ...]] = []
        for now in level:
            if now == goal:
                return way_back(came, goal)
            for step in choices:
                load(runner, now)
                try:
                    if step.action == ELAPSE:
                        runner.elapse(1)
                    else:
                        apply(runner, step)
                except (Blocked, Fault):
                    continue
                after = saturate(state(runner), limits)
                if after not in came:
                    if len(came) >= most:
                        return None
                    came[after] = (now, step)
                    following.append(after)
        level = following
    return way_back(came, goal) if goal in came else None


def way_back(came: dict[tuple[int, ...], tuple[tuple[int, ...], Step] | None], goal: tuple[int, ...]) -> list[Step]:
    way: list[Step] = []
    entry = came[goal]
    while entry is not None:
        before, step = entry
        way.append(step)
        entry = came[before]
    return way[::-1]


def merged(way: list[Step]) -> list[Step]:
    """Stretches of time that follow each other as one."""
    made: list[Step] = []
    for step in way:
        if step.action == ELAPSE and made and made[-1].action == ELAPSE:
            distance = dict(made[-1].args)["d"] + dict(step.args)["d"]
            made[-1] = Step(ELAPSE, (("d", distance),))
        else:
            made.append(step)
    return made
