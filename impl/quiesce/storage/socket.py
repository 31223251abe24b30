"""The client's thin shell: a session over a WebSocket, kept up with growing, jittered pauses."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from quiesce.counts import Counts
from quiesce.protocol import Problem
from quiesce.storage.client import Client, Phase, WatchHandle
from quiesce.storage.transaction import CommitHandle, Result

FIRST_PAUSE_MS = 50.0
LONGEST_PAUSE_MS = 5_000.0


class Disconnected(ConnectionError):
    """The session is over: ``problem`` says why."""

    def __init__(self, problem: Problem | None) -> None:
        super().__init__(problem.message if problem else "the session was closed")
        self.problem = problem


class SocketSession:
    """A client session and the task that keeps it connected. Use from one event loop."""

    def __init__(self, client: Client, url: str, jitter: Callable[[], float] = random.random) -> None:
        self.client = client
        self._url = url
        self._jitter = jitter
        self._output = asyncio.Event()
        client.on_output = self._output.set

    async def run(self) -> None:
        """Connect, and again whenever the connection is lost, until the session ends."""
        pause = FIRST_PAUSE_MS
        while not self.client.ended:
            try:
                async with connect(self._url, compression=None, max_size=None, open_timeout=10) as socket:
                    if await self._converse(socket):
                        pause = FIRST_PAUSE_MS
            except InvalidURI as error:
                raise ValueError(f"{self._url!r} is no WebSocket address: {error}") from None
            except (OSError, InvalidHandshake, TimeoutError, WebSocketException):
                pass  # tried again below
            wait = self.client.reconnect_after_ms
            if wait is None or self.client.ended:
                return
            await asyncio.sleep(max(wait, pause * (0.5 + self._jitter() / 2)) / 1000)
            pause = min(LONGEST_PAUSE_MS, pause * 2)

    async def _converse(self, socket: ClientConnection) -> bool:
        """One connection's life. Whether it ever became live."""
        self.client.connected()
        writer = asyncio.create_task(self._write(socket))
        live = False
        try:
            async for data in socket:
                self.client.receive(data)
                live = live or self.client.phase is Phase.LIVE
                if self.client.wants_to_disconnect:
                    break
        finally:
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketException):
                await writer
            self.client.disconnected()
        return live

    async def _write(self, socket: ClientConnection) -> None:
        while True:
            await self._output.wait()
            self._output.clear()
            while (data := self.client.take()) is not None:
                await socket.send(data, text=True)
            if self.client.wants_to_disconnect:
                await socket.close()
                return

    async def ready(self, handle: WatchHandle) -> None:
        """Wait until a watch is answered. Raises ``Disconnected`` if it was refused or the session ended."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[WatchHandle] = loop.create_future()

        def ready(answered: WatchHandle) -> None:
            if not done.done():
                done.set_result(answered)

        handle.on_ready(ready)
        answered = await done
        if answered.problem is not None:
            raise Disconnected(answered.problem)

    async def settled(self, handle: CommitHandle) -> Result:
        """Wait until a commit has settled."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def settled(commit: CommitHandle) -> None:
            if commit.result is not None and not done.done():
                done.set_result(commit.result)

        handle.on_settled(settled)
        return await done


@contextlib.asynccontextmanager
async def session(url: str, space: str, token: str, counts: Counts | None = None) -> AsyncGenerator[SocketSession]:
    """A session with the server at ``url`` (``ws://host:port/sync``), connected in the background, closed
    at the end.
    """
    client = Client(space, lambda: token, counts or Counts())
    held = SocketSession(client, url)
    task = asyncio.create_task(held.run())
    try:
        yield held
    finally:
        client.close()
        await asyncio.wait([task], timeout=2)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
