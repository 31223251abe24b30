"""What an action launches lives and dies with its attempt; and what an action must not wait for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer
from scheduler_world import Pause

from quiesce import NotYet, RunAgain
from quiesce.scheduler.run import Run
from quiesce.scheduler.runner import Runner


def test_an_event_sent_by_an_attempt_that_meets_a_conflict_is_handled_once(world: ApiWorld, alice: SessionPeer) -> None:
    session, seen = alice.session, list[Any]()
    count = session.cell("count", default=0)
    audit = session.handler(lambda event: seen.append(event))

    @session.handler
    def add(event: object) -> None:
        count.set(count.get() + 1)
        audit(count.get())

    other = world.session("bob").session.cell("count", default=0)
    other.set(10)  # decided first, and not yet known to alice
    world.peers[1].link.up()
    world.loop.decide()
    sent = add()
    alice.run()
    world.settle()
    world.advance(1_000)
    assert (sent.outcome, count.get(), seen) == ("committed", 11, [11])


def test_without_its_attempt_an_event_would_be_handled_twice(
    world: ApiWorld, alice: SessionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above sees it if events do not wait for what sent them."""
    monkeypatch.setattr(Run, "on_fate", lambda run, listener: listener(True))
    monkeypatch.setattr(Runner, "_throw_away", lambda runner, run: run.transaction.abort())
    with pytest.raises(AssertionError):
        test_an_event_sent_by_an_attempt_that_meets_a_conflict_is_handled_once(world, alice)


def test_an_event_waits_until_what_sent_it_is_durable(world: ApiWorld, alice: SessionPeer) -> None:
    session, order = alice.session, list[str]()
    cell = session.cell("c")
    later = session.handler(lambda event: order.append("later"))

    @session.handler
    def first(event: object) -> None:
        cell.set(1)
        later()
        order.append("first")

    first()
    alice.run()
    assert (order, alice.scheduler.is_idle(), alice.scheduler.timer_at) == (["first"], False, None)
    world.settle()
    assert order == ["first", "later"]
    assert alice.scheduler.is_idle(durable=True)


def test_what_a_failed_attempt_sent_is_withdrawn(world: ApiWorld, alice: SessionPeer) -> None:
    session, outcomes = alice.session, list[Any]()
    other = session.handler(lambda event: outcomes.append("ran"))

    @session.handler
    def broken(event: object) -> None:
        outcomes.append(other())
        raise ValueError("no")

    broken()
    world.settle()
    assert [sent.outcome for sent in outcomes] == ["withdrawn"]
    assert [failure.code for failure in alice.failures] == ["body-failed"]


def test_an_effect_that_is_thrown_away_and_run_again_sends_once(world: ApiWorld, alice: SessionPeer) -> None:
    session, seen, tries = alice.session, list[Any](), [0]
    audit = session.handler(lambda event: seen.append(event))

    @session.effect
    def twice() -> None:
        tries[0] += 1
        audit(tries[0])
        if tries[0] < 3:
            raise RunAgain

    world.settle()
    assert seen == [3]


def test_a_write_inside_an_action_has_the_fate_of_its_commit(world: ApiWorld, alice: SessionPeer) -> None:
    session, sent = alice.session, list[Any]()
    cell = session.cell("c")
    session.handler(lambda event: sent.append(cell.set(1)))()
    alice.run()
    assert sent[0].outcome is None
    world.settle()
    assert sent[0].outcome == "committed"


# -- a handler that reads what has yet to be derived


def test_a_handler_may_read_what_nobody_needed_before(world: ApiWorld, alice: SessionPeer) -> None:
    session, seen = alice.session, list[Any]()
    title = session.cell("title", default="plan")
    shout = session.computed(name="shout")(lambda: title.get().upper())
    louder = session.computed(name="louder")(lambda: shout.get() + "!")
    read = session.handler(lambda event: seen.append((shout.get(), louder.get())))
    sent = read()
    world.settle()
    assert (sent.outcome, seen, alice.failures) == ("committed", [("PLAN", "PLAN!")], [])


def test_a_handler_that_reads_what_nobody_derives_is_told(world: ApiWorld, alice: SessionPeer) -> None:
    session = alice.session
    gone = session.computed(name="gone")(lambda: 1)
    gone.stop()
    sent = session.handler(lambda event: gone.get())()
    world.settle()
    (failure,) = alice.failures
    assert (sent.outcome, type(failure.error)) == ("failed", NotYet)
    assert "derived/gone has not been derived yet" in failure.message


def test_a_handler_may_ask_to_be_run_again_ten_times(world: ApiWorld, alice: SessionPeer) -> None:
    session, tries = alice.session, [0]

    @session.handler
    def stubborn(event: int) -> None:
        tries[0] += 1
        if tries[0] < event:
            raise RunAgain("not enough")

    assert (stubborn(10), world.settle(), tries[0])[0].outcome == "committed"
    tries[0] = 0
    sent = stubborn(11)
    world.settle()
    assert (sent.outcome, tries[0], alice.failures[-1].code) == ("failed", 10, "retries-exhausted")


# -- waiting for oneself


def test_an_action_does_not_wait_for_itself(world: ApiWorld, alice: SessionPeer) -> None:
    session = alice.session
    cell = session.cell("c")
    other = session.handler(lambda event: None)

    async def waits_for_idle(event: object) -> None:
        await session.idle()

    async def awaits_its_write(event: object) -> None:
        await cell.set(1)

    async def awaits_an_event(event: object) -> None:
        await other()

    for body in (waits_for_idle, awaits_its_write, awaits_an_event):
        session.handler(body)()
        world.settle()
    said = [failure.message for failure in alice.failures]
    assert ["waits for idle" in said[0], *("do not await it there" in text for text in said[1:])] == [True] * 3
    assert alice.scheduler.is_idle(durable=True)


def test_a_task_that_a_body_left_behind_acts_outside_it(world: ApiWorld, alice: SessionPeer) -> None:
    session, left = alice.session, list[Any]()
    cell = session.cell("c", default=0)

    async def leaves_a_task(event: object) -> None:
        async def later() -> None:
            await Pause()
            cell.set(cell.get() + 1)

        task = later()
        task.send(None)
        left.append(task)

    session.handler(leaves_a_task)()
    world.settle()
    with pytest.raises(StopIteration):
        left[0].send(None)
    world.settle()
    assert cell.get() == 1


def test_what_was_sent_can_be_awaited_outside(world: ApiWorld, alice: SessionPeer) -> None:
    async def main() -> None:
        sent = alice.session.cell("c").set(1)
        world.settle()
        await sent

    asyncio.run(main())


def test_a_body_that_returns_what_it_wrote_does_not_await_it(world: ApiWorld, alice: SessionPeer) -> None:
    cell = alice.session.cell("c")
    sent = alice.session.handler(lambda event: cell.set(event))(5)
    world.settle()
    assert (sent.outcome, cell.get(), alice.failures) == ("committed", 5, [])


def test_a_transaction_of_a_function_that_has_not_run_is_refused(world: ApiWorld, alice: SessionPeer) -> None:
    async def later() -> None:
        raise AssertionError("never awaited")

    with pytest.raises(TypeError, match="give transact a plain function"):
        alice.session.transact(later)
    assert alice.scheduler.is_idle(durable=True)
