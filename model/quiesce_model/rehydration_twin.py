"""Two sessions that open alike, of which one restores what it finds and the other runs everything."""

from __future__ import annotations

from .language import invariant, reachable, twin
from .rehydration import Rehydration


class RehydrationTwin(twin(Rehydration, alone=("run", "deliver"), differ={"restores": (True, False)})):
    """The same writes elsewhere, the same listing, the same registrations; each runs and hears of changes by itself."""

    @invariant("REH-1", "REH-6", "REH-8", "REH-16")
    def nobody_can_tell(self) -> bool:
        """Once both are at rest, both see the same, show the same, and have everything clean."""
        one = self.one.here
        other = self.other.here
        both = self.one.at_rest() and self.other.at_rest() and self.one.base_read
        return not both or all(
            one.sees(n) == other.sees(n)
            and one.action[n].screen == other.action[n].screen
            and one.action[n].status is other.action[n].status
            for n in range(self.actions)
        )

    @reachable()
    def one_ran_what_the_other_restored(self) -> bool:
        """After a commit elsewhere both are at rest, and only one of them has run the derivation."""
        ran = self.other.here.action[0].ran and not self.one.here.action[0].ran
        return self.one.at_rest() and self.other.at_rest() and ran and self.one.here.found[0].observed > 0
