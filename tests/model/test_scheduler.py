"""A session's passes, commits and events, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.one_session import OneSession
from quiesce_model.scheduler import Status


def settle(session: OneSession) -> list[int]:
    """One pass, each commit of which succeeds; the nodes in the order in which they ran."""
    order: list[int] = []
    session.begin_pass()
    while any(session.has_turn(n) for n in range(session.nodes)):
        n = next(n for n in range(session.nodes) if session.has_turn(n))
        order.append(n)
        session.run(n=n)
        session.finish()
        if session.flight[n] is not None:
            session.succeed(n=n, echo=0)
    session.end_pass()
    return order


def changed(**constants: int) -> OneSession:
    """A session that is at rest, but for a change of the input that has just been delivered."""
    session = OneSession(foreign=True, **constants)
    settle(session)
    session.write_elsewhere()
    session.deliver()
    return session


def test_a_change_runs_through_the_chain_in_the_order_of_the_data() -> None:
    session = changed()
    assert settle(session) == [0, 1]
    assert list(session.value) == [1, 1, 1]
    assert settle(session) == []
    assert session.at_rest()


def test_a_run_has_the_change_as_its_cause() -> None:
    session = changed()
    assert list(session.node[0].cause) == [True, False, False]
    session.begin_pass()
    session.run(n=0)
    assert list(session.node[0].cause) == [False, False, False]


def test_a_node_is_not_invalidated_by_its_own_commit_but_by_its_revert() -> None:
    session = changed()
    session.begin_pass()
    session.run(n=0)
    session.write_elsewhere()
    session.finish()
    assert session.node[0].status is Status.CLEAN
    session.conflict(n=0)
    assert list(session.value)[:2] == [0, 0]
    assert session.node[0].owed
    assert session.node[0].cause[1]


def test_a_cycle_that_does_not_settle_is_backed_off_and_escalates() -> None:
    session = OneSession(cycle=True, restless=True, cap=4)
    found: list[int] = []
    for _ in range(3):
        assert settle(session) == [0, 1, 0, 1]
        found.append(session.node[0].gates.backoff.remaining)
        session.elapse(found[-1])
    assert found == [1, 2, 4]
    assert session.node[1].gates.step == 0


def test_a_bystander_is_not_backed_off() -> None:
    session = OneSession(cycle=True, restless=True, nudges=True)
    settle(session)
    session.nudge(n=1)
    assert session.node[0].deferred(session)
    assert session.node[1].runnable(session)
    assert settle(session) == [1]


@pytest.mark.parametrize(("skipped", "again"), [(False, True), (True, False)])
def test_giving_up_makes_the_node_run_again_unless_its_revert_is_skipped(skipped: bool, again: bool) -> None:
    session = changed(refusals=True, attempts=1, own_revert_skipped=skipped)
    session.begin_pass()
    session.run(n=0)
    session.finish()
    session.refuse(n=0)
    assert session.tries[0] == 1
    assert session.node[0].due(session) is again


def parked(**constants: int) -> OneSession:
    """A session with an event that waits for node 0, which the breaker backs off for two ticks."""
    session = OneSession(backlog=2, nudges=True, longest_echo=2, **constants)
    settle(session)
    session.node[0].gates.shut(2)
    session.nudge(n=0)
    session.send()
    session.begin_pass()
    session.end_pass()
    assert session.parked
    return session


def test_an_event_waits_for_what_its_handler_reads() -> None:
    session = parked()
    session.elapse(2)
    session.fire()
    settle(session)
    assert session.lane[0] is not None
    settle(session)
    assert session.lane[0] is None
    assert session.value[0] == 1


@pytest.mark.parametrize(("repaired", "waits"), [(False, True), (True, False)])
def test_a_parked_event_is_not_told_that_the_gate_is_open(repaired: bool, waits: bool) -> None:
    session = parked(preflight_again=repaired)
    session.lift(n=0)
    settle(session)
    assert session.parked is waits


def test_a_parked_event_holds_idle() -> None:
    session = parked()
    assert not session.is_idle()
    assert session.park.remaining == 2


def test_events_are_handled_in_the_order_in_which_they_came() -> None:
    session = parked()
    session.send()
    with pytest.raises(Blocked):
        session.send()
    assert list(session.lane) == [1, 0]
    session.elapse(2)
    for value in (0, 1, 0):
        if not session.queued:
            session.fire()
        settle(session)
        assert session.value[0] == value
