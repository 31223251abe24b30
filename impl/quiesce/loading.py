"""Documents followed one by one, by a session that does not follow its whole space."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from quiesce.commits import Document
from quiesce.protocol import Watch
from quiesce.scheduler.node import Node
from quiesce.scheduler.run import NotLoaded
from quiesce.scheduler.scheduler import Scheduler
from quiesce.storage.client import Client
from quiesce.values import Maybe


class OnDemand:
    """Follows what is asked for, beside ``watches``, which are followed anyway."""

    def __init__(self, client: Client, watches: Iterable[Watch]) -> None:
        self._client = client
        self._watches = tuple(watches)

    def follows(self, document: Document) -> bool:
        """Whether one of the watches reaches it."""
        return any(
            watch.scope is document.scope
            and (document.id.startswith(watch.id) if watch.prefix else document.id == watch.id)
            for watch in self._watches
        )

    def follow(self, document: Document, arrived: Callable[[str], None]) -> None:
        """Ask the server for it. ``arrived`` gets nothing, or why it will not come."""
        handle = self._client.watch(Watch(document.id, document.scope))
        handle.on_ready(lambda found: arrived("" if found.problem is None else found.problem.message))


def look(scheduler: Scheduler, document: Document) -> Maybe:
    """A document as it is seen now, outside every action. Raises ``NotLoaded``, and asks for it, if it is not here."""
    loads = scheduler.loads
    if loads is not None and not loads.here(document):
        loads.ask(document)
        if not loads.here(document):
            raise NotLoaded(document)
    return scheduler.replica.visible(document)


async def load(scheduler: Scheduler, documents: Iterable[Document]) -> None:
    """Wait until they are here. Raises ``LoadRefused``."""
    loads = scheduler.loads
    for document in documents if loads is not None else ():
        assert loads is not None
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def answered(arrived: asyncio.Future[None] = arrived) -> None:
            if not arrived.done():
                arrived.set_result(None)

        loads.ask(document, answered)
        await arrived
        loads.here(document)


def hold_until_loaded(scheduler: Scheduler, node: Node, document: Document) -> None:
    """A derivation whose value may have been derived before does not run until that is here, or not for long."""
    loads, registration = scheduler.loads, node.registration
    if loads is None or loads.here(document):
        return
    scheduler.hold(node)

    def arrived() -> None:
        if node.registration is registration:
            scheduler.release_hold(node)

    loads.ask(document, arrived)
