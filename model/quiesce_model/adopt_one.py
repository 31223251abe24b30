"""One action, or a chain of them: what the theorem of adoption rests on, for any number of commits."""

from __future__ import annotations

from .adopt_chain import AdoptChain
from .language import assumption, constant, invariant


class AdoptOne(AdoptChain):
    """One action over one document; with more, each negates what the one before it writes.

    The invariants below carry ``adopting_is_running`` over runs of any length.
    """

    documents: int = constant(2)
    actions: int = constant(1)

    @assumption
    def every_action_writes_its_own(self) -> bool:
        """Document n + 1 is what action n writes."""
        return self.documents == self.actions + 1

    # What session s would have of a document, if the window on its way arrived now.

    def coming(self, s: int, document: int) -> int:
        """Its number."""
        me = self.session[s]
        version = me.window.version[document]
        if version is not None:
            return max(version.seq, me.confirmed[document].seq)
        return me.confirmed[document].seq

    def coming_value(self, s: int, document: int) -> int:
        me = self.session[s]
        version = me.window.version[document]
        if version is not None and version.seq >= me.confirmed[document].seq:
            return version.value
        return me.confirmed[document].value

    @invariant()
    def numbers_are_given_once(self) -> bool:
        """Nothing has a number that is not given yet."""
        heads = all(head.seq <= self.store.seq for head in self.store.head)
        rows = all(row.observed <= self.store.seq for row in self.store.row)
        return (
            heads
            and rows
            and all(
                me.cursor <= self.store.seq
                and me.outbox.accepted <= self.store.seq
                and me.window.to <= me.cursor
                and me.window.since <= me.window.to
                and all(row.observed <= me.window.to for row in me.window.row)
                for me in self.session
            )
        )

    @invariant()
    def one_number_is_one_value(self) -> bool:
        """Whoever has a version of a document has it as the server had it."""
        return all(
            not me.present
            or (
                me.confirmed[d].seq <= self.store.head[d].seq
                and self.coming(s, d) <= self.store.head[d].seq
                and (me.confirmed[d].seq != self.store.head[d].seq or me.confirmed[d] == self.store.head[d])
                and (self.coming(s, d) != self.store.head[d].seq or self.coming_value(s, d) == self.store.head[d].value)
            )
            for s, me in enumerate(self.session)
            for d in range(self.documents)
        )

    @invariant()
    def windows_leave_nothing_out(self) -> bool:
        """What had changed before a session's cursor is there or comes with the window on its way."""
        return all(
            not me.present
            or (
                me.held[d]
                and me.watched[d]
                and (self.store.head[d].seq > me.cursor or self.coming(s, d) == self.store.head[d].seq)
                and (
                    not me.window.on_way
                    or self.store.head[d].seq > me.window.since
                    or me.confirmed[d].seq == self.store.head[d].seq
                )
            )
            for s, me in enumerate(self.session)
            for d in range(self.documents)
        )

    @invariant()
    def windows_end_at_the_cursor(self) -> bool:
        return all(
            (me.window.to == me.cursor or not me.window.on_way)
            and (me.present or not me.window.on_way)
            and (me.online or not me.window.on_way)
            for me in self.session
        )

    @invariant()
    def what_is_not_on_its_way_is_empty(self) -> bool:
        """Between steps nothing is half applied, and where there is no window there are no documents and no rows."""
        return all(
            not me.window.applied
            and not any(change for change in me.window.changes)
            and not any(adopted for adopted in me.window.adopts)
            and (me.window.on_way or all(version is None for version in me.window.version))
            and (me.window.on_way or not any(row.kept for row in me.window.row))
            for me in self.session
        )

    @invariant()
    def whoever_runs_reads_all(self) -> bool:
        """What a row and a commit of a run say that it read is what the action reads."""
        return all(
            self.store.row[n].reads[d] == (self.store.row[n].kept and self.looks(0, n, d))
            and not self.store.row[n].shallow[d]
            and all(
                me.window.row[n].reads[d] == (me.window.row[n].kept and self.looks(0, n, d))
                and not me.window.row[n].shallow[d]
                and not me.outbox.shallow[d]
                and (me.outbox.action != n or me.outbox.reads[d] == (me.outbox.on_way and self.looks(0, n, d)))
                for me in self.session
            )
            for n in range(self.actions)
            for d in range(self.documents)
        )

    @invariant()
    def runs_write_their_output(self) -> bool:
        """A run writes its action's output or nothing, and a user always something."""
        return all(
            not me.outbox.on_way
            or (
                me.outbox.document in (me.outbox.action + 1, self.documents)
                if me.outbox.action < self.actions
                else me.outbox.document < self.documents
            )
            for me in self.session
        )

    @invariant("ADO-35", "ADO-36")
    def what_is_not_stale_is_so(self) -> bool:
        """A commit of a run that nothing has overtaken says what the action comes to, on the server as it is."""
        return all(
            not me.outbox.on_way
            or me.outbox.action != n
            or me.outbox.stale
            or me.outbox.failed
            or me.outbox.accepted > 0
            or (me.outbox.value if me.outbox.document == n + 1 else self.store.head[n + 1].value)
            == 1 - min(self.store.head[n].value, 1)
            for me in self.session
            for n in range(self.actions)
        )

    @invariant("ADO-35", "ADO-36")
    def a_row_is_true(self) -> bool:
        """While nothing that it speaks of has a newer number, what the action comes to is on the server."""
        head = self.store.head
        return all(
            not row.kept
            or row.failed
            or head[n].seq > row.observed
            or head[n + 1].seq > row.observed
            or head[n + 1].value == 1 - min(head[n].value, 1)
            for n, row in enumerate(self.store.row)
        )

    @invariant("ADO-35", "ADO-36")
    def a_row_on_its_way_is_true(self) -> bool:
        """If what a session will have, when the window has arrived, is no newer than the row, then it is the row's."""
        return all(
            not me.present
            or not me.window.on_way
            or not row.kept
            or row.failed
            or self.coming(s, n) > row.observed
            or self.coming(s, n + 1) > row.observed
            or self.coming_value(s, n + 1) == 1 - min(self.coming_value(s, n), 1)
            for s, me in enumerate(self.session)
            for n, row in enumerate(me.window.row)
        )

    @invariant("ADO-19", "ADO-21")
    def a_clean_action_is_current(self) -> bool:
        """An action that is clean, and did not fail, is what its inputs call for as its session sees them, always."""
        return all(
            not me.present
            or (
                (me.node[n].dirty or me.node[n].failed or me.sees(n + 1) == 1 - min(me.sees(n), 1))
                and all(me.node[n].trigger[d] == self.looks(s, n, d) for d in range(self.documents))
            )
            for s, me in enumerate(self.session)
            for n in range(self.actions)
        )
