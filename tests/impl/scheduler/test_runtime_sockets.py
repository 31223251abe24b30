"""Sessions over real sockets to a real server process, and over a local file."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quiesce
from quiesce.counts import Counts
from quiesce.handles import NotCommitted
from quiesce.runtime import Session
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.storage.socket import Disconnected

SERVE = "from quiesce.cli import serve; serve()"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server process, which ends with the test."""
    command = [sys.executable, "-c", SERVE, "--db", str(tmp_path), "--port", "0", "--dev", "--synchronous", "OFF"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if " on ws://" in line:
                yield line.split(" on ")[1].strip().removesuffix("/sync")
                break
        else:
            pytest.fail("the server did not start")
    finally:
        process.terminate()
        process.wait(10)


def connect(server: str, token: str, **options: Any) -> Any:
    return quiesce.connect(server, space="board", token=token, counts=Counts(quiet=True), **options)


def stats(server: str) -> dict[str, Any]:
    url = server.replace("ws://", "http://") + "/api/health/stats"
    request = urllib.request.Request(url, headers={"Authorization": "Bearer watcher"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)["spaces"]["board"]


async def until(condition: Any, session: Session) -> None:
    """Wait for something that a change of what the session sees brings about."""
    if condition():
        return
    changed = asyncio.Event()
    end = session.replica.subscribe(lambda notification: changed.set())
    try:
        async with asyncio.timeout(10):
            while not condition():
                changed.clear()
                await changed.wait()
    finally:
        end()


def test_two_sessions_share_cells_and_derived_values(server: str) -> None:
    async def main() -> None:
        async with connect(server, "alice") as alice, connect(server, "bob") as bob:
            title = alice.cell("title", default="")

            @alice.computed(name="shout")
            def shout() -> str:
                return title.get().upper()

            shown: list[str] = []
            alice.effect(lambda: shown.append(shout.get()))

            @bob.handler
            async def rename(event: str) -> None:
                await asyncio.sleep(0)
                bob.cell("title").set(event)

            await rename("plan")
            await until(lambda: shout.get() == "PLAN", alice)
            await alice.idle()
            assert shown[-1] == "PLAN"
            heard = bob.computed(name="shout")(lambda: "")  # nobody here needs it: what alice derived is read

            def has_arrived() -> bool:
                try:
                    return heard.get() == "PLAN"
                except quiesce.NotYet:
                    return False

            await until(has_arrived, bob)

    asyncio.run(main())


def storm(session: Session, tag: str) -> None:
    """An action that writes its own tag into the document that another session's writes theirs into."""
    shared = session.cell("shared", default="")

    @session.effect(name=f"tag-{tag}")
    def body() -> None:
        shared.get()
        shared.set(tag)


def test_both_sides_of_a_storm_trip_and_the_health_page_shows_it(server: str) -> None:
    async def main() -> None:
        async with connect(server, "alice") as alice, connect(server, "bob") as bob:
            tripped: list[str] = []
            both = asyncio.Event()
            for name, session in (("alice", alice), ("bob", bob)):

                def told(event: Any, name: str = name) -> None:
                    tripped.append(name)
                    if len(tripped) == 2:
                        both.set()

                session.on_breaker = told
            storm(alice, "a")
            storm(bob, "b")
            async with asyncio.timeout(20):
                await both.wait()
                await alice.idle()
                await bob.idle()
            assert sorted(tripped) == ["alice", "bob"]
            told_stats = await asyncio.to_thread(stats, server)
            assert told_stats["sequence"] <= 2 * 12 + 2, "commits stopped when both had tripped"
            reports = told_stats["sessionReports"]
            assert {(report["principal"], report["event"]) for report in reports} == {
                ("alice", "trip"),
                ("bob", "trip"),
            }

    asyncio.run(main())


def test_without_the_breaker_the_same_storm_goes_on(server: str) -> None:
    never = BreakerPolicy(echo_trip_threshold=10**9)

    async def main() -> None:
        async with connect(server, "alice", policy=never) as alice, connect(server, "bob", policy=never) as bob:
            storm(alice, "a")
            storm(bob, "b")
            await until(lambda: alice.replica.synced > 100, alice)
            assert bob.echo_breaker_stats().trips == 0

    asyncio.run(main())


def test_a_server_that_refuses_says_why(server: str) -> None:
    async def main() -> None:
        with pytest.raises(Disconnected, match="space"):
            async with quiesce.connect(server, space="", token="alice", counts=Counts(quiet=True)):
                pytest.fail("nobody was let in")

    asyncio.run(main())


def test_no_address_is_an_error_in_words() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="is no WebSocket address"):
            async with quiesce.connect("http://127.0.0.1:1", space="s", token="t", counts=Counts(quiet=True)):
                pytest.fail("nothing is there")

    asyncio.run(main())


def test_a_local_file_keeps_everything(tmp_path: Path) -> None:
    async def life(number: int) -> list[Any]:
        async with quiesce.open(tmp_path / "board.db", counts=Counts(quiet=True)) as session:
            shown: list[Any] = []
            lives = session.cell("lives", default=0)

            @session.computed(name="double")
            def double() -> int:
                return lives.get() * 2

            session.effect(lambda: shown.append(double.get()))
            await session.idle()
            await lives.update(lambda found: found + 1)
            await session.idle()
            assert number == lives.get()
            return shown

    assert asyncio.run(life(1)) == [0, 2]
    assert asyncio.run(life(2)) == [2, 4]


def test_timers_bodies_and_errors_under_asyncio(tmp_path: Path) -> None:
    async def main() -> None:
        async with quiesce.open(tmp_path / "board.db", counts=Counts(quiet=True)) as session:
            cell, ran = session.cell("cell", default=0), list[int]()

            @session.effect(debounce_ms=30)
            async def slow() -> None:
                found = cell.get()
                await asyncio.sleep(0.01)
                ran.append(found)

            @session.handler
            def bad(event: Any) -> None:
                raise ValueError(f"no {event}")

            await session.idle()
            for number in range(1, 4):
                cell.set(number)
            await session.idle()
            assert ran == [0, 3]
            with pytest.raises(
                NotCommitted, match="ended as failed: its handler raised ValueError: no thanks"
            ) as raised:
                await bad("thanks")
            assert isinstance(raised.value.__cause__, ValueError), "with what the handler raised"
            assert [failure.code for failure in session.failures] == ["body-failed"]
            hanging = session.effect(lambda: asyncio.sleep(60))
            await asyncio.sleep(0)
            assert not session.is_idle()
            _ = hanging

    asyncio.run(main())
