"""What adoption promises: that nobody can tell an action that was taken for having run from one that ran."""

from __future__ import annotations

from .adoption_life import AdoptionLife
from .adoption_session import Difference
from .language import invariant, reachable, step_property


class Adoption(AdoptionLife):
    """Two sessions that share a derivation, each with an effect that shows what it comes to."""

    def quiet(self, s: int) -> bool:
        """Session ``s`` has nothing to do and nothing to wait for."""
        me = self.session[s]
        waits = me.window.on_way or me.outbox.on_way or me.cursor < self.store.seq or self.is_running(s)
        asks = any(asked for asked in me.asked)
        return me.online and not waits and not asks and not any(node.dirty for node in me.node)

    def is_running(self, s: int) -> bool:
        """Whether a run of session ``s`` is under way; here each is one step."""
        return False

    def quiescent(self) -> bool:
        return all(not me.present or self.quiet(s) for s, me in enumerate(self.session))

    @invariant("ADO-8")
    def adopting_is_running(self) -> bool:
        """At the instant of adopting, a run would have read the same, made the same, and shown nothing new."""
        return self.difference in (Difference.NONE, Difference.RUN)

    @invariant("ADO-18", "ADO-19", "ADO-22")
    def what_is_adopted_does_not_run(self) -> bool:
        """What a window has made dirty and a row of it has settled is not run."""
        return self.difference is not Difference.RUN

    @step_property("ADO-20", on="run")
    def what_a_row_settles_is_not_run(self, before: Adoption, s: int, n: int) -> bool:
        """No action runs while a row is there that would settle it."""
        window = before.session[s].window
        row = window.row[n]
        return not window.applied or not row.kept or not before.may_adopt(s, n, row)

    @invariant()
    def at_rest_all_is_current(self) -> bool:
        """At rest every action of every session is what its inputs call for: none is clean that should not be."""
        return not self.quiescent() or all(
            not me.present or all(self.is_current_at(s, n) for n in range(self.actions))
            for s, me in enumerate(self.session)
        )

    def is_current_at(self, s: int, n: int) -> bool:
        me = self.session[s]
        shown = me.node[n].screen if self.is_effect(n) else me.sees(self.output(n))
        return shown == self.wants(s, n) or me.node[n].failed or not self.is_called_for(s, n)

    @invariant("ADO-21")
    def at_rest_all_is_listened_to(self) -> bool:
        """At rest every action is made dirty by whatever it would read now."""
        return not self.quiescent() or all(
            not me.present
            or all(
                me.node[n].trigger[d] or not self.looks(s, n, d)
                for n in range(self.actions)
                for d in range(self.documents)
            )
            for s, me in enumerate(self.session)
        )

    @invariant()
    def at_rest_all_agree(self) -> bool:
        """At rest every session has what the server has."""
        return not self.quiescent() or all(
            not me.present
            or all(not me.watched[d] or me.confirmed[d] == self.store.head[d] for d in range(self.documents))
            for me in self.session
        )

    @reachable()
    def comes_to_rest(self) -> bool:
        """Everyone has what every write came to."""
        return self.quiescent() and self.store.seq >= 2 * self.writes

    @reachable()
    def adopting_spares_a_run(self) -> bool:
        """Everything is current everywhere, and only the first session has run action 0."""
        row = self.store.row[0]
        changed = self.store.seq == 2 and row.kept and row.writer == 0
        return self.quiescent() and changed and all(me.present for me in self.session)
