"""What once went wrong in systems like this one and no other test here asks about (docs/regressions.md has all)."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer
from scheduler_world import Sessions
from stories import random_story, tell

import quiesce
from quiesce.clock import ManualClock
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.loading import OnDemand
from quiesce.protocol import Watch
from quiesce.scheduler import runner
from quiesce.scheduler.run import Run
from quiesce.scheduler.settle import Pass
from quiesce.shell import Shell
from quiesce.storage.transaction import Transaction

IN = Document("in")


class TickingClock(ManualClock):
    """Time goes on between any two looks, as it does."""

    def __call__(self) -> float:
        self.now += 0.125
        return self.now


def test_a_clock_that_goes_on_between_two_looks_loses_no_event_and_no_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that reads the clock twice can find an event neither ready nor waiting."""
    monkeypatch.setattr(ManualClock, "__call__", TickingClock.__call__)
    random = Random(3)
    for _ in range(30):
        tell(random_story(random, 60))


def test_a_commit_that_cannot_be_made_is_dealt_with_like_a_refused_one(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = alice.session.cell("c", default=0)
    sent = alice.session.handler(lambda event: cell.set(1))
    commit = Transaction.commit
    broken = [True]

    def failing(transaction: Transaction) -> Any:
        if broken[0]:
            raise OSError("disk")
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit", failing)
    alice.session.effect(lambda: cell.set(2))
    event = sent()
    world.settle()
    assert event.outcome == "failed"
    assert sorted(failure.code for failure in alice.failures) == ["commit-refused", "retries-exhausted"]
    assert alice.scheduler.is_idle(durable=True)
    broken[0] = False
    sent()
    world.settle()
    assert cell.get() == 1, "and the lane is open"


def test_two_who_wait_for_one_document_are_both_told_and_it_is_asked_for_once(world: ApiWorld) -> None:
    alice, shown, asked = world.session("alice"), list[str](), list[Document]()
    source = OnDemand(alice.client, [Watch("nothing")])
    follow = source.follow
    source.follow = lambda document, arrived: (asked.append(document), follow(document, arrived))[1]  # type: ignore[method-assign]
    alice.scheduler.load_from(source)
    cell = alice.session.cell("c", default="none")
    for name in ("one", "two"):
        alice.session.effect(name=name)(lambda name=name: shown.append(f"{name} {cell.get()}"))
    world.settle()
    assert (shown, asked) == (["one none", "two none"], [Document("c")])
    assert alice.scheduler.is_idle(durable=True)


def test_each_pass_that_puts_something_off_says_so() -> None:
    world = Sessions()
    alice = world.peer("alice")

    def count(run: Run, mine: str, other: str) -> None:
        found = run.read(Document(other))
        run.write(Document(mine), (), (found if isinstance(found, int) else 0) + 1)

    alice.effect("a", lambda run: count(run, "x", "y"))
    alice.effect("b", lambda run: count(run, "y", "x"))
    world.settle()
    for number in range(1, 4):
        assert alice.counts.counts_breakdown()["scheduler"]["pass-did-not-converge"] == number
        world.advance(250 * 2 ** (number - 1))


def test_the_event_loop_has_its_turn_between_two_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise whoever waits for a timer waits for ever while passes follow each other."""
    order: list[str] = []
    end, turn = Pass._end, Shell._turn

    def ended(present: Pass) -> Any:
        order.append("pass")
        return end(present)

    def turned(shell: Shell) -> None:
        order.append("turn")
        turn(shell)

    monkeypatch.setattr(Pass, "_end", ended)
    monkeypatch.setattr(Shell, "_turn", turned)

    async def main() -> None:
        async with quiesce.open(tmp_path / "b.db", counts=Counts(quiet=True)) as session:
            cells = [session.cell(f"c{number}", default=0) for number in range(40)]

            for above, below in pairwise(cells):
                session.effect(lambda above=above, below=below: below.set(above.get()) and None)
            await session.idle()
            for number in range(3):
                session.handler(lambda event: cells[0].set(event))(number)
            await session.idle()

    asyncio.run(main())
    assert order.count("pass") > 3
    assert not any(one == other == "pass" for one, other in pairwise(order))


def test_what_has_come_and_gone_leaves_nothing_in_any_index(world: ApiWorld, alice: SessionPeer) -> None:
    session, scheduler = alice.session, alice.scheduler
    cards = session.cell("cards", default=[])
    texts = cards.map(lambda card: card)
    shown = session.effect(lambda: texts.get())

    def held() -> tuple[int, ...]:
        topology = scheduler.topology
        return (
            len(scheduler.nodes),
            len(list(scheduler.triggers.entries())),
            len(topology._readers),
            len(topology._writers),
            len(list(scheduler.agenda.members())),
            len(scheduler.provisional) + len(scheduler.backed_off) + len(scheduler.lane),
        )

    def to_the_state_that_is_compared() -> None:
        for names in (["first"], ["first", "second"]):
            cards.set(names)
            world.settle()

    to_the_state_that_is_compared()
    before = held()
    for number in range(20):
        cards.set([f"{number}-{place}" for place in range(10)])
        world.settle()
    to_the_state_that_is_compared()
    assert held() == before
    shown.stop()
    texts.stop()
    world.settle()
    assert not any(node.live for node in scheduler.nodes)


def test_a_list_that_was_derived_before_does_not_flicker(world: ApiWorld, alice: SessionPeer) -> None:
    def show(peer: SessionPeer) -> list[Any]:
        shown: list[Any] = []
        texts = peer.session.cell("cards", default=[]).map(lambda card: card.upper())
        peer.session.effect(lambda: shown.append(texts.get()))
        return shown

    show(alice)
    alice.session.cell("cards").set(["a", "b"])
    world.settle()
    shown = show(world.session("bob"))
    world.settle()
    assert shown[0] == ["A", "B"]
    alice.session.cell("cards").set(["a", "b", "c"])
    world.settle()
    assert [] not in shown
    assert shown[-1] == ["A", "B", "C"]


def test_what_an_effect_is_known_to_write_does_not_grow_with_all_that_it_ever_wrote(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MOST_WRITTEN", 8)
    session, sizes = alice.session, list[int]()
    count = session.cell("count", default=0)

    @session.effect(writes=[session.cell("always")])
    def log() -> None:
        session.cell(f"entry/{count.get()}").set(count.get())

    for number in range(40):
        count.set(number)
        world.settle()
        sizes.append(len(log.node.writes))
    assert max(sizes) == 8
    assert {address.entity.id for address in log.node.writes} >= {"always", "entry/39"}
