"""Opening a space again, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.rehydration import Rehydration
from quiesce_model.rehydration_lemmas import RehydrationLemmas
from quiesce_model.rehydration_tree import RehydrationTree
from quiesce_model.rehydration_twin import RehydrationTwin
from quiesce_model.stored import Kind, Status


def derived(**constants: object) -> Rehydration:
    """A user has written, the live session has derived, and left."""
    machine = Rehydration(**{"most": 9} | constants)  # type: ignore[arg-type]
    machine.write(value=1)
    elsewhere(machine, 0)
    elsewhere(machine, 1)
    return machine


def elsewhere(machine: Rehydration, n: int) -> None:
    machine.run_elsewhere(n=n, other_code=False, private=False, fails=False)


def listed(machine: Rehydration) -> Rehydration:
    machine.start(whole=True)
    machine.list_page()
    machine.list_page()
    return machine


def opened(machine: Rehydration) -> Rehydration:
    listed(machine).sync_again()
    return machine


def test_a_derivation_is_restored_and_the_effect_runs() -> None:
    machine = opened(derived())
    machine.register(n=0)
    machine.register(n=1)
    assert [mine.status for mine in machine.here.action] == [Status.CLEAN, Status.DIRTY]
    machine.run(n=1)
    assert machine.at_rest()
    assert machine.here.action[1].screen == machine.here.sees(1) == 0


def test_what_was_written_after_the_listing_is_not_restored() -> None:
    machine = listed(derived())
    machine.write(value=0)
    machine.sync_again()
    machine.register(n=0)
    assert machine.here.action[0].status is Status.DIRTY
    machine.run(n=0)
    assert machine.here.sees(1) == 1


def test_without_the_last_sync_it_is_restored_on_what_is_old() -> None:
    machine = Rehydration(most=9, without={"REH-1"})
    machine.start(whole=True)
    machine.write(value=1)
    elsewhere(machine, 0)
    elsewhere(machine, 1)
    machine.list_page()
    machine.list_page()
    machine.sync_again()
    machine.register(n=0)
    assert machine.here.action[0].status is Status.CLEAN
    assert machine.here.confirmed[1].seq < machine.here.found[0].observed


def test_a_commit_between_two_pages_loses_the_listing_unless_it_is_pinned() -> None:
    for pinned in (False, True):
        machine = derived(pinned_listing=pinned)
        machine.start(whole=True)
        machine.list_page()
        machine.write(value=0)
        machine.list_page()
        assert [found.kept for found in machine.here.found] == [pinned, pinned]


@pytest.mark.parametrize("rule", [None, "REH-16"])
def test_a_pending_write_is_in_the_way(rule: str | None) -> None:
    machine = derived(without={rule} if rule else ())
    opened(machine).write_here(value=0)
    machine.register(n=0)
    assert machine.here.action[0].status is (Status.CLEAN if rule else Status.DIRTY)
    assert machine.difference is (Kind.VALUE if rule else Kind.NONE)


def test_what_is_not_restored_waits_for_the_sync_but_not_for_ever() -> None:
    machine = derived(may_fail=True, hold=3)
    machine.start(whole=True)
    machine.fail()
    machine.register(n=0)
    with pytest.raises(Blocked):
        machine.run(n=0)
    machine.elapse(3)
    machine.run(n=0)
    machine.register(n=1)
    machine.deliver()
    machine.run(n=1)
    assert machine.at_rest()


@pytest.mark.parametrize(("private", "fails", "other_code"), [(True, False, False), (False, True, False)])
def test_rows_that_do_not_count(private: bool, fails: bool, other_code: bool) -> None:
    machine = Rehydration(most=9, others=True, may_throw=True)
    machine.run_elsewhere(n=0, other_code=other_code, private=private, fails=fails)
    opened(machine).register(n=0)
    assert machine.here.found[0].kept is not private
    assert machine.here.action[0].status is Status.DIRTY


@pytest.mark.parametrize("declared", [True, False])
def test_rows_of_a_list_come_back_with_their_coordinator(declared: bool) -> None:
    machine = RehydrationTree(most=9, declared=declared)
    machine.write(value=1)
    elsewhere(machine, 0)
    elsewhere(machine, 1)
    opened(machine).register(n=0)
    if declared:
        machine.run(n=0)
        assert machine.here.action[1].status is Status.CLEAN
    assert machine.at_rest()
    assert machine.every_row_has_its_action() is declared


def test_a_row_that_is_new_in_the_list_runs() -> None:
    machine = RehydrationTree(most=9)
    elsewhere(machine, 0)
    elsewhere(machine, 1)
    opened(machine).register(n=0)
    machine.run(n=0)
    assert machine.here.action[1].status is Status.ABSENT
    machine.write(value=1)
    machine.deliver()
    machine.run(n=0)
    assert machine.here.action[1].status is Status.CLEAN  # the first row after opening still resumes
    assert not machine.resuming


def test_two_sessions_that_open_alike() -> None:
    machine = RehydrationTwin(most=9)
    machine.write(value=1)
    for n in range(2):
        machine.run_elsewhere(n=n, other_code=False, private=False, fails=False)
    machine.start(whole=True)
    machine.list_page()
    machine.list_page()
    machine.sync_again()
    machine.register(n=0)
    machine.register(n=1)
    assert machine.one.here.action[0].status is Status.CLEAN
    machine.run_other(n=0)
    machine.run_one(n=1)
    machine.run_other(n=1)
    assert machine.one.at_rest()
    assert machine.other.at_rest()
    assert machine.nobody_can_tell()


def test_a_proof_needs_no_more_than_the_machine() -> None:
    """The lemmas' machine does what the machine does."""
    machine = RehydrationLemmas(most=9)
    machine.write(value=1)
    elsewhere(machine, 0)
    assert machine.a_row_is_true()
    assert machine.a_row_knows_its_time()
