"""A node of the scheduler: its status, why it is to run, who wants it to, and what a pass does with it.

A pass takes invalid nodes that someone demands, one at a time and in order, and runs each until nothing is left to
run or a node has had as many runs as a pass allows. Status and causes say that a node has to run, demand that it
may, gates when.
"""

from __future__ import annotations

from enum import Enum

from .gates import Gates, GateSettings
from .language import Record, assumption, constant, each, flag, one_of, part, upto


class Status(Enum):
    """Whether a node's last run still stands. Reaching a node from a change does not decide it: only a change does."""

    NEVER_RAN = 0
    CLEAN = 1
    INVALID = 2


class SchedulerSettings(GateSettings):
    """The constants of a scheduler.

    ``budget`` is how often a node may run in one pass, ``attempts`` how often a run is tried whose commit is refused
    for another reason than a stale basis.

    Three are repairs. With ``stay_resolved`` hold passes are counted until the node settles, not until idle resolves.
    With ``own_changes_hold_idle`` an effect that a change of this session invalidated holds idle behind an echo
    backoff too. With ``retire_all`` a retired node leaves no backoff and no throttle to its next registration.
    """

    documents: int = constant(1)
    budget: int = constant(2)
    attempts: int = constant(2)
    stay_resolved: bool = constant(False)
    own_changes_hold_idle: bool = constant(False)
    retire_all: bool = constant(False)

    @assumption
    def a_pass_runs_something(self) -> bool:
        """With a budget of 0 no node ever runs, and everything is backed off."""
        return self.budget >= 1


class Node(Record):
    """One registered action, and what the scheduler knows of it."""

    effect: bool = flag()  # effects are live by themselves, computations by who reads them
    registered: bool = flag(True)
    status: Status = one_of(Status)
    ran: bool = flag()  # a run was completed
    cause: list[bool] = each("documents", flag())  # documents whose change invalidated it since its last run
    own: bool = flag()  # one of the changes was made in this session
    demanded: bool = flag()  # a live node reads what it writes
    provisional: bool = flag()  # its first run is awaited by the live node that created it
    pending: bool = flag()  # a run was asked for by a retry, whoever reads it
    owed: bool = flag()  # a retry after a conflict, which the session has caught up with
    runs: int = upto(lambda c: c.budget + 1)  # in the pass under way; beyond the budget only without SCH-6
    gates: Gates = part(Gates)

    def live(self) -> bool:
        return self.registered and (self.effect or self.demanded or self.provisional)

    def due(self, c: SchedulerSettings) -> bool:
        """There is something to run, and someone for whom."""
        wanted = self.live() or self.pending or not c.rule("SCH-3")
        return self.registered and self.status is not Status.CLEAN and wanted

    def runnable(self, c: SchedulerSettings) -> bool:
        return self.due(c) and self.gates.eligible(c)

    def deferred(self, c: SchedulerSettings) -> bool:
        return self.due(c) and not self.gates.eligible(c)

    def invalidate(self, c: SchedulerSettings) -> None:
        """Something that the node reads has changed, or it is to be tried again."""
        if self.status is Status.CLEAN:
            self.status = Status.INVALID
        first = not self.ran and not self.provisional
        excused = (first and c.rule("GAT-2")) or (self.owed and c.rule("GAT-20"))
        if c.debounce > 0 and not excused:
            self.gates.arm_debounce(c)

    def start(self, c: SchedulerSettings) -> None:
        """A run begins: it is clean from here on, and what changes meanwhile makes it invalid again."""
        if c.rule("SCH-2"):
            self.status = Status.CLEAN
        self.pending = False
        self.owed = False
        self.runs += 1
        self.own = False
        for document in range(c.documents):
            self.cause[document] = False
        self.gates.clear_debounce()

    def complete(self, c: SchedulerSettings) -> None:
        """The body has returned."""
        if not c.rule("SCH-2"):
            self.status = Status.CLEAN
        self.ran = True
        self.gates.completed(c, self.owed)

    def end_pass(self, c: SchedulerSettings) -> None:
        """Back off what the pass could not settle, and it alone; forget the backoffs of what is clean."""
        if self.runnable(c) and (self.runs >= c.budget or not c.rule("SCH-7")):
            self.gates.back_off(c)
        elif self.status is Status.CLEAN:
            self.gates.converged(c)
        if self.ran:
            self.provisional = False
        self.runs = 0

    def owe(self, c: SchedulerSettings) -> None:
        """The session has caught up with the conflict that the node's commit met: a retry is owed."""
        if c.rule("GAT-12"):
            self.pending = True
        self.owed = True
        self.gates.release(c)
        self.invalidate(c)

    def retire(self, c: SchedulerSettings) -> None:
        self.registered = False
        if self.status is Status.INVALID:
            self.status = Status.CLEAN
        self.own = False
        for document in range(c.documents):
            self.cause[document] = False
        self.pending = False
        self.owed = False
        self.gates.retire(c)
        if c.retire_all:
            self.gates.backoff.clear()
            self.gates.step = 0
            self.gates.holds = 0
            self.gates.throttle.clear()

    def holds_idle(self, c: SchedulerSettings) -> bool:
        """Whoever waits for idle waits for this node, although it is deferred."""
        if not self.due(c) or (not self.live() and c.rule("GAT-25")):
            return False
        gates = self.gates
        backed_off = not gates.backoff.over or not gates.hold.over
        fresh = not gates.debounce.over or not gates.throttle.over
        if gates.holds >= c.hold_passes and c.rule("GAT-26"):
            return False
        if backed_off and c.rule("GAT-27"):
            return True
        if fresh and self.effect and c.rule("GAT-28"):
            return True
        if fresh and not self.ran and self.provisional and c.rule("GAT-39"):
            return True
        if fresh and not c.rule("GAT-29"):
            return True
        echoing = not gates.echo.over
        return echoing and ((self.effect and self.own and c.own_changes_hold_idle) or not c.rule("GAT-31"))


class Commit(Record):
    """A commit in flight."""

    stale: bool = flag()  # something that the run read has changed on the server
    outlived: bool = flag()  # the registration that it belongs to has been retired
