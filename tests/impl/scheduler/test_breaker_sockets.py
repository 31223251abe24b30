"""Two sessions over real sockets to a real server process (seed §6), on both arms; their clock is the test's own."""

from __future__ import annotations

import asyncio
import itertools
import json
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from socket_world import Peer, World, server_process, world_of

from quiesce.address import Scope
from quiesce.runtime import Session
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, ClearReason

Play = Callable[[World, Peer, Peer], Awaitable[None]]
SPACES = (f"space{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server_process(tmp_path_factory.mktemp("db")) as address:
        yield address


def two(url: str, play: Play, policy: BreakerPolicy | None = None) -> None:
    """Two sessions in a space of their own."""

    async def main() -> None:
        async with world_of(url, next(SPACES)) as world:
            await play(world, await world.peer("alice", policy), await world.peer("bob", policy))

    asyncio.run(main())


def tagging(peer: Peer, tag: str | list[str], *, explicit: bool = True) -> Any:
    """An effect that writes its own tag to the shared document; a list's first element may be changed."""
    shared = peer.session.cell("shared", default="")

    @peer.session.effect(name=f"tag-{tag[0]}")
    def body() -> None:
        if explicit:
            shared.get()
        shared.set(tag[0])

    return body


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit read", "diff base alone"])
def test_both_sides_trip_and_commits_stop_while_time_is_held(url: str, explicit: bool) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        tagging(alice, "a", explicit=explicit)
        tagging(bob, "b", explicit=explicit)
        await world.settle()
        # Who wins a race is the network's to say, and a lost one is no echo: the counts are those of the rules.
        assert [peer.stats[:2] for peer in (alice, bob)] == [(1, 1), (1, 1)]
        assert all(peer.stats[2] == 12 for peer in (alice, bob))
        assert world.commits <= 1 + 24
        commits = world.commits
        await world.settle()
        assert world.commits == commits

    two(url, play)


def test_without_the_breaker_the_same_loop_goes_on(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        tagging(alice, "a")
        tagging(bob, "b")
        settling = asyncio.create_task(world.settle())
        reached = asyncio.Event()
        alice.client.replica.subscribe(lambda _: reached.set() if alice.client.replica.synced > 60 else None)
        await asyncio.wait_for(reached.wait(), 60)
        assert not settling.done()
        settling.cancel()

    two(url, play, BreakerPolicy(echo_trip_threshold=10**9))


def test_one_run_a_cycle_as_time_goes_by(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        nodes = [tagging(alice, "a").node, tagging(bob, "b").node]
        await world.settle()
        for backoff in (500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000):
            before = [node.runs for node in nodes]
            await world.advance(backoff - 1)
            assert [node.runs for node in nodes] == before
            await world.advance(1)
            grown = [node.runs - was for node, was in zip(nodes, before, strict=True)]
            assert max(grown) == 1
        assert [peer.stats[1] for peer in (alice, bob)] == [1, 1]

    two(url, play)


def test_agreement_clears_the_pair(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        tag = ["b"]
        tagging(alice, "a")
        node = tagging(bob, tag).node
        await world.settle()
        tag[0] = "a"
        await world.advance(60_000)
        assert bob.value("shared") == "a"
        commits = world.commits
        await world.advance(60_000)
        assert world.commits == commits
        assert node.gates.echo_backoff_until == 0
        assert [peer.stats[0] for peer in (alice, bob)] == [0, 0]
        reasons = [event.reason for event in bob.events if isinstance(event, Cleared)]
        assert reasons == [ClearReason.CONVERGENCE]

    two(url, play)


def test_an_action_that_is_registered_anew_inherits_nothing(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        nodes = {peer: tagging(peer, tag).node for peer, tag in ((alice, "a"), (bob, "b"))}
        await world.settle()
        held = bob if alice.value("shared") == "a" else alice
        node, scheduler = nodes[held], held.session.scheduler
        assert node.gates.echo_backoff_until > world.clock.now
        scheduler.unregister(node)
        scheduler.register(node)
        assert node.gates.echo_backoff_until == 0
        assert held.stats[0] == 0
        runs = node.runs
        await world.settle()
        assert node.runs > runs, "it runs at once, and is counted from nothing"

    two(url, play)


# -- what is no loop


@pytest.mark.parametrize("output", ["another document", "another field"])
def test_a_derivation_of_another_s_edits_never_trips(url: str, output: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        document = alice.session.cell("document")
        document.set({"input": 0, "output": 0})
        target = document.at("output") if output == "another field" else alice.session.cell("output")
        alice.session.effect(name="derive")(lambda: target.set(document.at("input").get()))
        await world.settle()
        for number in range(1, 21):
            bob.session.cell("document").at("input").set(number)
            await world.settle()
        assert bob.value("document" if output == "another field" else "output") in (20, {"input": 20, "output": 20})
        assert alice.stats == (0, 0, 0)

    two(url, play)


def test_a_fast_input_never_trips(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        sensor, sample = alice.session.cell("sensor"), alice.session.cell("sample")

        @alice.session.effect(name="sample")
        def body() -> None:
            sample.get()
            sample.set(sensor.get())

        await world.settle()
        for number in range(30):
            bob.session.cell("sensor").set(number)
            await world.settle()
            await world.advance(5)
        assert bob.value("sample") == 29
        assert alice.stats == (0, 0, 0)

    two(url, play)


def test_a_cold_load_that_writes_every_label_again_never_trips(url: str) -> None:
    """663 documents, each written once, because of an input (seed §1)."""

    async def play(world: World, alice: Peer, bob: Peer) -> None:
        source = alice.session.cell("source", default=0)
        for number in range(663):
            label = alice.session.cell(f"label{number}")
            alice.session.effect(name=f"label{number}")(lambda label=label: label.set(f"label {source.get()}"))
        await world.settle()
        bob.session.cell("source").set(1)
        await world.settle()
        assert bob.value("label662") == "label 1"
        assert alice.stats == (0, 0, 0)

    two(url, play)


def test_two_people_who_type_into_one_document_never_trip(url: str) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        sends: dict[Peer, Any] = {}
        for peer in (alice, bob):
            text = peer.session.cell("text", default="")
            peer.session.effect(name="show")(lambda text=text: text.get() and None)
            sends[peer] = peer.session.handler(name="type")(lambda event, text=text: text.set(event))
        for number in range(25):
            for peer, name in ((alice, "alice"), (bob, "bob")):
                sends[peer](f"{name} {number}")
            await world.settle()
        assert [peer.stats for peer in (alice, bob)] == [(0, 0, 0), (0, 0, 0)]

    two(url, play)


# -- the October storm's shape: a derivation over a per-session input


def own_tag(session: Session) -> None:
    tag = session.cell("tag", default="?", scope="session")
    session.computed(name="label")(lambda: tag.get())


def own_tag_misplaced(session: Session) -> None:
    tag = session.cell("tag", default="?", scope="session")
    session.computed(name="label", scope="space")(lambda: tag.get())


async def tagged(world: World, app: Callable[[Session], None], *peers: Peer) -> None:
    for peer, tag in zip(peers, "ab", strict=True):
        app(peer.session)
        peer.session.cell("tag", scope="session").set(tag)
        peer.session.effect(name="show")(lambda peer=peer: peer.session.derivations["derived/label"].get())
    await world.settle()


@pytest.mark.parametrize("served", [False, True], ids=["clients", "serving"])
def test_with_the_placement_right_sessions_converge_and_no_cycle_is_counted(url: str, served: bool) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        server = await world.serve(own_tag) if served else None
        await tagged(world, own_tag, alice, bob)
        assert alice.value("derived/label") == {"redirect": "session"}
        values = [peer.value("derived/label", Scope.SESSION) for peer in (alice, bob)]
        assert values == [{"value": "a"}, {"value": "b"}]
        commits = world.commits
        await world.advance(300_000 if server is None else 10_000)  # its lease is of the server's time
        assert world.commits == commits
        if server is not None:
            assert server.echo_breaker_stats().cycles_observed == 0
            assert len(server.seats) == 2

    two(url, play, BreakerPolicy(ignore_own_reverts=True))  # as a serving runtime's always is


@pytest.mark.parametrize("served", [False, True], ids=["clients", "serving"])
def test_with_the_placement_wrong_each_side_trips_and_commits_stop(url: str, served: bool) -> None:
    async def play(world: World, alice: Peer, bob: Peer) -> None:
        server = await world.serve(own_tag_misplaced) if served else None
        await tagged(world, own_tag_misplaced, alice, bob)
        commits = world.commits
        await world.settle()
        assert world.commits == commits
        if server is None:
            assert [peer.stats[:2] for peer in (alice, bob)] == [(1, 1), (1, 1)]
            return
        held = server.echo_breaker_stats()
        assert (held.active, held.trips) == (2, 2)
        assert [peer.stats for peer in (alice, bob)] == [(0, 0, 0), (0, 0, 0)]
        assert server.is_idle()
        assert server.has_armed_gate_wake()
        reports = await asyncio.to_thread(reported, world)
        sessions = {peer.client.replica.identity.session for peer in (alice, bob)}
        assert {report["actsFor"].rpartition(":")[2] for report in reports} == sessions

    two(url, play)


def reported(world: World) -> list[dict[str, Any]]:
    address = world.url.replace("ws://", "http://").removesuffix("/sync") + "/api/health/stats"
    request = urllib.request.Request(address, headers={"Authorization": "Bearer watcher"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["spaces"][world.space]["sessionReports"]
