"""Documents that are not here yet: asked for when something first reads them, and followed from then on.

A run that meets one stops there and leaves nothing behind; it is run again, with the causes that it had, when the
document has arrived or is known not to exist. An event whose handler meets one keeps its place in the lane meanwhile.
A session that follows its whole space has no loads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from quiesce.commits import Document
from quiesce.scheduler.node import Kind, Node, Registration
from quiesce.scheduler.run import LoadRefused, NotLoaded, Run

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler


class Source(Protocol):
    """Where documents come from."""

    def follows(self, document: Document) -> bool:
        """Whether it is followed without being asked for."""
        ...

    def follow(self, document: Document, arrived: Callable[[str], None]) -> None:
        """Follow it from now on. ``arrived`` is called once: with nothing when the replica has it, or with why not."""
        ...


class Loads:
    """What is here, what is on its way, and who waits for it."""

    def __init__(self, scheduler: Scheduler, source: Source) -> None:
        self._scheduler = scheduler
        self._source = source
        self._here: set[Document] = set()
        self._refused: dict[Document, str] = {}
        self._nodes: dict[Document, dict[Node, Registration]] = {}
        self._told: dict[Document, list[Callable[[], None]]] = {}

    @property
    def under_way(self) -> int:
        """How many documents were asked for and have not been answered."""
        return len(self._told)

    def loading(self, document: Document) -> bool:
        """Whether it was asked for and has not been answered."""
        return document in self._told

    def here(self, document: Document) -> bool:
        """Whether it can be read now. Raises ``LoadRefused`` if it never can."""
        if document in self._here:
            return True
        if document in self._refused:
            raise LoadRefused(f"{document} cannot be loaded: {self._refused[document]}")
        if self._source.follows(document):
            self._here.add(document)
            return True
        return False

    def ask(self, document: Document, answered: Callable[[], None] = lambda: None) -> None:
        """See to it that it comes, and call ``answered`` when it has or cannot; at once if that is known."""
        if document in self._here or document in self._refused or self._source.follows(document):
            answered()
        elif document in self._told:
            self._told[document].append(answered)
        else:
            self._told[document] = [answered]
            self._source.follow(document, lambda problem: self._arrived(document, problem))

    def need(self, run: Run, document: Document) -> None:
        """A run reads it. Raises ``NotLoaded`` if that has to wait."""
        if self.here(document):
            return
        self.ask(document)
        if self.here(document):
            return
        self._nodes.setdefault(document, {})[run.node] = run.registration
        raise NotLoaded(document)

    def _arrived(self, document: Document, problem: str) -> None:
        if problem:
            self._refused[document] = problem
        else:
            self._here.add(document)
        scheduler = self._scheduler
        now = scheduler.clock()
        for node, registration in self._nodes.pop(document, {}).items():
            if node.registration is registration and node.kind is not Kind.HANDLER:
                scheduler.invalidation.invalidate(node, None, now)
        if scheduler.lane.loaded(document):
            scheduler.queue_tick()
        for answered in self._told.pop(document, ()):
            answered()
        scheduler.check_idle()
