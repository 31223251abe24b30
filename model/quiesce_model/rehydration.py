"""What opening again promises: that nobody can tell an action that was restored from one that ran."""

from __future__ import annotations

from .language import invariant, reachable, step_property
from .rehydration_life import RehydrationLife
from .stored import Kind, Phase, Status


class Rehydration(RehydrationLife):
    """A derivation and the effect that shows it, in a session that opens a space again."""

    def at_rest(self) -> bool:
        """The session is open, up to date, and has nothing to do."""
        here = self.here
        waits = here.phase is not Phase.OPEN or not here.synced or here.pending
        return (
            not waits
            and all(mine.status is Status.CLEAN for mine in here.action)
            and all(here.has[d] and here.confirmed[d].seq == head.seq for d, head in enumerate(self.space.head))
        )

    @invariant("REH-1", "REH-5", "REH-6", "REH-7", "REH-8", "REH-10", "REH-13", "REH-16")
    def restoring_is_running(self) -> bool:
        """At the instant of restoring, a run would have made the same, and shown nothing new."""
        return self.difference is Kind.NONE

    @invariant("REH-10", "REH-13")
    def at_rest_all_is_current(self) -> bool:
        """At rest everything is what its inputs call for, if a write reads what it replaces."""
        return not self.base_read or not self.at_rest() or all(self.is_current(n) for n in range(self.actions))

    def is_current(self, n: int) -> bool:
        here = self.here
        if self.is_effect(n):
            return here.action[n].screen == here.sees(n)
        if self.coordinates(n):
            return not self.lacks_a_child()
        return here.sees(n + 1) == self.comes_to(n, here.sees(n))

    @invariant("REH-2")
    def nothing_of_others_is_found(self) -> bool:
        """No row that belongs to another user or session reaches this one."""
        return not any(found.private for found in self.here.found)

    @step_property("REH-9", on="run")
    def first_runs_wait_for_the_sync(self, before: Rehydration, n: int) -> bool:
        """An action that was not restored does not run on documents that may be old, unless it has waited long enough.

        What was restored as dirty runs at once, and so does what has run before.
        """
        since = before.here.action[n].since
        return before.here.synced or not since.running or since >= self.hold

    @invariant()
    def listings_complete(self) -> bool:
        """No listing is thrown away because others went on working."""
        return not self.torn

    def derives(self) -> int:
        """The action that is a derivation."""
        return 0

    def is_restored(self) -> bool:
        """The derivation is clean, and has not run here."""
        mine = self.here.action[self.derives()]
        return mine.status is Status.CLEAN and not mine.ran

    @reachable()
    def opens_without_a_run(self) -> bool:
        """After commits elsewhere the derivation is restored, and the session rests without having run it."""
        return self.at_rest() and self.is_restored() and self.here.found[self.derives()].observed > 0

    @reachable()
    def opens_behind_the_store(self) -> bool:
        """A derivation is restored while the space has moved on."""
        return self.is_restored() and self.here.found[self.derives()].observed < self.space.seq
