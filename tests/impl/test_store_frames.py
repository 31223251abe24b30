"""Any frames, in any order, over memory and over SQLite: answers or clear errors, no crash, and others unharmed."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from store_frames import FRAMES, MESSAGES, in_order
from store_world import World
from test_store_server import Peer, put

from quiesce.commits import Outcome, Verdict
from quiesce.protocol import Problem, encode
from quiesce.server.engine import Engine
from quiesce.server.memory import MemoryEngine
from quiesce.server.sqlite import SqliteEngine, SqliteOptions
from quiesce.storage.client import Client, Phase

RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def bombard(world: World, frames: list[bytes]) -> list[Any]:
    """One session gets the frames; another works beside it and must not notice."""
    beside = Peer(world, "ben")
    beside.welcome()
    beside.watch()
    said: list[Any] = []
    peer = Peer(world, "ann")
    peer.welcome()
    for number, frame in enumerate(frames):
        if peer.connection.finished:
            peer = Peer(world, "ann")
            peer.welcome()
        world.hub.receive(peer.connection, frame)
        if number % 3 == 0:
            said += peer.take()
    said += peer.take()
    for message in said:
        if isinstance(message, Problem):
            assert message.code
            assert len(message.message) > 10, message
            assert "Traceback" not in message.message
        if isinstance(message, Verdict) and message.outcome is not Outcome.ACCEPTED:
            assert message.code
            assert message.message
    (verdict, *_) = [m for m in beside.ask(put(1, "own", 1)) if isinstance(m, Verdict)]
    assert verdict.outcome is Outcome.ACCEPTED
    assert world.counts.logger("server").count("storage-failed") == 0
    return said


@given(st.lists(FRAMES, min_size=1, max_size=12))
@RELAXED
def test_any_frames_over_memory(frames: list[bytes]) -> None:
    bombard(World(), frames)


def test_any_frames_over_sqlite(tmp_path: Path) -> None:
    engine: Engine = SqliteEngine(tmp_path / "fuzz.sqlite", SqliteOptions(synchronous="OFF"))
    codes: Counter[str] = Counter()
    names = itertools.count()

    @given(st.lists(MESSAGES, min_size=1, max_size=12), st.booleans())
    @settings(RELAXED, derandomize=True)
    @example([put(1, "honest", 1)], True)
    def run(messages: list[Any], honest: bool) -> None:
        frames = [encode(message) for message in (in_order(messages) if honest else messages)]
        world = World()
        world.engines["board"] = engine
        world._names = names
        codes.update(m.code or "accepted" for m in bombard(world, frames) if isinstance(m, Verdict))

    run()
    assert "accepted" in codes
    assert len(codes) >= 5, f"the frames do not get far enough: {codes}"
    engine.close()


@given(st.lists(st.binary(max_size=60) | st.text(max_size=30).map(str.encode), max_size=6))
@RELAXED
def test_a_client_survives_any_server(frames: list[bytes]) -> None:
    world = World()
    client, link = world.client("ann")
    for frame in frames:
        client.receive(frame)
    if client.wants_to_disconnect:
        link.cut()
        link.connect()
        world.settle()
    assert isinstance(client, Client)
    assert client.phase is Phase.LIVE


def test_ten_thousand_bad_frames_leave_nothing_behind() -> None:
    world = World(messages_per_second=1e9)
    peer = Peer(world, "ann")
    peer.welcome()
    frame = b'{"type":"' + b"u" * 200 + b'"}'

    def flood() -> None:
        for _ in range(5_000):
            world.hub.receive(peer.connection, frame)
            peer.connection.take()

    flood()
    tracemalloc.start()
    flood()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 200_000, f"{grown} bytes kept after 5,000 frames"


def test_half_open_connections_cost_little_and_end() -> None:
    world = World()
    silent = [world.hub.connect() for _ in range(500)]
    world.clock.advance(5_001)
    world.hub.tick()
    assert all(connection.closing is not None for connection in silent)
    for connection in silent:
        world.hub.disconnect(connection)
    assert world.hub.connections == {}
    assert isinstance(world.open_engine("x"), MemoryEngine)
