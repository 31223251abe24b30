"""A session that does not follow its whole space: what is read is loaded, and nobody takes what is missing for what is
absent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer
from scheduler_world import Pause

from quiesce.commits import Document
from quiesce.loading import OnDemand
from quiesce.protocol import Watch
from quiesce.scheduler.loads import Loads
from quiesce.scheduler.run import LoadRefused, NotLoaded


@pytest.fixture
def world() -> ApiWorld:
    world = ApiWorld()
    setup = world.session("setup")
    setup.session.cell("title").set("plan")
    setup.session.cell("count").set(41)
    world.settle()
    world.peers.clear()
    return world


def narrow(world: ApiWorld, principal: str = "alice", *watches: Watch) -> SessionPeer:
    """A session that follows nothing but what it reads."""
    watches = watches or (Watch("nothing of interest"),)
    peer = SessionPeer(world, principal, None)
    peer.client.unwatch(Watch("", prefix=True))
    peer.client.watch(*watches)
    world.loop.settle()
    peer.session.scheduler.load_from(OnDemand(peer.client, watches))
    world.peers.append(peer)
    assert peer.value("title") is not None
    return peer


def test_what_an_effect_reads_is_loaded_and_followed_from_then_on(world: ApiWorld) -> None:
    alice, shown = narrow(world), list[Any]()
    title = alice.session.cell("title", default="untitled")
    alice.session.effect(lambda: shown.append(title.get()))
    alice.run()
    assert (shown, alice.scheduler.is_idle()) == ([], False), "neither run with a default nor forgotten"
    world.settle()
    assert (shown, alice.scheduler.is_idle(durable=True)) == (["plan"], True)
    world.session("bob").session.cell("title").set("other")
    world.settle()
    assert shown == ["plan", "other"]


def test_what_does_not_exist_is_known_not_to(world: ApiWorld) -> None:
    alice, shown = narrow(world), list[Any]()
    nothing = alice.session.cell("nowhere", default="none")
    alice.session.effect(lambda: shown.append(nothing.get()))
    world.settle()
    assert (shown, alice.scheduler.is_idle(durable=True)) == (["none"], True)


def test_a_run_cut_short_leaves_nothing_behind_and_keeps_its_causes(world: ApiWorld) -> None:
    alice, causes = narrow(world, "alice", Watch("switch"), Watch("mark")), list[Any]()
    session = alice.session
    switch, mark, title = session.cell("switch", default=0), session.cell("mark"), session.cell("title")

    def look() -> None:
        mark.set(switch.get())
        if switch.get():
            title.get()
        causes.append(len(session.current.causes) if session.current else None)

    session.effect(look)
    world.settle()
    switch.set(1)
    alice.run()
    assert mark.get() == 0, "the run that stopped at the title has written nothing"
    world.settle()
    assert (mark.get(), causes) == (1, [0, 2]), "the switch, and the title that came"


def test_an_event_keeps_its_place_while_what_it_reads_is_loaded(world: ApiWorld) -> None:
    alice, seen = narrow(world), list[Any]()
    session = alice.session
    count = session.cell("count", default=0)

    async def add(event: object) -> None:
        await Pause()
        count.set(count.get() + 1)
        seen.append("added")

    sent = [session.handler(add)(), session.handler(lambda event: seen.append("second"))()]
    for _ in range(4):
        alice.run()
        if alice.body is not None:
            alice.resume()
    assert seen == [], "the second does not overtake"
    for _ in range(4):
        world.settle()
        if alice.body is not None:
            alice.resume()
    world.settle()
    assert ([one.outcome for one in sent], seen, count.get()) == (["committed"] * 2, ["added", "second"], 42)


def test_outside_an_action_a_look_asks_for_it_and_a_write_waits(world: ApiWorld) -> None:
    alice = narrow(world)
    count = alice.session.cell("count", default=0)
    with pytest.raises(NotLoaded, match=r"await session\.load"):
        count.get()
    sent = count.update(lambda found: found + 1)
    world.settle()
    assert (sent.outcome, count.get()) == ("committed", 42)


def test_loading_can_be_waited_for(world: ApiWorld) -> None:
    alice = narrow(world)
    title, count = alice.session.cell("title"), alice.session.cell("count")

    async def main() -> tuple[Any, Any]:
        loading = asyncio.create_task(alice.session.load(title, count))
        while not loading.done():
            await asyncio.sleep(0)
            world.settle()
        await loading
        return title.get(), count.get()

    assert asyncio.run(main()) == ("plan", 41)


def test_a_refused_load_is_an_error_in_words(world: ApiWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = narrow(world)
    monkeypatch.setattr(OnDemand, "follow", lambda source, document, arrived: arrived("too many watches"))
    cell = alice.session.cell("title")
    with pytest.raises(LoadRefused, match="title cannot be loaded: too many watches"):
        cell.get()
    alice.session.effect(lambda: cell.get())
    world.settle()
    assert "cannot be loaded: too many watches" in alice.failures[0].message
    assert alice.scheduler.is_idle(durable=True)


def test_a_lost_connection_delays_a_load(world: ApiWorld) -> None:
    alice, shown = narrow(world), list[Any]()
    title = alice.session.cell("title")
    alice.session.effect(lambda: shown.append(title.get()))
    alice.run()
    alice.link.cut()
    world.settle()
    assert shown == []
    alice.link.connect()
    world.settle()
    assert shown == ["plan"]


def test_who_was_taken_out_is_not_run_when_the_load_arrives(world: ApiWorld) -> None:
    alice, shown = narrow(world), list[Any]()
    title = alice.session.cell("title")
    effect = alice.session.effect(lambda: shown.append(title.get()))
    alice.run()
    effect.stop()
    world.settle()
    assert (shown, alice.scheduler.is_idle(durable=True)) == ([], True)


# -- a derivation that was derived before


def test_a_derivation_waits_for_what_was_derived_before_but_not_for_ever(world: ApiWorld) -> None:
    first = world.session("first")
    derive(first)
    world.settle()
    commits, alice = world.commits, narrow(world, "alice", Watch("title"))
    runs = derive(alice)
    alice.run()
    assert runs == []
    world.settle()
    assert (runs, world.commits) == (["plan"], commits), "once, and what is there was written before"

    late = narrow(world, "late", Watch("title"))
    runs = derive(late)
    late.run()
    world.clock.advance(1_999)
    late.scheduler.timer_fired()
    late.run()
    assert runs == []
    world.clock.advance(1)
    late.scheduler.timer_fired()
    late.run()
    assert runs == ["plan"], "two seconds are enough: the hold is only there to save a run"
    world.settle()
    assert late.scheduler.is_idle(durable=True)


def derive(peer: SessionPeer) -> list[str]:
    title, runs = peer.session.cell("title", default="none"), list[str]()

    def shout() -> str:
        runs.append(title.get())
        return title.get().upper()

    derived = peer.session.computed(name="shout")(shout)
    peer.session.effect(lambda: derived.get())
    return runs


def test_a_hold_shares_its_field_with_the_convergence_backoff_as_specified(world: ApiWorld) -> None:
    alice = world.session("alice")
    derive(alice)
    (node,) = [node for node in alice.scheduler.nodes if node.label == "shout"]
    node.gates.backoff_until = world.clock.now + 5_000
    alice.scheduler.hold(node)
    assert node.gates.backoff_until == world.clock.now + 5_000, "the later of the two"
    alice.scheduler.release_hold(node)
    assert node.gates.backoff_until == 0.0


def test_without_loads_the_default_would_be_taken_for_the_value(
    world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loads, "need", lambda loads, run, document: None)
    with pytest.raises(AssertionError):
        test_what_an_effect_reads_is_loaded_and_followed_from_then_on(world)


def test_documents_of_a_prefix_are_followed_without_being_asked_for(world: ApiWorld) -> None:
    source = OnDemand(narrow(world).client, [Watch("card/", prefix=True), Watch("title")])
    followed = [source.follows(Document(name)) for name in ("card/1", "cards", "title", "titles")]
    assert followed == [True, False, True, False]


def test_while_one_waits_for_a_load_others_run(world: ApiWorld) -> None:
    alice, shown = narrow(world, "alice", Watch("here")), list[Any]()
    here, title = alice.session.cell("here", default=0), alice.session.cell("title")
    alice.session.effect(name="waits")(lambda: shown.append(title.get()))
    alice.session.effect(name="runs")(lambda: shown.append(here.get()))
    derive(alice)
    alice.run()
    here.set(1)
    alice.run()
    assert shown == [0, 1]
