"""Wakes that follow somebody's typing come no oftener than a reader can use, and none is lost."""

from __future__ import annotations

from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer

from quiesce.scheduler import shaping
from quiesce.scheduler.shaping import BURST, REFILL_MS, Shaping


def typist(world: ApiWorld, peer: SessionPeer) -> tuple[Any, list[str]]:
    text, shown = peer.session.cell("text", default=""), list[str]()
    peer.session.effect(name="show")(lambda: shown.append(text.get()))
    world.settle()
    shown.clear()
    return peer.session.handler(typing=True)(lambda event: text.set(event)), shown


def test_what_is_typed_fast_wakes_a_reader_in_its_own_time_and_shows_the_last(
    world: ApiWorld, alice: SessionPeer
) -> None:
    type_, shown = typist(world, alice)
    for letters in ("a", "ab", "abc", "abcd", "abcde"):
        type_(letters)
        world.settle()
    assert (shown, alice.scheduler.is_idle()) == (["a", "ab"], False)
    assert alice.scheduler.timer_at == world.clock.now + REFILL_MS
    world.advance(REFILL_MS)
    assert shown == ["a", "ab", "abcde"]
    assert alice.scheduler.is_idle(durable=True)


def test_ten_keys_a_second_are_no_more_than_it_can_use(world: ApiWorld, alice: SessionPeer) -> None:
    type_, shown = typist(world, alice)
    for number in range(20):
        type_(str(number))
        world.settle()
        world.advance(REFILL_MS)
    assert len(shown) == 20


def test_without_tokens_every_key_would_wake(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shaping, "holds_back", lambda shaping, node, cause, now: False)
    with pytest.raises(AssertionError):
        test_what_is_typed_fast_wakes_a_reader_in_its_own_time_and_shows_the_last(world, alice)


def test_a_wake_that_is_forgotten_would_be_seen(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shaping, "release_due", lambda shaping, now: shaping._held.clear())
    with pytest.raises(AssertionError):
        test_what_is_typed_fast_wakes_a_reader_in_its_own_time_and_shows_the_last(world, alice)


def test_each_document_and_each_reader_has_a_bucket_of_its_own(world: ApiWorld, alice: SessionPeer) -> None:
    type_, shown = typist(world, alice)
    other = alice.session.cell("other", default="")
    seen: list[str] = []
    alice.session.effect(name="both")(lambda: seen.append(other.get()))
    world.settle()
    seen.clear()
    for letters in "abc":
        type_(letters)
        alice.session.transact(lambda letters=letters: other.set(letters), typing=True)
        world.settle()
    assert (shown, seen) == (["a", "b"], ["a", "b"])
    world.advance(REFILL_MS)
    assert (shown[-1], seen[-1]) == ("c", "c")


def test_a_run_for_another_reason_takes_the_held_causes_along(world: ApiWorld, alice: SessionPeer) -> None:
    session, runs = alice.session, list[Any]()
    text, other = session.cell("text", default=""), session.cell("other", default=0)

    def look() -> None:
        assert session.current is not None
        runs.append((text.get(), other.get(), len(session.current.causes)))

    session.effect(look)
    world.settle()
    type_ = session.handler(typing=True)(lambda event: text.set(event))
    for letters in ("a", "ab", "abc"):
        type_(letters)
        world.settle()
    other.set(1)
    world.settle()
    assert runs[-1] == ("abc", 1, 2)
    count = len(runs)
    world.advance(1_000)
    assert len(runs) == count, "the held wake has become pointless and is gone"
    assert alice.scheduler.is_idle(durable=True)


def test_an_event_that_rests_on_a_held_reader_lets_it_go(world: ApiWorld, alice: SessionPeer) -> None:
    session, seen = alice.session, list[str]()
    text = session.cell("text", default="")
    shout = session.computed(name="shout")(lambda: text.get().upper())
    session.effect(lambda: shout.get())
    submit = session.handler(lambda event: seen.append(shout.get()))
    submit()
    world.settle()
    type_ = session.handler(typing=True)(lambda event: text.set(event))
    for letters in ("a", "ab", "abc"):
        type_(letters)
        world.settle()
    submit()
    world.settle()
    assert seen == ["", "ABC"]


def test_what_others_write_is_not_shaped(world: ApiWorld, alice: SessionPeer) -> None:
    bob = world.session("bob")
    type_, _ = typist(world, alice)
    _, shown = typist(world, bob)
    for letters in ("a", "ab", "abc", "abcd"):
        type_(letters)
        world.settle()
    assert shown == ["a", "ab", "abc", "abcd"]


def test_a_reader_that_is_taken_out_leaves_nothing(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_, _ = typist(world, alice)
    for letters in ("a", "ab", "abc"):
        type_(letters)
        world.settle()
    (node,) = [node for node in alice.scheduler.nodes if node.label == "show"]
    alice.scheduler.unregister(node)
    assert len(alice.scheduler.shaping) == 0
    assert alice.scheduler.shaping._buckets == {}
    assert alice.scheduler.is_idle()
    monkeypatch.setattr(shaping, "MOST_BUCKETS", 5)
    for number in range(40):
        cell = alice.session.cell(f"c{number}", default=0)
        alice.session.effect(lambda cell=cell: cell.get())
        world.settle()
        alice.session.transact(lambda cell=cell: cell.set(1), typing=True)
        world.settle()
        world.clock.advance(BURST * REFILL_MS)
    assert len(alice.scheduler.shaping._buckets) <= 5


def test_a_reader_that_nobody_needs_holds_nothing(world: ApiWorld, alice: SessionPeer) -> None:
    session = alice.session
    text = session.cell("text", default="")
    shout = session.computed(name="shout")(lambda: text.get().upper())
    shown = session.effect(lambda: shout.get())
    world.settle()
    shown.stop()
    for letters in ("a", "ab", "abc", "abcd"):
        session.transact(lambda letters=letters: text.set(letters), typing=True)
        world.settle()
        assert alice.scheduler.is_idle(durable=True)
    session.effect(lambda: shout.get())
    world.settle()
    assert shout.get() == "ABCD"
