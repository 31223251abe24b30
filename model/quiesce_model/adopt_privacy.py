"""Documents that are another one for each user or session, and rows that belong to whom they speak of.

A document of scope *user* has one identifier and an instance for each user; a document of scope *session* one for each
session. So two sessions may run the same action, identity and all, on different data. Contexts number the instances and
the owners of rows alike: 0 is the space, then come the users, then the sessions.

Windows arrive at once here; that they do not is in ``adoption``.
"""

from __future__ import annotations

from .language import (
    Machine,
    Record,
    action,
    assumption,
    constant,
    each,
    flag,
    ghost,
    initial,
    invariant,
    reachable,
    upto,
)


class Owned(Record):
    """A row and its owner, which is its place. ``unseen`` says for each session that its slot is still to come."""

    kept: bool = flag()
    dirty: bool = flag()
    writer: int = upto(lambda c: c.sessions - 1)
    about: int = upto(lambda c: c.users + c.sessions)  # the context of the instances that the run read
    unseen: list[bool] = each("sessions", flag())


class Reader(Record):
    """A session: what it has of the shared document, of its own one, and of what comes of them."""

    shared: bool = flag()
    own: bool = flag()
    out: bool = flag()
    dirty: bool = flag()
    behind: bool = flag()


class AdoptPrivacy(Machine):
    """An action that compares a shared document with one of scope ``kind`` (0 space, 1 user, 2 session).

    What it comes to is of the same scope. Session s is of user ``s % users``. With ``hidden`` what it reads of its own
    is not in its log, and what it comes to is shared: nobody but its author could say on what it depends. With
    ``certified`` the author has declared its whole surface, and truly.
    """

    users: int = constant(2)
    sessions: int = constant(3)
    kind: int = constant(1)
    hidden: bool = constant(False)
    certified: bool = constant(True)

    shared: bool = flag()
    own: list[bool] = each(lambda c: 1 + c.users + c.sessions, flag())
    out: list[bool] = each(lambda c: 1 + c.users + c.sessions, flag())
    row: list[Owned] = each(lambda c: 1 + c.users + c.sessions, Owned)
    reader: list[Reader] = each("sessions", Reader)
    leaked: bool = ghost(flag())  # some row has reached a session whose business it is not
    mistaken: bool = ghost(flag())  # some row was taken for a run that would have come to something else
    adopted: bool = ghost(flag())  # some row has been

    @assumption
    def there_is_somebody(self) -> bool:
        return self.users >= 1 and self.sessions >= 1 and 0 <= self.kind <= 2

    @initial
    def all_is_current(self) -> None:
        """Every session has run the action."""
        for s, reader in enumerate(self.reader):
            reader.out = self.wants(s)

    # Whose is what.

    def context(self, s: int, kind: int) -> int:
        """The instance, or the owner, of a scope for session ``s``."""
        if kind == 0:
            return 0
        return 1 + s % self.users if kind == 1 else 1 + self.users + s

    def place(self, s: int) -> int:
        """The instance that the action writes in session ``s``."""
        return 0 if self.hidden else self.context(s, self.kind)

    def wants(self, s: int) -> bool:
        return self.reader[s].shared != self.reader[s].own

    def owner(self, s: int) -> int:
        """Whose the row of a run in session ``s`` is: the server says so, and no client can."""
        if self.certified:
            return self.context(s, self.kind) if self.rule("ADO-30") else 0
        if self.rule("ADO-31"):
            return self.context(s, 2)
        return self.place(s)

    def may_have(self, s: int, context: int) -> bool:
        """Whether a row with this owner is sent to session ``s``."""
        if context == 0:
            return True
        if context <= self.users:
            return context == self.context(s, 1) or not self.rule("ADO-28")
        return context == self.context(s, 2) or not self.rule("ADO-29")

    # What happens.

    @action(s="sessions")
    def write_shared(self, s: int) -> None:
        """A user changes the shared document."""
        me = self.reader[s]
        self.require(not me.behind)
        self.shared = not self.shared
        me.shared = self.shared
        me.dirty = True
        for row in self.row:
            row.dirty = row.kept
        for other, them in enumerate(self.reader):
            them.behind = them.behind or other != s

    @action(s="sessions")
    def write_own(self, s: int) -> None:
        """A user changes the document of session ``s``'s own instance. A hidden read makes no row dirty."""
        me = self.reader[s]
        here = self.context(s, self.kind)
        self.require(not me.behind)
        self.own[here] = not self.own[here]
        me.own = self.own[here]
        me.dirty = True
        for row in self.row:
            row.dirty = row.dirty or (row.kept and row.about == here and not self.hidden)
        for other, them in enumerate(self.reader):
            them.behind = them.behind or (other != s and self.context(other, self.kind) == here)

    @action(s="sessions")
    def run(self, s: int) -> None:
        """The action runs in session ``s``; what it wrote and what it observed are with the server at once."""
        me = self.reader[s]
        self.require(me.dirty and not me.behind)
        me.dirty = False
        for other, them in enumerate(self.reader):
            same = self.place(other) == self.place(s) and self.out[self.place(s)] != self.wants(s)
            them.behind = them.behind or (other != s and same)
        self.out[self.place(s)] = self.wants(s)
        me.out = self.wants(s)
        row = self.row[self.owner(s)]
        row.kept = True
        row.dirty = False
        row.writer = s
        row.about = self.context(s, self.kind)
        for other in range(self.sessions):
            row.unseen[other] = True

    @action(s="sessions")
    def sync(self, s: int) -> None:
        """A window reaches session ``s``: documents, the dirt that they make, rows."""
        me = self.reader[s]
        here = self.context(s, self.kind)
        self.require(me.behind or any(row.kept and row.unseen[s] for row in self.row))
        me.behind = False
        changed = me.shared != self.shared or me.own != self.own[here]
        me.dirty = me.dirty or changed or me.out != self.out[self.place(s)]
        me.shared = self.shared
        me.own = self.own[here]
        me.out = self.out[self.place(s)]
        for context, row in enumerate(self.row):
            if row.kept and row.unseen[s] and self.may_have(s, context):
                self.receive(s, row)
            row.unseen[s] = False

    def receive(self, s: int, row: Owned) -> None:
        """A row reaches session ``s``, and is adopted unless it is dirty or the session's own."""
        me = self.reader[s]
        for_me = any(row.about == self.context(s, kind) for kind in range(3))
        if not for_me:
            self.leaked = True
        if not row.dirty and row.writer != s:
            if me.out != self.wants(s):
                self.mistaken = True
            if me.dirty:
                self.adopted = True
            me.dirty = False

    # What has to hold.

    @invariant("ADO-28", "ADO-29", "ADO-30", "ADO-31")
    def rows_reach_whom_they_speak_of(self) -> bool:
        """No row about the data of a user or a session reaches another one."""
        return not self.leaked

    @invariant()
    def adopting_is_running(self) -> bool:
        """What is adopted is what a run of one's own would have come to."""
        return not self.mistaken

    @invariant()
    def at_rest_all_is_current(self) -> bool:
        """Where nothing is to be done, the action is what its inputs call for."""
        return all(
            reader.behind or reader.dirty or any(row.unseen[s] for row in self.row) or reader.out == self.wants(s)
            for s, reader in enumerate(self.reader)
        )

    @reachable()
    def somebody_adopts(self) -> bool:
        return self.adopted
