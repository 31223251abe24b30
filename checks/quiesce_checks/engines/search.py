"""What the ways of searching have in common: limits, progress, and what a search hands over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # an owner in another process knows neither
    from .graph import Graph
    from .program import Program


@dataclass(frozen=True)
class Limits:
    """Where a search ends undecided: distinct states, seconds, bytes of memory, levels (the initial state is 1).

    None is no limit; for memory it is most of what the system can give.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    depth: int | None = None


@dataclass(frozen=True)
class Progress:
    """A heartbeat. ``rate`` is in distinct states a second since the search began, ``memory`` in bytes.

    ``properties`` are those not decided yet.
    """

    machine: str
    engine: str
    properties: tuple[str, ...]
    depth: int
    states: int
    rate: float
    queue: int
    memory: int
    seconds: float


class Stop(StrEnum):
    """Why a search ended."""

    EXHAUSTED = "exhausted"
    DECIDED = "decided"
    STATES = "states"
    SECONDS = "seconds"
    MEMORY = "memory"
    DEPTH = "depth"
    INTERRUPTED = "interrupted"
    INDEXES = "indexes"
    DISK = "disk"


WHY_STOPPED = {
    Stop.EXHAUSTED: "exhausted",
    Stop.DECIDED: "stopped: everything asked was decided",
    Stop.STATES: "inconclusive: the limit on states was reached",
    Stop.SECONDS: "inconclusive: the limit on time was reached",
    Stop.MEMORY: "inconclusive: memory",
    Stop.DEPTH: "inconclusive: the limit on depth was reached",
    Stop.INTERRUPTED: "inconclusive: interrupted",
    Stop.INDEXES: "inconclusive: more states than 32 bits can number; use a smaller scope",
    Stop.DISK: "inconclusive: files cannot be written any more, the disk may be full",
}


class States(Protocol):
    """The states that a search found, by index in breadth-first order; 0 is the initial state."""

    def leaves(self, index: int) -> tuple[int, ...]: ...

    def parent(self, index: int) -> int:
        """The state that ``index`` was first reached from; of the initial state, itself."""
        ...


@dataclass(frozen=True)
class Searched:
    """What a search hands over. ``found`` has for each watch the first state where it struck, or None.

    ``taken`` and ``first_level`` are by move; a move never taken has first level 0. ``counts`` are the distinct states
    of each owner, where there are several; ``remark`` is to be said with every verdict that rests on the whole search.
    """

    engine: str
    stop: Stop
    distinct: int
    generated: int
    depth: int
    queue: int
    seconds: float
    compile_seconds: float
    bytes: int
    bytes_per_state: float
    found: tuple[int | None, ...]
    taken: tuple[int, ...]
    first_level: tuple[int, ...]
    states: States
    graph: Graph | None = None
    counts: tuple[int, ...] = ()
    remark: str = ""


class Watchman:
    """Decides at each heartbeat whether to go on, and passes progress on."""

    def __init__(
        self,
        program: Program,
        limits: Limits,
        *,
        stop_at_first: bool,
        required: Sequence[int],
        progress: Callable[[Progress], None] | None,
        started: float,
    ) -> None:
        self.program = program
        self.limits = limits
        self.stop_at_first = stop_at_first
        self.required = required
        self.progress = progress
        self.started = started

    def decided(self, found: Sequence[int | None]) -> bool:
        """Whether there is nothing left to find."""
        if self.stop_at_first and any(
            at is not None and watch.violation for at, watch in zip(found, self.program.watches, strict=True)
        ):
            return True
        return bool(self.required) and all(found[i] is not None for i in self.required)

    def overdue(self) -> bool:
        return self.limits.seconds is not None and perf_counter() - self.started >= self.limits.seconds

    def report(
        self, engine: str, found: Sequence[int | None], *, depth: int, states: int, queue: int, memory: int
    ) -> None:
        if self.progress is None:
            return
        seconds = perf_counter() - self.started
        undecided = tuple(w.name for w, at in zip(self.program.watches, found, strict=True) if at is None)
        rate = states / seconds if seconds > 0 else 0.0
        name = self.program.relation.name
        self.progress(Progress(name, engine, undecided, depth, states, rate, queue, memory, seconds))
