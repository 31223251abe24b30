"""The public face of a session: cells, derived values, effects, handlers, lists, and where a value is placed."""

from __future__ import annotations

from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer
from scheduler_world import Pause

from quiesce import NotYet
from quiesce.commits import Document
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.values import ABSENT

# -- cells


def test_a_cell_has_a_default_and_what_is_set_is_there_at_once(world: ApiWorld, alice: SessionPeer) -> None:
    title = alice.session.cell("title", default="untitled")
    assert title.get() == "untitled"
    sent = title.set("plan")
    assert (title.get(), sent.outcome) == ("plan", None)
    world.settle()
    assert sent.outcome == "committed"
    bob = world.session("bob")
    assert bob.session.cell("title").get() == "plan"


def test_cells_inside_cells(world: ApiWorld, alice: SessionPeer) -> None:
    board = alice.session.cell("board", default={})
    board.at("cards", "c1").set({"text": "one"})
    board.at("cards", "c2", "text").set("two")
    assert board.at("cards").keys() == ("c1", "c2")
    board.at("cards", "c1").delete()
    assert board.get() == {"cards": {"c2": {"text": "two"}}}
    assert board.at("cards", "c9", default="none").get() == "none"


@pytest.mark.parametrize(
    ("value", "keys"),
    [({"b": 1, "a": {}}, ("b", "a")), ([7, 8, 9], 3), ([], 0), (5, ()), (True, ()), ("text", ()), (None, ())],
)
def test_keys_are_the_same_inside_an_action_and_outside(
    world: ApiWorld, alice: SessionPeer, value: object, keys: tuple[str, ...] | int
) -> None:
    place = alice.session.cell("place")
    seen: list[tuple[str, ...] | int] = []
    alice.session.effect(name="look")(lambda: seen.append(place.keys()))
    world.settle()
    place.set({"first": value})
    place.set(value)
    world.settle()
    assert (seen[0], seen[-1], place.keys()) == ((), keys, keys)


def test_what_is_written_outside_is_written_again_after_a_conflict(world: ApiWorld, alice: SessionPeer) -> None:
    bob = world.session("bob")
    count = {peer: peer.session.cell("count", default=0) for peer in (alice, bob)}
    sent = [count[peer].update(lambda found: found + 1) for peer in (alice, bob)]
    world.settle()
    world.advance(100)
    assert [one.outcome for one in sent] == ["committed", "committed"]
    assert count[alice].get() == count[bob].get() == 2


def test_a_transaction_from_outside_is_one_commit(world: ApiWorld, alice: SessionPeer) -> None:
    a, b = alice.session.cell("a", default=1), alice.session.cell("b", default=2)
    before = world.commits

    def swap() -> None:
        was = a.get()
        a.set(b.get())
        b.set(was)

    alice.session.transact(swap)
    world.settle()
    assert (a.get(), b.get(), world.commits - before) == (2, 1, 1)


# -- derived values


def test_a_derived_value_follows_what_it_read(world: ApiWorld, alice: SessionPeer) -> None:
    session, shown = alice.session, list[Any]()
    title = session.cell("title", default="")

    @session.computed
    def shout() -> str:
        return title.get().upper()

    with pytest.raises(NotYet, match="has not been derived yet"):
        shout.get()
    session.effect(lambda: shown.append(shout.get()))
    world.settle()
    title.set("plan")
    world.settle()
    assert shown == ["", "PLAN"]
    assert shout.get() == "PLAN"
    assert not alice.failures


def test_a_derived_value_is_null_and_that_is_a_value(world: ApiWorld, alice: SessionPeer) -> None:
    shown: list[Any] = []
    nothing = alice.session.computed(lambda: None)
    alice.session.effect(lambda: shown.append(nothing.get()))
    world.settle()
    assert shown == [None]


def test_asynchronous_derivations_and_effects(world: ApiWorld, alice: SessionPeer) -> None:
    session, shown = alice.session, list[Any]()
    title = session.cell("title", default="a")

    @session.computed(name="slow")
    async def slow() -> str:
        found = title.get()
        await Pause()
        return found + title.get()

    session.effect(lambda: shown.append(slow.get()))
    world.settle()
    title.set("b")  # under the run: it must not end clean with what it has read
    for _ in range(4):
        if alice.body is not None:
            alice.resume()
        world.settle()
    assert shown[-1] == "bb"


def test_a_handler_writes_in_one_commit_and_can_be_awaited(world: ApiWorld, alice: SessionPeer) -> None:
    session = alice.session
    a, b = session.cell("a"), session.cell("b")

    @session.handler
    def both(event: dict[str, Any]) -> None:
        a.set(event["value"])
        b.set(event["value"])

    before = world.commits
    sent = both({"value": 7})
    world.settle()
    assert (a.get(), b.get(), sent.outcome, world.commits - before) == (7, 7, "committed", 1)


def test_effects_made_in_an_effect_end_with_its_next_run(world: ApiWorld, alice: SessionPeer) -> None:
    session, shown = alice.session, list[Any]()
    which, value = session.cell("which", default="x"), session.cell("value", default=1)

    @session.effect
    def outer() -> None:
        name = which.get()

        @session.effect
        def inner() -> None:
            shown.append((name, value.get()))

    world.settle()
    which.set("y")
    world.settle()
    value.set(2)
    world.settle()
    assert shown == [("x", 1), ("y", 1), ("y", 2)]
    outer.stop()
    value.set(3)
    world.settle()
    assert shown == [("x", 1), ("y", 1), ("y", 2)]


# -- lists


def test_a_mapped_list_calls_its_function_for_what_is_new_or_different(world: ApiWorld, alice: SessionPeer) -> None:
    session, calls, shown = alice.session, list[Any](), list[Any]()
    cards = session.cell("cards", default=[])

    def text(card: dict[str, Any]) -> str:
        calls.append(card["id"])
        return card["text"].upper()

    texts = cards.map(text)
    session.effect(lambda: shown.append(texts.get()))
    cards.set([{"id": "a", "text": "one"}, {"id": "b", "text": "two"}])
    world.settle()
    assert (shown[-1], sorted(calls)) == (["ONE", "TWO"], ["a", "b"])
    calls.clear()
    cards.set([{"id": "b", "text": "two"}, {"id": "a", "text": "uno"}, {"id": "c", "text": "three"}])
    world.settle()
    assert (shown[-1], sorted(calls)) == (["TWO", "UNO", "THREE"], ["a", "c"])
    calls.clear()
    nodes = len(session.scheduler.nodes)
    cards.set([{"id": "c", "text": "three"}])
    world.settle()
    assert (shown[-1], calls, len(session.scheduler.nodes)) == (["THREE"], [], nodes - 2)
    assert not alice.failures


def test_equal_elements_are_told_apart_by_how_many_came_before(world: ApiWorld, alice: SessionPeer) -> None:
    shown: list[Any] = []
    words = alice.session.cell("words", default=["a", "b", "a"])
    doubled = words.map(lambda word: word * 2)
    alice.session.effect(lambda: shown.append(doubled.get()))
    world.settle()
    words.set(["a", "a", "a"])
    world.settle()
    assert shown[-1] == ["aa", "aa", "aa"]


def test_filter_and_flat_map_keep_the_order(world: ApiWorld, alice: SessionPeer) -> None:
    numbers = alice.session.cell("numbers", default=[3, 1, 2])
    odd, twice = numbers.filter(lambda number: number % 2 == 1), numbers.flat_map(lambda number: [number] * 2)
    chained = odd.map(lambda number: number * 10)
    shown: list[Any] = []
    alice.session.effect(lambda: shown.append((odd.get(), twice.get(), chained.get())))
    world.settle()
    assert shown[-1] == ([3, 1], [3, 3, 1, 1, 2, 2], [30, 10])
    numbers.set([5, 4])
    world.settle()
    assert shown[-1] == ([5], [5, 5, 4, 4], [50])


def test_two_sessions_derive_one_list_and_agree(world: ApiWorld, alice: SessionPeer) -> None:
    bob = world.session("bob")
    shown: dict[SessionPeer, list[Any]] = {alice: [], bob: []}
    for peer in (alice, bob):
        texts = peer.session.cell("cards", default=[]).map(lambda card: card + "!")
        peer.session.effect(lambda peer=peer, texts=texts: shown[peer].append(texts.get()))
    for value in (["x"], ["x", "y"], ["y", "z"], []):
        alice.session.cell("cards").set(value)
        world.settle()
        world.advance(2_000)
    assert shown[alice][-1] == shown[bob][-1] == []
    assert ["y!", "z!"] in shown[bob]
    assert alice.session.echo_breaker_stats().trips == bob.session.echo_breaker_stats().trips == 0


# -- names


def test_the_same_code_over_the_same_cells_has_the_same_id_in_every_session(
    world: ApiWorld, alice: SessionPeer
) -> None:
    bob = world.session("bob")

    def make(peer: SessionPeer, name: str) -> str:
        cell = peer.session.cell(name)
        return peer.session.computed(lambda: cell.get()).id

    assert make(alice, "x") == make(bob, "x")
    assert make(alice, "y") != make(alice, "z")


def test_what_has_no_lasting_name_is_the_sessions_own_and_warned_about(world: ApiWorld, alice: SessionPeer) -> None:
    opaque = object()
    derived = alice.session.computed(lambda: str(opaque))
    assert derived.scope.value == "session"
    assert alice.counts.counts_breakdown()["session"] == {"action-without-lasting-name": 1}


# -- where a value is placed (the storm of October)


def per_session(peer: SessionPeer, tag: str, **options: Any) -> Any:
    """A derivation over an input that each session has for itself."""
    mine = peer.session.cell("mine", scope="session")
    mine.set(tag)

    def label() -> str:
        return f"for {mine.get()}"

    derived = peer.session.computed(name="label", **options)(label)
    peer.session.effect(lambda: derived.get())
    return derived


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
@pytest.mark.parametrize("ignore_own_reverts", [False, True])
def test_a_derivation_over_a_per_session_input_is_placed_with_the_session_and_converges(
    at_once: bool, ignore_own_reverts: bool
) -> None:
    """The redirect slot of the space's document sends each session to its own (seed §6, scoped-output-convergence).

    If both narrow at once, one meets a conflict and its write to its own document is taken back; that revert
    triggers the run that writes it again, and is counted as one echo of nobody. The repair does not count it."""
    world = ApiWorld(BreakerPolicy(ignore_own_reverts=ignore_own_reverts))
    alice, bob = world.session("alice"), world.session("bob")
    labels = [per_session(alice, "a")]
    if not at_once:
        world.settle()
    labels.append(per_session(bob, "b"))
    world.settle()
    commits = world.commits
    world.advance(600_000)
    assert world.commits == commits
    assert [label.get() for label in labels] == ["for a", "for b"]
    assert alice.value(Document("derived/label")) == {"redirect": "session"}
    cycles = [peer.session.echo_breaker_stats().cycles_observed for peer in (alice, bob)]
    assert cycles == [0, 1 if at_once and not ignore_own_reverts else 0]


def test_with_the_placement_wrong_the_same_derivation_storms_and_is_held(world: ApiWorld, alice: SessionPeer) -> None:
    bob = world.session("bob")
    for peer, tag in ((alice, "a"), (bob, "b")):
        per_session(peer, tag, scope="space")
    world.settle()
    assert [peer.session.echo_breaker_stats().trips for peer in (alice, bob)] == [1, 1]
    before = world.commits
    world.advance(600_000)
    assert world.commits - before < 60


def test_what_rests_on_a_narrowed_value_is_narrowed_too(world: ApiWorld, alice: SessionPeer) -> None:
    label = per_session(alice, "a")
    above = alice.session.computed(name="above")(lambda: label.get() + "!")
    alice.session.effect(lambda: above.get())
    world.settle()
    assert above.get() == "for a!"
    assert alice.value(Document("derived/above")) == {"redirect": "session"}


def test_a_user_scoped_input_places_the_value_with_the_user(world: ApiWorld, alice: SessionPeer) -> None:
    also, bob = world.session("alice"), world.session("bob")
    alice.session.cell("mine", scope="user").set("a")
    bob.session.cell("mine", scope="user").set("b")
    world.settle()
    derived = {}
    for peer in (alice, also, bob):
        mine = peer.session.cell("mine", scope="user")
        derived[peer] = peer.session.computed(name="label")(lambda mine=mine: f"for {mine.get()}")
        peer.session.effect(lambda peer=peer: derived[peer].get())
    world.settle()
    assert [derived[peer].get() for peer in (alice, also, bob)] == ["for a", "for a", "for b"]
    assert bob.value(Document("derived/label")) == {"redirect": "user"}
    assert bob.value(Document("nothing")) is ABSENT
