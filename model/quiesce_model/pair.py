"""The life of a pair: what a breaker holds of one action and one document that it both reads and writes.

A pair is written once. The single-pair breaker, the bounded table and the echo loop are made of it. Durations are
in ticks; whether a tick is a millisecond or a minute is the scope's affair.
"""

from __future__ import annotations

from .language import Age, Left, Machine, Record, age, assumption, constant, flag, ghost, left, upto


class BreakerSettings(Machine):
    """The constants of a breaker, which every machine that has one inherits.

    ``clear_when_settled`` is a repair: a convergence step lifts the backoff, but the pair is forgotten only when
    a settling period of one ``cap`` passes without an echo step. Off, the breaker is as specified.
    """

    threshold: int = constant(3)
    window: int = constant(4)
    base: int = constant(1)
    cap: int = constant(4)
    quiet: int = constant(6)
    clear_when_settled: bool = constant(False)

    @assumption
    def a_trip_takes_an_echo(self) -> bool:
        """With a threshold of 0 no count is below it: ``echoes`` has no value (no_fault)."""
        return self.threshold >= 1

    @assumption
    def a_backoff_takes_time(self) -> bool:
        """With a base of 0 the gate stands open right after a trip: an_echo_shuts_the_gate fails."""
        return self.base >= 1

    @assumption
    def base_within_cap(self) -> bool:
        """Otherwise the first backoff is longer than the longest: backoff_between_base_and_cap fails."""
        return self.base <= self.cap

    @assumption
    def quiet_outlasts_cap(self) -> bool:
        """Otherwise a loop that waits at the cap looks as if it had ended: waiting_is_not_quiet fails."""
        return self.cap < self.quiet


class Pair(Record):
    """What a breaker holds of one (action, document) pair; a pair that is not held is all at its start."""

    echoes: int = upto(lambda c: c.threshold - 1)  # counted in the window that is open
    opened: Age = age()  # since the window opened
    tripped: bool = flag()
    backoff: int = upto(lambda c: 2 * c.cap)  # the step in force; beyond the cap only without BRK-17
    deadline: Left = left(lambda c: 2 * c.cap)  # until the backoff ends
    since_echo: Age = age()  # of a tripped pair: since its last echo step
    settling: Age = age()  # since a convergence step that no echo step followed (clear_when_settled)
    lines: int = ghost(upto(2))  # loud lines logged for this trip

    def held(self) -> bool:
        return self.tripped or self.echoes > 0

    def echo(self, c: BreakerSettings) -> None:
        """The action overwrote what another writer had put into the document, and its commit succeeded."""
        if c.rule("BRK-26") and (self.is_quiet(c) or self.is_settled(c)):
            self.clear()  # what has ended is not continued, even if housekeeping is late
        self.settling.stop()
        if self.tripped:
            if c.rule("BRK-15"):
                self.renew(c)
        else:
            self.count(c)

    def count(self, c: BreakerSettings) -> None:
        """Count an echo step of an untripped pair, in the window that is open or in a new one."""
        if self.echoes == 0:
            if c.rule("BRK-27"):
                self.opened.start()
        elif c.rule("BRK-12") and self.opened > c.window:
            self.echoes = 0
            self.opened.start()
        if self.echoes + 1 < c.threshold:
            self.echoes += 1
        elif c.rule("BRK-13"):
            self.trip(c)

    def trip(self, c: BreakerSettings) -> None:
        self.echoes = 0
        self.opened.stop()
        self.tripped = True
        self.lines = 1
        self.back_off(c.base)

    def renew(self, c: BreakerSettings) -> None:
        """Back off again, one step longer."""
        longest = c.cap if c.rule("BRK-17") else 2 * c.cap
        longer = 2 * self.backoff if c.rule("BRK-16") else self.backoff
        if not c.rule("BRK-28"):
            self.lines = 2
        self.back_off(min(longer, longest))

    def back_off(self, duration: int) -> None:
        self.backoff = duration
        self.deadline.set(duration)
        self.since_echo.start()

    def converge(self, c: BreakerSettings) -> None:
        """The action ran because the document changed, and overwrote nothing: the sides agree on it."""
        if c.rule("BRK-26") and (self.is_quiet(c) or self.is_settled(c)):
            self.clear()
        if c.clear_when_settled and self.held():
            self.deadline.clear()
            self.settling.start()
        elif self.tripped:
            if c.rule("BRK-19"):
                self.clear()
        elif c.rule("BRK-14"):
            self.clear()

    def is_quiet(self, c: BreakerSettings) -> bool:
        """A tripped pair has seen no echo step for more than the quiet stretch."""
        if not c.rule("BRK-22") and self.since_echo > c.window:
            return True
        return self.tripped and self.since_echo > c.quiet

    def is_settled(self, c: BreakerSettings) -> bool:
        """The settling period has passed without an echo step (clear_when_settled)."""
        return self.settling > c.cap

    def is_timed(self, c: BreakerSettings) -> bool:
        """A pair that has tripped rests for its backoff since its last echo step; one that has not does not rest."""
        if self.since_echo.running != self.tripped or (self.settling.running and not self.held()):
            return False
        if not self.tripped:
            return self.deadline.over and self.backoff == 0
        if not c.base <= self.backoff <= c.cap:
            return False
        if self.settling.running or self.since_echo >= self.backoff:
            return self.deadline.over
        return self.since_echo == self.backoff - self.deadline.remaining

    def clear(self) -> None:
        """Forget the pair, and with it its backoff."""
        self.echoes = 0
        self.opened.stop()
        self.tripped = False
        self.backoff = 0
        self.deadline.clear()
        self.since_echo.stop()
        self.settling.stop()
        self.lines = 0
