"""Sessions over real sockets to a real server process, whose clock is the test's own and moves by hand.

Nothing sleeps and nothing polls. A *barrier* is a request of a session that is answered when all before it has been:
after the commits of all sessions have passed theirs, a second one brings all that they caused to everybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from quiesce.address import Scope
from quiesce.clock import ManualClock
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.runtime import Session
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.serving.seat import App
from quiesce.serving.space import SpaceServer, Surrounding
from quiesce.storage.client import Client
from quiesce.storage.socket import SocketSession

SERVE = "from quiesce.cli import serve; serve()"
BARRIER = Watch("barrier")
PATIENCE_S = 60
"""After so long a test that waits for what never comes is given up."""


@contextlib.contextmanager
def server_process(
    directory: Path, *options: str, path: Path | None = None, development: bool = True
) -> Generator[str]:
    """The address of a server process, which ends with the block. ``path``: where it finds an application."""
    arguments = ["--db", str(directory), "--port", "0", "--synchronous", "OFF", *options]
    arguments += ["--dev"] if development else []
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=path
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if " on ws://" in line:
                yield line.split(" on ")[1].strip()
                break
        else:
            pytest.fail("the server did not start")
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


class World:
    """Sessions, and perhaps serving runtimes, in one space of a server. Time stands until it is moved."""

    def __init__(self, url: str, space: str) -> None:
        self.url = url
        self.space = space
        self.clock = ManualClock(1_000_000.0)
        self.peers: list[Peer] = []
        self.servers: list[SpaceServer] = []
        self.moves = itertools.count()
        self.moved = 0
        self._tasks: list[asyncio.Task[None]] = []

    def connect(self, client: Client) -> None:
        client.replica.subscribe(lambda notification: self.note())
        self._tasks.append(asyncio.create_task(SocketSession(client, self.url).run()))

    def note(self) -> None:
        """Something has happened."""
        self.moved = next(self.moves)

    async def peer(self, principal: str, policy: BreakerPolicy | None = None) -> Peer:
        client = Client(self.space, lambda: principal, Counts(quiet=True))
        self.connect(client)
        await answered(client, *(Watch("", scope, prefix=True) for scope in Scope))
        made = Peer(self, client, policy)
        self.peers.append(made)
        return made

    async def serve(self, app: App) -> SpaceServer:
        given = Surrounding(lambda: "server", self.connect, Counts(quiet=True), self.clock, rest_after_ms=1e12)
        made = SpaceServer(self.space, app, given)
        self.servers.append(made)
        await answered(made.control, BARRIER)
        await self.settle()
        return made

    def clients(self) -> list[Client]:
        made = [peer.client for peer in self.peers]
        for server in self.servers:
            made += [server.control, *(seat.client for seat in server.seats.values())]
        return [client for client in made if not client.ended]

    def run(self) -> None:
        """All runs that there are, here."""
        for peer in self.peers:
            while peer.session.scheduler.step() is not None:
                self.note()
        for server in self.servers:
            while server.step() is not None:
                self.note()

    async def settle(self) -> None:
        """Until nothing moves anywhere, while time stands."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                before, clients = self.moved, self.clients()
                self.run()
                for _ in range(2):
                    await asyncio.gather(*(answered(client, BARRIER) for client in self.clients()))
                self.run()
                if self.moved == before and self.clients() == clients:
                    return

    async def advance(self, milliseconds: float) -> None:
        """Let time pass, timer by timer, and everything settle at each."""
        end = self.clock.now + milliseconds
        while True:
            holders: list[Any] = [*(peer.session.scheduler for peer in self.peers), *self.servers]
            timers = {holder: at for holder in holders if (at := holder.timer_at) is not None and at <= end}
            if not timers:
                break
            self.clock.now = max(self.clock.now, min(timers.values()))
            for holder, at in timers.items():
                if at <= self.clock.now:
                    holder.timer_fired()
            await self.settle()
        self.clock.now = end

    @property
    def commits(self) -> int:
        """The space's sequence, as far as it is known here."""
        return max(peer.client.replica.synced for peer in self.peers)

    async def close(self) -> None:
        for server in self.servers:
            server.close()
        for peer in self.peers:
            peer.session.scheduler.dispose()
            peer.client.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        for task in self._tasks:
            task.cancel()


class Peer:
    """One session."""

    def __init__(self, world: World, client: Client, policy: BreakerPolicy | None) -> None:
        self.client = client
        self.session = Session(client, client_counts(), clock=world.clock, policy=policy)
        self.events: list[Any] = []
        self.session.on_breaker = self.events.append

    def value(self, name: str, scope: Scope = Scope.SPACE) -> Any:
        return self.client.replica.visible(Document(name, scope))

    @property
    def stats(self) -> tuple[int, int, int]:
        """Backoffs in force, trips, echo steps."""
        held = self.session.echo_breaker_stats()
        return held.active, held.trips, held.cycles_observed


def client_counts() -> Counts:
    return Counts(quiet=True)


async def answered(client: Client, *watches: Watch) -> None:
    """Until the server has answered a request, and so all that this client sent before it."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    handle = client.watch(*watches)
    handle.on_ready(lambda _: done.done() or done.set_result(None))
    await done
    assert handle.problem is None or client.ended, handle.problem


@contextlib.asynccontextmanager
async def world_of(url: str, space: str) -> AsyncGenerator[World]:
    world = World(url, space)
    try:
        yield world
    finally:
        await world.close()


async def until(condition: Callable[[], bool], session: Session) -> None:
    """Wait for what a change of what the session sees brings about."""
    changed = asyncio.Event()
    end = session.replica.subscribe(lambda notification: changed.set())
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                changed.clear()
                await changed.wait()
    finally:
        end()
