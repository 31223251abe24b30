"""Where a value lives: a document of a space, in one scope instance, and a path inside it.

A document is named ``(space, scope, id)``. The scope says who shares it and never changes the id: one id in
scope ``user`` is as many documents as there are users. What an index, a cause or a breaker pair is keyed by is
therefore the *entity*, with the scope **instance** resolved against the identity that a transaction serves;
matching on less would let two sessions' documents, or one id of two spaces, pass for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

Path = tuple[str, ...]
"""Segments from the document's root; array positions are decimal strings. ``()`` is the whole document."""


class Scope(StrEnum):
    """Who shares a document, from widest to narrowest."""

    SPACE = "space"
    USER = "user"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a transaction acts for: an authenticated principal and one of its sessions."""

    principal: str
    session: str

    def instance(self, scope: Scope) -> str:
        """The key of the scope instance that this identity sees.

        ``space``, ``user:<principal>`` or ``session:<principal>:<session>``, each part percent-encoded so that
        two identities never make one key.
        """
        if scope is Scope.SPACE:
            return "space"
        if scope is Scope.USER:
            return f"user:{quote(self.principal, safe='')}"
        return f"session:{quote(self.principal, safe='')}:{quote(self.session, safe='')}"

    @property
    def narrowest(self) -> str:
        """The key of the narrowest scope instance that it names: a session's, a principal's, or the space's."""
        return self.instance(Scope.SESSION if self.session else Scope.USER if self.principal else Scope.SPACE)


@dataclass(frozen=True, slots=True)
class Entity:
    """One document's complete identity. ``instance`` is a resolved scope instance, never a scope's name."""

    space: str
    instance: str
    id: str

    def __str__(self) -> str:
        return f"{self.space}/{self.instance}/{self.id}"


@dataclass(frozen=True, slots=True)
class Address:
    """A path inside one document."""

    entity: Entity
    path: Path = ()

    def __str__(self) -> str:
        return "/".join((str(self.entity), *self.path))


def entity(space: str, scope: Scope, id: str, identity: Identity) -> Entity:
    """Resolve a declared scope to the instance that ``identity`` sees."""
    return Entity(space, identity.instance(scope), id)


def at_or_below(path: Path, ancestor: Path) -> bool:
    """Whether ``path`` is ``ancestor`` or lies under it."""
    return path[: len(ancestor)] == ancestor
