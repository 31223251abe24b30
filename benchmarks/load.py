"""The store under load, beside what one would otherwise put there.

    python benchmarks/load.py              the whole table (some minutes)
    python benchmarks/load.py --only one   the cost of a durable commit at one session, against a bare SQLite insert
    python benchmarks/load.py --profile    where the server's time goes

Everything runs on this machine and talks to 127.0.0.1. Load and server share its cores, so absolute figures are those
of a busy machine; the ratios are taken in one run. Writers are closed loops: each waits for its commit's verdict.
Latency is from just before a writer sends until a peer holds the window, on one clock. The fan-out that the server
and Redis are compared by is the same: every message goes to every session of the space.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from quiesce.commits import Commit, SetDocument
from quiesce.protocol import Hello, Watch, WatchSet, encode

SERVE = "from quiesce.cli import serve; serve()"
PROFILED = """
import cProfile, pstats, threading, sys
profile = cProfile.Profile()
from quiesce.cli import serve
profile.enable()
try:
    serve(standalone_mode=False)
except BaseException:
    pass
profile.disable()
pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(28)
"""
SMALL, LARGE = 60, 100_000
STAMP = b'"at":'


@dataclass
class Measured:
    """One line of the table."""

    commits: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    received: int = 0
    deliveries: int = 0
    cpu: float = 0.0
    rss_mb: float = 0.0

    def row(self, name: str) -> str:
        """As printed."""
        cuts = statistics.quantiles(self.latencies, n=100) if len(self.latencies) > 2 else [float("nan")] * 99
        return (
            f"{name:<44}{self.commits / self.seconds:>9.0f}{self.received / self.seconds:>10.0f}"
            f"{self.deliveries / self.seconds:>10.0f}"
            f"{cuts[49]:>9.1f}{cuts[98]:>9.1f}{100 * self.cpu / self.seconds:>7.0f}%{self.rss_mb:>8.0f}"
        )


HEAD = f"{'':<44}{'commits/s':>9}{'frames/s':>10}{'docs/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU':>8}{'MB':>8}"


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """A server process, its CPU time and its memory."""

    def __init__(self, command: list[str], ready: str) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if ready in line:
                return
        raise SystemExit(f"{command[0]} did not start")

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGINT if "cProfile" in str(self._process.args) else signal.SIGTERM)
        self._process.wait()


def store(directory: Path, *, profiled: bool = False) -> tuple[Process, int]:
    """A store over a fresh directory."""
    port = free_port()
    arguments = ["--db", str(directory), "--port", str(port), "--dev", "--limit", "commits_per_second=1000000"]
    return Process([sys.executable, "-c", PROFILED if profiled else SERVE, *arguments], "quiesce serves"), port


class Session(asyncio.Protocol):
    """A WebSocket client with as little in it as will do, so that what is measured is the server.

    It stamps what it writes, and reads the stamps off what it gets; frames are sent with a mask of zeros.
    """

    def __init__(self, index: int, space: str, size: int, run: Run) -> None:
        self.index, self.space, self.size, self.run = index, space, size, run
        self.local = 0
        self.transport: asyncio.Transport | None = None
        self.decided = asyncio.Event()
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._greeting = True
        self._buffer = bytearray()

    async def open(self, port: int) -> None:
        """Connect, greet and watch."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", port)
        self.transport = transport
        transport.write(
            b"GET /sync HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await self._answers.get()  # frames may follow only the answer to the upgrade
        for message in (Hello(self.space, f"p{self.index}"), WatchSet(1, (Watch("", prefix=True),))):
            self.send(encode(message))
            await self._answers.get()

    def send(self, data: bytes) -> None:
        """One text frame."""
        assert self.transport is not None
        size = len(data)
        if size < 126:
            head = bytes((0x81, 0x80 | size))
        elif size < 65_536:
            head = bytes((0x81, 0xFE)) + size.to_bytes(2, "big")
        else:
            head = bytes((0x81, 0xFF)) + size.to_bytes(8, "big")
        self.transport.write(head + b"\0\0\0\0" + data)

    def data_received(self, data: bytes) -> None:
        """Cut frames off what has come."""
        buffer = self._buffer
        buffer += data
        if self._greeting:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            del buffer[: end + 4]
            self._greeting = False
            self._answers.put_nowait(b"")
        while len(buffer) >= 2:
            size, start = buffer[1] & 0x7F, 2
            if size == 126:
                size, start = int.from_bytes(buffer[2:4], "big"), 4
            elif size == 127:
                size, start = int.from_bytes(buffer[2:10], "big"), 10
            if len(buffer) < start + size or (start > 2 and len(buffer) < start):
                return
            if buffer[0] & 0x0F == 1:
                self._message(bytes(buffer[start : start + size]))
            del buffer[: start + size]

    def _message(self, data: bytes) -> None:
        if data.startswith(b'{"type":"verdict"'):
            self.decided.set()
        elif not self.run.begun:
            self._answers.put_nowait(data)
        else:
            self.run.received += 1
            self.run.take_stamps(data)

    async def write(self) -> None:
        """Commit, wait for the verdict, again."""
        filler = "x" * self.size
        while not self.run.over:
            self.local += 1
            value = {"at": time.perf_counter(), "of": self.index, "filler": filler}
            self.decided.clear()
            self.send(encode(Commit(self.local, operations=(SetDocument(f"d{self.index}", value),))))
            await self.decided.wait()
            self.run.commits += 1


class Run:
    """One measurement: sessions, some of which write."""

    def __init__(self) -> None:
        self.begun = False
        self.over = False
        self.counting = False
        self.commits = 0
        self.received = 0
        self.deliveries = 0
        self.latencies: list[float] = []

    def take_stamps(self, data: bytes) -> int:
        """Note the age of everything that came; returns where the last stamp ended."""
        place = end = 0
        now = time.perf_counter()
        while (place := data.find(STAMP, place)) >= 0 and (stop := data.find(b",", place)) >= 0:
            self.deliveries += 1
            if self.counting and len(self.latencies) < 400_000:
                self.latencies.append((now - float(data[place + len(STAMP) : stop])) * 1000)
            place = end = stop
        return end


async def measure(run: Run, tasks: list[asyncio.Task[Any]], server: Process, seconds: float) -> Measured:
    """Let it warm up, then count."""
    await asyncio.sleep(seconds / 4)
    run.counting = True
    commits, received, deliveries = run.commits, run.received, run.deliveries
    cpu, began = server.cpu_seconds(), time.perf_counter()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    measured = Measured(
        run.commits - commits,
        took,
        run.latencies,
        run.received - received,
        run.deliveries - deliveries,
        server.cpu_seconds() - cpu,
        server.rss_mb(),
    )
    run.over = True
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return measured


async def with_store(
    directory: Path, sessions: int, spaces: int, writers: int, size: int, seconds: float, *, profiled: bool = False
) -> Measured:
    """The store with sessions spread over spaces, and as many writers."""
    server, port = store(directory, profiled=profiled)
    run = Run()
    try:
        made = [Session(index, f"s{index % spaces}", size, run) for index in range(sessions)]
        for start in range(0, sessions, 50):
            await asyncio.gather(*(session.open(port) for session in made[start : start + 50]))
        run.begun = True
        tasks = [asyncio.create_task(session.write()) for session in made[:writers]]
        measured = await measure(run, tasks, server, seconds)
        for session in made:
            if session.transport is not None:
                session.transport.abort()
        return measured
    finally:
        server.stop()


class Subscriber(asyncio.Protocol):
    """A Redis connection that notes the age of what is published."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.transport: asyncio.Transport | None = None
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        self.run.received += 1
        end = self.run.take_stamps(data)
        self._rest = data[max(end, len(data) - 40) :]


async def with_redis(sessions: int, writers: int, size: int, seconds: float) -> Measured:
    """The same fan-out by publish and subscribe; nothing is stored."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = Process(command, "Ready to accept connections")
    loop, run = asyncio.get_running_loop(), Run()
    subscribers: list[Subscriber] = []
    try:
        for _ in range(sessions):
            transport, protocol = await loop.create_connection(lambda: Subscriber(run), "127.0.0.1", port)
            transport.write(b"SUBSCRIBE s\r\n")
            subscribers.append(protocol)

        async def publish(index: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while not run.over:
                payload = msgspec.json.encode({"at": time.perf_counter(), "of": index, "filler": "x" * size})
                writer.write(b"*3\r\n$7\r\nPUBLISH\r\n$1\r\ns\r\n$%d\r\n%s\r\n" % (len(payload), payload))
                await reader.readline()
                run.commits += 1

        tasks = [asyncio.create_task(publish(index)) for index in range(writers)]
        measured = await measure(run, tasks, server, seconds)
        for subscriber in subscribers:
            if subscriber.transport is not None:
                subscriber.transport.abort()
        return measured
    finally:
        server.stop()


def bare_inserts(directory: Path, seconds: float) -> float:
    """Durable SQLite inserts a second, one a transaction, with the store's pragmas and about its row."""
    database = sqlite3.connect(directory / "bare.sqlite", isolation_level=None)
    for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
        database.execute(f"PRAGMA {pragma}")
    database.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, value TEXT)")
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        database.execute("INSERT INTO entry (value) VALUES (?)", ("x" * 120,))
        count += 1
    database.close()
    return count / seconds


async def one_session(directory: Path, seconds: float, rounds: int) -> None:
    """A durable commit at one session over the socket, against a bare insert; taken in turns."""
    store_rates, bare_rates = [], []
    for number in range(rounds):
        place = directory / str(number)
        place.mkdir()
        bare_rates.append(bare_inserts(place, seconds))
        measured = await with_store(place / "db", 1, 1, 1, SMALL, seconds)
        store_rates.append(measured.commits / measured.seconds)
        print(f"  round {number + 1}: insert {bare_rates[-1]:.0f}/s, commit {store_rates[-1]:.0f}/s")
    bare, stored = statistics.median(bare_rates), statistics.median(store_rates)
    print(f"one session: {stored:.0f} commits/s, bare insert {bare:.0f}/s: {bare / stored:.2f} times as long")


async def table(directory: Path, seconds: float) -> None:
    """Every combination."""
    redis = shutil.which("redis-server") is not None
    if not redis:
        print("(redis-server is not installed here; its lines are left out)")
    print(HEAD)
    for size, label in ((SMALL, "small"), (LARGE, "100 kB")):
        for sessions in (10, 100, 1_000):
            for spaces in sorted({1, sessions // 10}):
                writers = min(sessions, 10) if spaces == 1 else spaces
                if size == LARGE and spaces == 1:
                    writers = min(writers, 2)
                name = f"{sessions} sessions, {spaces} space{'s' * (spaces > 1)}, {writers} writers, {label}"
                place = Path(tempfile.mkdtemp(dir=directory))
                measured = await with_store(place, sessions, spaces, writers, size, seconds)
                print(measured.row(name), flush=True)
                if redis and spaces == 1:
                    beside = await with_redis(sessions, writers, size, seconds)
                    print(beside.row("  Redis publish and subscribe"), flush=True)
                    ratio = measured.deliveries / measured.seconds / max(1.0, beside.deliveries / beside.seconds)
                    print(f"  documents delivered, against Redis: {ratio:.2f} times", flush=True)
                shutil.rmtree(place)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["one", "table"])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        directory = Path(name)
        if options.profile:
            measured = asyncio.run(with_store(directory, 100, 1, 10, SMALL, options.seconds, profiled=True))
            print(HEAD)
            print(measured.row("100 sessions, 1 space, 10 writers, profiled"))
            return
        if options.only != "table":
            asyncio.run(one_session(directory, options.seconds, options.rounds))
        if options.only != "one":
            asyncio.run(table(directory, options.seconds))


if __name__ == "__main__":
    main()
