"""Sessions over one server, each with a node behind its gates and its breaker: what happens.

All nodes derive the same document, which they read as well, and every session has its own idea of what belongs there.
A session is what ``sync`` says, seen without numbers: a version of the document, perhaps a window with a later one on
its way, perhaps a layer of its own over it. A node is that of ``scheduler``, with the pair of the breaker beside it; a
pass is one step here. Handlers commit what people type. Sessions go away, and come back as new ones.
"""

# A type checker does not see that self.require(me.draft is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false

from __future__ import annotations

from .language import (
    Left,
    Record,
    action,
    assumption,
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
from .pair import BreakerSettings, Pair
from .scheduler import Node, SchedulerSettings, Status


class Draft(Record):
    """A commit of a session on its way to the server."""

    value: int = upto(lambda c: c.values - 1)
    typed: bool = flag()  # a handler made it, not the derivation
    by_document: bool = flag()  # a change of the value was among the causes of the run
    beside: bool = flag()  # a change of another field was


class Member(Record):
    """One session."""

    present: bool = flag(True)
    sees: int = upto(lambda c: c.values - 1)  # the version that was confirmed here
    window: int | None = optional(upto(lambda c: c.values - 1))  # a later one, on its way
    behind: bool = flag()  # the server has one that is later still
    draft: Draft | None = optional(Draft)
    node: Node = part(Node)
    pair: Pair = part(Pair)

    def visible(self) -> int:
        return self.sees if self.draft is None else self.draft.value

    def is_stale(self) -> bool:
        """Another session has written the document since the version that this one has."""
        return self.behind or self.window is not None

    def change(self, c: CrowdSettings, own: bool) -> None:
        """What the session sees of the document has changed, and its derivation reads that."""
        if c.reborn:
            self.bear(c)
        else:
            self.node.own = self.node.own or own
            self.node.cause[0] = True
            self.node.invalidate(c)

    def bear(self, c: CrowdSettings) -> None:
        """Whoever made the derivation makes it anew: the old registration ends, and the new one has not run."""
        self.node.retire(c)
        self.node.registered = True
        self.node.status = Status.NEVER_RAN
        self.node.ran = False
        if c.pair_outlives:
            self.node.cause[0] = True
            self.node.gates.shut(self.pair.deadline.remaining)
        else:
            self.pair.clear()


class CrowdSettings(BreakerSettings, SchedulerSettings):
    """The constants of both; a backoff is between ``base`` and ``cap`` whoever asks for it.

    With ``reborn`` the derivation is made by another one that reads the document too, and so is registered anew with
    each change. ``pair_outlives`` is a repair: the pair is that of the action's name, and the new registration has the
    causes of the run that made it.
    """

    debounce: int = constant(0)
    throttle: int = constant(0)
    longest_echo: int = constant(8)
    reborn: bool = constant(False)
    pair_outlives: bool = constant(False)

    @assumption
    def a_gate_is_long_enough(self) -> bool:
        """Otherwise an echo backoff has no value that it could have (no_fault)."""
        return self.longest_echo >= 2 * self.cap


class Crowd(CrowdSettings):
    """What happens. Session ``s`` wants the value ``s % values``, until all agree on 0 (``may_agree``).

    With ``beats`` (and two ``documents``: a cause of its own) another field of the document changes now and then, which
    nobody minds. ``pair_by_field`` is a repair: a step is of the fields that caused the run, each with a pair.

    ``bound`` is how many commits of derivations are to be possible while no time passes, ``storm`` how many refusals of
    them; with ``apart`` commits are told apart by session. With ``may_return`` a session that went away comes back with
    nothing: its node runs for the first time.
    """

    sessions: int = constant(2)
    values: int = constant(2)
    may_agree: bool = constant(False)
    may_type: bool = constant(False)
    may_leave: bool = constant(False)
    may_return: bool = constant(False)
    beats: bool = constant(False)
    pair_by_field: bool = constant(False)
    bound: int = constant(7)
    storm: int = constant(2)
    apart: bool = constant(False)

    document: int = upto(lambda c: c.values - 1)
    agreed: bool = flag()
    member: list[Member] = each("sessions", Member)

    commits: int = ghost(upto(lambda c: c.bound + 1))  # of derivations, since time last passed; one past it is for more
    made: list[int] = ghost(each("sessions", upto(lambda c: c.bound + 1 if c.apart else 0)))  # by each session
    refusals: int = ghost(upto(lambda c: c.storm + 1))  # in the same time
    instant: Left = ghost(left(1))  # not over: no time has passed since the last of them

    @assumption
    def a_beat_has_a_cause(self) -> bool:
        """Otherwise a change of another field cannot be told from one of the value."""
        return not self.beats or self.documents >= 2

    @assumption
    def bounds_are_numbers(self) -> bool:
        return self.bound >= 0 and self.storm >= 0

    @initial
    def all_derive(self) -> None:
        for me in self.member:
            me.node.effect = True

    def wish(self, s: int) -> int:
        return 0 if self.agreed else s % self.values

    # What comes and goes.

    @action(s="sessions")
    def flush(self, s: int) -> None:
        """The server sends session ``s`` the document as it is now."""
        me = self.member[s]
        self.require(me.behind and me.window is None)
        me.behind = False
        me.window = self.document

    @action(s="sessions")
    def deliver(self, s: int) -> None:
        """It arrives. Under a layer nothing changes that anyone could see, and equal values change nothing."""
        me = self.member[s]
        arrived = me.window
        self.require(arrived is not None)
        was = me.visible()
        me.sees = arrived
        me.window = None
        if me.visible() != was or not self.rule("SYN-20"):
            me.change(self, own=False)

    @action(s="sessions")
    def run(self, s: int) -> None:
        """A pass of session ``s`` runs the derivation, which commits what the session wants unless it finds that."""
        me = self.member[s]
        self.require(me.present and me.draft is None)
        self.require(me.node.runnable(self))
        by_document = me.node.cause[0]
        beside = self.beats and me.node.cause[self.documents - 1]
        me.node.start(self)
        if me.sees != self.wish(s):
            me.draft = Draft(value=self.wish(s), typed=False, by_document=by_document, beside=beside)
        elif by_document or (beside and not self.pair_by_field):
            me.pair.converge(self)
            self.regate(s)
        me.node.complete(self)
        me.node.end_pass(self)

    @action(s="sessions")
    def beat(self, s: int) -> None:
        """A change of another field reaches session ``s``. It is under no layer, and in nobody's way."""
        me = self.member[s]
        self.require(self.beats)
        self.require(me.present)
        me.node.cause[self.documents - 1] = True
        me.node.invalidate(self)

    @action(s="sessions", value="values")
    def type(self, s: int, value: int) -> None:
        """Somebody types in session ``s``: a handler commits it, and the derivation reads the change."""
        me = self.member[s]
        self.require(self.may_type)
        self.require(me.present and me.draft is None)
        self.require(me.sees != value)
        me.draft = Draft(value=value, typed=True, by_document=False, beside=False)
        me.change(self, own=True)

    @action(s="sessions")
    def accept(self, s: int) -> None:
        """The server accepts what session ``s`` has sent, and has it for everyone else."""
        me = self.member[s]
        self.require(me.draft is not None)
        self.require(not me.is_stale(), "SYN-3")
        self.document = me.draft.value
        me.sees = me.draft.value
        if me.draft.by_document:
            me.pair.echo(self)
            self.regate(s)
        elif me.draft.beside and not self.pair_by_field:
            me.pair.converge(self)
            self.regate(s)
        if not me.draft.typed:
            self.count()
            self.commits = min(self.commits + 1, self.bound + 1)
            if self.apart:
                self.made[s] = min(self.made[s] + 1, self.bound + 1)
        elif not self.rule("SYN-21"):
            me.pair.echo(self)
            self.regate(s)
        me.draft = None
        if not self.rule("SYN-22"):
            me.change(self, own=True)
        for other, them in enumerate(self.member):
            if other != s and them.present:
                them.behind = True

    def count(self) -> None:
        """Begin anew if time has passed."""
        if self.instant.over:
            self.commits = 0
            for other in range(self.sessions):
                self.made[other] = 0
            self.refusals = 0
        self.instant.set(1)

    @action(s="sessions")
    def refuse(self, s: int) -> None:
        """It does not, since that rests on what is not so any more. Session ``s`` catches up, and tries again."""
        me = self.member[s]
        self.require(me.draft is not None)
        self.require(me.is_stale())
        typed = me.draft.typed
        value = me.draft.value
        by_document = me.draft.by_document
        was = me.visible()
        me.draft = None
        me.sees = self.document
        me.window = None
        me.behind = False
        if me.visible() != was:
            me.change(self, own=False)
        if typed:
            if self.rule("SYN-23") and me.sees != value:
                me.draft = Draft(value=value, typed=True, by_document=False, beside=False)
                me.change(self, own=True)
        else:
            self.count()
            self.refusals = min(self.refusals + 1, self.storm + 1)
            if by_document and self.rule("SYN-24"):
                me.node.cause[0] = True
            if self.rule("SYN-25"):
                me.node.owe(self)

    # The breaker.

    def regate(self, s: int) -> None:
        """The gate is shut for as long as the pair's deadline stands; opening it early lifts no other."""
        me = self.member[s]
        if me.pair.deadline.over:
            me.node.gates.lift(self, 0)
        else:
            me.node.gates.shut(me.pair.deadline.remaining)

    @action(s="sessions")
    def forget(self, s: int) -> None:
        """Housekeeping of session ``s``: a pair whose loop has ended is cleared."""
        me = self.member[s]
        self.require(me.pair.is_quiet(self) or me.pair.is_settled(self))
        me.pair.clear()
        self.regate(s)

    # Who is there.

    @action()
    def agree(self) -> None:
        """Once: all sessions come to want the same."""
        self.require(self.may_agree)
        self.require(not self.agreed)
        for s, me in enumerate(self.member):
            if s % self.values != 0 and me.present:
                me.node.invalidate(self)
        self.agreed = True

    @action(s="sessions")
    def leave(self, s: int) -> None:
        """Session ``s`` goes away; what it has not committed is lost."""
        me = self.member[s]
        self.require(self.may_leave or self.may_return)
        self.require(me.present)
        me.present = False
        me.sees = 0
        me.window = None
        me.behind = False
        me.draft = None
        me.node.retire(self)
        me.pair.clear()

    @action(s="sessions")
    def come_back(self, s: int) -> None:
        """It is opened again, as a new session: it reads the document as it is, and its node runs at once."""
        me = self.member[s]
        self.require(self.may_return)
        self.require(not me.present)
        me.present = True
        me.sees = self.document
        me.node.registered = True
        me.node.status = Status.NEVER_RAN
        me.node.ran = False
