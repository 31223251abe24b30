"""Sessions that share what their actions come to: runs, observations, windows with rows, and adoption.

An action reads documents and writes one. Each session has every action registered, runs it when something that it read
has changed, and sends what it wrote together with an observation. The server keeps the observation as a row, and sends
rows along with the documents that it sends anyway. A session that is sent a row whose conditions hold *adopts* it: it
takes the action for having run, instead of running it.

What actions compute is real: the value of an action is a function of what its session sees. So an adoption that should
not have been is a wrong value, a wrong read set, a missing child or an effect that did not happen, and ``difference``
keeps the first of them.
"""

from __future__ import annotations

from .adoption_session import Difference
from .adoption_space import AdoptionSpace
from .language import action
from .observation import Row
from .sync import Version


class AdoptionLife(AdoptionSpace):
    """What happens: users write, actions run, the server decides, windows come, rows are adopted, sessions go."""

    # What a session does.

    @action(s="sessions", document="documents", value="values")
    def write(self, s: int, document: int, value: int) -> None:
        """A user of session ``s`` writes a document; the session sees that at once."""
        me = self.session[s]
        self.require(me.present and not me.outbox.on_way)
        self.require(self.written < self.writes)
        self.require(self.is_input(document) or self.foreign)
        self.require(me.sees(document) != value)
        self.written += 1
        me.outbox.on_way = True
        me.outbox.document = document
        me.outbox.value = value
        me.outbox.action = self.actions
        self.touch(s, document, self.actions)

    def touch(self, s: int, document: int, but: int) -> None:
        """The document has changed for session ``s``: whatever reads it is dirty, but not the action that wrote it."""
        for n, node in enumerate(self.session[s].node):
            for d in range(self.documents):
                if d == document and node.trigger[d] and n != but:
                    node.dirty = True

    @action(s="sessions", n="actions")
    def run(self, s: int, n: int) -> None:
        """Session ``s`` runs a dirty action, and sends what it wrote with what it observed."""
        me = self.session[s]
        self.require(me.present and not me.outbox.on_way)
        self.require(me.node[n].dirty)
        self.require(self.has_what_it_reads(s, n))
        value = self.wants(s, n)
        writes = not self.is_effect(n) and me.sees(self.output(n)) != value
        stale = self.would_be_stale(s, n)
        self.take(s, n)
        if self.is_effect(n):
            me.node[n].screen = value
        me.outbox.on_way = True
        me.outbox.document = self.output(n) if writes else self.documents
        me.outbox.value = value if writes else 0
        me.outbox.action = n
        me.outbox.stale = stale
        for d in range(self.documents):
            me.outbox.reads[d] = me.node[n].trigger[d] and not self.is_shallow(d)
            me.outbox.shallow[d] = me.node[n].trigger[d] and self.is_shallow(d)
        if writes:
            self.touch(s, self.output(n), n)
        self.ran(s, n)

    def ran(self, s: int, n: int) -> None:
        """Session ``s`` has run action n."""

    def has_what_it_reads(self, s: int, n: int) -> bool:
        """Whether session ``s`` has all that action n reads, and is told of its changes."""
        me = self.session[s]
        return all(not self.looks(s, n, d) or (me.held[d] and me.watched[d]) for d in range(self.documents))

    @action(s="sessions", n="actions")
    def throw(self, s: int, n: int) -> None:
        """The run fails on the way, for a reason of session ``s``'s own: it writes nothing, and says so."""
        me = self.session[s]
        self.require(self.may_throw)
        self.require(me.present and not me.outbox.on_way)
        self.require(me.node[n].dirty)
        self.require(self.has_what_it_reads(s, n))
        self.take(s, n)
        me.node[n].failed = True
        me.outbox.on_way = True
        me.outbox.document = self.documents
        me.outbox.action = n
        me.outbox.failed = True
        me.outbox.stale = self.would_be_stale(s, n)
        for d in range(self.documents):
            me.outbox.reads[d] = me.node[n].trigger[d] and not self.is_shallow(d)
            me.outbox.shallow[d] = me.node[n].trigger[d] and self.is_shallow(d)

    def would_be_stale(self, s: int, n: int) -> bool:
        """Whether the server has something newer of what the action reads here."""
        me = self.session[s]
        return any(self.looks(s, n, d) and me.confirmed[d].seq < self.store.head[d].seq for d in range(self.documents))

    def take(self, s: int, n: int) -> None:
        """Action n is clean, and whatever it reads now will make it dirty."""
        node = self.session[s].node[n]
        node.dirty = False
        node.failed = False
        for d in range(self.documents):
            node.trigger[d] = self.looks(s, n, d)

    # What the server decides.

    @action(s="sessions")
    def decide(self, s: int) -> None:
        """The commit of session ``s`` reaches the server, also if the session has left: it is taken or refused."""
        me = self.session[s]
        self.require(me.outbox.on_way)
        self.require(me.online)
        self.require(me.outbox.accepted == 0)
        if me.outbox.document == self.documents:
            if not (me.outbox.stale and self.rule("ADO-36")):
                self.store.observe(self, me.outbox, s)
            me.outbox.clear(self)
        elif me.outbox.stale and self.rule("ADO-35"):
            self.refuse(s)
        else:
            self.accept(s)

    def accept(self, s: int) -> None:
        me = self.session[s]
        self.require(self.store.seq < self.most)
        document = me.outbox.document
        value = me.outbox.value
        self.overtake(document)
        self.store.write(self, document, value)
        if me.outbox.action < self.actions:
            self.store.observe(self, me.outbox, s)
        me.outbox.stale = False
        if self.parked and me.present:
            me.outbox.accepted = self.store.seq
        else:
            me.outbox.clear(self)
            for d in range(self.documents):
                if d == document and me.present:
                    me.confirmed[d].renew(self.store.seq, value)

    def overtake(self, document: int) -> None:
        """What any commit on its way has read of the document is not the newest any more."""
        for me in self.session:
            for d in range(self.documents):
                if d == document and (me.outbox.reads[d] or me.outbox.shallow[d]):
                    me.outbox.stale = True

    def refuse(self, s: int) -> None:
        """What the run had read is not so any more: what it wrote is taken back, and it is to run again."""
        me = self.session[s]
        document = me.outbox.document
        n = me.outbox.action
        was = me.outbox.value
        me.outbox.clear(self)
        if me.present:
            for m, node in enumerate(me.node):
                if m == n:
                    node.dirty = True
            if me.sees(document) != was:
                self.touch(s, document, self.actions)

    @action(n="actions")
    def drop(self, n: int) -> None:
        """The server loses a row; no session may depend on having it."""
        self.require(self.may_drop)
        self.require(self.store.row[n].kept)
        self.store.row[n].clear(self)

    # Windows.

    @action(s="sessions")
    def flush(self, s: int) -> None:
        """A window of all that happened since the last one is made for session ``s``: documents and rows, one cut."""
        me = self.session[s]
        self.require(me.present and me.online)
        self.require(not me.window.on_way)
        self.require(me.cursor < self.store.seq)
        me.window.on_way = True
        me.window.since = me.cursor
        me.window.to = self.store.seq
        for d in range(self.documents):
            if me.watched[d] and self.store.head[d].seq > me.cursor:
                me.window.version[d] = self.store.head[d]
        for n in range(self.actions):
            if self.attaches(s, n):
                me.window.row[n] = self.store.row[n]
        me.cursor = self.store.seq

    def attaches(self, s: int, n: int) -> bool:
        """Whether the window that is made for session ``s`` carries the row of action n."""
        row = self.store.row[n]
        if not row.kept:
            return False
        covered = self.session[s].cursor < row.slot <= self.store.seq
        own = row.writer == s and self.rule("ADO-24")
        tracked = all(not row.covers(self, n, d) or self.session[s].watched[d] for d in range(self.documents))
        return self.rows and covered and not own and (tracked or not self.rule("ADO-23"))

    @action(s="sessions")
    def deliver(self, s: int) -> None:
        """The window is applied in one turn: its documents, the dirt that they make, its rows; nothing runs between."""
        me = self.session[s]
        self.require(me.window.on_way and not me.window.applied)
        self.require(me.present and me.online)
        if not self.rule("ADO-25"):
            self.look_up_again(s)
        if not self.rule("ADO-18"):
            self.adopt_all(s)
        for d in range(self.documents):
            version = me.window.version[d]
            if version is not None:
                self.receive(s, d, version)
        self.settle(s)
        if self.rule("ADO-19"):
            self.tell(s)
        if self.rule("ADO-20"):
            if self.rule("ADO-18"):
                self.adopt_all(s)
            if not self.rule("ADO-19"):
                self.tell(s)
            self.finish_window(s)
        else:
            me.window.applied = True

    @action(s="sessions")
    def catch_up(self, s: int) -> None:
        """The rows of a window that has been applied, if they come later than its documents."""
        me = self.session[s]
        self.require(me.window.applied)
        self.adopt_all(s)
        self.finish_window(s)

    def finish_window(self, s: int) -> None:
        me = self.session[s]
        for n, node in enumerate(me.node):
            if me.window.adopts[n] and node.dirty:
                self.note(Difference.RUN)
        me.window.clear(self)

    def look_up_again(self, s: int) -> None:
        """Rows are as they are now, not as of the window's end."""
        window = self.session[s].window
        for n, row in enumerate(self.store.row):
            if row.kept and row.slot > window.since and row.writer != s:
                window.row[n] = row

    def receive(self, s: int, document: int, version: Version) -> None:
        """A version arrives; one that is older than what is here changes nothing."""
        me = self.session[s]
        if version.seq >= me.confirmed[document].seq:
            before = me.sees(document)
            me.confirmed[document] = version
            me.held[document] = True
            me.window.changes[document] = me.sees(document) != before

    def settle(self, s: int) -> None:
        """A commit of the session's own that the window covers is pending no more."""
        me = self.session[s]
        if me.outbox.on_way and 0 < me.outbox.accepted <= me.window.to:
            document = me.outbox.document
            was = me.outbox.value
            me.outbox.clear(self)
            for d in range(self.documents):
                if d == document:
                    me.window.changes[d] = me.sees(d) != was

    def tell(self, s: int) -> None:
        """Whatever reads what the window has changed is dirty."""
        me = self.session[s]
        for d in range(self.documents):
            if me.window.changes[d]:
                self.touch(s, d, self.actions)

    # Adoption.

    def adopt_all(self, s: int) -> None:
        for n in range(self.actions):
            self.adopt(s, n, self.session[s].window.row[n])

    def adopt(self, s: int, n: int, row: Row) -> None:
        if row.kept and self.may_adopt(s, n, row):
            self.compare(s, n, row)
            node = self.session[s].node[n]
            if self.rule("ADO-21"):
                for d in range(self.documents):
                    node.trigger[d] = row.reads[d] or row.shallow[d]
            node.failed = False
            if self.rule("ADO-22"):
                node.dirty = False
            self.session[s].window.adopts[n] = True
            self.adopted(s, n)

    def adopted(self, s: int, n: int) -> None:
        """Session ``s`` has adopted a row for action n."""

    def may_adopt(self, s: int, n: int, row: Row) -> bool:
        """Whether session ``s`` may take the row for a run of its own."""
        return (
            self.is_registered(s, n)
            and (not self.coordinates(n) or not self.rule("ADO-14"))
            and (not self.is_effect(n) or not self.rule("ADO-13"))
            and (not row.failed or not self.rule("ADO-15"))
            and (not row.dirty or not self.rule("ADO-16"))
            and (not row.stale or not self.rule("ADO-17"))
            and all(self.is_current(s, n, row, d) for d in range(self.documents))
        )

    def is_current(self, s: int, n: int, row: Row, document: int) -> bool:
        """Whether what the session has of one document is what the row speaks of, if it speaks of it."""
        me = self.session[s]
        if not row.covers(self, n, document):
            return True
        newer = self.number(s, document) > row.observed and self.rule("ADO-8")
        absent = not me.held[document] and self.rule("ADO-9")
        awaited = me.asked[document] and self.answer_awaited
        pending = me.pends(document) and self.rule("ADO-12")
        return not (newer or absent or awaited or pending)

    def number(self, s: int, document: int) -> int:
        """Of the newest version that session ``s`` has of a document."""
        return self.session[s].confirmed[document].seq

    def compare(self, s: int, n: int, row: Row) -> None:
        """Note what running the action now would make, that adopting the row does not."""
        me = self.session[s]
        found = Difference.NONE
        if any((row.reads[d] or row.shallow[d]) != self.looks(s, n, d) for d in range(self.documents)):
            found = Difference.READS
        if self.is_effect(n):
            if me.node[n].screen != self.wants(s, n):
                found = Difference.EFFECT
        elif me.sees(self.output(n)) != self.wants(s, n):
            found = Difference.VALUE
        elif self.lacks_a_child(s, n):
            found = Difference.CHILD
        self.note(found)

    def note(self, found: Difference) -> None:
        if self.difference is Difference.NONE:
            self.difference = found

    # What a session asks for by itself, and how it comes and goes.

    @action(s="sessions", document="documents")
    def pull(self, s: int, document: int) -> None:
        """Session ``s`` has asked for a document; the answer overtakes windows."""
        me = self.session[s]
        self.require(me.present and me.online and me.watched[document])
        self.require(
            me.asked[document] or (self.may_pull and me.confirmed[document].seq < self.store.head[document].seq)
        )
        before = me.sees(document)
        me.confirmed[document] = self.store.head[document]
        me.held[document] = True
        me.asked[document] = False
        if me.sees(document) != before:
            self.touch(s, document, self.actions)
        if not self.rule("ADO-26"):
            for n, row in enumerate(self.store.row):
                if row.writer != s:
                    self.adopt(s, n, row)

    @action(s="sessions")
    def disconnect(self, s: int) -> None:
        """The connection of session ``s`` dies, and with it the window that is on its way."""
        me = self.session[s]
        self.require(self.may_fail)
        self.require(me.present and me.online)
        me.online = False
        if me.window.on_way:
            if self.rule("ADO-27"):
                me.cursor = me.window.since
            me.window.clear(self)

    @action(s="sessions")
    def resume(self, s: int) -> None:
        """Session ``s`` is back, and is sent what it has not got."""
        me = self.session[s]
        self.require(me.present and not me.online)
        me.online = True

    @action(s="sessions")
    def leave(self, s: int) -> None:
        """Session ``s`` goes for good; what it has sent is on its way."""
        me = self.session[s]
        self.require(self.may_leave)
        self.require(me.present and me.online)
        me.present = False
        me.window.clear(self)
        me.cursor = 0
        if me.outbox.on_way and me.outbox.accepted > 0:
            me.outbox.clear(self)
        for d in range(self.documents):
            me.confirmed[d].renew(0, 0)
            me.watched[d] = True
            me.asked[d] = False
            me.held[d] = True
        for node in me.node:
            node.dirty = False
            node.failed = False
            node.screen = 0
            for d in range(self.documents):
                node.trigger[d] = False
        self.gone(s)

    def gone(self, s: int) -> None:
        """Session ``s`` is not there any more."""
