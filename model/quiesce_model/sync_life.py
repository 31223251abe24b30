"""Sessions over one server: commits with optimistic reads, conflicts, windows, verdicts, connections that die.

Verdicts and windows come on two ways; so do the answers to what a session asks for by itself. Each is in order, and
nothing is lost while a connection lasts. A connection may die at any moment, and with it all that is on its way.
"""

# A type checker does not see that self.require(layer is not None) shows that there is one.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .language import action, constant, each, part
from .sync import Fate, Replica, Seat, Server, SyncSettings, Version


class SyncLife(SyncSettings):
    """What happens. ``replay_kept`` is a repair: what was decided of a commit outlives the session that sent it."""

    may_fail: bool = constant(False)
    may_expire: bool = constant(False)
    may_watch: bool = constant(False)
    may_pull: bool = constant(False)
    replay_kept: bool = constant(False)

    server: Server = part(Server)
    seat: list[Seat] = each("sessions", Seat)
    replica: list[Replica] = each("sessions", Replica)

    # What a session does.

    @action(s="sessions", document="documents", read="documents", value="values")
    def write(self, s: int, document: int, read: int, value: int) -> None:
        """A transaction of session ``s`` reads a document and changes one; the session sees that at once."""
        me = self.replica[s]
        self.require(me.pending() < self.layers)
        self.require(me.visible(self, document) != value)
        me.push(self, document, value, read)
        me.tell(self)

    # What the server decides.

    def is_next(self, s: int, place: int) -> bool:
        """All commits that the session sent before have been decided."""
        me = self.replica[s]
        return all(me.layer[p] is None or me.layer[p].fate is not Fate.SENT for p in range(self.layers) if p < place)

    def is_stale(self, s: int, place: int) -> bool:
        """What the commit read has been changed by another session since."""
        layer = self.replica[s].layer[place]
        return layer is not None and self.seat[s].foreign[layer.read] > layer.basis

    @action(s="sessions", place="layers")
    def accept(self, s: int, place: int) -> None:
        """The commit takes the next number, and what it wrote is the head."""
        layer = self.replica[s].layer[place]
        self.require(self.seat[s].connected)
        self.require(layer is not None)
        self.require(layer.fate is Fate.SENT)
        self.require(self.server.seq < self.most)
        self.require(self.is_next(s, place), "SYN-2")
        self.require(not self.is_stale(s, place), "SYN-3")
        self.require(not layer.doomed, "SYN-4")
        if self.rule("SYN-1"):
            self.server.seq += 1
        layer.fate = Fate.ACCEPTED
        layer.seq = self.server.seq
        layer.applied = min(layer.applied + 1, 2)
        for document in range(self.documents):
            if layer.document == document:
                self.server.head[document].version.renew(self.server.seq, layer.value)
                self.server.head[document].writer = s
                self.replica[s].mine[document] = self.server.seq
                for other in range(self.sessions):
                    if other != s:
                        self.seat[other].foreign[document] = self.server.seq

    @action(s="sessions", place="layers")
    def refuse(self, s: int, place: int) -> None:
        """The commit rests on what is not so any more; so does all that was read through it."""
        me = self.replica[s]
        layer = me.layer[place]
        self.require(self.seat[s].connected)
        self.require(layer is not None)
        self.require(layer.fate is Fate.SENT)
        self.require(self.is_next(s, place), "SYN-2")
        self.require(self.is_stale(s, place) or layer.doomed)
        layer.fate = Fate.REFUSED
        layer.needs = self.seat[s].foreign[layer.read]
        for later in range(self.layers):
            other = me.layer[later]
            if other is not None and later > place and other.read == layer.document:
                other.doomed = True

    # What is sent.

    def is_to_be_covered(self, s: int) -> bool:
        """A commit has been decided that no window covers."""
        me = self.replica[s]
        return any(layer is not None and layer.fate is not Fate.SENT and layer.covered == 0 for layer in me.layer)

    def is_owed(self, s: int) -> bool:
        """The session watches a document that it was not sent as it is now."""
        seat = self.seat[s]
        return any(
            seat.tracked[document] and seat.held[document] != self.server.head[document].version.seq
            for document in range(self.documents)
        )

    def is_repair(self, s: int, document: int) -> bool:
        """A commit was refused, and not yet covered, that had not read the document as it is."""
        return any(
            layer is not None and layer.fate is Fate.REFUSED and layer.covered == 0 and layer.read == document
            for layer in self.replica[s].layer
        )

    @action(s="sessions")
    def flush(self, s: int) -> None:
        """A window of all that has happened since the last one goes to session ``s``, cut to what it watches.

        Its own commits are not among it: it has them as layers.
        """
        seat = self.seat[s]
        me = self.replica[s]
        self.require(seat.connected)
        self.require(seat.under_way() < self.windows)
        self.require(seat.sent < self.server.seq or self.is_to_be_covered(s) or self.is_owed(s))
        end = seat.under_way()
        for place in range(self.windows):
            if place == end:
                self.fill(s, place)
        seat.sent = self.server.seq
        for p in range(self.layers):
            layer = me.layer[p]
            if layer is not None and layer.fate is not Fate.SENT and layer.covered == 0 and self.rule("SYN-12"):
                layer.covered = end + 1

    def fill(self, s: int, place: int) -> None:
        """Make the window at ``place``: each watched document that the session does not hold as it is now."""
        seat = self.seat[s]
        window = seat.way[place]
        window.on_way = True
        window.since = seat.sent
        window.to = self.server.seq
        for document in range(self.documents):
            head = self.server.head[document]
            repair = self.is_repair(s, document) and self.rule("SYN-16")
            news = seat.tracked[document] and seat.held[document] != head.version.seq
            if repair or (news and (head.writer != s or not self.rule("SYN-7"))):
                window.version[document] = Version(seq=head.version.seq, value=head.version.value)
            if news:
                seat.held[document] = head.version.seq

    # What arrives.

    @action(s="sessions", place="layers")
    def learn(self, s: int, place: int) -> None:
        """A verdict reaches session ``s``, in the order of its commits. Nothing that it sees changes by that."""
        me = self.replica[s]
        layer = me.layer[place]
        self.require(self.seat[s].connected)
        self.require(layer is not None)
        self.require(layer.fate is not Fate.SENT and not layer.learnt)
        self.require(all(me.layer[p] is None or me.layer[p].learnt for p in range(self.layers) if p < place))
        layer.learnt = True
        if not self.rule("SYN-6"):
            if layer.fate is Fate.ACCEPTED:
                me.receive(self, layer.document, layer.seq, layer.value)
            me.shift(self)
            me.tell(self)

    @action(s="sessions")
    def deliver(self, s: int) -> None:
        """The first window is applied as one: versions, then the layers that it covers; then readers are told."""
        seat = self.seat[s]
        me = self.replica[s]
        window = seat.way[0]
        self.require(window.on_way)
        self.require(all(layer is None or layer.covered != 1 or layer.learnt for layer in me.layer), "SYN-11")
        for document in range(self.documents):
            version = window.version[document]
            if version is not None:
                me.receive(self, document, version.seq, version.value)
        me.settle(self)
        me.seen = window.to
        me.tell(self)
        seat.shift(self)

    # What a session asks for by itself.

    @action(s="sessions", document="documents")
    def pull(self, s: int, document: int) -> None:
        """Session ``s`` asks for a document; the answer overtakes windows."""
        self.require(self.may_pull)
        self.require(self.seat[s].connected)
        self.require(self.seat[s].pulled[document] is None)
        self.answer(s, document)

    def answer(self, s: int, document: int) -> None:
        head = self.server.head[document].version
        self.seat[s].pulled[document] = Version(seq=head.seq, value=head.value)

    @action(s="sessions", document="documents")
    def arrive(self, s: int, document: int) -> None:
        """The answer is here."""
        version = self.seat[s].pulled[document]
        self.require(version is not None)
        self.replica[s].receive(self, document, version.seq, version.value)
        self.seat[s].pulled[document] = None
        self.replica[s].tell(self)

    @action(s="sessions", document="documents")
    def watch(self, s: int, document: int) -> None:
        """Session ``s`` watches another document; it is sent what that is now, and from now on what it becomes."""
        seat = self.seat[s]
        self.require(seat.connected)
        self.require(not seat.tracked[document])
        self.require(seat.pulled[document] is None)
        seat.tracked[document] = True
        seat.held[document] = self.server.head[document].version.seq
        if self.rule("SYN-13"):
            self.answer(s, document)

    @action(s="sessions", document="documents")
    def unwatch(self, s: int, document: int) -> None:
        """It watches it no more; what it has of it stays, and grows old."""
        self.require(self.may_watch)
        self.require(self.seat[s].connected)
        self.require(self.seat[s].tracked[document])
        self.seat[s].tracked[document] = False
        self.seat[s].held[document] = 0

    # Connections.

    @action(s="sessions")
    def fail(self, s: int) -> None:
        """The connection of session ``s`` dies, with all that is on its way; it goes on by itself."""
        self.require(self.may_fail)
        self.require(self.seat[s].connected)
        self.seat[s].cut_off(self)
        for layer in self.replica[s].layer:
            if layer is not None:
                layer.covered = 0

    @action(s="sessions")
    def resume(self, s: int) -> None:
        """It is back. It is sent what it does not have, and sends again the commits whose verdicts it does not know."""
        seat = self.seat[s]
        me = self.replica[s]
        self.require(not seat.connected)
        seat.connected = True
        if self.rule("SYN-14"):
            seat.sent = me.seen
            for document in range(self.documents):
                if seat.tracked[document]:
                    seat.held[document] = me.confirmed[document].seq
        if not self.rule("SYN-15"):
            self.forget_verdicts(s)

    def forget_verdicts(self, s: int) -> None:
        """What was decided, and has not been learnt, is decided again."""
        for layer in self.replica[s].layer:
            if layer is not None and not layer.learnt:
                layer.fate = Fate.SENT
                layer.seq = 0
                layer.needs = 0

    @action(s="sessions")
    def expire(self, s: int) -> None:
        """The server forgets a session that has been away for too long; what that has written is anyone's."""
        self.require(self.may_expire)
        self.require(not self.seat[s].connected)
        for document in range(self.documents):
            head = self.server.head[document]
            if not self.replay_kept:
                self.seat[s].foreign[document] = head.version.seq
                if head.writer == s:
                    head.writer = self.sessions
        if not self.replay_kept:
            self.forget_verdicts(s)
