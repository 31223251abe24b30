"""The delivery sequence: which window carries a row, so that nobody misses its newest version.

One row, any number of commits, and sessions that windows are made for. A window covers the commits after a cursor and
up to the newest, and carries the row if that covers its slot. A row that nobody is sent costs a run and no more; but
nothing would be spared if it were the rule.
"""

from __future__ import annotations

from .language import Machine, Record, action, assumption, constant, counter, each, flag, ghost, invariant, reachable


class Seat(Record):
    """What the server knows of one session."""

    cursor: int = counter(lambda c: c.most)  # the end of the last window made for it
    rows: int = counter(lambda c: c.most)  # the end of the last one that rows were looked up for
    on_way: bool = flag()  # a window is
    since: int = counter(lambda c: c.most)  # and covers what came after this
    rows_since: int = counter(lambda c: c.most)
    carried: bool = ghost(flag())  # by it: the row as it is now
    shown: bool = ghost(flag())  # the row as it is now has arrived

    def end(self) -> None:
        """No window is on its way."""
        self.on_way = False
        self.since = 0
        self.rows_since = 0
        self.carried = False


class AdoptDelivery(Machine):
    """The row of one action.

    With ``may_skip`` a window may advance without rows: it answers a new watch, its rows did not fit, or looking them
    up failed. ``rows_apart`` is a repair: rows have a cursor of their own, which such a window leaves where it is. With
    ``kept_at_any_head`` an observation that repeats the last one keeps its slot whatever has been committed since.
    """

    sessions: int = constant(2)
    most: int = constant(4)
    may_skip: bool = constant(False)
    may_fail: bool = constant(True)
    rows_apart: bool = constant(False)
    kept_at_any_head: bool = constant(False)

    seq: int = counter(lambda c: c.most)
    kept: bool = flag()
    other: bool = flag()  # what was read: one of two
    observed: int = counter(lambda c: c.most)
    slot: int = counter(lambda c: c.most + 1)
    due: int = ghost(counter(lambda c: c.most + 1))  # the slot that this version had first
    seat: list[Seat] = each("sessions", Seat)

    @assumption
    def commits_are_possible(self) -> bool:
        return self.most >= 0

    # The row.

    @action()
    def commit(self) -> None:
        """Anyone else's commit takes the next number."""
        self.require(self.seq < self.most)
        self.seq += 1

    @action(other=bool)
    def write(self, other: bool) -> None:
        """A run of the action writes, and says what it observed: also if it is what the last one did."""
        self.require(self.seq < self.most)
        again = self.kept and self.other == other
        self.seq += 1
        self.renew(other, self.slot if again and not self.rule("ADO-32") else self.seq)
        self.due = self.seq

    @action(other=bool)
    def observe(self, other: bool) -> None:
        """A run of the action writes nothing."""
        again = self.kept and self.other == other
        nothing_new = again and self.observed == self.seq
        following = self.seq + 1 if self.rule("ADO-33") else self.seq
        if nothing_new:
            if not self.rule("ADO-34"):
                self.slot = following
        else:
            self.renew(other, self.slot if again and self.kept_at_any_head else following)
            self.due = self.seq + 1

    def renew(self, other: bool, slot: int) -> None:
        """The row is another one: nobody has it."""
        self.kept = True
        self.other = other
        self.observed = self.seq
        self.slot = slot
        for seat in self.seat:
            seat.carried = False
            seat.shown = False

    # Windows.

    @action(s="sessions", skips=bool)
    def flush(self, s: int, skips: bool) -> None:
        """A window is made for session ``s``, of all that it was not sent; one that ``skips`` carries no rows."""
        seat = self.seat[s]
        self.require(not seat.on_way)
        self.require(seat.cursor < self.seq)
        self.require(self.may_skip or not skips)
        since = seat.rows if self.rows_apart else seat.cursor
        seat.on_way = True
        seat.since = seat.cursor
        seat.rows_since = seat.rows
        seat.carried = self.kept and not skips and since < self.slot <= self.seq
        seat.cursor = self.seq
        if not skips:
            seat.rows = self.seq

    @action(s="sessions")
    def deliver(self, s: int) -> None:
        seat = self.seat[s]
        self.require(seat.on_way)
        seat.shown = seat.shown or seat.carried
        seat.end()

    @action(s="sessions")
    def fail(self, s: int) -> None:
        """The connection dies, and the session resumes with what it has got."""
        seat = self.seat[s]
        self.require(self.may_fail)
        self.require(seat.on_way)
        if self.rule("ADO-27"):
            seat.cursor = seat.since
            seat.rows = seat.rows_since
        seat.end()

    # What has to hold.

    @invariant("ADO-32", "ADO-33", "ADO-34", "ADO-27")
    def every_row_lies_in_a_window(self) -> bool:
        """Once a session was made a window past the slot of a row, it has the row as it is now, or is being sent it."""
        return not self.kept or all(
            seat.shown or seat.carried or (seat.rows if self.rows_apart else seat.cursor) < self.due
            for seat in self.seat
        )

    @invariant()
    def a_slot_is_the_next_one_at_most(self) -> bool:
        return self.slot <= self.seq + 1 and self.observed <= self.seq

    @invariant()
    def a_slot_stands_while_the_row_does(self) -> bool:
        return not self.kept or self.slot == self.due

    @invariant()
    def cursors_are_behind(self) -> bool:
        """No cursor is past the newest commit, nor rows past documents; a window on its way ends at the cursor."""
        return all(
            seat.rows <= seat.cursor <= self.seq
            and seat.since <= seat.cursor
            and seat.rows_since <= seat.rows
            and seat.rows_since <= seat.since
            and (seat.on_way or not seat.carried)
            for seat in self.seat
        )

    @invariant()
    def what_is_carried_was_due(self) -> bool:
        """A window carries only what its start had not covered: if it is lost, that is still to come."""
        return all(
            not seat.carried or (seat.rows_since if self.rows_apart else seat.since) < self.slot for seat in self.seat
        )

    @reachable()
    def a_row_of_a_run_that_wrote_nothing_arrives(self) -> bool:
        return any(seat.shown and self.observed < self.slot for seat in self.seat)
