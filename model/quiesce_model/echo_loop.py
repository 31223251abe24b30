"""The echo loop: sessions that disagree about one document on one server, each behind a breaker.

Each session runs one derivation that reads the document and writes what the session wants there. A commit reaches
the other sessions as a delivery, which re-triggers their derivations. A commit on a stale basis is refused; the
refusal brings the session up to date, and it runs again.
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
    initial,
    invariant,
    left,
    optional,
    part,
    reachable,
    step_property,
    upto,
)
from .pair import BreakerSettings, Pair


class Commit(Record):
    """A commit on its way to the server, with the causes of the run that made it."""

    value: int = upto(lambda c: c.values - 1)
    by_document: bool = flag()
    by_input: bool = flag()


class Session(Record):
    """One session: its replica of the document, its derivation, and the breaker's pair for the two."""

    present: bool = flag(True)
    sees: int = upto(lambda c: c.values - 1)  # the document's value in this replica
    behind: bool = flag()  # a delivery is under way
    triggered: bool = flag()  # the document changed since the derivation last ran
    input_changed: bool = flag()  # so did another of its inputs
    pending: Commit | None = optional(Commit)
    pair: Pair = part(Pair)


class EchoLoop(BreakerSettings):
    """Sessions that disagree about one shared document.

    Session ``s`` wants the value ``s % values``, until all agree on 0 (``may_agree``). ``bound`` is how many
    commits are to be possible while no time passes.
    """

    sessions: int = constant(2)
    values: int = constant(2)
    may_agree: bool = constant(False)
    may_leave: bool = constant(False)
    bound: int = constant(6)

    document: int = upto(lambda c: c.values - 1)
    agreed: bool = flag()
    session: list[Session] = each("sessions", Session)
    commits: int = ghost(upto(lambda c: c.bound + 1))  # since time last passed; one past the bound stands for more
    instant: Left = ghost(left(1))  # not over: no time has passed since the last commit

    @initial
    def disagree(self) -> None:
        """The document has the value that session 0 wants."""
        for s, me in enumerate(self.session):
            me.triggered = self.wish(s) != self.document

    def wish(self, s: int) -> int:
        return 0 if self.agreed else s % self.values

    @action(s="sessions")
    def deliver(self, s: int) -> None:
        """The document's newest value reaches session ``s``; what changes nothing there triggers nothing."""
        me = self.session[s]
        self.require(me.behind)
        self.require(me.pending is None)  # under a pending write nothing changes that the derivation could see
        me.behind = False
        if me.sees != self.document:
            me.sees = self.document
            me.triggered = True

    @action(s="sessions")
    def run(self, s: int) -> None:
        """The derivation of session ``s`` runs again, and commits what it wants unless it finds that."""
        me = self.session[s]
        self.require(me.triggered or me.input_changed)
        self.require(me.pending is None)
        self.require(me.pair.deadline.over, "BRK-18")
        if me.sees != self.wish(s):
            me.pending = Commit(value=self.wish(s), by_document=me.triggered, by_input=me.input_changed)
        elif me.triggered:
            me.pair.converge(self)
        me.triggered = False
        me.input_changed = False

    @action(s="sessions")
    def commit(self, s: int) -> None:
        """The server accepts: the value stands, and is on its way to everyone else."""
        me = self.session[s]
        self.require(me.pending is not None)
        self.require(not me.behind)
        self.document = me.pending.value
        me.sees = me.pending.value
        if me.pending.by_document or not self.rule("BRK-1"):
            me.pair.echo(self)
        me.pending = None
        for other, them in enumerate(self.session):
            if other != s and them.present:
                them.behind = True
        self.commits = 1 if self.instant.over else min(self.commits + 1, self.bound + 1)
        self.instant.set(1)

    @action(s="sessions")
    def refuse(self, s: int) -> None:
        """The server refuses a stale basis; the session catches up, and its derivation is to run again."""
        me = self.session[s]
        self.require(me.pending is not None)
        self.require(me.behind)
        if not self.rule("BRK-8") and me.pending.by_document:
            me.pair.echo(self)
        me.triggered = me.pending.by_document or me.pending.value != self.document
        me.input_changed = me.pending.by_input
        me.pending = None
        me.behind = False
        me.sees = self.document

    @action(s="sessions")
    def forget(self, s: int) -> None:
        """Housekeeping of session ``s``: a pair whose loop has ended is cleared."""
        me = self.session[s]
        self.require(me.pair.is_quiet(self) or me.pair.is_settled(self), "BRK-21")
        me.pair.clear()

    @action()
    def agree(self) -> None:
        """Once: all sessions come to want the same."""
        self.require(self.may_agree)
        self.require(not self.agreed)
        for s, me in enumerate(self.session):
            if s % self.values != 0 and me.present:
                me.input_changed = True
        self.agreed = True

    @action(s="sessions")
    def leave(self, s: int) -> None:
        """Session ``s`` goes away; what it has not committed is lost."""
        me = self.session[s]
        self.require(self.may_leave)
        self.require(me.present)
        me.present = False
        me.behind = False
        me.triggered = False
        me.input_changed = False
        me.pending = None
        me.pair.clear()

    @invariant("BRK-13", "BRK-18")
    def commits_while_time_stands(self) -> bool:
        """The loop is bounded, whatever made the sides disagree."""
        return self.commits <= self.bound

    @reachable()
    def bound_is_met(self) -> bool:
        """The bound is exact."""
        return self.commits == self.bound

    @step_property("BRK-1", on="commit")
    def only_the_document_counts(self, before: EchoLoop, s: int) -> bool:
        """A run that another input caused changes no pair, whatever it writes."""
        made = before.session[s].pending
        return made is None or made.by_document or self.session[s].pair == before.session[s].pair

    @step_property("BRK-8", on="refuse")
    def a_refused_commit_counts_nothing(self, before: EchoLoop, s: int) -> bool:
        return self.session[s].pair == before.session[s].pair

    @reachable()
    def all_tripped(self) -> bool:
        return all(me.pair.tripped for me in self.session)

    @reachable()
    def agreement_after_trip(self) -> bool:
        return self.agreed and any(me.pair.tripped for me in self.session)
