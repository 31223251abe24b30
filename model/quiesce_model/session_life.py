"""One session: an input, two derivations of it, and a handler that writes the input.

Document 0 is the input. Node n derives document n + 1 from document n, and reads what it writes, as every write does
to find what it changes. In a ``cycle`` node 0 reads the last document as well: if the input is 0 the two agree, if it
is 1 each run makes the other one due. A handler reads the last document and writes the input; its events are queued.
"""

# A type checker does not see that self.require(self.body is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .gates import Wake
from .language import (
    Left,
    Record,
    action,
    constant,
    each,
    flag,
    ghost,
    initial,
    left,
    optional,
    part,
    upto,
)
from .scheduler import Node, SchedulerSettings, Status

NOBODY = -1
"""The source of a change that no node of this session made."""


class Body(Record):
    """A run between its start and its end."""

    node: int = upto(lambda c: c.nodes - 1)
    value: int = upto(1)  # what it is going to write, of what it read


class Write(Record):
    """A commit in flight; what it was written over comes back if it is refused."""

    before: int = upto(1)
    stale: bool = flag()  # something that the run read has changed on the server


class Causes(Record):
    """The documents whose change made a run necessary."""

    of: list[bool] = each("documents", flag())


class SessionLife(SchedulerSettings):
    """Two nodes, their passes, their commits, and the lane of events.

    ``backlog`` is how many events the lane holds (0: there are none), ``most_parks`` how often one is to be parked.
    ``restless`` starts with the input at 1. With ``nudges`` a node has another input, which makes no difference.

    Four are repairs. With ``own_revert_skipped`` the revert of a node's own commit is no change for that node. With
    ``preflight_again`` a parked head is looked at in every pass. With ``park_once`` a head that was parked once does
    not wait for a backoff again. With ``escalate_together`` the next backoff goes by the longest in force.
    """

    debounce: int = constant(0)
    throttle: int = constant(0)
    longest_echo: int = constant(0)
    documents: int = constant(3)
    nodes: int = constant(2)
    cycle: bool = constant(False)
    foreign: bool = constant(False)
    refusals: bool = constant(False)
    may_unwatch: bool = constant(False)
    nudges: bool = constant(False)
    restless: bool = constant(False)
    backlog: int = constant(0)
    most_parks: int = constant(2)
    own_revert_skipped: bool = constant(False)
    preflight_again: bool = constant(False)
    park_once: bool = constant(False)
    escalate_together: bool = constant(False)

    value: list[int] = each("documents", upto(1))  # as this session sees it, its own pending writes included
    behind: bool = flag()  # the input has changed on the server, and the change is on its way
    node: list[Node] = each("nodes", Node)
    body: Body | None = optional(Body)
    flight: list[Write | None] = each("nodes", optional(Write))
    taken: Causes = part(Causes)  # of the body
    carried: list[Causes] = each("nodes", Causes)  # of the commits in flight
    tries: list[int] = each("nodes", upto(lambda c: c.attempts))  # refusals in a row
    passing: bool = flag()
    turn: int = upto(lambda c: c.nodes)  # whose turn is next in this round of the pass
    queued: bool = flag(True)
    wake: Wake = part(Wake)
    lane: list[int | None] = each("backlog", optional(upto(1)))  # events, the head first; each sets the input
    next_event: int = upto(1, start=1)
    park: Left = left(lambda c: 2 * c.cap + c.longest_echo)  # the head waits for so long
    parked: bool = flag()
    waited: bool = flag()  # the head was parked before (park_once)

    expected: int = ghost(upto(1, start=1))  # the event that is to be handled next
    handled: bool = ghost(flag())
    parks: int = ghost(upto(lambda c: c.most_parks + 1))  # of the head
    refused: int = ghost(upto(lambda c: c.attempts + 2))  # commits of node 0 refused since the input changed
    longest: int = ghost(upto(lambda c: c.cap))  # the last backoff since all nodes were clean at a pass's end

    @initial
    def watched(self) -> None:
        if self.restless:
            self.value[0] = 1
            self.next_event = 0
            self.expected = 0
        for n in range(self.nodes):
            self.node[n].demanded = True

    def reads(self, n: int, document: int) -> bool:
        around = self.cycle and n == 0 and document == self.nodes
        return document == n or document == n + 1 or around

    def wanted(self, n: int) -> int:
        """What node ``n`` writes, of what there is to read now."""
        if self.cycle and n == 0:
            return (self.value[0] + self.value[self.nodes]) % 2
        return self.value[n]

    # What changes.

    def put(self, document: int, value: int, source: int) -> None:
        """A document has a new value; an equal one changes nothing."""
        if self.value[document] != value or not self.rule("SCH-8"):
            self.value[document] = value
            for n in range(self.nodes):
                skipped = source == n and self.rule("SCH-5")
                if self.reads(n, document) and not skipped:
                    node = self.node[n]
                    if self.rule("SCH-4"):
                        node.cause[document] = True
                    if self.rule("SCH-1"):
                        node.invalidate(self)
                    self.queued = self.queued or node.due(self)

    @action()
    def write_elsewhere(self) -> None:
        """Another session's change of the input reaches the server."""
        self.require(self.foreign)
        self.require(not self.behind)
        self.behind = True
        for n in range(self.nodes):
            flight = self.flight[n]
            if flight is not None and self.reads(n, 0):
                flight.stale = True

    @action()
    def deliver(self) -> None:
        """It reaches this session."""
        self.require(self.behind)
        self.catch_up()

    def catch_up(self) -> None:
        if self.behind:
            self.behind = False
            self.put(0, 1 - self.value[0], NOBODY)
            self.refused = 0
            self.longest = 0
            self.queued = self.queued or self.lane_waits()

    @action(n="nodes")
    def nudge(self, n: int) -> None:
        """Something else changes that node ``n`` reads, and that makes no difference to what it writes."""
        self.require(self.nudges)
        self.node[n].cause[n] = True
        self.node[n].invalidate(self)
        self.queued = self.queued or self.node[n].due(self)

    @action()
    def unwatch(self) -> None:
        """Nobody reads the last document any more, and so none of the others."""
        self.require(self.may_unwatch)
        self.require(self.node[0].demanded)
        for n in range(self.nodes):
            self.node[n].demanded = False

    @action()
    def watch(self) -> None:
        """Somebody reads the last document."""
        self.require(not self.node[0].demanded)
        for n in range(self.nodes):
            self.node[n].demanded = True
            if self.rule("SCH-15"):
                self.queued = self.queued or self.node[n].due(self)

    # A pass.

    @action()
    def begin_pass(self) -> None:
        """The head of the lane comes first, if what it reads is settled."""
        self.require(self.queued)
        self.require(not self.passing)
        self.queued = False
        self.passing = True
        self.turn = 0
        if self.lane_waits():
            if self.parked and not self.park.over and not self.preflight_again:
                self.wake.arm(self, self.park.remaining)
            else:
                self.preflight()

    def lane_waits(self) -> bool:
        return self.backlog > 0 and any(event is not None for event in self.lane)

    def preflight(self) -> None:
        """Dispatch the head, or have what it reads run first, or park it until that may run."""
        self.parked = False
        self.park.clear()
        unsettled = any(node.status is not Status.CLEAN for node in self.node)
        if any(self.could_run(n) for n in range(self.nodes)) and self.rule("SCH-21"):
            for n in range(self.nodes):
                if self.could_run(n) and self.rule("SCH-22"):
                    self.node[n].pending = True
        elif unsettled and self.rule("SCH-21") and not (self.waited and self.park_once):
            self.park_head()
        elif not self.behind:
            self.dispatch()

    def could_run(self, n: int) -> bool:
        """If the head asks for it, node ``n`` runs in this pass."""
        node = self.node[n]
        return node.registered and node.status is not Status.CLEAN and node.gates.eligible(self)

    def park_head(self) -> None:
        shortest = 2 * self.cap + self.longest_echo
        for node in self.node:
            if node.status is not Status.CLEAN:
                shortest = min(shortest, node.gates.rest(self))
        self.parked = True
        self.waited = self.park_once
        self.park.set(shortest)
        self.parks = min(self.parks + 1, self.most_parks + 1)
        if self.rule("SCH-23"):
            self.wake.arm(self, shortest)

    def dispatch(self) -> None:
        """The handler runs, to its end, and sets the input to what the event says."""
        for place in range(self.backlog):
            event = self.lane[place]
            if event is not None and (place == 0 or not self.rule("SCH-20")):
                self.expected = 1 - event
                self.put(0, event, NOBODY)
        for place in range(self.backlog - 1):
            self.lane[place] = self.lane[place + 1]
        for place in range(self.backlog):
            if place == self.backlog - 1:
                self.lane[place] = None
        self.waited = False
        self.handled = True
        self.parks = 0
        self.refused = 0
        self.longest = 0

    @action()
    def send(self) -> None:
        """An event for the handler is queued."""
        self.require(self.backlog > 0)
        self.require(any(event is None for event in self.lane))
        placed = False
        for place in range(self.backlog):
            if self.lane[place] is None and not placed:
                self.lane[place] = self.next_event
                placed = True
        self.next_event = 1 - self.next_event
        self.queued = True

    def exhausted(self) -> bool:
        """A node has had as many runs as the pass allows, and the pass ends after this round."""
        return any(node.runs >= self.budget for node in self.node) and self.rule("SCH-6")

    def has_turn(self, n: int) -> bool:
        """Node ``n`` is the next of those to run: nodes have their turns in order, round after round."""
        if not self.node[n].runnable(self) or self.node[n].runs > self.budget:
            return False
        another_round = n < self.turn
        for m in range(self.nodes):
            sooner = (m < n or m >= self.turn) if another_round else (self.turn <= m < n)
            if sooner and self.node[m].runnable(self) and self.rule("SCH-9"):
                return False
        return not (another_round and self.exhausted())

    @action(n="nodes")
    def run(self, n: int) -> None:
        """The body of node ``n`` starts, and reads."""
        self.require(self.passing and self.body is None)
        self.require(self.has_turn(n))
        self.body = Body(node=n, value=self.wanted(n))
        self.taken.of = self.node[n].cause
        self.node[n].start(self)
        self.turn = n + 1

    @action()
    def finish(self) -> None:
        """It ends: what it changes is seen here at once, and is on its way to the server."""
        self.require(self.body is not None)
        value = self.body.value
        for n in range(self.nodes):
            if self.body.node == n:
                self.require(self.flight[n] is None)
                self.node[n].complete(self)
                if self.value[n + 1] != value:
                    self.flight[n] = Write(before=self.value[n + 1], stale=self.behind and self.reads(n, 0))
                    self.carried[n].of = self.taken.of
                self.put(n + 1, value, n)
        self.body = None
        for document in range(self.documents):
            self.taken.of[document] = False

    @action()
    def end_pass(self) -> None:
        """Nothing is left to run, or a node has had its runs."""
        self.require(self.passing and self.body is None)
        self.require(not any(self.has_turn(n) for n in range(self.nodes)))
        self.passing = False
        if self.escalate_together:
            for node in self.node:
                node.gates.step = max(other.gates.step for other in self.node)
        clean = all(node.status is Status.CLEAN for node in self.node)
        for node in self.node:
            if not self.escalate_together or clean or node.status is not Status.CLEAN:
                node.end_pass(self)
            node.runs = 0
        self.longest = 0 if clean else max(self.longest, max(node.gates.step for node in self.node))
        self.look_ahead()

    def look_ahead(self) -> None:
        """Queue another pass for what can run now, or arm the wake for the first of what cannot."""
        ready = self.lane_waits() and not self.parked and not self.behind
        if any(node.runnable(self) for node in self.node):
            self.queued = self.queued or self.rule("SCH-10")
        elif ready:
            self.queued = self.queued or self.rule("SCH-24")
        else:
            for node in self.node:
                if node.deferred(self):
                    self.wake.arm(self, node.gates.rest(self))
            if self.parked and self.rule("SCH-23"):
                self.wake.arm(self, self.park.remaining)

    @action()
    def fire(self) -> None:
        """The wake is due."""
        self.require(self.wake.armed and self.wake.rest.over)
        self.wake.disarm()
        self.queued = True

    # What becomes of a commit.

    @action(n="nodes", echo=lambda c: c.longest_echo + 1)
    def succeed(self, n: int, echo: int) -> None:
        """The commit is accepted; the breaker backs the node off for ``echo``, or not (0)."""
        flight = self.flight[n]
        self.require(flight is not None)
        self.require(not flight.stale)
        if echo > 0:
            self.node[n].gates.shut(echo)
        self.tries[n] = 0
        self.decided(n)

    def decided(self, n: int) -> None:
        self.flight[n] = None
        for document in range(self.documents):
            self.carried[n].of[document] = False

    @action(n="nodes")
    def lift(self, n: int) -> None:
        """The breaker ends its backoff of node ``n`` early."""
        self.require(not self.node[n].gates.echo.over)
        self.node[n].gates.lift(self, 0)
        self.wake.disarm()
        self.queued = True

    @action(n="nodes")
    def conflict(self, n: int) -> None:
        """It is refused, since what was read has changed. That is caught up with, and a retry is owed."""
        flight = self.flight[n]
        self.require(flight is not None)
        self.require(flight.stale)
        self.catch_up()
        self.restore(n)
        self.put(n + 1, flight.before, n if self.own_revert_skipped else NOBODY)
        if self.rule("SCH-12"):
            self.node[n].owe(self)
            self.queued = True
        self.decided(n)

    def restore(self, n: int) -> None:
        """What made the refused run necessary makes its retry so."""
        for document in range(self.documents):
            if self.carried[n].of[document] and self.rule("SCH-11"):
                self.node[n].cause[document] = True

    @action(n="nodes")
    def refuse(self, n: int) -> None:
        """It is refused for another reason; it is tried again so many times, and then given up."""
        self.require(self.refusals)
        flight = self.flight[n]
        self.require(flight is not None)
        self.require(not flight.stale)
        if n == 0:
            self.refused = min(self.refused + 1, self.attempts + 2)
        if self.tries[n] < self.attempts:
            self.tries[n] += 1
        again = self.tries[n] < self.attempts or not self.rule("SCH-13")
        if again and self.rule("SCH-14"):
            self.restore(n)
            self.node[n].pending = True
            self.node[n].invalidate(self)
            self.queued = True
        self.put(n + 1, flight.before, n if self.own_revert_skipped else NOBODY)
        self.decided(n)

    # Idle.

    def is_idle(self) -> bool:
        """Whoever waits for idle is told now."""
        if self.passing or self.queued or any(node.runnable(self) for node in self.node):
            return False
        if self.lane_waits() and not self.parked:
            return False
        held = self.parked or any(node.holds_idle(self) for node in self.node)
        return not (self.wake.armed and held)

    @action()
    def resolve_idle(self) -> None:
        self.require(self.is_idle())
        for node in self.node:
            node.gates.holds = 0
