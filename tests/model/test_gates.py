"""The gates of a node, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.one_node import OneNode
from quiesce_model.scheduler import Status


def ran(**constants: int) -> OneNode:
    """A node that somebody reads, after its first run."""
    node = OneNode(**{"debounce": 0, "throttle": 0, "longest_echo": 8, "base": 2, "cap": 5} | constants)  # type: ignore[arg-type]
    if not node.effect:
        node.demand()
    settle(node)
    return node


def settle(node: OneNode) -> None:
    """One pass with one run, if the node can run."""
    node.begin_pass()
    if node.node.runnable(node):
        node.run()
        node.finish(writes=False)
    node.end_pass()


def exhaust(node: OneNode) -> None:
    """One pass in which each run of the node makes the next one necessary."""
    node.change(own=False)
    node.begin_pass()
    while node.node.runs < node.budget:
        node.run()
        node.change(own=False)
        node.finish(writes=False)
    node.end_pass()


def opens_after(node: OneNode, ticks: int) -> bool:
    """The node can run for the first time when so much time has passed."""
    if ticks > 1:
        node.elapse(ticks - 1)
    shut = ticks == 0 or not node.node.gates.eligible(node)
    if ticks > 0:
        node.elapse(1)
    return shut and node.node.gates.eligible(node)


def test_a_first_run_is_immediate_and_later_ones_trail() -> None:
    node = ran(debounce=3)
    assert node.node.ran
    node.change(own=False)
    node.elapse(2)
    node.change(own=False)
    assert opens_after(node, 3)


def test_the_end_of_a_run_drops_the_debounce_of_a_change_that_came_meanwhile() -> None:
    for kept in (False, True):
        node = ran(debounce=3, debounce_kept=kept)
        node.change(own=False)
        node.elapse(3)
        node.begin_pass()
        node.run()
        node.change(own=False)
        node.finish(writes=False)
        assert node.node.gates.eligible(node) is not kept


def test_with_a_longest_debounce_a_stream_of_changes_is_served() -> None:
    node = ran(debounce=3, longest_debounce=4)
    for _ in range(4):
        node.change(own=False)
        node.elapse(1)
    assert node.node.gates.eligible(node)


def test_the_throttle_runs_from_the_end_of_the_last_run() -> None:
    node = ran(throttle=4)
    node.change(own=False)
    assert opens_after(node, 4)


def test_every_backoff_is_twice_as_long_up_to_the_cap() -> None:
    node = ran()
    found: list[int] = []
    for _ in range(4):
        exhaust(node)
        found.append(node.node.gates.backoff.remaining)
        node.elapse(found[-1])
    assert found == [2, 4, 5, 5]
    settle(node)
    exhaust(node)
    assert node.node.gates.backoff.remaining == 2


def test_each_backoff_is_lifted_by_itself() -> None:
    node = ran()
    exhaust(node)
    node.node.gates.shut(8)
    node.lift(rest=0)
    assert node.node.gates.rest(node) == 2
    node.node.gates.shut(8)
    node.elapse(2)
    settle(node)
    assert node.node.gates.rest(node) == 6


def test_a_retry_that_is_owed_waits_for_backoffs_alone() -> None:
    node = ran(debounce=3, throttle=4, conflicts=True)
    node.elapse(4)
    node.change(own=False)
    node.elapse(3)
    node.begin_pass()
    node.run()
    node.finish(writes=True)
    node.end_pass()
    node.overtake()
    node.conflict()
    node.caught_up()
    node.change(own=False)
    assert node.node.owed
    assert node.node.gates.eligible(node)
    node.node.gates.shut(2)
    assert opens_after(node, 2)


def test_releasing_a_hold_clears_a_backoff_unless_they_are_apart() -> None:
    for apart in (False, True):
        node = ran(resume=1, hold_apart=apart)
        exhaust(node)
        node.hold()
        node.release_hold()
        assert node.node.gates.eligible(node) is not apart


def test_a_registration_inherits_a_backoff_unless_all_is_retired() -> None:
    for retired in (False, True):
        node = ran(may_retire=True, retire_all=retired)
        exhaust(node)
        node.retire()
        node.register()
        assert node.node.status is Status.INVALID
        assert node.node.gates.eligible(node) is retired


def test_the_wake_is_armed_for_the_deadline_and_queues_a_pass() -> None:
    node = ran()
    exhaust(node)
    settle(node)
    assert node.wake.rest.remaining == 2
    with pytest.raises(Blocked):
        node.fire()
    node.elapse(2)
    node.fire()
    assert node.queued


def test_a_dormant_node_neither_runs_nor_wakes_nor_holds_idle() -> None:
    node = ran()
    exhaust(node)
    settle(node)
    node.release()
    assert node.is_idle()
    node.elapse(2)
    node.fire()
    node.begin_pass()
    with pytest.raises(Blocked):
        node.run()
    node.end_pass()
    assert not node.wake.armed


@pytest.mark.parametrize(
    ("effect", "gate", "idle"),
    [
        (False, "debounce", True),
        (True, "debounce", False),
        (False, "echo", True),
        (True, "echo", True),
        (False, "backoff", False),
        (True, "backoff", False),
    ],
)
def test_what_a_deferred_node_holds(effect: bool, gate: str, idle: bool) -> None:
    node = ran(effect=effect, debounce=2 if gate == "debounce" else 0)
    if gate == "backoff":
        exhaust(node)
        settle(node)
    else:
        if gate == "echo":
            node.node.gates.shut(2)
        node.change(own=False)
        if node.queued:
            settle(node)
    assert not node.node.gates.eligible(node)
    assert node.is_idle() is idle


@pytest.mark.parametrize("stays", [False, True])
def test_a_backoff_holds_idle_for_a_few_passes_and_once_that_is_said_again(stays: bool) -> None:
    node = ran(hold_passes=2, stay_resolved=stays)
    exhaust(node)
    settle(node)
    assert not node.is_idle()
    node.elapse(2)
    exhaust(node)
    settle(node)
    assert node.is_idle()
    node.resolve_idle()
    assert node.is_idle() is stays
