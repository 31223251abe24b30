"""A serving runtime beside a server, in the server's process: every space that is used is served.

It runs on a thread of its own and speaks to the server as any other does, over a socket, so that an application that
computes for long holds up no commit and no window.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from quiesce.counts import Counts
from quiesce.server.hub import Hub
from quiesce.serving.seat import App
from quiesce.serving.shell import ServingShell


class Beside:
    """Serves the spaces of a hub with one application. ``token`` makes a token that may serve a space."""

    def __init__(self, hub: Hub, app: App, token: Callable[[str], str], counts: Counts) -> None:
        self._hub = hub
        self._app = app
        self._token = token
        self._counts = counts
        self._shells: dict[str, ServingShell] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="quiesce-serving", daemon=True)
        self._url = ""

    def start(self, url: str) -> None:
        """Serve from now on; ``url`` is the server's own (``ws://host:port/sync``)."""
        self._url = url
        self._thread.start()
        self._hub.on_unserved = lambda space: self._soon(self._serve, space)
        self._hub.on_unused = lambda space: self._soon(self._put_away, space)

    def stop(self) -> None:
        """Give up every lease and end the thread."""
        self._hub.on_unserved = self._hub.on_unused = lambda space: None
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close_all(), self._loop).result(timeout=10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=10)

    def _soon(self, what: Callable[[str], None], space: str) -> None:
        self._loop.call_soon_threadsafe(what, space)

    def _serve(self, space: str) -> None:
        shell = self._shells.get(space)
        if shell is not None and not shell.ended.is_set():
            return
        self._loop.create_task(self._open(space))

    async def _open(self, space: str) -> None:
        if space not in self._shells or self._shells[space].ended.is_set():
            self._shells[space] = ServingShell(self._url, space, self._app, lambda: self._token(space), self._counts)

    def _put_away(self, space: str) -> None:
        shell = self._shells.pop(space, None)
        if shell is not None:
            self._loop.create_task(shell.close())

    async def _close_all(self) -> None:
        for shell in self._shells.values():
            await shell.close()
        self._shells.clear()
