"""What carries the promises of opening again over runs of any length: proofs by induction rest on these."""

from __future__ import annotations

from .language import constant, invariant
from .rehydration import Rehydration
from .stored import Phase, Status, Stored


class RehydrationLemmas(Rehydration):
    """The same machine, with the invariants that its proof needs; ``most`` is free there."""

    most: int = constant(2)

    @invariant()
    def numbers_are_given_once(self) -> bool:
        """Nothing has a number that is not given yet."""
        space = self.space
        here = self.here
        return (
            all(head.seq <= space.seq for head in space.head)
            and all(here.confirmed[d].seq <= head.seq for d, head in enumerate(space.head))
            and all(row.observed <= space.seq for row in space.row)
            and all(found.observed <= space.seq for found in here.found)
        )

    @invariant()
    def one_number_is_one_value(self) -> bool:
        """Whoever has a version of a document has it as the server had it."""
        here = self.here
        return all(
            not here.has[d] or here.confirmed[d].seq != head.seq or here.confirmed[d].value == head.value
            for d, head in enumerate(self.space.head)
        )

    @invariant()
    def a_row_knows_its_time(self) -> bool:
        """No version lies between what a row saw and when it saw it, and what it saw is what there was."""
        return all(self.fits(row) for row in self.space.row) and all(self.fits(found) for found in self.here.found)

    def fits(self, row: Stored) -> bool:
        """Of each document, the server and the session have the version that the row saw, an older, or a newer one."""
        here = self.here
        return not row.kept or all(
            row.at[d] <= row.observed
            and (head.seq == row.at[d] or head.seq > row.observed)
            and (head.seq != row.at[d] or head.value == row.had[d])
            and (
                not here.has[d]
                or (
                    (here.confirmed[d].seq <= row.at[d] or here.confirmed[d].seq > row.observed)
                    and (here.confirmed[d].seq != row.at[d] or here.confirmed[d].value == row.had[d])
                )
            )
            for d, head in enumerate(self.space.head)
        )

    @invariant("REH-18")
    def a_row_is_true(self) -> bool:
        """What a row of this code saw is what its action comes to, unless the run failed."""
        rows = all(self.is_true(n, row) for n, row in enumerate(self.space.row))
        return rows and all(self.is_true(n, found) for n, found in enumerate(self.here.found))

    def is_true(self, n: int, row: Stored) -> bool:
        if not row.kept or row.failed or row.other_code or self.is_effect(n):
            return True
        return row.had[n + 1] == self.comes_to(n, row.had[n])

    @invariant("REH-1", "REH-4")
    def nothing_is_older_than_a_candidate(self) -> bool:
        """Once actions register, whatever of a candidate's surface is here is no older than what the row saw."""
        here = self.here
        return here.phase is not Phase.OPEN or all(
            not found.kept
            or all(not here.has[d] or here.confirmed[d].seq >= found.at[d] for d in range(self.documents))
            for found in here.found
        )

    @invariant("REH-9")
    def waiting_is_counted(self) -> bool:
        """While the session may be behind, an action that was not restored waits until it has waited long enough."""
        here = self.here
        return all(
            not mine.since.running
            or here.synced
            or (here.phase is Phase.OPEN and mine.since >= self.hold - mine.waits.remaining)
            for mine in here.action
        )

    @invariant("REH-10", "REH-13")
    def what_is_clean_is_current(self) -> bool:
        """A clean action is what its inputs call for as the session sees them, always, if a write reads its base."""
        here = self.here
        return not self.base_read or all(
            mine.status is not Status.CLEAN
            or (
                here.phase is Phase.OPEN
                and self.is_current(n)
                and all(here.has[d] or not (self.reads(n, d) or self.writes(n, d)) for d in range(self.documents))
            )
            for n, mine in enumerate(here.action)
        )

    @invariant()
    def a_session_that_is_down_has_nothing(self) -> bool:
        """What is not open has registered nothing, and a listing has a next page."""
        here = self.here
        registered = any(mine.status is not Status.ABSENT or not mine.waits.over for mine in here.action)
        return (
            (here.phase is Phase.OPEN or not (registered or here.synced))
            and (here.phase is Phase.LISTING or here.page == 0)
            and here.page < self.actions
            and (here.phase is not Phase.DOWN or not here.pending)
            and (here.phase is Phase.DOWN or here.has[0])
        )
