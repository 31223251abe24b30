"""One node that a serving runtime runs for several users: one instance of the document, and one pair, for each.

Another session writes the instances of some users back (a loop), and those of others now and then. The node has one set
of gates for all of them; ``gate_by_instance`` is a repair: the breaker's gate is one for each instance.
"""

from __future__ import annotations

from .crowd import CrowdSettings
from .gates import Gates
from .language import (
    Age,
    Left,
    Record,
    action,
    age,
    constant,
    each,
    flag,
    ghost,
    invariant,
    left,
    part,
    reachable,
    step_property,
)
from .pair import Pair


class Instance(Record):
    """What the node holds for one user."""

    due: bool = flag()  # the user's document has changed, and the node has not run for it since
    pair: Pair = part(Pair)
    gate: Left = left(lambda c: c.longest_echo)  # the breaker's, of this instance alone (gate_by_instance)
    waiting: Age = ghost(age())  # since it has been due


class FanOut(CrowdSettings):
    """The node, its instances, and whoever changes them. A turn of the node and its commits are one step."""

    instances: int = constant(2)
    gate_by_instance: bool = constant(False)

    gates: Gates = part(Gates)
    instance: list[Instance] = each("instances", Instance)

    @action(i="instances")
    def change(self, i: int) -> None:
        """Another session changes the document of user ``i``: that instance is due, and no other."""
        one = self.instance[i]
        self.require(not one.due)
        one.due = True
        one.waiting.start()

    def may_run(self, i: int) -> bool:
        """Instance ``i`` is due, and no gate is shut for it."""
        one = self.instance[i]
        shut = one.gate.remaining if self.gate_by_instance else self.gates.rest(self)
        return one.due and (shut == 0 or not self.rule("SYN-30"))

    @action(overwrites=lambda c: 2**c.instances)
    def run(self, overwrites: int) -> None:
        """The node's turn: it runs for each user who is due, and all commits succeed.

        Of ``overwrites`` each binary digit is an instance: 1 if the run overwrites what it found, 0 if it leaves that.
        """
        self.require(any(self.may_run(i) for i in range(self.instances)))
        digits = overwrites
        for i in range(self.instances):
            echoes = digits % 2 == 1
            digits = digits // 2
            runs = self.may_run(i)
            self.require(runs or not echoes)
            if runs:
                self.step(i, echoes)
        self.regate()

    def step(self, i: int, echoes: bool) -> None:
        """What a run for user ``i`` is to the pairs."""
        one = self.instance[i]
        one.due = False
        one.waiting.stop()
        for other in range(self.instances):
            if other == i or not self.rule("SYN-31"):
                if echoes:
                    self.instance[other].pair.echo(self)
                else:
                    self.instance[other].pair.converge(self)

    def regate(self) -> None:
        """The node's gate is shut until the last of its pairs' deadlines, or each instance's until its own."""
        last = max(one.pair.deadline.remaining for one in self.instance)
        if self.gate_by_instance:
            for one in self.instance:
                one.gate.set(one.pair.deadline.remaining)
        elif last == 0:
            self.gates.lift(self, 0)
        else:
            self.gates.echo.set(last)

    @action(i="instances")
    def forget(self, i: int) -> None:
        """Housekeeping: a pair whose loop has ended is cleared."""
        one = self.instance[i]
        self.require(one.pair.is_quiet(self) or one.pair.is_settled(self))
        one.pair.clear()
        self.regate()

    @step_property("SYN-31", on="run")
    def instances_count_apart(self, before: FanOut, overwrites: int) -> bool:
        """What the node does for one user is no step of another's pair."""
        return all(self.instance[n].pair == before.instance[n].pair or before.may_run(n) for n in range(self.instances))

    @step_property("SYN-30", on="run")
    def starts_wait_for_the_backoff(self, before: FanOut, overwrites: int) -> bool:
        """While a pair stands, no run for its user starts before its last counted step plus its backoff."""
        return all(
            self.instance[n].due
            or not one.due
            or not one.pair.tripped
            or one.pair.settling.running
            or one.pair.since_echo >= one.pair.backoff
            for n, one in enumerate(before.instance)
        )

    @invariant()
    def gates_are_the_deadlines(self) -> bool:
        """The node's gate is the last of the pairs' deadlines, or each instance's its own (gate_by_instance)."""
        last = max(one.pair.deadline.remaining for one in self.instance)
        if self.gate_by_instance:
            return all(one.gate.remaining == one.pair.deadline.remaining for one in self.instance)
        return self.gates.rest(self) == last and self.gates.echo.remaining == last

    @invariant()
    def deadlines_run_from_the_last_echo(self) -> bool:
        """A pair that has tripped rests for its backoff since its last echo step; no other pair rests."""
        return all(one.pair.is_timed(self) for one in self.instance)

    @invariant()
    def who_is_due_waits(self) -> bool:
        """Since before the last deadline was set: a turn serves all who are due."""
        return all(
            one.due == one.waiting.running
            and (
                self.gate_by_instance
                or not one.due
                or all(
                    other.pair.deadline.over or one.waiting <= other.pair.backoff - other.pair.deadline.remaining
                    for other in self.instance
                )
            )
            for one in self.instance
        )

    @invariant()
    def one_loop_defers_no_other(self) -> bool:
        """A user whose own document is not in a loop waits for nobody else's (gate_by_instance)."""
        return all(self.may_run(i) or not one.due or not one.pair.deadline.over for i, one in enumerate(self.instance))

    @reachable()
    def a_loop_backs_off(self) -> bool:
        return any(one.due and not one.pair.deadline.over for one in self.instance)

    @invariant()
    def nobody_waits_longer_than_the_cap(self) -> bool:
        """Whoever has been due for the longest backoff can be served: a shut gate is not put off again."""
        return all(not one.due or one.waiting < self.cap or self.may_run(i) for i, one in enumerate(self.instance))
