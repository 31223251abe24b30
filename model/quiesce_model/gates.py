"""The gates of a node: what may put off a run that is due, the one wake for all of them, and what holds idle.

A gate is a rest: it is shut while time is left, and open at its deadline. A node is eligible when all its gates are
open. Nothing else puts a run off, and no gate is passed by force. Durations are in ticks.
"""

from __future__ import annotations

from .language import Left, Machine, Record, assumption, constant, flag, left, upto


class GateSettings(Machine):
    """The constants of gates, which every machine that has a node inherits; a duration of 0 is a gate not in use.

    Three are repairs. With ``longest_debounce`` a change is put off no longer than that, however many follow it. With
    ``debounce_kept`` a run that ends clears no debounce that was armed while it ran. With ``hold_apart`` the resume
    hold has a rest of its own.
    """

    debounce: int = constant(1)
    throttle: int = constant(1)
    base: int = constant(1)
    cap: int = constant(2)
    hold_passes: int = constant(2)
    longest_echo: int = constant(2)
    resume: int = constant(0)
    longest_debounce: int = constant(0)
    debounce_kept: bool = constant(False)
    hold_apart: bool = constant(False)

    @assumption
    def nothing_is_negative(self) -> bool:
        """Otherwise a rest has no value that it could have (no_fault)."""
        gates = self.debounce >= 0 and self.throttle >= 0 and self.longest_echo >= 0 and self.resume >= 0
        return gates and self.longest_debounce >= 0 and self.hold_passes >= 0

    @assumption
    def a_backoff_takes_time(self) -> bool:
        """With a base of 0 a node that does not converge is run again at once: `starts_wait_for_the_backoff` fails."""
        return self.base >= 1

    @assumption
    def base_within_cap(self) -> bool:
        """Otherwise the first backoff is longer than the longest: `backoff_between_base_and_cap` fails."""
        return self.base <= self.cap


class Gates(Record):
    """The gates of one node. They are set and cleared one by one, and never read but together (``rest``)."""

    debounce: Left = left(lambda c: c.debounce)
    patience: Left = left(lambda c: c.longest_debounce)  # how far the debounce may still be postponed
    throttle: Left = left(lambda c: c.throttle)
    backoff: Left = left(lambda c: 2 * c.cap + c.resume)  # of convergence; the resume hold too, unless held apart
    step: int = upto(lambda c: 2 * c.cap)  # the convergence backoff in force; beyond the cap only without GAT-9
    holds: int = upto(lambda c: c.hold_passes)  # passes that backed the node off since idle was last resolved
    hold: Left = left(lambda c: c.resume)  # the resume hold (hold_apart)
    echo: Left = left(lambda c: c.longest_echo)

    def rest(self, c: GateSettings) -> int:
        """The time until the node is eligible, 0 if it is."""
        debounce = self.debounce.remaining if c.rule("GAT-1") else 0
        throttle = self.throttle.remaining if c.rule("GAT-5") else 0
        backoff = self.backoff.remaining if c.rule("GAT-7") else 0
        echo = self.echo.remaining if c.rule("GAT-13") else 0
        return max(max(debounce, throttle), max(max(backoff, self.hold.remaining), echo))

    def eligible(self, c: GateSettings) -> bool:
        return self.rest(c) == 0

    def arm_debounce(self, c: GateSettings) -> None:
        """The node was invalidated: whatever was armed before, it rests anew."""
        if c.longest_debounce == 0:
            if self.debounce.over or c.rule("GAT-3"):
                self.debounce.set(c.debounce)
        else:
            if self.debounce.over and self.patience.over:
                self.patience.set(c.longest_debounce)
            self.debounce.set(min(c.debounce, self.patience.remaining))

    def clear_debounce(self) -> None:
        self.debounce.clear()
        self.patience.clear()

    def completed(self, c: GateSettings, owed: bool) -> None:
        """A run of the node is over. While a retry is owed, none starts a throttle that the retry would wait for."""
        if c.rule("GAT-4") and not c.debounce_kept:
            self.clear_debounce()
        if c.rule("GAT-6") and not (owed and c.rule("GAT-17")):
            self.throttle.set(c.throttle)

    def back_off(self, c: GateSettings) -> None:
        """The node exhausted what a pass allows, and is not settled."""
        longer = 2 * self.step if c.rule("GAT-8") else self.step
        longest = c.cap if c.rule("GAT-9") else 2 * c.cap
        self.step = c.base if self.step == 0 else min(longer, longest)
        self.backoff.set(max(self.backoff.remaining, self.step))
        if c.rule("GAT-24"):
            self.holds = min(self.holds + 1, c.hold_passes)

    def converged(self, c: GateSettings) -> None:
        """A pass has ended with the node clean: it has settled, and the next backoff is the base again."""
        if c.rule("GAT-10"):
            self.backoff.clear()
        if c.rule("GAT-11"):
            self.step = 0
        self.holds = 0
        if not c.rule("GAT-14"):
            self.echo.clear()

    def shut(self, backoff: int) -> None:
        """The breaker backs the node off, on top of what it asked for before."""
        self.echo.set(max(self.echo.remaining, backoff))

    def lift(self, c: GateSettings, rest: int) -> None:
        """The breaker's backoff ends early, but for the ``rest`` that another document is owed."""
        self.echo.set(rest)
        if not c.rule("GAT-15"):
            self.backoff.clear()

    def release(self, c: GateSettings) -> None:
        """A retry is owed: it waits for no freshness bound, but for every backoff."""
        if c.rule("GAT-16"):
            self.clear_debounce()
        if c.rule("GAT-17"):
            self.throttle.clear()
        if not c.rule("GAT-18"):
            self.backoff.clear()
            self.step = 0
        if not c.rule("GAT-19"):
            self.echo.clear()

    def hold_back(self, c: GateSettings) -> None:
        """Hold the node while what it reads is fetched; a longer wait that stands is kept."""
        if c.hold_apart:
            self.hold.set(c.resume)
        elif c.rule("GAT-21"):
            self.backoff.set(max(self.backoff.remaining, c.resume))
        else:
            self.backoff.set(c.resume)

    def release_hold(self, c: GateSettings) -> None:
        """What the node reads is there. As specified, the field that is cleared may be a backoff by now."""
        if c.hold_apart:
            self.hold.clear()
        else:
            self.backoff.clear()

    def retire(self, c: GateSettings) -> None:
        """The registration has ended; the record, and the gates on it, outlive it."""
        if c.rule("GAT-22"):
            self.clear_debounce()
        if c.rule("GAT-23"):
            self.echo.clear()


class Wake(Record):
    """The single timer of a scheduler. When it is due, a pass is queued, which arms it anew."""

    armed: bool = flag()
    rest: Left = left(lambda c: c.debounce + c.throttle + 2 * c.cap + c.resume + c.longest_echo)

    def arm(self, c: GateSettings, duration: int) -> None:
        """Be due in ``duration``, or earlier if that was asked before."""
        if not self.armed or self.rest > duration or not c.rule("GAT-30"):
            self.armed = True
            self.rest.set(duration)

    def disarm(self) -> None:
        self.armed = False
        self.rest.clear()
