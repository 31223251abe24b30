"""Who runs what: from what is demanded, and from how narrow each derivation was found to be.

A derivation runs once for the widest instance that can run it. It is tried for the space first; if it reads something
that is a user's or a session's, it is *narrowed*, for good, and runs once for each principal, or each session, that
demands it. What holds for the space holds for all; below that it may differ from principal to principal.
"""

from __future__ import annotations

from quiesce.address import Scope
from quiesce.serving.instances import Instance

SPACE = Instance()


class Plan:
    """Demand and narrowness of the derivations of one space."""

    def __init__(self) -> None:
        self.demands: dict[Instance, frozenset[str]] = {}
        """What sessions demand, by session."""
        self.forwarded: dict[Instance, frozenset[str]] = {}
        """What is needed, for an instance, by what runs for it, and runs for a wider one itself."""
        self.version = 0
        """Grows with each derivation that is narrowed."""
        self._narrowed: dict[tuple[str, Instance], Scope] = {}

    def narrow(self, id: str, instance: Instance, scope: Scope) -> bool:
        """A derivation cannot run for an instance: it read something of a narrower scope. Whether that is news."""
        known = self._narrowed.get((id, instance))
        if scope in instance.scopes or (known is not None and _rank(scope) <= _rank(known)):
            return False
        self._narrowed[id, instance] = scope
        self.version += 1
        return True

    def place(self, id: str, demander: Instance) -> Instance | None:
        """The instance for which it runs, as far as the demander can see; None if that is a narrower one."""
        found, narrower = self._narrowest(id, demander)
        return None if narrower else found

    def narrower(self, id: str, instance: Instance) -> Scope | None:
        """The scope in which a derivation runs, if an instance is too wide to see it."""
        return self._narrowest(id, instance)[1]

    def _narrowest(self, id: str, viewer: Instance) -> tuple[Instance, Scope | None]:
        """How far down a viewer can follow a derivation, and the scope in which it runs if that is still narrower."""
        found = SPACE
        while (scope := self._narrowed.get((id, found))) is not None:
            narrower = viewer.at(scope)
            if narrower is None:
                return found, scope
            found = narrower
        return found, None

    def wanted(self) -> dict[Instance, set[str]]:
        """For each instance the derivations that have to run for it."""
        found: dict[Instance, set[str]] = {}
        for needs in (self.demands, self.forwarded):
            for demander, ids in needs.items():
                for id in ids:
                    instance = self.place(id, demander)
                    if instance is not None:
                        found.setdefault(instance, set()).add(id)
        return found


def _rank(scope: Scope) -> int:
    return tuple(Scope).index(scope)
