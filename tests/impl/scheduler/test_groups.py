"""Actions of one group: whoever has written need not be told of it."""

from __future__ import annotations

from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer


def editor(peer: SessionPeer, group: object | None) -> tuple[Any, list[str]]:
    """A handler that types, and an effect that redraws."""
    text, drawn = peer.session.cell("text", default=""), list[str]()
    peer.session.effect(group=group)(lambda: drawn.append(text.get()))
    return peer.session.handler(group=group)(lambda event: text.set(event)), drawn


def test_an_effect_is_not_woken_by_its_own_group(world: ApiWorld, alice: SessionPeer) -> None:
    group = object()
    type_, drawn = editor(alice, group)
    world.settle()
    type_("a")
    world.settle()
    alice.session.transact(lambda: alice.session.cell("text").set("b"), group=group)
    world.settle()
    assert drawn == [""]
    alice.session.cell("text").set("c")
    world.settle()
    assert drawn == ["", "c"]


@pytest.mark.parametrize("groups", [(None, None), ("one", "other")], ids=["without groups", "another group"])
def test_it_is_woken_by_others(world: ApiWorld, alice: SessionPeer, groups: tuple[Any, Any]) -> None:
    text, drawn = alice.session.cell("text", default=""), list[str]()
    alice.session.effect(group=groups[0])(lambda: drawn.append(text.get()))
    world.settle()
    alice.session.handler(group=groups[1])(lambda event: text.set(event))("a")
    world.settle()
    assert drawn == ["", "a"]


def test_two_groups_that_are_equal_are_two_groups(world: ApiWorld, alice: SessionPeer) -> None:
    text, drawn = alice.session.cell("text", default=""), list[str]()
    alice.session.effect(group=["editor"])(lambda: drawn.append(text.get()))
    world.settle()
    alice.session.handler(group=["editor"])(lambda event: text.set(event))("a")
    world.settle()
    assert drawn == ["", "a"]


def test_another_sessions_group_is_another(world: ApiWorld, alice: SessionPeer) -> None:
    group = object()
    bob = world.session("bob")
    type_, _ = editor(alice, group)
    _, drawn = editor(bob, group)
    world.settle()
    type_("a")
    world.settle()
    assert drawn == ["", "a"]


def test_what_the_group_wrote_and_was_refused_is_told(world: ApiWorld, alice: SessionPeer) -> None:
    """The effect has skipped the optimistic write; when that is taken back it has to run."""
    group = object()
    bob = world.session("bob")
    type_, drawn = editor(alice, group)
    world.settle()
    bob.session.cell("text").set("theirs")
    world.peers[1].link.up()
    world.loop.decide()
    type_("mine")
    alice.run()
    assert drawn == [""]
    world.settle()
    world.advance(1_000)
    assert drawn == ["", "theirs"]
    assert alice.session.cell("text").get() == "mine", "typed again over what was there"


def test_a_grouped_write_from_outside_is_repeated_after_a_conflict(world: ApiWorld, alice: SessionPeer) -> None:
    group, count, drawn = object(), alice.session.cell("count", default=0), list[int]()
    alice.session.effect(group=group)(lambda: drawn.append(count.get()))
    world.settle()
    theirs = world.session("bob").session.cell("count", default=0)
    theirs.set(10)
    world.peers[1].link.up()
    world.loop.decide()
    nodes = len(alice.scheduler.nodes)
    sent = alice.session.transact(lambda: count.set(count.get() + 1), group=group)
    world.settle()
    world.advance(1_000)
    assert (sent.outcome, count.get(), drawn) == ("committed", 11, [0, 11]), "woken by the revert"
    assert len(alice.scheduler.nodes) == nodes
