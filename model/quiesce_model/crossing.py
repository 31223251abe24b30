"""Two sessions and two documents: each derivation writes what the other one reads, and so none its own trigger.

Session ``s`` reads document ``s`` and derives the other document from it. Session 0 copies, session 1 turns 0 into 1
and 1 into 0, so the two never come to rest.
"""

# A type checker does not see that self.require(me.draft is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false

from __future__ import annotations

from .crowd import CrowdSettings
from .language import (
    Left,
    Record,
    action,
    constant,
    each,
    flag,
    ghost,
    invariant,
    left,
    optional,
    part,
    reachable,
    upto,
)
from .pair import Pair


class Written(Record):
    """A document on the server, and the derivations whose commits its value descends from."""

    value: int = upto(1)
    descends: list[bool] = each(2, flag())


class Side(Record):
    """One session: what it sees of the document that it reads, its commit, and the pairs of its breaker."""

    sees: int = upto(1)
    of_own: bool = flag()  # what it sees descends from its own commits
    of_other: bool = flag()  # and from the other session's
    behind: bool = flag()
    due: bool = flag()
    own_cause: bool = flag()  # the change that made it due descends from its own commits
    draft: int | None = optional(upto(1))
    pair: Pair = part(Pair)  # of the action and the document that it writes; with by_descent, of the action


class Crossing(CrowdSettings):
    """The loop that no pair's shape can see.

    ``by_descent`` is a repair: a commit carries the names of the derivations that it descends from; a run that its own
    name caused, and that overwrites something, is an echo step, and one that overwrites nothing a convergence step.
    """

    by_descent: bool = constant(False)
    agreeing: bool = constant(False)
    bound: int = constant(6)

    document: list[Written] = each(2, Written)
    side: list[Side] = each(2, Side)
    commits: int = ghost(upto(lambda c: c.bound + 1))  # since time last passed; one past the bound stands for more
    instant: Left = ghost(left(1))  # not over: no time has passed since the last commit

    def wanted(self, s: int) -> int:
        """What session ``s`` derives from what it sees."""
        return self.side[s].sees if s == 0 or self.agreeing else 1 - self.side[s].sees

    @action()
    def begin(self) -> None:
        """Somebody changes the document that session 0 reads: nobody's derivation."""
        self.require(not any(me.due or me.behind or me.draft is not None for me in self.side))
        self.document[0].value = 1 - self.document[0].value
        for n in range(2):
            self.document[0].descends[n] = False
        self.side[0].behind = True

    @action(s=2)
    def deliver(self, s: int) -> None:
        """The document that session ``s`` reads arrives there."""
        me = self.side[s]
        self.require(me.behind)
        me.behind = False
        if me.sees != self.document[s].value:
            me.due = True
            me.own_cause = me.own_cause or self.document[s].descends[s]
        me.sees = self.document[s].value
        me.of_own = self.document[s].descends[s]
        me.of_other = self.document[s].descends[1 - s]

    @action(s=2)
    def run(self, s: int) -> None:
        """The derivation runs, since the document that it reads has changed. What it writes did not cause it."""
        me = self.side[s]
        self.require(me.due and me.draft is None)
        self.require(me.pair.deadline.over, "SYN-32")
        me.due = False
        if self.document[1 - s].value != self.wanted(s):
            me.draft = self.wanted(s)
        elif self.by_descent and me.own_cause:
            me.pair.converge(self)
        if me.draft is None:
            me.own_cause = False

    @action(s=2)
    def commit(self, s: int) -> None:
        """The server accepts. Nobody else writes that document, so no commit is stale."""
        me = self.side[s]
        self.require(me.draft is not None)
        written = self.document[1 - s]
        written.value = me.draft
        written.descends[s] = True
        written.descends[1 - s] = me.of_other
        me.draft = None
        if self.by_descent and me.own_cause:
            me.pair.echo(self)
        me.own_cause = False
        self.side[1 - s].behind = True
        self.commits = 1 if self.instant.over else min(self.commits + 1, self.bound + 1)
        self.instant.set(1)

    @action(s=2)
    def forget(self, s: int) -> None:
        """Housekeeping: a pair whose loop has ended is cleared."""
        me = self.side[s]
        self.require(me.pair.is_quiet(self) or me.pair.is_settled(self))
        me.pair.clear()

    @invariant()
    def nothing_is_counted(self) -> bool:
        """The breaker as specified never sees this loop: no pair is ever held."""
        return self.by_descent or not any(me.pair.held() for me in self.side)

    @invariant()
    def commits_while_time_stands(self) -> bool:
        """The loop is bounded, whatever made the sides disagree (by_descent)."""
        return self.commits <= self.bound

    @invariant()
    def what_settles_is_not_counted(self) -> bool:
        """Two derivations that come to rest never have a pair."""
        return not self.agreeing or not any(me.pair.held() for me in self.side)

    @reachable()
    def bound_is_met(self) -> bool:
        return self.commits == self.bound
