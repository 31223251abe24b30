"""What a session that opens again finds in the store, and what it makes of it. Records only.

A *row* is the newest observation of one action, as in ``observation``; what is varied here is whose it is, which code
made it and what has happened since. Reads are not varied: they are those of the action (``rehydration_life``), and
``adoption`` varies them.
"""

from __future__ import annotations

from enum import Enum

from .language import (
    Age,
    Left,
    Machine,
    Record,
    age,
    assumption,
    constant,
    counter,
    each,
    flag,
    ghost,
    left,
    one_of,
    upto,
)
from .sync import Version


class StoredSettings(Machine):
    """The constants of a store and of a session that opens.

    ``most`` is how many commits an exploration goes to; a proof leaves it free. ``hold`` is how long an action that is
    not restored waits for the sync at most.
    """

    documents: int = constant(2)
    actions: int = constant(2)
    values: int = constant(2)
    most: int = constant(3)
    hold: int = constant(1)

    @assumption
    def something_changes(self) -> bool:
        """With one value nothing ever does; every action has a document to read."""
        return self.documents >= self.actions >= 1 and self.values >= 2 and self.most >= 0 and self.hold >= 1


class Stored(Record):
    """A row. One that is not kept is all at its start."""

    kept: bool = flag()
    observed: int = counter(lambda c: c.most)  # what was read and written is as of this commit
    other_code: bool = flag()  # its fingerprints are not those of the session that opens
    private: bool = flag()  # it belongs to another user or session
    failed: bool = flag()
    dirty: bool = flag()  # something that it read has been written since
    stale: bool = flag()  # something that it depends on through other actions has
    at: list[int] = ghost(each("documents", counter(lambda c: c.most)))  # the number of each document's version then
    had: list[int] = ghost(each("documents", upto(lambda c: c.values - 1)))  # and its value

    def clear(self, c: StoredSettings) -> None:
        self.kept = False
        self.observed = 0
        self.other_code = False
        self.private = False
        self.failed = False
        self.dirty = False
        self.stale = False
        for d in range(c.documents):
            self.at[d] = 0
            self.had[d] = 0


class Space(Record):
    """The server: the number of the last commit, the heads, the rows."""

    seq: int = counter(lambda c: c.most)
    head: list[Version] = each("documents", Version)
    row: list[Stored] = each("actions", Stored)


class Phase(Enum):
    """How far a session has come."""

    DOWN = 0
    LISTING = 1  # its documents are there, the rows are coming page by page
    LISTED = 2
    OPEN = 3  # actions register


class Status(Enum):
    """What a session makes of one action."""

    ABSENT = 0  # not registered
    CLEAN = 1
    DIRTY = 2


class Opened(Record):
    """An action as the session has registered it."""

    status: Status = one_of(Status)
    waits: Left = left(lambda c: c.hold)  # for the sync, with resume intent, before its first run
    ran: bool = ghost(flag())  # here, since it was registered
    since: Age = ghost(age())  # it was registered without being restored, and has not run
    screen: int = upto(lambda c: c.values)  # of an effect: what it shows; one past the last: nothing yet


class Kind(Enum):
    """What running an action would have made that restoring it did not."""

    NONE = 0
    VALUE = 1
    EFFECT = 2
    CHILD = 3


class Opening(Record):
    """A session that opens a space it had open before."""

    phase: Phase = one_of(Phase)
    synced: bool = flag()  # it has been brought up to date after the listing
    page: int = upto(lambda c: c.actions)  # the next page; each has one row
    epoch: int = counter(lambda c: c.most)  # what the first page said the space was at
    found: list[Stored] = each("actions", Stored)  # candidates: the cache of this boot
    has: list[bool] = each("documents", flag())  # there is a record of the document
    confirmed: list[Version] = each("documents", Version)
    pending: bool = flag()  # a write of its own to document 0 that the server does not have yet
    wrote: int = upto(lambda c: c.values - 1)
    action: list[Opened] = each("actions", Opened)

    def sees(self, document: int) -> int:
        """What its actions read: its own write, if one is pending, or else what was confirmed."""
        value = 0
        for d, version in enumerate(self.confirmed):
            if d == document:
                value = version.value
        return self.wrote if self.pending and document == 0 else value
