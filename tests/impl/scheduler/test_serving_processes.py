"""Serving by processes: beside the server, by one of their own, and by one that is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from socket_world import server_process, until

import quiesce
from quiesce.cli import derive, serve
from quiesce.counts import Counts
from quiesce.runtime import Session
from quiesce.serving.app import load_app
from quiesce.serving.seat import Unservable

APP = '''
"""An application: who runs it says so in what it derives."""
import asyncio, os

def app(session):
    title = session.cell("title", default="")
    mine = session.cell("mine", default="?", scope="session")
    session.computed(name="shout")(lambda: f"{title.get().upper()} {os.getpid()}")

    @session.computed(name="slow")
    async def slow():
        await asyncio.sleep(0)
        return f"{title.get()}{title.get()} {os.getpid()}"

    session.computed(name="label")(lambda: f"{title.get()}{mine.get()} {os.getpid()}")
'''
DERIVE = "from quiesce.cli import derive; derive()"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with an application."""
    (tmp_path / "served_board.py").write_text(APP)
    return tmp_path


@pytest.fixture
def app(place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(place))
    return load_app("served_board:app")


def connect(url: str, principal: str) -> Any:
    return quiesce.connect(url, space="board", token=principal, counts=Counts(quiet=True))


def shows(session: Session, id: str) -> list[str]:
    shown: list[str] = []
    session.effect(name=f"show-{id}")(lambda: shown.append(session.derivations[id].get()))
    return shown


def runs(session: Session) -> int:
    return sum(derived.node.runs for derived in session.derivations.values())


def test_a_server_with_an_application_derives_and_its_sessions_do_not(place: Path, app: Any) -> None:
    async def main(url: str) -> None:
        async with connect(url, "ann") as ann, connect(url, "bob") as bob:
            await until_served(ann)
            await until_served(bob)
            for session in (ann, bob):
                app(session)
            shown = {session: shows(session, "derived/label") for session in (ann, bob)}
            ann.cell("title").set("plan")
            ann.cell("mine", scope="session").set("!")
            for session, text in ((ann, "plan! "), (bob, "plan? ")):
                await until(lambda s=session, t=text: bool(shown[s]) and shown[s][-1].startswith(t), session)
            slow = shows(bob, "derived/slow")
            await until(lambda: bool(slow) and slow[-1].startswith("planplan "), bob)
            pids = {made[-1].split()[1] for made in shown.values()}
            assert len(pids) == 1
            assert [runs(session) for session in (ann, bob)] == [0, 0]

    with server_process(place / "db", "--app", "served_board:app", path=place) as url:
        asyncio.run(main(url))


async def until_served(session: Session) -> None:
    """The runtime beside a server begins when somebody comes."""
    await served(session, expected=True)


async def served(session: Session, *, expected: bool) -> None:
    changed = asyncio.Event()
    before = session.client.on_served

    def told() -> None:
        before()
        changed.set()

    session.client.on_served = told
    async with asyncio.timeout(60):
        while bool(session.client.served) is not expected:
            changed.clear()
            await changed.wait()


@pytest.fixture
def short_leases(place: Path) -> Iterator[str]:
    with server_process(place / "db", "--limit", "lease_ms=5000", path=place) as url:
        yield url


class Deriving:
    """A serving runtime in a process of its own, which says whether it serves or waits."""

    def __init__(self, url: str, place: Path) -> None:
        arguments = [url, "--space", "board", "--app", "served_board:app", "--token", "serving"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", DERIVE, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=place,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.pid = str(self._process.pid)

    async def says(self, text: str) -> None:
        """Its next line."""
        assert self._process.stdout is not None
        assert text in await asyncio.to_thread(self._process.stdout.readline)

    async def end(self, signal: int) -> None:
        self._process.send_signal(signal)
        await asyncio.to_thread(self._process.wait, 20)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def deriving(url: str, place: Path) -> Generator[Deriving]:
    """Such a process; it does not outlive the block."""
    process = Deriving(url, place)
    try:
        yield process
    finally:
        process.close()


def test_when_a_runtime_ends_another_takes_over_and_when_that_is_killed_sessions_do(
    short_leases: str, place: Path, app: Any
) -> None:
    async def main() -> None:
        async with connect(short_leases, "ann") as ann:
            app(ann)
            shown = shows(ann, "derived/shout")
            title = ann.cell("title")

            async def derived_by(text: str) -> str:
                title.set(text)
                await until(lambda: bool(shown) and shown[-1].startswith(text.upper()), ann)
                return shown[-1].split()[1]

            assert await derived_by("a") == str(os.getpid())
            with deriving(short_leases, place) as first, deriving(short_leases, place) as second:
                await first.says("serv")  # that it serves, or that the other does
                await second.says("serv")
                await served(ann, expected=True)
                holder = await derived_by("b")
                other = second if holder == first.pid else first
                assert holder in (first.pid, second.pid)
                await (first if holder == first.pid else second).end(signal.SIGTERM)
                await other.says("serves board")
                assert await derived_by("c") == other.pid
                await other.end(signal.SIGKILL)
                assert await derived_by("d") == str(os.getpid())

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "write module:function"),
        ("no_such_module:app", "cannot be imported: ModuleNotFoundError"),
        ("served_board:nothing", "has no function nothing"),
        ("served_board:__doc__", "has no function"),
    ],
)
def test_an_application_that_is_not_there_is_an_error_in_words(app: Any, tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(Unservable, match=why):
        load_app(name)
    for command, arguments in (
        (serve, ["--db", str(tmp_path / "db"), "--app", name]),
        (derive, ["ws://127.0.0.1:1", "--space", "board", "--token", "x", "--app", name]),
    ):
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 1
        assert why in result.output
        assert "Traceback" not in result.output


def test_a_token_that_may_not_serve_is_said(place: Path, app: Any) -> None:
    from quiesce.address import Scope
    from quiesce.clock import wall_ms
    from quiesce.server.access import Grant, load_keys, make_token
    from quiesce.server.serve import ensure_keys

    ensure_keys(place / "db" / "keys")
    plain = make_token(
        load_keys(place / "db" / "keys")[0],
        "ann",
        {"board": Grant(frozenset(Scope))},
        now_ms=wall_ms(),
        lifetime_ms=60_000,
    )
    with server_process(place / "db", development=False) as url:
        arguments = [url, "--space", "board", "--app", "served_board:app", "--token", plain]
        result = CliRunner().invoke(derive, arguments)
    assert result.exit_code == 1
    assert "--serve" in result.output
