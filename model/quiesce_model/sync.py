"""What a server and its sessions know of documents: numbered commits, replicas with pending layers, windows.

One server numbers the commits of a space. A session holds, of each document, the newest version that it was sent, and
over it the layers of its own commits that no window has covered yet. What a session sees of a document is the newest
of its layers, or else that version. Records only; ``sync_life`` says what happens, ``many_replicas`` what has to hold.
"""

from __future__ import annotations

from enum import Enum

from .language import Machine, Record, assumption, constant, counter, each, flag, ghost, one_of, optional, part, upto


class SyncSettings(Machine):
    """The constants of a server and its sessions, which every machine that has them inherits.

    ``most`` is how many commits an exploration goes to (a proof leaves it free), ``layers`` how many commits of one
    session may be without a covering window, ``windows`` how many windows may be on their way to it.
    ``basis_of_the_layer`` is a repair: what is read through a layer of one's own rests on what that lies over.
    """

    sessions: int = constant(2)
    documents: int = constant(1)
    values: int = constant(2)
    most: int = constant(3)
    layers: int = constant(1)
    windows: int = constant(1)
    basis_of_the_layer: bool = constant(False)

    @assumption
    def something_can_be_sent(self) -> bool:
        """With no window on its way nothing ever reaches a session."""
        return self.windows >= 1 and self.layers >= 1 and self.values >= 2

    @assumption
    def some_commit_is_possible(self) -> bool:
        return self.most >= 0


class Version(Record):
    """A document as one commit left it."""

    seq: int = counter(lambda c: c.most)  # the commit's number; 0: nothing has been written
    value: int = upto(lambda c: c.values - 1)

    def renew(self, seq: int, value: int) -> None:
        self.seq = seq
        self.value = value


class Head(Record):
    """The newest version of a document on the server, and whose commit made it."""

    version: Version = part(Version)
    writer: int = upto(lambda c: c.sessions)  # a session's index; one past the last for nobody's that is still known


class Fate(Enum):
    """What the server has decided of a commit."""

    SENT = 0
    ACCEPTED = 1
    REFUSED = 2


class Layer(Record):
    """A commit of a session that no window has covered: what it wrote, over what it had read."""

    document: int = upto(lambda c: c.documents - 1)
    value: int = upto(lambda c: c.values - 1)
    read: int = upto(lambda c: c.documents - 1)  # the document that its transaction read
    basis: int = counter(lambda c: c.most)  # the number of the version of that one, under all layers
    under: int = counter(lambda c: c.most)  # the number of the version of the written document, under all layers
    doomed: bool = flag()  # a layer through which it read has been refused
    fate: Fate = one_of(Fate)
    seq: int = counter(lambda c: c.most)  # of an accepted commit: its number
    learnt: bool = flag()  # the verdict has reached the session
    covered: int = upto(lambda c: c.windows)  # by the how manieth window on its way; 0: by none yet
    saw: int = ghost(upto(lambda c: c.values - 1))  # what its transaction read
    needs: int = ghost(counter(lambda c: c.most))  # of a refused commit: the version that it had not read
    applied: int = ghost(upto(2))  # how often the server has applied it; 2 stands for more


class Replica(Record):
    """What one session holds."""

    confirmed: list[Version] = each("documents", Version)
    layer: list[Layer | None] = each("layers", optional(Layer))  # the oldest first, without a gap
    seen: int = counter(lambda c: c.most)  # the end of the last window applied here
    shown: list[int] = each("documents", upto(lambda c: c.values - 1))  # what readers were last told of
    mine: list[int] = ghost(each("documents", counter(lambda c: c.most)))  # the newest of its own accepted commits

    def pending(self) -> int:
        """How many layers there are."""
        return sum(1 for layer in self.layer if layer is not None)

    def visible(self, c: SyncSettings, document: int) -> int:
        """What the session sees of a document: its own newest layer, or else what was confirmed."""
        value = self.confirmed[document].value
        for place in range(c.layers):
            layer = self.layer[place]
            if layer is not None and layer.document == document and c.rule("SYN-5"):
                value = layer.value
        return value

    def push(self, c: SyncSettings, document: int, value: int, read: int) -> None:
        """A transaction has read one document and written one, and its commit is on its way."""
        saw = self.visible(c, read)
        basis = self.confirmed[read].seq
        if c.basis_of_the_layer:
            for layer in self.layer:
                if layer is not None and layer.document == read:
                    basis = min(basis, layer.under)
        under = self.confirmed[document].seq
        doomed = any(
            layer is not None and layer.document == read and layer.fate is Fate.REFUSED for layer in self.layer
        )
        end = self.pending()
        for place in range(c.layers):
            if place == end:
                self.layer[place] = Layer(
                    document=document,
                    value=value,
                    read=read,
                    basis=basis,
                    under=under,
                    doomed=doomed,
                    fate=Fate.SENT,
                    seq=0,
                    learnt=False,
                    covered=0,
                    saw=saw,
                    needs=0,
                    applied=0,
                )

    def receive(self, c: SyncSettings, document: int, seq: int, value: int) -> None:
        """A version arrives; one that is older than what is here changes nothing."""
        here = self.confirmed[document]
        if seq >= here.seq or not c.rule("SYN-8"):
            here.renew(seq, value)

    def settle(self, c: SyncSettings) -> None:
        """The window that covers them has been applied: accepted layers become versions, refused ones go."""
        for place in range(c.layers):
            layer = self.layer[place]
            if layer is not None and layer.covered == 1 and layer.fate is Fate.ACCEPTED and c.rule("SYN-9"):
                self.receive(c, layer.document, layer.seq, layer.value)
        for _ in range(c.layers):
            first = self.layer[0]
            if first is not None and first.covered == 1:
                self.shift(c)
        for place in range(c.layers):
            layer = self.layer[place]
            if layer is not None and layer.covered > 0:
                layer.covered -= 1

    def shift(self, c: SyncSettings) -> None:
        """The oldest layer goes; the others move up."""
        for place in range(c.layers - 1):
            self.layer[place] = self.layer[place + 1]
        self.layer[c.layers - 1] = None

    def tell(self, c: SyncSettings) -> None:
        """Whoever reads a document is told if it is another one now."""
        for document in range(c.documents):
            if c.rule("SYN-10"):
                self.shown[document] = self.visible(c, document)


class Window(Record):
    """What happened after ``since`` and up to ``to``, cut to one session: the newest version of what changed.

    One that is not on its way is all at its start.
    """

    on_way: bool = flag()
    since: int = counter(lambda c: c.most)
    to: int = counter(lambda c: c.most)
    version: list[Version | None] = each("documents", optional(Version))

    def clear(self, c: SyncSettings) -> None:
        self.on_way = False
        self.since = 0
        self.to = 0
        for document in range(c.documents):
            self.version[document] = None


class Seat(Record):
    """What the server knows of one session, and what is on its way there."""

    tracked: list[bool] = each("documents", flag(True))  # the session watches it
    held: list[int] = each("documents", counter(lambda c: c.most))  # the number of the version sent last
    foreign: list[int] = each("documents", counter(lambda c: c.most))  # the last commit of another session
    sent: int = counter(lambda c: c.most)  # the end of the last window
    connected: bool = flag(True)
    way: list[Window] = each("windows", Window)  # those on their way, the first in front
    pulled: list[Version | None] = each("documents", optional(Version))  # answers that overtake windows

    def under_way(self) -> int:
        return sum(1 for window in self.way if window.on_way)

    def shift(self, c: SyncSettings) -> None:
        """The first window has arrived."""
        for place in range(c.windows - 1):
            self.way[place] = self.way[place + 1]
        self.way[c.windows - 1].clear(c)

    def cut_off(self, c: SyncSettings) -> None:
        """The connection is gone, and with it all that was on its way."""
        self.connected = False
        for window in self.way:
            window.clear(c)
        for document in range(c.documents):
            self.pulled[document] = None


class Server(Record):
    """The space: the number of the last commit, and the heads."""

    seq: int = counter(lambda c: c.most)
    head: list[Head] = each("documents", Head)
