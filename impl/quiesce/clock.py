"""Time, given to whoever needs it. Milliseconds throughout; tests hold a clock that moves only by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of milliseconds."""

    def __call__(self) -> float:
        """The present moment in milliseconds."""
        ...


def monotonic_ms() -> float:
    """Milliseconds of this process's monotonic clock: for deadlines, windows and rates."""
    return time.monotonic_ns() / 1e6


def wall_ms() -> float:
    """Milliseconds since 1970, UTC: only for what was dated by somebody else, such as a token's expiry."""
    return time.time_ns() / 1e6


class ManualClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, milliseconds: float) -> float:
        """Move forward and return the new time. Raises ``ValueError`` for a negative step."""
        if milliseconds < 0:
            raise ValueError(f"a clock cannot go back by {-milliseconds} ms: advance by zero or more")
        self.now += milliseconds
        return self.now
