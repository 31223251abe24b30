"""Adoption and no adoption, side by side: the same users write the same, and in the end nobody can tell them apart."""

from __future__ import annotations

from .adoption import Adoption
from .language import invariant, reachable, twin

INSIDE = ("run", "decide", "flush", "deliver", "drop", "pull", "disconnect", "resume", "throw", "catch_up")
"""What happens on either side in its own time: sessions run, the server decides, windows come."""


class AdoptOrRun(twin(Adoption, alone=INSIDE, differ={"rows": (True, False)})):
    """One side is sent rows, the other runs everything itself. Users' writes, and departures, happen on both."""

    def both_rest(self) -> bool:
        """Both sides have come to rest, and to the same input. (Two users who write at once may be ordered
        otherwise.)"""
        same = self.one.store.head[0].value == self.other.store.head[0].value
        return self.one.quiescent() and self.other.quiescent() and same

    @invariant()
    def rows_change_no_value(self) -> bool:
        """At rest every session sees the same, is made dirty by the same, and has nothing dirty, with and without."""
        return not self.both_rest() or all(
            not self.one.session[s].present or self.alike(s) for s in range(self.one.sessions)
        )

    def alike(self, s: int) -> bool:
        one = self.one.session[s]
        other = self.other.session[s]
        seen = all(one.sees(d) == other.sees(d) for d in range(self.one.documents))
        return seen and all(
            one.node[n].screen == other.node[n].screen and one.node[n].trigger[d] == other.node[n].trigger[d]
            for n in range(self.one.actions)
            for d in range(self.one.documents)
        )

    @reachable()
    def rows_spare_a_run(self) -> bool:
        """The side with rows is at rest with fewer runs: its row is still of the first session, the other's is not."""
        return self.both_rest() and self.one.store.row[0].writer == 0 and self.other.store.row[0].writer == 1
