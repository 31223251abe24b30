"""A derivation whose input another session changes often, and whose output nobody else writes.

It reads the input and, as every write does, what it is about to change. So it is triggered by the input alone, unless
its own commit is refused, and what that had written is taken back.
"""

# A type checker does not see that self.require(self.draft is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false

from __future__ import annotations

from .crowd import CrowdSettings
from .language import Record, action, constant, flag, initial, invariant, optional, part, reachable, step_property, upto
from .pair import Pair
from .scheduler import Node


class Derived(Record):
    """A commit of the derivation on its way to the server."""

    value: int = upto(lambda c: c.values - 1)
    by_output: bool = flag()  # a change of the output was among the causes of the run


class FastInput(CrowdSettings):
    """One session; document 0 is the input, document 1 the output, which is to be a copy of it.

    ``own_revert_skipped`` is a repair: the revert of a node's own commit is no change for that node.
    """

    documents: int = constant(2)
    values: int = constant(3)
    own_revert_skipped: bool = constant(False)

    input: int = upto(lambda c: c.values - 1)  # on the server
    behind: bool = flag()  # it has changed, and the change is on its way
    sees: int = upto(lambda c: c.values - 1)  # the input, here
    output: int = upto(lambda c: c.values - 1)  # what was confirmed
    draft: Derived | None = optional(Derived)
    node: Node = part(Node)
    pair: Pair = part(Pair)  # of the derivation and its output

    @initial
    def it_derives(self) -> None:
        self.node.effect = True

    @action(value="values")
    def move(self, value: int) -> None:
        """Another session changes the input."""
        self.require(self.input != value)
        self.input = value
        self.behind = True

    @action()
    def deliver(self) -> None:
        """The change arrives."""
        self.require(self.behind)
        self.catch_up()

    def catch_up(self) -> None:
        self.behind = False
        if self.sees != self.input:
            self.sees = self.input
            self.node.cause[0] = True
            self.node.invalidate(self)

    @action()
    def run(self) -> None:
        """A pass runs the derivation, which writes the output unless that is right."""
        self.require(self.draft is None)
        self.require(self.node.runnable(self))
        by_output = self.node.cause[1]
        self.node.start(self)
        if self.output != self.sees:
            self.draft = Derived(value=self.sees, by_output=by_output)
        elif by_output:
            self.pair.converge(self)
            self.regate()
        self.node.complete(self)
        self.node.end_pass(self)

    @action()
    def accept(self) -> None:
        self.require(self.draft is not None)
        self.require(not self.behind)
        self.output = self.draft.value
        if self.draft.by_output:
            self.pair.echo(self)
            self.regate()
        self.draft = None

    @action()
    def refuse(self) -> None:
        """The input was changed before the commit was decided. What was written is taken back, and a retry is owed."""
        self.require(self.draft is not None)
        self.require(self.behind)
        self.draft = None
        self.catch_up()
        self.node.cause[0] = True
        if not self.own_revert_skipped or not self.rule("SYN-33"):
            self.node.cause[1] = True
        self.node.owe(self)

    def regate(self) -> None:
        if self.pair.deadline.over:
            self.node.gates.lift(self, 0)
        else:
            self.node.gates.shut(self.pair.deadline.remaining)

    @action()
    def forget(self) -> None:
        """Housekeeping: a pair whose loop has ended is cleared."""
        self.require(self.pair.is_quiet(self) or self.pair.is_settled(self))
        self.pair.clear()
        self.regate()

    @invariant("SYN-33")
    def what_nobody_else_writes_is_not_counted(self) -> bool:
        """The trigger is the input; the output is never a candidate (own_revert_skipped)."""
        return not self.pair.held()

    @invariant()
    def a_fast_input_is_not_slowed_down(self) -> bool:
        """A derivation whose input changes often never trips, however fast that moves (own_revert_skipped)."""
        return not self.pair.tripped

    @step_property(on="run")
    def every_rerun_has_a_cause(self, before: FastInput) -> bool:
        return not before.node.ran or any(cause for cause in before.node.cause)

    @invariant()
    def at_rest_the_output_is_right(self) -> bool:
        moving = self.behind or self.draft is not None or self.node.due(self)
        return moving or self.output == self.input

    @invariant()
    def the_output_is_no_cause(self) -> bool:
        """With the repair in force only the input makes the derivation run, and the breaker has no part in it."""
        if not (self.own_revert_skipped and self.rule("SYN-33")):
            return True
        steps = self.node.cause[1] or (self.draft is not None and self.draft.by_output)
        return not steps and self.pair.deadline.over and self.node.gates.echo.over and self.node.runs == 0

    @reachable()
    def a_retry_is_owed(self) -> bool:
        return self.node.owed
