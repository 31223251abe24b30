"""Kill the server at random moments under load from four sessions, and look for what was acknowledged.

``python tests/impl/store_crash.py --kills 200`` (``make crash``) runs it by itself; a short run is among the
tests. Real processes and a real socket; nothing waits for time to pass, only for lines, verdicts and connections.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.server.serve import database_path
from quiesce.storage.client import Client, Phase
from quiesce.storage.socket import SocketSession
from quiesce.storage.transaction import CommitHandle, Settled

SERVE = "from quiesce.cli import serve; serve()"
TOTAL = Document("total")


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server process over one directory, started and killed."""

    def __init__(self, directory: Path, port: int) -> None:
        self._directory = directory
        self._port = port
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait for its line that says it serves."""
        command = [sys.executable, "-c", SERVE, "--db", str(self._directory), "--port", str(self._port), "--dev"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("quiesce serves"):
                return
        raise RuntimeError("the server ended before it served")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, at once by default, and wait for its end."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None


@dataclass
class Worker:
    """One session: it counts a shared total up, and leaves a mark of its own in the same commit."""

    name: str
    session: SocketSession
    tried: int = 0
    handles: list[tuple[str, CommitHandle]] = field(default_factory=list)

    def attempt(self) -> CommitHandle | None:
        """One commit, if the session may make one."""
        client = self.session.client
        if client.phase not in (Phase.LIVE, Phase.AWAY, Phase.RESTORING) or client.unsettled >= 6:
            return None
        self.tried += 1
        mark = f"mark/{self.name}/{self.tried}"
        transaction = client.replica.begin()
        count = transaction.read(TOTAL, ("count",))
        transaction.write(TOTAL, ("count",), count + 1 if isinstance(count, int) else 1)
        transaction.write(Document(mark), (), {"by": self.name})
        handle = transaction.commit()
        self.handles.append((mark, handle))
        return handle


@dataclass
class Outcome:
    """What a run showed. ``settled`` counts commits by how they ended."""

    kills: int
    settled: Counter[str]
    stored: int
    total: int
    seconds: float


async def crash(directory: Path, kills: int, seed: int) -> Outcome:
    """Run the load, kill ``kills`` times, and check. Raises ``AssertionError`` naming what was lost or doubled."""
    rng = random.Random(seed)
    began = time.monotonic()
    port = free_port()
    server = Server(directory, port)
    server.start()
    counts = Counts(quiet=True)
    workers = [
        Worker(name, SocketSession(Client("crash", lambda name=name: name, counts), f"ws://127.0.0.1:{port}/sync"))
        for name in ("ann", "ben", "cid", "dot")
    ]
    progress = asyncio.Event()
    settled = 0

    def more(_: CommitHandle) -> None:
        nonlocal settled
        settled += 1
        progress.set()

    tasks = [asyncio.create_task(worker.session.run()) for worker in workers]
    try:
        await asyncio.gather(*(worker.session.ready(worker.session.client.watch(Watch("total"))) for worker in workers))
        for _ in range(kills):
            # a moment counted in messages of the sessions, so that it falls anywhere in a commit's life
            goal = settled + rng.randint(3, 25)
            while settled < goal:
                for worker in workers:
                    handle = worker.attempt()
                    if handle is not None:
                        handle.on_settled(more)
                if rng.random() < 0.5:
                    await asyncio.sleep(0)
                else:
                    progress.clear()
                    await asyncio.wait_for(progress.wait(), 60)
            for worker in workers:  # something is always in flight
                handle = worker.attempt()
                if handle is not None:
                    handle.on_settled(more)
            for _ in range(rng.randint(0, 12)):
                await asyncio.sleep(0)
            server.kill()
            server.start()
        await asyncio.gather(*(_all_settled(worker) for worker in workers))
        # one more commit each, so that everyone has a window that covers everything
        for worker in workers:
            while True:
                handle = worker.attempt()
                assert handle is not None
                if (await worker.session.settled(handle)).settled is Settled.COMMITTED:
                    break
        await asyncio.gather(*(_sees(worker, len(_committed(workers))) for worker in workers))
    finally:
        for task, worker in zip(tasks, workers, strict=True):
            worker.session.client.close()
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        server.kill(signal.SIGTERM)
    return _check(directory, kills, workers, time.monotonic() - began)


async def _all_settled(worker: Worker) -> None:
    for _, handle in worker.handles:
        await asyncio.wait_for(worker.session.settled(handle), 60)


async def _sees(worker: Worker, total: int) -> None:
    seen = asyncio.Event()

    def look(_: object) -> None:
        value = worker.session.client.replica.visible(TOTAL)
        if isinstance(value, dict) and value.get("count") == total:
            seen.set()

    end = worker.session.client.replica.subscribe(look)
    look(None)
    await asyncio.wait_for(seen.wait(), 60)
    end()


def _committed(workers: list[Worker]) -> set[str]:
    return {
        mark
        for worker in workers
        for mark, handle in worker.handles
        if handle.result is not None and handle.result.settled is Settled.COMMITTED
    }


def _check(directory: Path, kills: int, workers: list[Worker], seconds: float) -> Outcome:
    database = sqlite3.connect(database_path(directory, "crash"))
    stored = {row[0] for row in database.execute("SELECT id FROM document WHERE id LIKE 'mark/%'")}
    total = msgspec.json.decode(database.execute("SELECT value FROM document WHERE id = 'total'").fetchone()[0])[
        "count"
    ]
    assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    database.close()
    acknowledged = _committed(workers)
    results = Counter(
        handle.result.settled.value if handle.result else "never" for worker in workers for _, handle in worker.handles
    )
    assert results["never"] == 0, results
    assert not acknowledged - stored, f"acknowledged and lost: {sorted(acknowledged - stored)}"
    assert not stored - acknowledged, f"stored, and its session was told otherwise: {sorted(stored - acknowledged)}"
    assert total == len(stored), f"{len(stored)} commits counted up, and the total is {total}: one was applied twice"
    return Outcome(kills, results, len(stored), total, seconds)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        outcome = asyncio.run(crash(Path(directory), options.kills, options.seed))
    sys.stdout.write(
        f"{outcome.kills} kills in {outcome.seconds:.0f} s: {outcome.stored} commits acknowledged, all stored once; "
        f"{dict(outcome.settled)}; every session converged\n"
    )


if __name__ == "__main__":
    main()
