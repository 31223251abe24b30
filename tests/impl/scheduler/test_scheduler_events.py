"""Handlers: the lane, what an event waits for, and how it ends."""

from __future__ import annotations

import pytest
from scheduler_world import D, Pause, Peer, Sessions

from quiesce.commits import Document
from quiesce.scheduler.events import MAX_BACKLOG, BacklogFull, Event
from quiesce.scheduler.run import Run
from quiesce.values import ABSENT

IN = Document("in")
X = Document("x")


@pytest.fixture
def world() -> Sessions:
    return Sessions()


@pytest.fixture
def alice(world: Sessions) -> Peer:
    return world.peer("alice")


def append(run: Run) -> None:
    found = run.read(D)
    run.write(D, (), [*(found if isinstance(found, list) else []), run.payload])


def test_events_are_handled_in_the_order_in_which_they_came(world: Sessions, alice: Peer) -> None:
    add, other = alice.handler("add", append), alice.handler("other", append)
    for number in range(6):
        alice.scheduler.send(add if number % 2 else other, number)
    world.settle()
    assert alice.value("d") == [0, 1, 2, 3, 4, 5]


def test_an_event_waits_until_what_its_handler_reads_is_computed(world: Sessions, alice: Peer) -> None:
    """A derivation that nobody else needs is computed for the event, and for it alone."""
    seen: list[object] = []
    alice.put("in", 1)
    x = alice.derive("x", lambda run: [run.read(IN), "derived"])
    look = alice.handler("look", lambda run: seen.append(run.read(X)))
    alice.scheduler.send(look, None)
    world.settle()
    assert seen == [ABSENT, [1, "derived"]], "what it reads is known once it has run: it was run again"
    alice.put("in", 2)
    world.settle()
    assert x.runs == 1
    alice.scheduler.send(look, None)
    world.settle()
    assert seen[2:] == [[2, "derived"]]
    assert (x.runs, x.live) == (2, False)


def test_an_event_behind_a_gate_is_dispatched_at_the_gates_deadline(world: Sessions, alice: Peer) -> None:
    seen: list[float] = []
    alice.put("in", 1)
    x = alice.derive("x", lambda run: run.read(IN))
    look = alice.handler("look", lambda run: (run.read(X), seen.append(world.clock.now)))
    alice.scheduler.send(look, None)
    world.settle()
    seen.clear()
    start = world.clock.now
    x.gates.echo_backoff_until = start + 400
    alice.put("in", 2)
    alice.scheduler.send(look, None)
    world.settle()
    assert not alice.scheduler.is_idle(), "a parked event holds idle, whichever gate parked it"
    world.advance(399)
    assert seen == []
    world.advance(1)
    assert [at - start for at in seen] == [400]


def test_an_event_that_waits_for_a_gate_is_told_when_the_gate_is_lifted(world: Sessions, alice: Peer) -> None:
    seen: list[float] = []
    alice.put("in", 1)
    x = alice.derive("x", lambda run: run.read(IN), debounce_ms=1_000)
    look = alice.handler("look", lambda run: (run.read(X), seen.append(world.clock.now)))
    alice.scheduler.send(look, None)
    world.settle()
    seen.clear()
    alice.put("in", 2)
    alice.scheduler.send(look, None)
    world.settle()
    assert seen == []
    alice.scheduler.set_gates(x, debounce_ms=0)
    world.settle()
    assert seen == [world.clock.now]


def contend(world: Sessions, alice: Peer, bob: Peer) -> None:
    """Bob's commit reaches the server before alice's next one."""
    bob.put("d", {"at": world.clock.now, "n": world.commits})
    while bob.link.up():
        pass
    world.loop.decide()


def test_a_conflict_is_tried_again_later_each_time_until_it_commits(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    add = alice.handler("add", append)
    world.settle()
    done: list[Event] = []
    alice.scheduler.send(add, 1, on_done=done.append)
    delays: list[float] = []
    for _ in range(14):
        contend(world, alice, bob)
        alice.run()
        world.loop.settle()
        head = alice.scheduler.lane.head
        assert head is not None
        delays.append(head.not_before - world.clock.now)
        world.clock.now = head.not_before
        alice.scheduler.timer_fired()
    assert delays[:3] == pytest.approx([0.75 * 25 / 32 * 2**attempt for attempt in range(3)])
    assert delays[-1] == 750
    world.settle()
    assert [event.outcome for event in done] == ["committed"]
    assert alice.value("d") == [1]
    assert not alice.failures


def test_an_event_that_is_tried_again_comes_before_those_that_wait(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    add = alice.handler("add", append)
    world.settle()
    alice.scheduler.send(add, 1)
    contend(world, alice, bob)
    alice.run()
    alice.scheduler.send(add, 2)
    world.loop.settle()  # the first one's conflict
    world.advance(100)
    assert alice.value("d") == [1, 2]


def test_conflicts_beyond_the_window_are_an_error_that_somebody_hears_of(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    add = alice.handler("add", append)
    world.settle()
    event = alice.scheduler.send(add, 1)
    start = world.clock.now
    while event.outcome is None:
        contend(world, alice, bob)
        alice.run()
        world.loop.settle()
        if alice.scheduler.lane.head is not None:
            world.clock.now = alice.scheduler.lane.head.not_before
            alice.scheduler.timer_fired()
    assert event.outcome == "did-not-converge"
    assert [failure.code for failure in alice.failures] == ["commit-did-not-converge"]
    assert 30_000 <= world.clock.now - start < 31_000
    world.settle()
    assert alice.scheduler.is_idle(durable=True)


def test_an_event_that_must_not_be_retried_is_dropped_at_its_first_conflict(world: Sessions, alice: Peer) -> None:
    bob = world.peer("bob")
    add = alice.handler("add", append)
    world.settle()
    event = alice.scheduler.send(add, 1, retries=False)
    contend(world, alice, bob)
    alice.run()
    world.settle()
    assert event.outcome == "dropped"


def test_a_handler_that_raises_leaves_nothing_behind(world: Sessions, alice: Peer) -> None:
    def body(run: Run) -> None:
        append(run)
        raise ValueError("no")

    event = alice.scheduler.send(alice.handler("bad", body), 1)
    world.settle()
    assert event.outcome == "failed"
    assert alice.value("d") is ABSENT
    assert [failure.code for failure in alice.failures] == ["body-failed"]


def test_an_asynchronous_handler_holds_the_lane_while_it_is_awaited(world: Sessions, alice: Peer) -> None:
    async def slow(run: Run) -> None:
        append(run)
        await Pause()

    slow_one, add = alice.handler("slow", slow), alice.handler("add", append)
    alice.scheduler.send(slow_one, 1)
    alice.scheduler.send(add, 2)
    world.settle()
    assert alice.value("d") is ABSENT
    alice.resume()
    world.settle()
    assert alice.value("d") == [1, 2]


def test_a_backlog_has_an_end(alice: Peer) -> None:
    add = alice.handler("add", append)
    for number in range(MAX_BACKLOG):
        alice.scheduler.send(add, number)
    with pytest.raises(BacklogFull, match="256 events wait for handler add"):
        alice.scheduler.send(add, 0)


def test_events_of_a_handler_that_was_taken_out_are_over(world: Sessions, alice: Peer) -> None:
    add = alice.handler("add", append)
    event = alice.scheduler.send(add, 1)
    alice.scheduler.unregister(add)
    world.settle()
    assert event.outcome == "retired"
    assert alice.scheduler.is_idle(durable=True)
    with pytest.raises(RuntimeError, match="add is no registered handler"):
        alice.scheduler.send(add, 1)


def test_a_handler_is_not_woken_by_what_it_reads(world: Sessions, alice: Peer) -> None:
    add = alice.handler("add", append)
    alice.scheduler.send(add, 1)
    world.settle()
    alice.put("d", [])
    world.settle()
    assert add.runs == 1
