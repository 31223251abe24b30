"""One pair and the times of its echo steps: how many fit into any stretch of one window without a trip.

The window of a pair is anchored: it opens at an echo step, and runs out whatever comes. ``sliding_window`` is a
repair: the pair keeps the times of its last echo steps, and trips when the last ``threshold`` lie within one window.
"""

from __future__ import annotations

from .language import Age, action, age, constant, each, invariant, part, reachable
from .pair import BreakerSettings, Pair


class Cadence(BreakerSettings):
    """Echo steps at any time. Of those that tripped nothing, the last ``remembered`` are known."""

    remembered: int = constant(4)
    sliding_window: bool = constant(False)

    pair: Pair = part(Pair)
    since: list[Age] = each("remembered", age())

    def is_recent(self, count: int) -> bool:
        """Of the echo steps since the last trip or convergence step, ``count`` or more lie within one window of now."""
        return any(
            n == count - 1 and self.since[n].running and self.since[n] <= self.window for n in range(self.remembered)
        )

    @action()
    def echo(self) -> None:
        """An echo step of a pair that has not tripped."""
        self.require(not self.pair.tripped)
        for n in range(self.remembered - 1):
            self.since[self.remembered - 1 - n] = self.since[self.remembered - 2 - n]
        self.since[0].start()
        if not self.sliding_window:
            self.pair.echo(self)
        elif self.is_recent(self.threshold):
            self.pair.trip(self)
        if self.pair.tripped:
            self.forget_times()

    @action()
    def converge(self) -> None:
        """A convergence step."""
        self.require(not self.pair.tripped)
        self.pair.converge(self)
        self.forget_times()

    def forget_times(self) -> None:
        for n in range(self.remembered):
            self.since[n].stop()

    @action()
    def end(self) -> None:
        """A pair that has tripped comes to its end; how long that takes is told elsewhere."""
        self.require(self.pair.tripped)
        self.pair.clear()

    @invariant()
    def a_window_holds_fewer_than_the_threshold(self) -> bool:
        """No stretch as long as the window holds as many echo steps as trip the pair (sliding_window)."""
        return not self.is_recent(self.threshold)

    @invariant("BRK-12", "BRK-13")
    def a_window_holds_fewer_than_twice(self) -> bool:
        """No stretch as long as the window holds 2 × threshold - 2 echo steps without a trip."""
        return self.threshold < 2 or not self.is_recent(2 * self.threshold - 2)

    @reachable()
    def nearly_twice_are_possible(self) -> bool:
        """One fewer are: all but the first of one window, and then all but the last of the next."""
        return self.is_recent(2 * self.threshold - 3)
