"""The echo loop: sessions that disagree about one document on one server, each behind a breaker.

Each session runs one derivation that reads the document and writes what the session wants there. A commit reaches
the other sessions as a delivery, which re-triggers their derivations. A commit on a stale basis is refused; the
refusal brings the session up to date, and it runs again.
"""

# A type checker does not see that self.require(me.pending is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false

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
    by_document: bool = flag()  # the document triggered the run
    by_input: bool = flag()  # another input did
    by_remote: bool = flag()  # a change of the document that came from another session was among the causes


class Session(Record):
    """One session: its replica of the document, its derivation, and the breaker's pair for the two."""

    present: bool = flag(True)
    sees: int = upto(lambda c: c.values - 1)  # the document's value in this replica
    behind: bool = flag()  # a delivery is under way
    triggered: bool = flag()  # the document changed since the derivation last ran
    input_changed: bool = flag()  # so did another of its inputs
    remote: bool = flag()  # the document's change came from another session
    pending: Commit | None = optional(Commit)
    pair: Pair = part(Pair)


class EchoLoop(BreakerSettings):
    """Sessions that disagree about one shared document.

    Session ``s`` wants the value ``s % values``, until all agree on 0 (``may_agree``). ``bound`` is how many
    commits are to be possible while no time passes. With ``may_type`` the user of a session edits the document too.
    ``remote_causes_only`` is a repair: a run that no other session's write triggered counts no step.
    """

    sessions: int = constant(2)
    values: int = constant(2)
    may_agree: bool = constant(False)
    may_leave: bool = constant(False)
    may_type: bool = constant(False)
    remote_causes_only: bool = constant(False)
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
            me.remote = True

    @action(s="sessions")
    def run(self, s: int) -> None:
        """The derivation of session ``s`` runs again, and commits what it wants unless it finds that."""
        me = self.session[s]
        self.require(me.triggered or me.input_changed)
        self.require(me.pending is None)
        self.require(me.pair.deadline.over, "BRK-18")
        if me.sees != self.wish(s):
            me.pending = Commit(
                value=self.wish(s), by_document=me.triggered, by_input=me.input_changed, by_remote=me.remote
            )
        elif me.triggered:
            me.pair.converge(self)
        me.triggered = False
        me.input_changed = False
        me.remote = False

    @action(s="sessions")
    def commit(self, s: int) -> None:
        """The server accepts: the value stands, and is on its way to everyone else."""
        me = self.session[s]
        self.require(me.pending is not None)
        self.require(not me.behind)
        self.document = me.pending.value
        me.sees = me.pending.value
        triggered = me.pending.by_document or not self.rule("BRK-1")
        if triggered and (me.pending.by_remote or not self.remote_causes_only):
            me.pair.echo(self)
        me.pending = None
        self.spread(s)
        self.commits = 1 if self.instant.over else min(self.commits + 1, self.bound + 1)
        self.instant.set(1)

    def spread(self, s: int) -> None:
        """What session ``s`` has committed is on its way to the others."""
        for other, them in enumerate(self.session):
            if other != s and them.present:
                them.behind = True

    @action(s="sessions")
    def refuse(self, s: int) -> None:
        """The server refuses a stale basis; the session catches up, and its derivation is to run again."""
        me = self.session[s]
        self.require(me.pending is not None)
        self.require(me.behind)
        if not self.rule("BRK-8") and me.pending.by_document:
            me.pair.echo(self)
        me.triggered = me.pending.by_document or me.pending.value != self.document
        me.input_changed = me.input_changed or me.pending.by_input
        me.remote = me.triggered
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

    @action(s="sessions", value="values")
    def type(self, s: int, value: int) -> None:
        """The user of session ``s`` edits the document; a handler commits it, and the derivation sees the change."""
        me = self.session[s]
        self.require(self.may_type)
        self.require(me.present and not me.behind)
        self.require(me.pending is None)
        self.require(me.sees != value)
        self.document = value
        me.sees = value
        me.triggered = True
        self.spread(s)

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
        me.remote = False
        me.pending = None
        me.pair.clear()

    @invariant("BRK-13", "BRK-18")
    def commits_while_time_stands(self) -> bool:
        """The loop is bounded, whatever made the sides disagree."""
        return self.commits <= self.bound

    @invariant()
    def alone_nothing_is_counted(self) -> bool:
        """Only a remote writer is counted: a session without others never has a pair (remote_causes_only)."""
        return self.sessions > 1 or not any(me.pair.held() for me in self.session)

    @step_property("BRK-1", on="commit")
    def only_the_document_counts(self, before: EchoLoop, s: int) -> bool:
        """A run that another input caused changes no pair, whatever it writes."""
        made = before.session[s].pending
        return made is None or made.by_document or self.session[s].pair == before.session[s].pair

    @step_property("BRK-8", on="refuse")
    def a_refused_commit_counts_nothing(self, before: EchoLoop, s: int) -> bool:
        return self.session[s].pair == before.session[s].pair

    @step_property("BRK-18", on="run")
    def starts_wait_for_the_backoff(self, before: EchoLoop, s: int) -> bool:
        """While a pair stands, no run starts before its last counted step plus its backoff, a retry neither."""
        pair = before.session[s].pair
        return not pair.tripped or pair.settling.running or pair.since_echo >= pair.backoff

    @step_property("BRK-14", "BRK-19", on="run")
    def agreement_clears_and_lifts(self, before: EchoLoop, s: int) -> bool:
        """A session that finds what it wants is held no longer, and forgets the loop (or lets it settle)."""
        was = before.session[s]
        now = self.session[s]
        if not was.triggered or was.sees != before.wish(s):
            return True
        return now.pair.deadline.over and (not now.pair.held() or now.pair.settling.running)

    @step_property("BRK-21", on="forget")
    def only_what_ended_is_forgotten(self, before: EchoLoop, s: int) -> bool:
        pair = before.session[s].pair
        return pair.deadline.over and (pair.since_echo > self.quiet or pair.settling > self.cap)

    @step_property(on=("deliver", "run", "refuse", "forget", "agree", "leave"))
    def what_is_committed_stands(self, before: EchoLoop) -> bool:
        """Nothing but a commit changes the document: a breaker delays runs, and rolls nothing back."""
        return self.document == before.document

    @reachable()
    def bound_is_met(self) -> bool:
        """The bound is exact."""
        return self.commits == self.bound

    @reachable()
    def all_tripped(self) -> bool:
        return all(me.pair.tripped for me in self.session)

    @reachable()
    def agreement_meets_a_backoff(self) -> bool:
        """The sides agree while a session that found otherwise backs off (needs ``may_agree``)."""
        return self.agreed and any(not me.pair.deadline.over for me in self.session)

    @reachable()
    def the_other_side_left(self) -> bool:
        """One session is left, and its pair stands until it looks quiet (needs ``may_leave``)."""
        present = sum(1 for me in self.session if me.present)
        return present == 1 and any(me.present and me.pair.is_quiet(self) for me in self.session)
