"""Derivations that are kept up to date though nobody reads them, and when they have their turn."""

from __future__ import annotations

import pytest
from api_world import ApiWorld
from scheduler_world import Peer, Sessions

from quiesce.commits import Document
from quiesce.scheduler import settle
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Run

IN, OUT = Document("in"), Document("out")


@pytest.fixture
def world() -> Sessions:
    return Sessions()


@pytest.fixture
def alice(world: Sessions) -> Peer:
    return world.peer("alice")


def materializer(peer: Peer, name: str = "m", source: Document = IN, out: Document = OUT) -> Node:
    def body(run: Run) -> None:
        found = run.read(source)
        run.write(out, (), found if isinstance(found, int) else 0)

    node = Node(name, Kind.COMPUTATION, body, declared_writes=(peer.address(out),), materializer=True)
    peer.scheduler.register(node)
    return node


def test_a_materializer_runs_though_nobody_reads_it(world: Sessions, alice: Peer) -> None:
    node = materializer(alice)
    alice.put(IN, 1)
    world.settle()
    assert (alice.value(OUT), node.live) == (1, True)
    alice.scheduler.unregister(node)
    alice.put(IN, 2)
    world.settle()
    assert (alice.value(OUT), node.live) == (1, False)


def test_it_waits_until_nothing_else_is_left(world: Sessions, alice: Peer) -> None:
    """It came first and is first in every other order."""
    materializer(alice)
    alice.derive("x", lambda run: run.read(IN))
    alice.effect("shows", lambda run: run.read(Document("x")))
    world.settle()
    alice.ran.clear()
    alice.put(IN, 2)
    world.settle()
    assert alice.ran == ["x", "shows", "m"]


def test_it_runs_before_what_has_to_run_and_reads_what_it_may_write(world: Sessions, alice: Peer) -> None:
    materializer(alice)
    seen: list[object] = []
    alice.effect("reads", lambda run: seen.append((run.read(IN), run.read(OUT))))
    alice.effect("other", lambda run: run.read(IN))
    world.settle()
    alice.ran.clear()
    seen.clear()
    alice.put(IN, 2)
    world.settle()
    assert (alice.ran, seen) == (["m", "reads", "other"], [(2, 2)])


def test_without_its_priority_it_would_run_first(world: Sessions, alice: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "seeds_of", lambda ready: ready)
    with pytest.raises(AssertionError):
        test_it_waits_until_nothing_else_is_left(world, alice)


def test_a_chain_of_materializers_settles_in_one_go(world: Sessions, alice: Peer) -> None:
    documents = [IN, *(Document(f"d{number}") for number in range(20))]
    for number in reversed(range(20)):
        materializer(alice, f"m{number}", documents[number], documents[number + 1])
    world.settle()
    alice.ran.clear()
    alice.put(IN, 7)
    world.settle()
    assert alice.value(documents[-1]) == 7
    assert alice.ran == [f"m{number}" for number in range(20)]
    assert alice.scheduler.is_idle(durable=True)


@pytest.mark.parametrize(
    ("gate", "holds"),
    [("debounce_ready_at", True), ("throttle_ready_at", True), ("backoff_until", True), ("echo_backoff_until", False)],
)
def test_it_holds_idle_as_an_effect_does(world: Sessions, alice: Peer, gate: str, holds: bool) -> None:
    node = materializer(alice)
    world.settle()
    setattr(node.gates, gate, world.clock.now + 100)
    alice.put(IN, 3)
    world.settle()
    assert alice.scheduler.is_idle() is not holds
    world.advance(100)
    assert (alice.value(OUT), alice.scheduler.is_idle()) == (3, True)


def test_a_derived_value_may_be_materialized() -> None:
    world = ApiWorld()
    alice = world.session("alice")
    title = alice.session.cell("title", default="plan")
    shout = alice.session.computed(name="shout", materialize=True)(lambda: title.get().upper())
    world.settle()
    assert shout.get() == "PLAN"
    title.set("other")
    world.settle()
    assert shout.get() == "OTHER"
