"""One node with all its gates: what changes it, its runs and their commits, the wake and whoever waits for idle.

The environment does what it likes where the runtime can be entered: between runs of a pass, while a body runs, and
between passes. The breaker is part of it: it may back the node off after any commit. Nothing is urgent, so whatever
is due may be late.
"""

# A type checker does not see that self.require(flight is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .gates import Wake
from .language import (
    Age,
    Left,
    action,
    age,
    constant,
    flag,
    ghost,
    initial,
    left,
    optional,
    part,
    upto,
)
from .scheduler import Commit, Node, SchedulerSettings, Status


class NodeLife(SchedulerSettings):
    """A computation or an ``effect``; the first run of a computation may be ``awaited``.

    ``storm`` is how many runs are to fail while no time passes, ``longest_wait`` how long a change is to be put off.
    """

    effect: bool = constant(False)
    awaited: bool = constant(False)
    may_retire: bool = constant(False)
    conflicts: bool = constant(False)
    storm: int = constant(1)
    longest_wait: int = constant(2)

    node: Node = part(Node)
    running: bool = flag()  # its body, which may be asynchronous
    flight: Commit | None = optional(Commit)
    catching_up: bool = flag()  # after a conflict
    held: bool = flag()  # what it reads is being fetched
    passing: bool = flag()
    queued: bool = flag(True)
    wake: Wake = part(Wake)

    since_change: Age = ghost(age())  # of a node that is put off by it: since the last change that calls for a run
    postponed: Age = ghost(age())  # since the first of the changes that have kept the debounce shut
    since_run: Age = ghost(age())  # since a run was completed
    since_deferral: Age = ghost(age())  # since a pass last backed it off
    since_echo: Age = ghost(age())  # since the breaker last backed it off
    echo_backoff: int = ghost(upto(lambda c: c.longest_echo))  # for how long
    since_hold: Age = ghost(age())
    failed: int = ghost(upto(lambda c: c.storm + 1))  # commits refused while no time passed; one more is for more
    instant: Left = ghost(left(1))  # not over: no time has passed since the last of them
    woken: int = ghost(upto(2))  # runs started since a commit was last decided; 2 stands for more

    @initial
    def registered(self) -> None:
        self.node.effect = self.effect
        self.node.provisional = self.awaited
        self.node.demanded = self.awaited
        if self.awaited:
            self.invalidate()

    @action(own=bool)
    def change(self, own: bool) -> None:
        """Something that the node reads changes, by this session's hand or by another's."""
        self.require(self.node.registered)
        self.node.own = self.node.own or own
        if self.flight is not None and not own:
            self.flight.stale = True
        self.invalidate()

    @action()
    def overtake(self) -> None:
        """Another session's commit reaches the server before the one in flight, and is not yet seen here."""
        self.require(self.conflicts)
        self.require(self.flight is not None)
        self.flight.stale = True

    def invalidate(self) -> None:
        if self.node.gates.debounce.over:
            self.postponed.start()
        self.node.invalidate(self)
        if (self.node.ran or self.node.provisional) and not self.node.owed:
            self.since_change.start()
        self.summon()

    def summon(self) -> None:
        """Have a pass look at the node: soon, or, for an effect that is debounced, when the wake is due."""
        node = self.node
        if node.due(self):
            if node.effect and not node.gates.debounce.over:
                if self.rule("GAT-32"):
                    self.wake.arm(self, node.gates.debounce.remaining)
            elif self.rule("GAT-33"):
                self.queued = True

    @action()
    def demand(self) -> None:
        """A live node comes to read what this one writes."""
        self.require(not self.effect)
        self.require(self.node.registered and not self.node.demanded)
        self.node.demanded = True
        if self.node.due(self):
            self.queued = True

    @action()
    def release(self) -> None:
        """Its last live reader goes away, and it is dormant."""
        self.require(not self.effect)
        self.require(self.node.demanded)
        self.node.demanded = False

    # A pass.

    @action()
    def begin_pass(self) -> None:
        self.require(self.queued)
        self.require(not self.passing)
        self.queued = False
        self.passing = True

    @action()
    def run(self) -> None:
        """The node has its turn."""
        self.require(self.passing and not self.running)
        self.require(self.node.runnable(self))
        self.require(self.node.runs < self.budget or not self.rule("SCH-6"))
        self.require(self.node.runs <= self.budget)
        self.node.start(self)
        self.running = True
        self.since_change.stop()
        self.postponed.stop()
        self.woken = min(self.woken + 1, 2)

    @action(writes=bool)
    def finish(self, writes: bool) -> None:
        """The body returns; what it wrote is applied here, and its commit is on its way."""
        self.require(self.running)
        self.require(self.flight is None)
        self.running = False
        self.since_run.start()
        if self.node.owed:
            self.since_run.stop()
        self.node.complete(self)
        if writes:
            self.flight = Commit(stale=False, outlived=False)

    @action()
    def end_pass(self) -> None:
        """Nothing is left to run, or the node has had its runs."""
        self.require(self.passing and not self.running)
        self.require(not self.node.runnable(self) or self.node.runs >= self.budget)
        node = self.node
        if node.runnable(self):
            self.since_deferral.start()
        elif node.status is Status.CLEAN:
            self.since_deferral.stop()
        node.end_pass(self)
        self.passing = False
        self.look_ahead()

    def look_ahead(self) -> None:
        """Queue another pass for what can run now, or arm the wake for what cannot."""
        node = self.node
        if node.runnable(self):
            self.queued = True
        elif self.has_a_future(node.due(self)) and self.rule("GAT-36"):
            self.wake.arm(self, node.gates.rest(self))

    def has_a_future(self, due: bool) -> bool:
        """The node is to run once its gates open. A dormant one is not."""
        return due or (self.node.status is not Status.CLEAN and not self.rule("GAT-37"))

    @action()
    def fire(self) -> None:
        """The wake is due."""
        self.require(self.wake.armed and self.wake.rest.over)
        self.wake.disarm()
        if self.rule("GAT-35"):
            self.queued = True

    def recompute_wake(self) -> None:
        """A gate was opened early: a pass looks anew, and arms the wake for what is left."""
        if self.rule("GAT-34"):
            self.wake.disarm()
            self.queued = True

    # What becomes of a commit.

    @action(echo=lambda c: c.longest_echo + 1)
    def succeed(self, echo: int) -> None:
        """The commit is accepted; the breaker backs the node off for ``echo``, or not (0)."""
        self.require(self.flight is not None)
        self.require(not self.flight.stale)
        if echo > 0 and not self.flight.outlived:
            self.node.gates.shut(echo)
            self.since_echo.start()
            self.echo_backoff = self.node.gates.echo.remaining
        self.decided()

    @action()
    def conflict(self) -> None:
        """The commit is refused, since what the run read has changed; the session has to catch up first."""
        self.require(self.conflicts)
        self.require(self.flight is not None)
        self.require(self.flight.stale)
        self.catching_up = not self.flight.outlived
        self.failed = 1 if self.instant.over else min(self.failed + 1, self.storm + 1)
        self.instant.set(1)
        self.decided()

    def decided(self) -> None:
        self.flight = None
        self.woken = 0

    @action()
    def caught_up(self) -> None:
        """What the conflict was about has arrived."""
        self.require(self.catching_up)
        self.catching_up = False
        self.since_change.stop()
        self.since_run.stop()
        self.node.owe(self)
        self.recompute_wake()

    @action(rest=lambda c: max(c.longest_echo, 1))
    def lift(self, rest: int) -> None:
        """The breaker ends a backoff early: the sides agree. Another document's may stand, for ``rest``."""
        self.require(self.node.gates.echo > rest)
        self.node.gates.lift(self, rest)
        self.since_echo.stop()
        self.echo_backoff = rest
        if rest > 0:
            self.since_echo.start()
        self.recompute_wake()

    # The resume hold.

    @action()
    def hold(self) -> None:
        """What the node reads has to be fetched first; it is to wait for that, but not longer than ``resume``."""
        self.require(self.resume > 0)
        self.require(self.node.registered and self.node.status is not Status.CLEAN)
        self.require(not self.held)
        self.held = True
        self.node.gates.hold_back(self)
        self.since_hold.start()

    @action()
    def release_hold(self) -> None:
        """What the node reads is there."""
        self.require(self.held)
        self.held = False
        self.node.gates.release_hold(self)
        self.since_hold.stop()
        self.recompute_wake()

    # The registration.

    @action()
    def retire(self) -> None:
        """The registration ends; the record outlives it."""
        self.require(self.may_retire)
        self.require(self.node.registered and not self.running)
        self.node.retire(self)
        self.node.demanded = False
        self.node.provisional = False
        self.catching_up = False
        if self.flight is not None:
            self.flight.outlived = True
        self.since_change.stop()
        self.postponed.stop()
        self.since_echo.stop()
        self.echo_backoff = 0
        if self.retire_all:
            self.since_run.stop()
            self.since_deferral.stop()
        self.recompute_wake()

    @action()
    def register(self) -> None:
        """The same action is registered anew, which invalidates it; the record is the one that was left."""
        self.require(not self.node.registered)
        self.node.registered = True
        self.invalidate()

    # Idle.

    def is_idle(self) -> bool:
        """Whoever waits for idle is told now."""
        busy = self.running or self.passing or self.queued
        if busy and self.rule("GAT-38"):
            return False
        if self.node.runnable(self):
            return False
        return not (self.wake.armed and self.node.holds_idle(self))

    @action()
    def resolve_idle(self) -> None:
        self.require(self.is_idle())
        if not self.stay_resolved:
            self.node.gates.holds = 0
