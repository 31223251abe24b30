"""What came of a simulation: verdicts, and what its walks saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..trace import Trace
from ..verdict import ActionCount, Outcome, Verdict
from .explore import by_name

RUNS, DEPTH = 10_000, 100
"""Walks, and the most steps of one, if nothing else is said."""

Ended = Literal["runs", "seconds", "decided", "interrupted"]


@dataclass(frozen=True)
class Strike:
    """A watch that struck: in which walk (counted from the first of all), after which moves, and after how many steps
    of all walks that far, its own included."""

    watch: int
    run: int
    moves: tuple[int, ...]
    steps: int


@dataclass(frozen=True)
class Coverage:
    """What walks saw of a machine. ``steps`` are those of all ``runs``; ``shortest``, ``median`` and ``longest`` are
    steps of one. ``actions`` count each ground action; their ``first_level`` is the earliest step of a walk (the first
    is 1) that took it."""

    runs: int
    steps: int
    shortest: int
    median: float
    longest: int
    actions: tuple[ActionCount, ...]

    @property
    def by_name(self) -> tuple[ActionCount, ...]:
        return by_name(self.actions)

    @property
    def never_taken(self) -> tuple[str, ...]:
        """Actions that no walk took, with whatever arguments: not conclusive, since walks do not see everything."""
        return tuple(count.action for count in self.by_name if not count.taken)


@dataclass(frozen=True)
class Simulation:
    """A verdict for each property. ``violated`` has a trace, shortened and replayed; ``holds`` is said of nothing but a
    ``reachable`` that was reached; all else is inconclusive, however much was walked.

    ``strikes`` are the walks as they found, before shortening. ``ended`` says why the walking ended.
    """

    verdicts: tuple[Verdict, ...]
    coverage: Coverage
    seconds: float
    ended: Ended
    strikes: tuple[Strike, ...]

    def verdict(self, name: str) -> Verdict:
        for found in self.verdicts:
            if found.property == name:
                return found
        raise KeyError(f"no verdict on {name!r}; there are: {', '.join(v.property for v in self.verdicts)}")

    @property
    def traces(self) -> dict[str, Trace]:
        return {v.property: v.trace for v in self.verdicts if v.outcome is Outcome.VIOLATED and v.trace is not None}


WHY_ENDED: dict[Ended, str] = {
    "runs": "inconclusive: a walk does not see everything",
    "seconds": "inconclusive: the limit on time was reached",
    "decided": "stopped",
    "interrupted": "inconclusive: interrupted",
}


def said(strike: Strike | None, trace: Trace | None, coverage: Coverage, ended: Ended) -> str:
    """What was done, in words."""
    walked = f"{coverage.runs:,} random {'run' if coverage.runs == 1 else 'runs'}, {coverage.steps:,} steps"
    if strike is None or trace is None:
        return f"{walked}; {WHY_ENDED[ended]}"
    found = f"found in run {strike.run + 1:,} after {strike.steps:,} steps in all"
    return f"reached in {trace.length} {'step' if trace.length == 1 else 'steps'}, {found}; {walked}"
