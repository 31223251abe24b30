"""Bodies that take their time: a window may come, and a row be adopted, between a run's start and its end."""

from __future__ import annotations

from .adopt_pair import AdoptPair
from .language import Record, action, constant, each, flag, reachable, upto


class Body(Record):
    """A run under way: what it has read, and what it will come to. One that is not is all at its start."""

    running: bool = flag()
    reads: list[bool] = each("documents", flag())
    value: int = upto(lambda c: c.values - 1)
    stale: bool = flag()  # something that it read has a newer number on the server
    moved: bool = flag()  # something that it read is another one now, in this session
    adopted: bool = flag()  # a row was adopted for the action meanwhile


class AdoptRace(AdoptPair):
    """A run reads everything at its start; its end re-subscribes to what it read, and sends what it came to.

    An action is clean from the start of its run, so what changes while it runs makes it dirty. ``validate_run_end`` is
    a repair: a run of which a read has changed meanwhile is to be run again. ``end_yields`` is another: where a row was
    adopted meanwhile, the run's end leaves the action as it is.
    """

    may_race: bool = constant(True)
    validate_run_end: bool = constant(False)
    end_yields: bool = constant(False)

    body: list[Body] = each("sessions", Body)

    @action(s="sessions", n="actions")
    def run(self, s: int, n: int) -> None:
        """Session ``s`` starts a run."""
        me = self.session[s]
        body = self.body[s]
        self.require(me.present and not me.outbox.on_way and not body.running)
        self.require(me.node[n].dirty)
        self.require(self.has_what_it_reads(s, n))
        body.running = True
        body.value = self.wants(s, n)
        body.stale = self.would_be_stale(s, n)
        for d in range(self.documents):
            body.reads[d] = self.looks(s, n, d)
        self.take(s, n)

    @action(s="sessions")
    def finish(self, s: int) -> None:
        """The body of session ``s`` returns. (This machine has one action, so it is known which.)"""
        me = self.session[s]
        body = self.body[s]
        self.require(body.running)
        self.require(not me.outbox.on_way)
        yields = self.end_yields and body.adopted
        if not yields:
            self.subscribe(s)
        if body.moved and self.validate_run_end:
            me.node[0].dirty = True
        elif not yields:
            self.send(s)
        self.forget(s)

    def subscribe(self, s: int) -> None:
        """What the run has read is what makes its action dirty."""
        node = self.session[s].node[0]
        if not self.rule("ADO-39"):
            node.dirty = False
        for d in range(self.documents):
            node.trigger[d] = self.body[s].reads[d]

    def send(self, s: int) -> None:
        me = self.session[s]
        body = self.body[s]
        writes = me.sees(self.output(0)) != body.value
        me.outbox.on_way = True
        me.outbox.document = self.output(0) if writes else self.documents
        me.outbox.value = body.value if writes else 0
        me.outbox.action = 0
        me.outbox.stale = body.stale
        for d in range(self.documents):
            me.outbox.reads[d] = body.reads[d] and not self.is_shallow(d)
            me.outbox.shallow[d] = body.reads[d] and self.is_shallow(d)
        if writes:
            self.touch(s, self.output(0), 0)

    def forget(self, s: int) -> None:
        body = self.body[s]
        body.running = False
        body.value = 0
        body.stale = False
        body.moved = False
        body.adopted = False
        for d in range(self.documents):
            body.reads[d] = False

    # What happens meanwhile.

    def touch(self, s: int, document: int, but: int) -> None:
        for n, node in enumerate(self.session[s].node):
            for d in range(self.documents):
                if d == document and node.trigger[d] and n != but:
                    node.dirty = True
        for d in range(self.documents):
            if d == document and self.body[s].reads[d] and but != 0:
                self.body[s].moved = True

    def overtake(self, document: int) -> None:
        """What anyone has read of the document is not the newest any more."""
        for s, me in enumerate(self.session):
            for d in range(self.documents):
                if d == document and me.outbox.on_way and (me.outbox.reads[d] or me.outbox.shallow[d]):
                    me.outbox.stale = True
                if d == document and self.body[s].reads[d]:
                    self.body[s].stale = True

    def adopted(self, s: int, n: int) -> None:
        self.body[s].adopted = self.body[s].running

    def gone(self, s: int) -> None:
        self.forget(s)

    def is_running(self, s: int) -> bool:
        return self.body[s].running

    @reachable()
    def a_row_is_adopted_meanwhile(self) -> bool:
        return any(body.adopted for body in self.body)
