"""The breaker of one action and one document: steps at any time, runs in flight, the gate.

A run starts when its gate is open and its step lands later, when its commit has succeeded; others may start in
between. So what the breaker spaces is the *starts* of runs; what lands from runs in flight is bounded apart.
"""

from __future__ import annotations

from .language import (
    Left,
    Record,
    action,
    constant,
    each,
    flag,
    ghost,
    left,
    optional,
    part,
    upto,
)
from .pair import BreakerSettings, Pair


class Run(Record):
    """A run that the document triggered, and whose commit is in flight."""

    overwrites: bool = flag()  # it changed the document where the document triggered it
    outlived: bool = flag()  # the registration that it belongs to has been retired
    overtaken: bool = flag()  # a step of a later run has landed since


class Breaker(BreakerSettings):
    """One action that reads and writes one document, against writers that do as they like.

    ``kickoff_order`` is a repair: a step that a step of a later run has overtaken is ignored.
    """

    in_flight: int = constant(2)
    kickoff_order: bool = constant(False)

    registered: bool = flag(True)
    pair: Pair = part(Pair)
    gate: Left = left(lambda c: 2 * c.cap)  # the action's echo backoff
    owed: bool = flag()  # a refused run is to be retried
    flight: list[Run | None] = each("in_flight", optional(Run))  # in the order of kickoff
    landed: int = ghost(upto(lambda c: c.in_flight + 1))  # echo steps since a run last started
    news: bool = ghost(flag())  # the youngest run whose step has landed was an echo step

    @action(overwrites=bool)
    def run(self, overwrites: bool) -> None:
        """The action runs because the document changed, and its commit is kicked off."""
        self.require(self.registered)
        self.require(self.gate.over, "BRK-18")
        self.start(overwrites)

    @action(overwrites=bool)
    def retry(self, overwrites: bool) -> None:
        """A run that the scheduler owes after a conflict; it waits its turn like every other."""
        self.require(self.registered)
        self.require(self.owed)
        self.require(self.gate.over, "BRK-20")
        self.owed = False
        self.start(overwrites)

    def start(self, overwrites: bool) -> None:
        self.require(self.flying() < self.in_flight)
        for place in range(self.in_flight):
            if place == self.flying():
                self.flight[place] = Run(overwrites=overwrites)
                self.landed = 0
                return

    def flying(self) -> int:
        return sum(1 for run in self.flight if run is not None)

    @action(place="in_flight")
    def commit(self, place: int) -> None:
        """The commit of a run succeeds, and the step that the run is counts now."""
        run = self.flight[place]
        self.require(run is not None)
        dropped = run.outlived and self.rule("BRK-25")
        if not dropped and not (run.overtaken and self.kickoff_order):
            self.land(run.overwrites)
            for older in range(self.in_flight):
                earlier = self.flight[older]
                if older < place and earlier is not None:
                    earlier.overtaken = True
        self.leave(place)

    def land(self, overwrites: bool) -> None:
        if overwrites:
            self.pair.echo(self)
            self.landed = min(self.landed + 1, self.in_flight + 1)
        else:
            self.pair.converge(self)
        self.regate()

    def regate(self) -> None:
        """The gate is shut for as long as the pair's deadline stands."""
        self.gate.set(self.pair.deadline)

    @action(place="in_flight")
    def refuse(self, place: int) -> None:
        """The commit of a run fails on a stale basis: no step, and a retry is owed."""
        run = self.flight[place]
        self.require(run is not None)
        if not self.rule("BRK-8"):
            self.land(run.overwrites)
        if not run.outlived:
            self.owed = True
        self.leave(place)

    def leave(self, place: int) -> None:
        """The run is over; those kicked off after it move up."""
        for here in range(self.in_flight - 1):
            if here >= place:
                self.flight[here] = self.flight[here + 1]
        self.flight[self.in_flight - 1] = None

    @action()
    def forget(self) -> None:
        """Housekeeping: a pair whose loop has ended without a run that could see it is cleared."""
        self.require(self.pair.tripped or self.pair.settling.running)
        self.require(self.pair.is_quiet(self) or self.pair.is_settled(self), "BRK-21")
        self.pair.clear()
        self.regate()

    @action()
    def retire(self) -> None:
        """The action's registration ends; the node record, and the gate on it, outlive it."""
        self.require(self.registered)
        self.registered = False
        self.owed = False
        if self.rule("BRK-23"):
            self.pair.clear()
        if self.rule("BRK-24"):
            self.gate.clear()
        for run in self.flight:
            if run is not None:
                run.outlived = True

    @action()
    def register(self) -> None:
        """The same action is registered anew."""
        self.require(not self.registered)
        self.registered = True
