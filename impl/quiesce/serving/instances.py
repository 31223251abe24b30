"""Scope instances as those for whom something is derived: the space, a principal, a session."""

from __future__ import annotations

from dataclasses import dataclass

from quiesce.address import Identity, Scope

_SPACE = (Scope.SPACE,)
_USER = (Scope.SPACE, Scope.USER)
_SESSION = (Scope.SPACE, Scope.USER, Scope.SESSION)


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """One scope instance. Empty names are the space's; a session belongs to its principal."""

    principal: str = ""
    session: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that it sees, from the widest to its own."""
        return _SESSION if self.session else _USER if self.principal else _SPACE

    def at(self, scope: Scope) -> Instance | None:
        """The instance of a scope that this one sees, or None if that scope is narrower."""
        if scope not in self.scopes:
            return None
        if scope is Scope.SPACE:
            return Instance()
        return Instance(self.principal) if scope is Scope.USER else self

    @property
    def wider(self) -> tuple[Instance, ...]:
        """The instances that it sees besides its own, the space's first."""
        return tuple(instance for scope in self.scopes[:-1] if (instance := self.at(scope)) is not None)

    @property
    def key(self) -> str:
        """Its key: ``space``, ``user:…`` or ``session:…``."""
        return Identity(self.principal, self.session).narrowest
