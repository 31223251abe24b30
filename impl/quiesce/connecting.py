"""How a session comes about: over a WebSocket to a server, or over a file of one's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from pathlib import Path as FilePath
from urllib.parse import urlsplit, urlunsplit

from quiesce.address import Scope
from quiesce.clock import monotonic_ms
from quiesce.counts import Counts
from quiesce.loading import OnDemand
from quiesce.local import LocalStore
from quiesce.protocol import Watch
from quiesce.runtime import Session
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.shell import Shell
from quiesce.storage.client import Client
from quiesce.storage.socket import Disconnected, SocketSession


@contextlib.asynccontextmanager
async def connect(
    url: str,
    *,
    space: str,
    token: str | Callable[[], str],
    watch: Iterable[Watch] | None = None,
    counts: Counts | None = None,
    policy: BreakerPolicy | None = None,
) -> AsyncGenerator[Session]:
    """A session in a space of the server at ``url`` (``ws://host:port``), kept connected until it is closed.

    ``token``: as made by ``quiesce token``, or what gives a fresh one at each connect; in development mode, a name.
    ``watch``: what to follow from the start, everything in every scope unless given; what is read and not followed is
    loaded then, and followed from then on. ``policy``: other constants for the breaker,
    which has no switch. Raises ``Disconnected`` if the server refuses.
    """
    counts = counts or Counts()
    client = Client(space, token if callable(token) else lambda: token, counts)
    held = SocketSession(client, with_path(url))
    watches = _everything() if watch is None else list(watch)
    handle = client.watch(*watches)
    connection = asyncio.create_task(held.run())
    shell: Shell | None = None
    session: Session | None = None
    try:
        await _first(connection, held.ready(handle))
        shell = Shell(asyncio.get_running_loop(), monotonic_ms)
        session = Session(client, counts, work=shell.work, policy=policy)
        if watch is not None:
            session.scheduler.load_from(OnDemand(client, watches))
        shell.drive(session.scheduler)
        yield session
    finally:
        if session is not None and shell is not None:
            session.scheduler.dispose()
            await shell.close()
        client.close()
        await asyncio.wait([connection], timeout=2)
        connection.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await connection


@contextlib.asynccontextmanager
async def open(
    path: str | FilePath,
    *,
    principal: str = "me",
    counts: Counts | None = None,
    policy: BreakerPolicy | None = None,
) -> AsyncGenerator[Session]:
    """A session over a local file, with the same store and rules as a server's and nobody else in it.

    The file is made if it is missing, and is locked while it is open. Commits are durable when they are committed;
    each takes as long as the disk does, on the caller's event loop.
    """
    counts = counts or Counts()
    store = LocalStore(FilePath(path), counts)
    client = Client("local", lambda: principal, counts)
    shell = Shell(asyncio.get_running_loop(), monotonic_ms)
    try:
        handle = client.watch(*_everything())
        store.attach(client, asyncio.get_running_loop())
        if handle.problem is not None or client.problem is not None:
            raise Disconnected(handle.problem or client.problem)
        session = Session(client, counts, work=shell.work, policy=policy)
        shell.drive(session.scheduler)
        yield session
        session.scheduler.dispose()
    finally:
        await shell.close()
        store.close()


def _everything() -> list[Watch]:
    return [Watch("", scope, prefix=True) for scope in Scope]


def with_path(url: str) -> str:
    """The address of a server's sync endpoint, where only the server is named."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path="/sync")) if parts.path in ("", "/") else url


async def _first(connection: asyncio.Task[None], ready: Awaitable[None]) -> None:
    """Wait until it is ready, or raise what ended the connection."""
    waiting = asyncio.ensure_future(ready)
    try:
        await asyncio.wait([connection, waiting], return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        await connection
        raise Disconnected(None)
    finally:
        waiting.cancel()
