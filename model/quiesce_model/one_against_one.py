"""One session against one, left alone: how many commits are possible while no time passes, whatever the constants."""

# A type checker does not see that an element that was found to be there is there a line later.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .crowd import Member
from .language import constant, invariant
from .many_sessions import ManySessions


class OneAgainstOne(ManySessions):
    """Two sessions that want different values, and nothing else that happens."""

    apart: bool = constant(True)

    def left_alone(self) -> bool:
        """Nobody types, agrees or goes away, and what beats beside the loop is told apart from it (pair_by_field)."""
        people = self.may_type or self.may_agree or self.may_leave or self.may_return
        variants = self.clear_when_settled or self.reborn or (self.beats and not self.pair_by_field)
        return self.sessions == 2 and self.values == 2 and self.window >= 0 and self.apart and not (people or variants)

    @invariant("BRK-13", "BRK-15")
    def two_thresholds_and_one(self) -> bool:
        """While no time passes there are at most 2 × threshold + 1 commits: one of session 1's is not counted."""
        small = self.bound < 2 * self.threshold + 1
        return (
            not self.left_alone()
            or small
            or self.instant.over
            or sum(made for made in self.made) <= 2 * self.threshold + 1
        )

    @invariant()
    def each_makes_what_it_counts(self) -> bool:
        """Of a session's commits in this instant all but a first one are echo steps that its pair knows of."""
        return not self.left_alone() or all(self.is_counted(s, me) for s, me in enumerate(self.member))

    def is_counted(self, s: int, me: Member) -> bool:
        if self.instant.over:
            return True
        made = self.made[s]
        pair = me.pair
        if not pair.tripped:
            recent = made <= s or pair.opened <= self.window
            return made <= pair.echoes + s and recent
        if pair.since_echo > 0:
            return made <= s
        return made <= self.threshold + s

    @invariant()
    def a_first_commit_is_the_first(self) -> bool:
        """A run without a cause comes before any other of its session, and session 0 has nothing to write then."""
        return not self.left_alone() or all(self.is_first(s, me) for s, me in enumerate(self.member))

    def is_first(self, s: int, me: Member) -> bool:
        uncaused = me.draft is not None and not me.draft.by_document
        if not me.node.ran or uncaused:
            new = not me.pair.held() and (self.made[s] == 0 or self.instant.over)
            return new and (s == 1 or not uncaused)
        return True

    @invariant()
    def who_is_told_is_told_of_the_other(self) -> bool:
        """Nothing comes to a session but the other's value, so no run finds what it wants where that caused it."""
        return not self.left_alone() or all(self.is_of_the_other(s, me) for s, me in enumerate(self.member))

    def is_of_the_other(self, s: int, me: Member) -> bool:
        other = self.wish(1 - s)
        if me.behind and self.document != other:
            return False
        if me.window is not None and me.window != other:
            return False
        if me.draft is not None and (me.draft.value != self.wish(s) or me.draft.typed or not me.pair.deadline.over):
            return False
        if me.node.cause[0]:
            return me.draft is None and me.sees == other
        caused = me.node.ran or me.sees == self.wish(0)
        return caused and (me.sees == self.wish(s) or me.draft is not None or not me.node.ran)

    @invariant()
    def nothing_else_happens(self) -> bool:
        """No pair settles or counts beyond its window's count, and nobody is away."""
        return not self.left_alone() or (not self.agreed and all(self.is_simple(me) for me in self.member))

    def is_simple(self, me: Member) -> bool:
        pair = me.pair
        idle = pair.echoes == 0
        counts = pair.echoes < self.threshold and pair.opened.running != idle and (idle or not pair.tripped)
        made = me.draft is None or (me.node.ran and (not me.draft.beside or self.pair_by_field))
        return me.present and not pair.settling.running and counts and made
