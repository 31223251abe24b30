"""The thin shell around a serving runtime: asyncio gives it its turns, its sockets, its bodies and its one timer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from quiesce.clock import Clock, monotonic_ms
from quiesce.counts import Counts
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.run import Awaiting
from quiesce.serving.seat import App
from quiesce.serving.space import REST_AFTER_MS, SpaceServer, Surrounding
from quiesce.shell import TURN_S, attend
from quiesce.storage.client import Client
from quiesce.storage.socket import Disconnected, SocketSession


class ServingShell:
    """Serves one space of the server at ``url`` (``ws://host:port/sync``) from the running event loop."""

    def __init__(
        self,
        url: str,
        space: str,
        app: App,
        token: Callable[[], str],
        counts: Counts,
        *,
        clock: Clock = monotonic_ms,
        policy: BreakerPolicy | None = None,
        rest_after_ms: float = REST_AFTER_MS,
    ) -> None:
        self._url = url
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._turn_queued = False
        self._closed = False
        self._server: SpaceServer | None = None
        self.ended = asyncio.Event()
        """Set when its session with the server is over for good."""
        given = Surrounding(token, self._connect, counts, clock, self.work, policy, rest_after_ms)
        self._server = SpaceServer(space, app, given)

    @property
    def server(self) -> SpaceServer:
        """What it drives."""
        assert self._server is not None, "made when the shell is"
        return self._server

    def work(self) -> None:
        """There is something to do, or another timer to be kept."""
        if not self._turn_queued and not self._closed:
            self._turn_queued = True
            self._loop.call_soon(self._turn)

    async def close(self) -> None:
        """Give up the lease, say goodbye, and end what is under way."""
        self.server.close()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    def _connect(self, client: Client) -> None:
        client.on_received = self.work
        self._start(SocketSession(client, self._url).run())

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await work
            finally:
                self.work()

        task = self._loop.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # what a connection ended with is its client's to tell
        if self.server.control.ended:
            self.ended.set()

    def _turn(self) -> None:
        self._turn_queued = False
        if self._closed or self._server is None:
            return
        until = self._loop.time() + TURN_S
        while (stepped := self._server.step()) is not None:
            session = stepped.seat.session
            if isinstance(stepped.step, Awaiting) and session is not None:
                self._start(attend(session.scheduler, stepped.step))
            if self._loop.time() > until:
                self.work()
                break
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self.server.timer_at
        if at is not None and not self._closed:
            self._timer = self._loop.call_later(max(0.0, at - self._clock()) / 1000, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if not self._closed:
            self.server.timer_fired()
            self._turn()


async def serve_spaces(
    url: str,
    spaces: Iterable[str],
    app: App,
    token: Callable[[], str],
    counts: Counts,
    on_lease: Callable[[str, bool], None],
) -> None:
    """Serve spaces until it is cancelled; ``on_lease`` is told which it serves, and for which it waits.

    Raises ``Disconnected`` if the server does not let it, ``Unservable``.
    """
    shells = [ServingShell(url, space, app, token, counts) for space in spaces]
    for shell in shells:
        shell.server.on_lease = partial(on_lease, shell.server.space)
    waits = [asyncio.ensure_future(shell.ended.wait()) for shell in shells]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        ended = shells[waits.index(done.pop())]
        raise Disconnected(ended.server.control.problem)
    finally:
        for wait in waits:
            wait.cancel()
        for shell in shells:
            await shell.close()
