"""Owners that are lost in the middle of a search."""

from __future__ import annotations

from collections.abc import Callable

from quiesce_checks.engines.search import Progress


class Once:
    """A watcher of progress that does something at the first beat with more than so many states, and notes depths.

    ``times`` is how often it does it, at such a beat each time.
    """

    def __init__(self, states: int, what: Callable[[], None], times: int = 1) -> None:
        self.states = states
        self.what = what
        self.times = times
        self.depths: list[int] = []
        self.at: list[int] = []

    def __call__(self, beat: Progress) -> None:
        self.depths.append(beat.depth)
        if beat.states > self.states and len(self.at) < self.times:
            self.at.append(len(self.depths))
            self.what()

    @property
    def fell_back_to(self) -> int:
        """The depth after the first loss."""
        return self.depths[self.at[0]]
