"""A session that opens a space again: the listing, the last sync, registration, and runs; while others go on writing.

Action n derives document n + 1 from document n, or is an effect that shows document n, if that is the last. Others are
one live session, run by whoever wrote the rows: it runs actions on what the server has, and may leave. What actions
compute is real, so a row that should not have been believed is a wrong value on the screen.
"""

from __future__ import annotations

from .language import action, assumption, constant, flag, ghost, initial, one_of, part, upto
from .stored import Kind, Opening, Phase, Space, Status, Stored, StoredSettings


class RehydrationLife(StoredSettings):
    """One space, the session that opens it, and a live session elsewhere.

    With ``foreign`` users write the derived document too, and other code derives otherwise; both before action 0 is
    registered, for afterwards it is no more than an action that is not alone. With ``base_read`` a write reads what it
    replaces. With ``others`` rows may belong to another user or session, with ``may_throw`` runs elsewhere may fail,
    with ``may_drop`` the server may lose any row, with ``may_fail`` the listing may. The session may be disposed of and
    opened again ``restarts`` times. Without ``restores`` nothing is ever restored. ``pinned_listing`` is a repair: all
    pages of a listing are read as of the first.
    """

    foreign: bool = constant(False)
    base_read: bool = constant(True)
    others: bool = constant(False)
    may_throw: bool = constant(False)
    may_drop: bool = constant(False)
    may_fail: bool = constant(False)
    may_write: bool = constant(True)
    restarts: int = constant(0)
    pinned_listing: bool = constant(False)
    restores: bool = constant(True)

    @assumption
    def not_disposed_of_less_than_never(self) -> bool:
        return self.restarts >= 0

    space: Space = part(Space)
    live: bool = flag(True)
    here: Opening = part(Opening)
    restarted: int = upto(lambda c: c.restarts)
    torn: bool = ghost(flag())  # a listing was thrown away, since the space had moved between two pages
    difference: Kind = ghost(one_of(Kind))

    @initial
    def all_is_derived(self) -> None:
        """What is derived has always been what it should be; nobody has seen anything."""
        for n in range(self.actions):
            if not self.is_effect(n) and not self.coordinates(n):
                self.space.head[n + 1].value = self.comes_to(n, self.space.head[n].value)
        for mine in self.here.action:
            mine.screen = self.values

    # What the actions are.

    def reads(self, n: int, document: int) -> bool:
        """Whether action n reads the document. A write reads what it replaces."""
        return document == n or (self.writes(n, document) and self.base_read)

    def writes(self, n: int, document: int) -> bool:
        return document == n + 1 and not self.coordinates(n)

    def is_effect(self, n: int) -> bool:
        return n + 1 == self.documents

    def coordinates(self, n: int) -> bool:
        """Whether running action n starts and stops others, as ``rehydration_tree`` has it."""
        return False

    def stands_alone(self, n: int) -> bool:
        """Whether action n is registered when the session opens, and not by another one."""
        return True

    def comes_to(self, n: int, value: int) -> int:
        """What action n makes of its input: a derivation negates, an effect shows."""
        return value if self.is_effect(n) else 1 - min(value, 1)

    # Elsewhere.

    @action(value="values")
    def write(self, value: int) -> None:
        """A user elsewhere writes document 0."""
        self.require(self.space.head[0].value != value)
        self.commit(0, value)

    @action(value="values")
    def overwrite(self, value: int) -> None:
        """A user writes what action 0 derives."""
        self.require(self.foreign and self.here.action[0].status is Status.ABSENT)
        self.require(self.space.head[1].value != value)
        self.commit(1, value)

    @action(n="actions", other_code=bool, private=bool, fails=bool)
    def run_elsewhere(self, n: int, other_code: bool, private: bool, fails: bool) -> None:
        """The live session runs an action on what the server has, and its observation is kept."""
        self.require(self.live)
        self.require(not other_code or (self.foreign and self.here.action[0].status is Status.ABSENT))
        self.require(n == 0 or not other_code)
        self.require((not private or self.others) and (not fails or self.may_throw))
        row = self.space.row[n]
        if not self.is_effect(n) and not self.coordinates(n) and not fails:
            given = self.space.head[n].value
            value = given if other_code else self.comes_to(n, given)
            if value != self.space.head[n + 1].value:
                self.commit(n + 1, value)
        self.observe(n, row, other_code, private, fails)

    @action(n="actions")
    def drop(self, n: int) -> None:
        """The server loses a row."""
        self.require(self.may_drop and self.space.row[n].kept)
        self.space.row[n].clear(self)

    @action()
    def leave(self) -> None:
        """The live session goes, for good."""
        self.require(self.live)
        self.live = False

    def commit(self, document: int, value: int) -> None:
        """The next number; whoever had read the document is dirty, and what hangs on it is stale."""
        space = self.space
        self.require(space.seq < self.most)
        space.seq += 1
        for d in range(self.documents):
            if d == document:
                space.head[d].renew(space.seq, value)
        for n, row in enumerate(space.row):
            if row.kept and self.reads(n, document) and self.rule("REH-11"):
                row.dirty = True
        for n, row in enumerate(space.row):
            for m, later in enumerate(space.row):
                if n < m and (row.dirty or row.stale) and later.kept and self.rule("REH-12"):
                    later.stale = True

    def observe(self, n: int, row: Stored, other_code: bool, private: bool, failed: bool) -> None:
        """The row of an action is what its newest run saw, as of the number that the space is at."""
        row.clear(self)
        row.kept = True
        row.observed = self.space.seq
        row.other_code = other_code
        row.private = private
        row.failed = failed
        for d in range(self.documents):
            row.at[d] = self.space.head[d].seq
            row.had[d] = self.space.head[d].value

    # Opening.

    @action(whole=bool)
    def start(self, whole: bool) -> None:
        """The session opens: its documents come, or only that of its argument; then it lists the rows."""
        here = self.here
        self.require(here.phase is Phase.DOWN)
        here.phase = Phase.LISTING
        for d in range(self.documents):
            here.has[d] = whole or d == 0
        self.catch_up()

    @action()
    def list_page(self) -> None:
        """The next page of rows comes. All pages have to be of one epoch, or none counts."""
        here = self.here
        self.require(here.phase is Phase.LISTING)
        first = here.page == 0
        torn = not first and here.epoch != self.space.seq and not self.pinned_listing and self.rule("REH-3")
        if first:
            here.epoch = self.space.seq
        for n, row in enumerate(self.space.row):
            if here.page == n or (first and self.pinned_listing):
                self.find(n, row)
        if torn:
            self.torn = True
            for found in here.found:
                found.clear(self)
        if torn or here.page + 1 == self.actions:
            here.page = 0
            here.epoch = 0
            here.phase = Phase.LISTED
        else:
            here.page += 1

    def find(self, n: int, row: Stored) -> None:
        """A row becomes a candidate, if the session may have it: one of another's is not even sent."""
        if row.kept and not (row.private and self.rule("REH-2")):
            self.here.found[n] = row
        else:
            self.here.found[n].clear(self)

    @action()
    def fail(self) -> None:
        """The listing fails: the whole boot is fresh, and nothing says that the documents are up to date."""
        here = self.here
        self.require(self.may_fail and here.phase is Phase.LISTING)
        if self.rule("REH-4"):
            for found in here.found:
                found.clear(self)
        here.page = 0
        here.epoch = 0
        here.phase = Phase.OPEN

    @action()
    def sync_again(self) -> None:
        """What has changed since the session asked for rows comes too, before anything is registered."""
        here = self.here
        self.require(here.phase is Phase.LISTED)
        here.phase = Phase.OPEN
        if self.rule("REH-1"):
            self.catch_up()
            here.synced = True

    @action()
    def deliver(self) -> None:
        """A window comes: all that has changed at once. Whoever waited for the sync waits no more."""
        here = self.here
        self.require(here.phase is not Phase.DOWN)
        behind = any(here.has[d] and here.confirmed[d].seq != head.seq for d, head in enumerate(self.space.head))
        self.require(behind or (here.phase is Phase.OPEN and not here.synced))
        self.catch_up()
        if here.phase is Phase.OPEN:
            here.synced = True
            for mine in here.action:
                mine.waits.clear()
                mine.since.stop()

    @action(n="actions")
    def register(self, n: int) -> None:
        """An action of the session's own is registered."""
        here = self.here
        self.require(here.phase is Phase.OPEN and here.action[n].status is Status.ABSENT)
        self.require(self.stands_alone(n))
        self.admit(n, self.may_be_restored(n))

    def may_be_restored(self, n: int) -> bool:
        """Whether action n is of a kind that may be taken for having run."""
        return self.restores and not (self.is_effect(n) and self.rule("REH-10"))

    def admit(self, n: int, restorable: bool) -> None:
        """An action is registered with resume intent, and restored if a candidate for it may be believed."""
        here = self.here
        mine = here.action[n]
        row = here.found[n]
        mine.status = Status.DIRTY
        if restorable and self.may_believe(n, row):
            failed = row.failed and self.rule("REH-13")
            marked = (row.dirty and self.rule("REH-14")) or (row.stale and self.rule("REH-15"))
            if not failed and not marked:
                mine.status = Status.CLEAN
                self.compare(n)
            return
        if not here.synced:
            mine.since.start()
            if self.rule("REH-9"):
                mine.waits.set(self.hold)

    def may_believe(self, n: int, row: Stored) -> bool:
        """The proof of currency: nothing that the row speaks of is missing, newer here, or about to be."""
        if not row.kept or (row.other_code and self.rule("REH-5")):
            return False
        for d in range(self.documents):
            about = (self.reads(n, d) and self.rule("REH-6")) or (self.writes(n, d) and self.rule("REH-7"))
            if about and (self.here.confirmed[d].seq > row.observed or (self.is_missing(d) and self.rule("REH-8"))):
                return False
        return not (self.here.pending and self.reads(n, 0) and self.rule("REH-16"))

    def is_missing(self, document: int) -> bool:
        return not self.here.has[document]

    def compare(self, n: int) -> None:
        """What would a run have made, at this instant, that is not there?"""
        here = self.here
        if self.is_effect(n):
            if here.action[n].screen != here.sees(n):
                self.difference = Kind.EFFECT
        elif self.coordinates(n):
            if self.lacks_a_child():
                self.difference = Kind.CHILD
        elif not here.has[n] or not here.has[n + 1] or self.comes_to(n, here.sees(n)) != here.sees(n + 1):
            self.difference = Kind.VALUE

    @action(n="actions")
    def run(self, n: int) -> None:
        """The session runs an action: on what it sees, which is loaded if it is not here."""
        here = self.here
        mine = here.action[n]
        self.require(mine.status is Status.DIRTY and mine.waits.over)
        commits = not self.is_effect(n) and not self.coordinates(n)
        self.require(not commits or not here.pending)  # a commit waits for the one before it
        for d, head in enumerate(self.space.head):
            if not here.has[d] and (self.reads(n, d) or self.writes(n, d)):
                here.has[d] = True
                here.confirmed[d] = head
        current = all(
            not self.reads(n, d) or here.confirmed[d].seq == head.seq for d, head in enumerate(self.space.head)
        )
        mine.since.stop()
        mine.ran = True
        if self.is_effect(n):
            mine.screen = here.sees(n)
            mine.status = Status.CLEAN
        elif self.coordinates(n):
            self.reconcile()
            mine.status = Status.CLEAN
        elif current:
            self.derive(n)
            mine.status = Status.CLEAN
        else:
            self.catch_up()  # a conflict: it runs again on what there is
        wrote_over = any(
            self.writes(n, d) and here.confirmed[d].seq != head.seq for d, head in enumerate(self.space.head)
        )
        if current and not (wrote_over and self.rule("REH-18")):
            self.observe(n, self.space.row[n], False, False, False)

    def start_over(self) -> None:
        """The session is disposed of: there is nothing more to forget here."""

    def reconcile(self) -> None:
        """A coordinator runs: there is none here."""

    def lacks_a_child(self) -> bool:
        """Whether a coordinator, if it ran now, would start an action."""
        return False

    def derive(self, n: int) -> None:
        """Action n writes what it comes to, if that is not there already."""
        here = self.here
        value = self.comes_to(n, here.confirmed[n].value)
        if value != here.confirmed[n + 1].value:
            self.commit(n + 1, value)
            here.confirmed[n + 1] = self.space.head[n + 1]
            self.touch(n + 1, n)

    @action(value="values")
    def write_here(self, value: int) -> None:
        """A user of the session writes document 0, and sees that at once; the server does not have it yet."""
        here = self.here
        self.require(self.may_write and here.phase is not Phase.DOWN and not here.pending)
        self.require(here.sees(0) != value)
        here.pending = True
        here.wrote = value
        self.touch(0, self.actions)

    @action()
    def settle(self) -> None:
        """The server takes the session's own write."""
        here = self.here
        self.require(here.pending)
        self.commit(0, here.wrote)
        here.confirmed[0] = self.space.head[0]
        here.pending = False
        here.wrote = 0

    @action()
    def restart(self) -> None:
        """The session is disposed of, with all that it had, and will open again."""
        here = self.here
        self.require(here.phase is not Phase.DOWN and self.restarted < self.restarts)
        self.restarted += 1
        self.start_over()
        here.phase = Phase.DOWN
        here.synced = False
        here.page = 0
        here.epoch = 0
        here.pending = False
        here.wrote = 0
        for d in range(self.documents):
            here.has[d] = False
            here.confirmed[d].renew(0, 0)
        for n, mine in enumerate(here.action):
            mine.status = Status.ABSENT
            mine.waits.clear()
            mine.since.stop()
            mine.ran = False
            mine.screen = self.values
            if self.rule("REH-17"):
                here.found[n].clear(self)

    def catch_up(self) -> None:
        """The newest versions of all that the session has; whoever read what is another value now is dirty."""
        here = self.here
        for d, head in enumerate(self.space.head):
            if here.has[d]:
                changed = here.confirmed[d].value != head.value and not (here.pending and d == 0)
                here.confirmed[d] = head
                if changed:
                    self.touch(d, self.actions)

    def touch(self, document: int, but: int) -> None:
        """A document has changed for the session: whatever reads it is dirty, but not the action that wrote it."""
        for n, mine in enumerate(self.here.action):
            if mine.status is Status.CLEAN and n != but and self.reads(n, document):
                mine.status = Status.DIRTY
