"""A divergence taken again: whether the subject does the same each time, with the numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from ..report.figures import plural
from .drive import Divergence, walk
from .pairing import Pairing
from .shrink import shrink
from .stdio import StdioSubject

TIMES = 10
"""How often a divergence is taken again before it is shown."""

SECONDS = 30.0
"""How long replays may take, and the shortening of a walk that ends in a failure: where a subject does not answer, each
attempt costs a whole time-out."""


@dataclass(frozen=True)
class Replays:
    """How replays ended, each on a new subject: ``alike``, as the divergence did; ``otherwise``, in another one; or
    with both sides agreed."""

    steps: int
    alike: int = 0
    otherwise: int = 0
    agreed: int = 0

    @property
    def steady(self) -> bool:
        return not self.otherwise and not self.agreed

    def __str__(self) -> str:
        times = self.alike + self.otherwise + self.agreed
        return (
            f"of {plural(times, 'replay')} of {plural(self.steps, 'step')} {self.alike} ended like this, "
            f"{self.otherwise} otherwise, and {self.agreed} agreed with the model: it is not deterministic; take its "
            "clock, its random source and what it keeps between walks into the adapter"
        )


def replays(pairing: Pairing, found: Divergence, *, explored: bool) -> Replays:
    """Take the steps ten times, or for as long as there is time, but at least twice."""
    counted = Replays(len(found.steps))
    started = perf_counter()
    for number in range(TIMES):
        if number >= 2 and perf_counter() - started > SECONDS:
            break
        again, _ = walk(pairing, found.steps, explored=explored)
        if again is None:
            counted = replace(counted, agreed=counted.agreed + 1)
        elif ending(again) == ending(found):
            counted = replace(counted, alike=counted.alike + 1)
        else:
            counted = replace(counted, otherwise=counted.otherwise + 1)
    return counted


def ending(found: Divergence) -> tuple[object, ...]:
    last = found.turns[-1]
    return len(found.steps), last.step, last.at, last.subject.kind, last.subject.seen


def made_short(pairing: Pairing, found: Divergence, *, explored: bool) -> tuple[Divergence, Replays]:
    """The divergence as short as it can be made, and whether it is there each time.

    A subject in another process is started once for all attempts, and anew for each replay.
    """
    first = pairing.subject()
    reused = replace(pairing, subject=lambda: first) if isinstance(first, StdioSubject) else pairing
    seconds = SECONDS if found.turns[-1].subject.kind == "failed" else None
    short = shrink(reused, found, explored=explored, seconds=seconds).divergence
    if isinstance(first, StdioSubject):
        first.close()
    again = replays(pairing, short, explored=explored)
    if again.alike or short.steps == found.steps:
        return short, again
    return found, replays(pairing, found, explored=explored)
