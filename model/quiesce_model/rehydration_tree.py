"""A list whose rows have actions of their own: what a session that opens again has to start once more.

Document 0 is a list of at most one row, document 1 the row, document 2 what is derived of it. Action 0 coordinates: for
a row in the list it starts action 1, which derives document 2 from document 1.
"""

from __future__ import annotations

from .language import action, constant, flag, invariant
from .rehydration import Rehydration
from .stored import Phase, Status


class RehydrationTree(Rehydration):
    """A coordinator and its row, in a session that opens again.

    ``declared`` says that the coordinator is registered as one that always runs; a computation that happens to return
    something that runs is not. ``children_tell`` is a repair: a row says whether its run started others.
    """

    documents: int = constant(3)
    declared: bool = constant(True)
    children_tell: bool = constant(False)

    resuming: bool = flag(True)  # no row has been started yet since the session opened

    def reads(self, n: int, document: int) -> bool:
        if n == 0:
            return document == 0
        return document == 1 or (document == 2 and self.base_read)

    def writes(self, n: int, document: int) -> bool:
        return n == 1 and document == 2

    def coordinates(self, n: int) -> bool:
        return n == 0

    def derives(self) -> int:
        return 1

    def stands_alone(self, n: int) -> bool:
        return n == 0

    def may_be_restored(self, n: int) -> bool:
        known = self.declared or self.children_tell
        return self.restores and not (self.coordinates(n) and known and self.rule("REH-19"))

    @action(value="values")
    def write_row(self, value: int) -> None:
        """A user elsewhere writes the row."""
        self.require(self.space.head[1].value != value)
        self.commit(1, value)

    def start_over(self) -> None:
        self.resuming = True

    def lists_it(self) -> bool:
        """Whether the list, as the session sees it, has the row."""
        return self.here.sees(0) > 0

    def lacks_a_child(self) -> bool:
        return self.lists_it() and self.here.action[1].status is Status.ABSENT

    def reconcile(self) -> None:
        """The coordinator runs: it starts the row's action, or stops it. Only the first rows resume."""
        mine = self.here.action[1]
        if self.lacks_a_child():
            if self.resuming or not self.rule("REH-20"):
                self.admit(1, self.may_be_restored(1))
            else:
                mine.status = Status.DIRTY
            self.resuming = False
        elif not self.lists_it() and mine.status is not Status.ABSENT:
            mine.status = Status.ABSENT
            mine.waits.clear()
            mine.since.stop()
            mine.ran = False

    def at_rest(self) -> bool:
        here = self.here
        waits = here.phase is not Phase.OPEN or not here.synced or here.pending
        return (
            not waits
            and here.action[0].status is Status.CLEAN
            and here.action[1].status is not Status.DIRTY
            and all(here.has[d] and here.confirmed[d].seq == head.seq for d, head in enumerate(self.space.head))
        )

    @invariant("REH-19")
    def every_row_has_its_action(self) -> bool:
        """At rest whatever is in the list is derived, and goes on being derived."""
        return not self.at_rest() or not self.lacks_a_child()

    @invariant()
    def at_rest_all_is_current(self) -> bool:
        """At rest what is registered is what its inputs call for, if a write reads what it replaces."""
        registered = self.here.action[1].status is not Status.ABSENT
        return not self.base_read or not self.at_rest() or not registered or self.is_current(1)
