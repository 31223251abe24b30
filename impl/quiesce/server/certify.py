"""Whether a commit stays within what its action's author declared to be all that the action touches.

A declaration is bound to the code that it was made with. One commit that exceeds it ends it for good, for that action
and that code, however it is declared again: nobody may rely on it any more. The commit itself is judged as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quiesce.address import Path, Scope, at_or_below
from quiesce.commits import Certificate, Commit, PatchDocument, Place
from quiesce.server.engine import Engine


def certify(engine: Engine, commit: Commit) -> bool:
    """Whether a commit that is about to be accepted is covered by the declaration that it names. One that exceeds it
    ends it."""
    if not commit.certificate:
        return False
    stored = engine.certificate(commit.certificate)
    if stored is None or stored.beyond is not None:
        return False
    beyond = first_beyond(commit, stored.certificate)
    if beyond is not None:
        engine.end_certificate(stored.certificate, str(beyond))
    return beyond is None


def first_beyond(commit: Commit, certificate: Certificate) -> Place | None:
    """The first place that a commit touches and a declaration does not cover. What an action writes it also reads, as
    its diff base."""
    for place in _written(commit):
        if not _covered(place, certificate.writes):
            return place
    for read in (*commit.reads, *commit.pending):
        place = Place(read.id, read.scope, read.path)
        if not _covered(place, certificate.reads) and not _covered(place, certificate.writes):
            return place
    return None


def _written(commit: Commit) -> Iterator[Place]:
    for operation in commit.operations:
        paths: Iterable[Path] = [()]
        if isinstance(operation, PatchDocument):
            paths = [edit.path for edit in operation.edits]
        for path in paths:
            yield Place(operation.id, Scope(operation.scope), path)


def _covered(place: Place, declared: Iterable[Place]) -> bool:
    return any(
        known.id == place.id and known.scope is place.scope and at_or_below(place.path, known.path)
        for known in declared
    )
