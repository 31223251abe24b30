"""What the proofs about sessions with nodes and breakers rest on."""

# A type checker does not see that an element that was found to be there is there a line later.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .crowd import Crowd, Member
from .language import invariant
from .scheduler import Status


class CrowdLemmas(Crowd):
    """Facts of every reachable state that nobody would call a promise."""

    @invariant()
    def who_is_away_has_nothing(self) -> bool:
        return all(me.present or self.has_nothing(me) for me in self.member)

    def has_nothing(self, me: Member) -> bool:
        way = me.window is None and not me.behind and me.draft is None
        return way and not me.pair.held() and me.pair.deadline.over and me.node.gates.echo.over

    @invariant()
    def nodes_are_effects_without_other_gates(self) -> bool:
        """Each is live by itself while its session is there, and no pass backs it off."""
        return all(self.is_plain(me) for me in self.member)

    def is_plain(self, me: Member) -> bool:
        node = me.node
        wanted = node.effect and node.registered == me.present and not node.demanded and not node.provisional
        gates = node.gates
        free = gates.backoff.over and gates.hold.over and gates.step == 0 and gates.holds == 0
        new = node.status is not Status.NEVER_RAN or not node.ran
        return wanted and free and new and node.runs == 0 and (me.present or node.status is not Status.INVALID)

    @invariant()
    def deadlines_run_from_the_last_echo(self) -> bool:
        """A pair that has tripped rests for its backoff since its last echo step; no other pair rests."""
        return all(me.pair.is_timed(self) for me in self.member)

    @invariant()
    def who_is_not_behind_is_up_to_date(self) -> bool:
        return all(not me.present or me.is_stale() or me.sees == self.document for me in self.member)

    @invariant()
    def a_window_under_way_is_the_newest_if_no_other_follows(self) -> bool:
        return all(me.window is None or me.behind or me.window == self.document for me in self.member)

    @invariant()
    def what_is_typed_has_no_cause(self) -> bool:
        return all(
            me.draft is None or not me.draft.typed or not (me.draft.by_document or me.draft.beside)
            for me in self.member
        )

    @invariant()
    def what_is_due_has_a_reason(self) -> bool:
        return all(
            me.node.status is not Status.INVALID or any(cause for cause in me.node.cause) or me.node.owed or self.agreed
            for me in self.member
        )

    @invariant()
    def a_retry_is_due(self) -> bool:
        """What is owed has not run."""
        return all(not me.node.owed or me.node.status is not Status.CLEAN for me in self.member)

    @invariant()
    def what_is_clean_is_as_wanted(self) -> bool:
        """A node that is clean found what the session wants, or has it on its way to the server."""
        return all(
            not me.present
            or me.node.status is not Status.CLEAN
            or (me.visible() == self.wish(s) and (me.draft is None or not me.draft.typed))
            for s, me in enumerate(self.member)
        )
