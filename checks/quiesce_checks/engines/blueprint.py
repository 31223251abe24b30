"""What native code has to be given room for: all about a search but what its states mean.

So it can be sent to another process or machine, which then needs neither the model nor its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kernel import Kernel
    from .program import Program


@dataclass(frozen=True)
class Blueprint:
    """``words`` and ``initial`` are 64-bit words; ``moves`` counts all, ``numbers`` are those that are not impossible
    in themselves; ``watch_sets`` are positions of watches by bit set and bit; ``capacity`` is how many successors a
    batch may hold, ``scratch`` how many words of scratch memory a batch takes."""

    words: int
    initial: tuple[int, ...]
    moves: int
    numbers: tuple[int, ...]
    watches: int
    watch_sets: tuple[tuple[int, ...], ...]
    capacity: int
    scratch: int
    graph: bool


def blueprint(program: Program, kernel: Kernel) -> Blueprint:
    """The blueprint for one program's kernel."""
    return Blueprint(
        words=program.layout.words,
        initial=program.layout.pack(program.initial),
        moves=len(program.moves),
        numbers=tuple(number for number, _ in kernel.successors.moves),
        watches=len(program.watches),
        watch_sets=kernel.shape.watch_sets,
        capacity=kernel.successors.capacity,
        scratch=kernel.successors.scratch,
        graph=kernel.graph,
    )
