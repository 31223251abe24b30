"""The thin shell: a hub behind WebSockets and a few HTTP routes.

Nothing is decided here. Bytes go in and out, batches run on worker threads (a space has one at a time, so one
slow disk sync holds up no other space and no reader), and a timer calls ``tick``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send

from quiesce.protocol import CLOSE_CODES
from quiesce.server.access import AccessDenied, Authenticator
from quiesce.server.batch import Batch, Results
from quiesce.server.health import PAGE, stats
from quiesce.server.hub import Hub
from quiesce.server.session import Connection
from quiesce.server.space import Space

TICK_S: Final = 1.0
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Pump:
    """Runs ready batches until there are none; one task, woken by the hub."""

    def __init__(self, hub: Hub, threads: int) -> None:
        self._hub = hub
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="quiesce-batch")
        self._loop = asyncio.get_running_loop()
        self._scheduled = False
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        hub.on_work = self.wake

    def wake(self) -> None:
        """Look for ready spaces when the event loop gets to it: what arrives together is decided together."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._scheduled = False
        for space in list(self._hub.spaces.values()):
            batch = space.take() if space.ready else None
            if batch is not None:
                self._running += 1
                self._idle.clear()
                self._hub.surroundings.tally.batches += 1
                future = self._loop.run_in_executor(self._executor, batch.run)
                future.add_done_callback(lambda done, space=space, batch=batch: self._done(space, batch, done))

    def _done(self, space: Space, batch: Batch, done: asyncio.Future[Results]) -> None:
        self._running -= 1
        if done.cancelled():
            results = Results(failure="the server was stopped")
        elif (error := done.exception()) is not None:
            # A fault of this program must not take the server down, and nothing of the batch may be
            # acknowledged.
            results = Results(failure=f"{type(error).__name__}: {error}")
        else:
            results = done.result()
        space.settle(batch, results)
        if not self._running:
            self._idle.set()
        self.wake()

    async def drain(self) -> None:
        """Wait until everything that was received is decided."""
        while self._running or any(space.busy for space in self._hub.spaces.values()):
            self.wake()
            await asyncio.sleep(0)
            await self._idle.wait()

    def stop(self) -> None:
        """End the worker threads."""
        self._executor.shutdown(wait=True)


async def _tick(hub: Hub) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        hub.tick()


class _Socket:
    """One WebSocket: a task that reads and a task that writes, around a connection of the hub."""

    def __init__(self, hub: Hub, receive: Receive, send: Send) -> None:
        self._hub = hub
        self._receive = receive
        self._send = send
        self._output = asyncio.Event()
        self._connection = hub.connect(self._output.set)

    async def serve(self) -> None:
        await self._send({"type": "websocket.accept"})
        reader = asyncio.create_task(self._read())
        try:
            await self._write(self._connection, reader)
        finally:
            self._hub.disconnect(self._connection)
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _read(self) -> None:
        try:
            while True:
                message: Message = await self._receive()
                if message["type"] == "websocket.disconnect":
                    return
                data: str | bytes | None = message.get("text") or message.get("bytes")
                self._hub.receive(self._connection, data or b"")
                if self._connection.closing is not None:
                    return
        finally:
            self._output.set()

    async def _write(self, connection: Connection, reader: asyncio.Task[None]) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # the peer has gone, which the reader learns too
            while True:
                await self._output.wait()
                self._output.clear()
                while (data := connection.take()) is not None:
                    await self._send({"type": "websocket.send", "text": data.decode()})
                if connection.closing is not None:
                    code = CLOSE_CODES.get(connection.closing.code, 1000 if connection.closing.code == "bye" else 4400)
                    await self._send({"type": "websocket.close", "code": code, "reason": connection.closing.code})
                    return
                if reader.done():
                    return


def application(hub: Hub, authenticator: Authenticator, *, threads: int = 4, loopback_only: bool = False) -> Starlette:
    """The server as an ASGI application. ``loopback_only``: refuse pages of other origins (development mode,
    where a token proves nothing, and any page in a browser could reach this machine)."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        pump = Pump(hub, threads)
        ticking = asyncio.create_task(_tick(hub))
        yield
        ticking.cancel()
        hub.shut_down()
        await pump.drain()
        pump.stop()
        hub.close()

    class Sync:
        def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
            self._scope, self._receive, self._send = scope, receive, send

        def __await__(self) -> Any:
            return self._serve().__await__()

        async def _serve(self) -> None:
            await self._receive()  # websocket.connect
            if loopback_only and not _from_here(self._scope):
                await self._send({"type": "websocket.close", "code": 4403, "reason": "forbidden"})
                return
            await _Socket(hub, self._receive, self._send).serve()

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "stopping" if hub.shutting_down else "ok"}, 503 if hub.shutting_down else 200)

    async def health_stats(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            claims = authenticator.claims(token if scheme.lower() == "bearer" else "")
            if not claims.observe:
                raise AccessDenied("forbidden", "this token may not see statistics: make one with --observe")
        except AccessDenied as denied:
            status = 403 if denied.code == "forbidden" else 401
            return JSONResponse({"code": denied.code, "message": str(denied)}, status)
        return JSONResponse(stats(hub), headers={"Cache-Control": "no-store"})

    async def page(_: Request) -> Response:
        policy = "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
        return HTMLResponse(PAGE, headers={"Content-Security-Policy": policy})

    return Starlette(
        routes=[
            Route("/", page),
            Route("/health", health),
            Route("/api/health/stats", health_stats),
            WebSocketRoute("/sync", Sync),
        ],
        lifespan=lifespan,
    )


def _from_here(scope: Scope) -> bool:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    origin = headers.get(b"origin")
    return origin is None or urlsplit(origin.decode("latin-1")).hostname in LOOPBACK_NAMES
