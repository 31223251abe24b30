"""What a server is given: clocks, limits, randomness, counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quiesce.clock import Clock
from quiesce.counts import Counts
from quiesce.server.limits import Limits
from quiesce.server.tally import Tally


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server is given: nothing in it is reached for."""

    limits: Limits
    clock: Clock
    wall: Clock
    random: Callable[[int], str]
    counts: Counts
    tally: Tally
