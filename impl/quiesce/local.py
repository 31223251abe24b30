"""A store in a file of one's own: the server's engine and rules in this process, without a socket."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path as FilePath

from quiesce.clock import monotonic_ms, wall_ms
from quiesce.counts import Counts
from quiesce.server.access import DevelopmentAuthenticator
from quiesce.server.engine import Engine
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.sqlite import SqliteEngine
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally
from quiesce.storage.client import Client
from quiesce.storage.loopback import Loopback

NO_RATE = 1e9
"""Commits and messages a second that one's own file takes: nobody has to be protected from anybody."""


class LocalStore:
    """One file, one client. What the client sends is decided in a turn of the event loop."""

    def __init__(self, path: FilePath, counts: Counts) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        limits = Limits(commits_per_second=NO_RATE, messages_per_second=NO_RATE)
        surroundings = Surroundings(limits, monotonic_ms, wall_ms, secrets.token_urlsafe, counts, Tally())

        def open_engine(space: str) -> Engine:
            return SqliteEngine(path)

        self._hub = Hub(surroundings, DevelopmentAuthenticator(), open_engine)
        self._loop = Loopback(self._hub)
        self._queued = False
        self._closed = False

    def attach(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        """Connect the client, and let what is in the file reach it."""

        def output() -> None:
            if not self._queued and not self._closed:
                self._queued = True
                loop.call_soon(self._move)

        client.on_output = output
        self._loop.link(client).connect()
        self._loop.settle()

    def _move(self) -> None:
        self._queued = False
        if not self._closed:
            self._loop.settle()

    def close(self) -> None:
        """Decide what was sent, and release the file."""
        self._loop.settle()
        self._closed = True
        self._hub.close()
