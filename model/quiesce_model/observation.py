"""What a server keeps of runs: a row for each action, and the documents that rows speak of.

A session that has run an action tells the server what the run read and wrote, with the commit that the run made or, if
it changed nothing, by itself. The server keeps the newest such observation of each action as a *row*: true as of the
commit ``observed``, and sent with the window that covers the commit ``slot``. Records only: ``adoption_life`` says what
sessions do with rows while they are open, and a session that opens again asks for all of them.
"""

from __future__ import annotations

from .language import Machine, Record, assumption, constant, counter, each, flag, upto
from .sync import Version


class ObservationSettings(Machine):
    """The constants of a server that keeps observations.

    ``most`` is how many commits an exploration goes to; a proof leaves it free. A machine of these records says what
    its actions are: what each reads (``looks``) and where it writes (``output``; ``documents`` for nowhere).
    """

    sessions: int = constant(2)
    documents: int = constant(2)
    actions: int = constant(2)
    values: int = constant(2)
    most: int = constant(4)

    @assumption
    def there_is_something_to_say(self) -> bool:
        """With one value nothing ever changes."""
        return self.values >= 2 and self.most >= 0

    def output(self, n: int) -> int:
        """The document that action n writes; one past the last for an effect, which writes none."""
        return 1 if n == 0 else self.documents


class Row(Record):
    """The newest observation of one action. What no machine here varies is left out, and said where it is varied:
    the identity and the fingerprints in ``adopt_identity``, the owner in ``adopt_privacy``.

    The action's registered surface (its known writes) is its ``output``. A row that is not there is all at its start.
    """

    kept: bool = flag()
    reads: list[bool] = each("documents", flag())
    shallow: list[bool] = each("documents", flag())  # read as a list of keys, not for what is under them
    observed: int = counter(lambda c: c.most)  # what was read and written is as of this commit
    slot: int = counter(lambda c: c.most + 1)  # the delivery sequence: sent in the window that covers this commit
    failed: bool = flag()
    dirty: bool = flag()  # durable: something that it read has been written since
    stale: bool = flag()  # durable: something that it depends on through other actions has
    writer: int = upto(lambda c: c.sessions - 1)  # whose run it was: for echo suppression, not for ownership

    def covers(self, c: ObservationSettings, n: int, document: int) -> bool:
        """Whether a document is in the surface of the row, which is action n's: what it read, and what it writes."""
        read = self.reads[document] or (self.shallow[document] and c.rule("ADO-11"))
        return read or (c.output(n) == document and c.rule("ADO-10"))

    def clear(self, c: ObservationSettings) -> None:
        self.kept = False
        self.observed = 0
        self.slot = 0
        self.failed = False
        self.dirty = False
        self.stale = False
        self.writer = 0
        for d in range(c.documents):
            self.reads[d] = False
            self.shallow[d] = False

    def same_as(self, c: ObservationSettings, commit: Commit) -> bool:
        """Whether the commit says the same of its action as the row does."""
        return self.failed == commit.failed and all(
            self.reads[d] == commit.reads[d] and self.shallow[d] == commit.shallow[d] for d in range(c.documents)
        )


class Commit(Record):
    """A commit on its way: a user's write, or what a run wrote and observed. Without a document it only observes.

    One that is not on its way is all at its start.
    """

    on_way: bool = flag()
    document: int = upto(lambda c: c.documents)  # one past the last: none, it only observes
    value: int = upto(lambda c: c.values - 1)
    action: int = upto(lambda c: c.actions)  # one past the last: none, a user has written
    reads: list[bool] = each("documents", flag())
    shallow: list[bool] = each("documents", flag())
    failed: bool = flag()  # the run did
    stale: bool = flag()  # something that the run read has a newer number on the server
    accepted: int = counter(lambda c: c.most)  # its number, once the server has taken it; 0 before

    def clear(self, c: ObservationSettings) -> None:
        self.on_way = False
        self.document = 0
        self.value = 0
        self.action = 0
        self.failed = False
        self.stale = False
        self.accepted = 0
        for d in range(c.documents):
            self.reads[d] = False
            self.shallow[d] = False


class Store(Record):
    """The space: the number of the last commit, the heads, and the row of each action."""

    seq: int = counter(lambda c: c.most)
    head: list[Version] = each("documents", Version)
    row: list[Row] = each("actions", Row)

    def write(self, c: ObservationSettings, document: int, value: int) -> None:
        """A commit that writes takes the next number; whatever had read the document is dirty from here on."""
        self.seq += 1
        for d in range(c.documents):
            if d == document:
                self.head[d].renew(self.seq, value)
                for n in range(c.actions):
                    row = self.row[n]
                    if row.kept and (row.reads[d] or row.shallow[d]) and c.rule("ADO-37"):
                        row.dirty = True
        self.mark_downstream(c)

    def mark_downstream(self, c: ObservationSettings) -> None:
        """Whatever reads what a dirty or stale action writes is stale. (Actions are numbered along the data.)"""
        for n in range(c.actions):
            for m in range(c.actions):
                for d in range(c.documents):
                    if n < m and d == c.output(n):
                        later = self.row[m]
                        old = self.row[n].dirty or self.row[n].stale
                        if old and later.kept and (later.reads[d] or later.shallow[d]) and c.rule("ADO-38"):
                            later.stale = True

    def observe(self, c: ObservationSettings, commit: Commit, writer: int) -> None:
        """The row of the commit's action is what the commit says, as of the number that the space is at."""
        wrote = commit.document < c.documents
        for n in range(c.actions):
            if commit.action == n:
                self.keep(c, n, commit, wrote, writer)

    def keep(self, c: ObservationSettings, n: int, commit: Commit, wrote: bool, writer: int) -> None:
        row = self.row[n]
        slot = self.seq if wrote or not c.rule("ADO-33") else self.seq + 1
        if row.kept and row.same_as(c, commit):
            again = not wrote and row.observed == self.seq and c.rule("ADO-34")
            if again or (wrote and not c.rule("ADO-32")):
                slot = row.slot
        row.clear(c)
        row.kept = True
        row.observed = self.seq
        row.slot = slot
        row.writer = writer
        row.failed = commit.failed
        for d in range(c.documents):
            row.reads[d] = commit.reads[d]
            row.shallow[d] = commit.shallow[d]
