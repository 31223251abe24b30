"""Over a real socket: the same protocol, the pages, and peers that do not behave."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from store_crash import Server, free_port
from test_store_server import put
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Hello, Watch, WatchSet, encode
from quiesce.storage.client import Phase
from quiesce.storage.socket import Disconnected, SocketSession, session
from quiesce.storage.transaction import Settled

ALL = Watch("", prefix=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server process in development mode; yields its port."""
    port = free_port()
    server = Server(Path(tmp_path_factory.mktemp("db")), port)
    server.start()
    yield port
    server.kill()


def test_two_sessions_share_a_document(served: int) -> None:
    async def run() -> None:
        url = f"ws://127.0.0.1:{served}/sync"
        quiet = Counts(quiet=True)
        async with session(url, "shared", "ann", quiet) as ann, session(url, "shared", "ben", quiet) as ben:
            await asyncio.gather(ann.ready(ann.client.watch(ALL)), ben.ready(ben.client.watch(ALL)))
            seen: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            ben.client.replica.subscribe(lambda n: seen.done() or seen.set_result(n.changes[0].after))
            transaction = ann.client.replica.begin()
            transaction.write(Document("card"), ("title",), "é 😀")
            result = await ann.settled(transaction.commit())
            assert result.settled is Settled.COMMITTED
            assert await asyncio.wait_for(seen, 10) == {"title": "é 😀"}

    asyncio.run(run())


def test_a_refused_watch_raises_and_an_address_that_is_none_says_so(served: int) -> None:
    async def run() -> None:
        url = f"ws://127.0.0.1:{served}/sync"
        async with session(url, "shared", "", Counts(quiet=True)) as held:
            many = [Watch(f"d{number}") for number in range(2_001)]
            with pytest.raises(Disconnected, match="2001 watches"):
                await held.ready(held.client.watch(*many))
        from quiesce.storage.client import Client

        with pytest.raises(ValueError, match="no WebSocket address"):
            await SocketSession(Client("s", lambda: "x", Counts(quiet=True)), "http//nowhere").run()

    asyncio.run(run())


def test_the_pages_tell_what_is_going_on(served: int) -> None:
    base = f"http://127.0.0.1:{served}"
    assert httpx.get(f"{base}/health").json() == {"status": "ok"}
    page = httpx.get(base)
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]

    async def run() -> dict[str, Any]:
        async with session(f"ws://127.0.0.1:{served}/sync", "told", "ann", Counts(quiet=True)) as held:
            await held.ready(held.client.watch(ALL))
            assert held.client.report("trip", "normalise", Document("card"))
            transaction = held.client.replica.begin()
            transaction.write(Document("card"), (), 1)
            await held.settled(transaction.commit())
            async with httpx.AsyncClient() as client:
                return (await client.get(f"{base}/api/health/stats")).json()

    told = asyncio.run(run())["spaces"]["told"]
    assert told["sequence"] == 1
    assert [report["event"] for report in told["sessionReports"]] == ["trip"]
    assert len(told["commitRates"]) == 1


def test_a_page_of_another_origin_cannot_use_a_development_server(served: int) -> None:
    async def run() -> None:
        url = f"ws://127.0.0.1:{served}/sync"
        with pytest.raises(InvalidStatus):
            await connect(url, origin="https://elsewhere.example")  # type: ignore[arg-type]
        async with connect(url, origin="http://localhost:3000"):  # type: ignore[arg-type]
            pass

    asyncio.run(run())


def test_frames_that_are_wrong_close_with_a_reason(served: int) -> None:
    async def run() -> None:
        url = f"ws://127.0.0.1:{served}/sync"
        for data, code in [(b"nonsense", 4400), (b"\xff\x00", 4400), (encode(put(1, "a", 1)), 4400), ("", 4400)]:
            async with connect(url) as peer:
                await peer.send(data)
                assert json.loads(await peer.recv())["fatal"] is True
                with pytest.raises(ConnectionClosed) as closed:
                    await peer.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == code
        async with connect(url) as peer:
            await peer.send("x" * 1_300_000)
            with pytest.raises(ConnectionClosed) as closed:
                await peer.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code in (1009, 4413)
        raw = socket.create_connection(("127.0.0.1", served))
        raw.sendall(b"\x00" * 100)
        raw.close()
        assert httpx.get(f"http://127.0.0.1:{served}/health").status_code == 200

    asyncio.run(run())


def test_a_peer_that_stops_reading_does_not_make_the_server_grow(served: int) -> None:
    async def run() -> None:
        url = f"ws://127.0.0.1:{served}/sync"
        async with connect(url, max_queue=1) as stuck, connect(url, max_size=None) as busy:
            for peer in (stuck, busy):
                await peer.send(encode(Hello("flood", "x")))
                await peer.recv()
                await peer.send(encode(WatchSet(1, (ALL,))))
                await peer.recv()
            value = "x" * 100_000
            for local in range(1, 301):
                await busy.send(encode(put(local, "d", [local, value])))
                while json.loads(await busy.recv())["type"] != "verdict":
                    pass
            async with httpx.AsyncClient() as client:
                stats = (await client.get(f"http://127.0.0.1:{served}/api/health/stats")).json()
            unsent = [s["unsent"]["bytes"] for s in stats["spaces"]["flood"]["sessions"].values()]
            assert max(unsent) < 1_000_000, "of 30 MB that it does not read"
            last: dict[str, Any] = {}
            while last.get("toSeq") != 300:
                last = json.loads(await stuck.recv())
            assert last["catchUp"] is True
            assert [upsert["value"][0] for upsert in last["upserts"]] == [300]

    asyncio.run(run())


def test_stopping_is_graceful(tmp_path: Path) -> None:
    async def run() -> None:
        import signal

        port = free_port()
        server = Server(tmp_path, port)
        server.start()
        async with session(f"ws://127.0.0.1:{port}/sync", "s", "ann", Counts(quiet=True)) as held:
            await held.ready(held.client.watch(ALL))
            transaction = held.client.replica.begin()
            transaction.write(Document("a"), (), 1)
            handle = transaction.commit()
            await asyncio.to_thread(server.kill, signal.SIGTERM)
            server.start()
            assert (await asyncio.wait_for(held.settled(handle), 30)).settled is Settled.COMMITTED
            transaction = held.client.replica.begin()
            transaction.write(Document("a"), (), 2)
            assert (await asyncio.wait_for(held.settled(transaction.commit()), 30)).settled is Settled.COMMITTED
            assert held.client.phase is Phase.LIVE
        server.kill()

    asyncio.run(run())
