"""What a session that adopts has, and what the server sends it. Records only; ``adoption_life`` says what happens."""

from __future__ import annotations

from enum import Enum

from .language import Record, counter, each, flag, optional, part, upto
from .observation import Commit, ObservationSettings, Row
from .sync import Version


class Difference(Enum):
    """What running an action would have made that adopting a row for it did not."""

    NONE = 0
    READS = 1
    VALUE = 2
    EFFECT = 3
    CHILD = 4
    RUN = 5  # it runs all the same


class Window(Record):
    """What happened after ``since`` and up to ``to``: the watched documents and the rows, as they are at ``to``.

    One that is not on its way is all at its start.
    """

    on_way: bool = flag()
    applied: bool = flag()  # its documents have been, and its rows are still to be (without ADO-20)
    since: int = counter(lambda c: c.most)
    to: int = counter(lambda c: c.most)
    version: list[Version | None] = each("documents", optional(Version))
    row: list[Row] = each("actions", Row)
    changes: list[bool] = each("documents", flag())  # while it is applied: it changes what the session sees
    adopts: list[bool] = each("actions", flag())  # while it is applied: its row was adopted

    def clear(self, c: ObservationSettings) -> None:
        self.on_way = False
        self.applied = False
        self.since = 0
        self.to = 0
        for d in range(c.documents):
            self.version[d] = None
            self.changes[d] = False
        for n in range(c.actions):
            self.row[n].clear(c)
            self.adopts[n] = False


class Node(Record):
    """An action as one session has it registered."""

    dirty: bool = flag()
    failed: bool = flag()  # its last run did
    trigger: list[bool] = each("documents", flag())  # what it read when it last ran, or was taken for having run
    screen: int = upto(lambda c: c.values - 1)  # of an effect: what it last made of what it read


class Session(Record):
    """One session: its replica, its commit on the way, its actions; and what the server knows of it."""

    present: bool = flag(True)
    online: bool = flag(True)
    cursor: int = counter(lambda c: c.most)  # the end of the last window made for it
    window: Window = part(Window)  # on its way
    watched: list[bool] = each("documents", flag(True))
    asked: list[bool] = each("documents", flag())  # it has just come to watch it, and is to be sent what it is
    held: list[bool] = each("documents", flag(True))  # the replica has a confirmed record
    confirmed: list[Version] = each("documents", Version)
    outbox: Commit = part(Commit)
    node: list[Node] = each("actions", Node)

    def sees(self, document: int) -> int:
        """What its actions read: its own write, if one is pending, or else what was confirmed."""
        value = 0
        for d, version in enumerate(self.confirmed):
            if d == document:
                value = version.value
        if self.outbox.on_way and self.outbox.document == document:
            value = self.outbox.value
        return value

    def pends(self, document: int) -> bool:
        return self.outbox.on_way and self.outbox.document == document
