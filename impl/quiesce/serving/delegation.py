"""A session under serving: which of its derivations are run elsewhere, and which of those it needs.

While a serving runtime runs a derivation, a session leaves it alone: it reads what was derived, and says what it needs.
When nobody serves it any more, it derives for itself again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quiesce.cells import Derived
    from quiesce.runtime import Session


class Delegation:
    """What one session leaves to a serving runtime."""

    def __init__(self, session: Session) -> None:
        self._session = session
        session.client.demands = self.demands
        session.client.on_served = self._served_changed

    def place(self, derived: Derived) -> None:
        """Run a derivation here, or leave it alone."""
        self._session.scheduler.hand_over(derived.node, elsewhere=derived.id in self._session.client.served)

    def needed(self) -> None:
        """Something that is run elsewhere is needed here from now on, or not any more."""
        self._session.client.demands_changed()

    def demands(self) -> tuple[str, ...]:
        """The derivations that somebody else runs and this session needs, by the ids of their documents."""
        found = (id for id, derived in self._session.derivations.items() if derived.node.elsewhere)
        return tuple(sorted(id for id in found if self._needs(id)))

    def _needs(self, id: str) -> bool:
        node = self._session.derivations[id].node
        return node.registered and node.live

    def _served_changed(self) -> None:
        for derived in list(self._session.derivations.values()):
            self.place(derived)
        self.needed()
