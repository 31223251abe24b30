"""Sessions with nodes, gates and breakers over one server, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.cadence import Cadence
from quiesce_model.crossing import Crossing
from quiesce_model.fan_out import FanOut
from quiesce_model.fast_input import FastInput
from quiesce_model.many_sessions import ManySessions
from quiesce_model.scheduler import Status


def hear(crowd: ManySessions, s: int) -> None:
    crowd.flush(s=s)
    crowd.deliver(s=s)


def rewrite(crowd: ManySessions, s: int) -> None:
    """The derivation of session ``s`` runs, and what it writes is accepted."""
    crowd.run(s=s)
    crowd.accept(s=s)


def rounds(crowd: ManySessions, commits: int) -> None:
    """The loop of one against one, session 1 first."""
    rewrite(crowd, 1)
    for n in range(1, commits):
        hear(crowd, (n + 1) % 2)
        rewrite(crowd, (n + 1) % 2)


def test_one_against_one_trips_after_its_first_run_and_the_threshold() -> None:
    crowd = ManySessions(threshold=2, base=2, cap=2)
    rounds(crowd, 5)
    assert [me.pair.tripped for me in crowd.member] == [True, True]
    hear(crowd, 0)
    with pytest.raises(Blocked):
        crowd.run(s=0)
    crowd.elapse(2)
    crowd.run(s=0)


def test_a_commit_triggers_the_others_and_not_its_own_node() -> None:
    crowd = ManySessions()
    rewrite(crowd, 1)
    assert crowd.member[1].node.status is Status.CLEAN
    hear(crowd, 0)
    assert crowd.member[0].node.cause[0]


def test_what_is_typed_and_refused_is_sent_again() -> None:
    crowd = ManySessions(values=3, may_type=True)
    crowd.type(s=0, value=2)
    rewrite(crowd, 1)
    crowd.refuse(s=0)
    assert crowd.member[0].draft is not None
    assert (crowd.member[0].draft.value, crowd.member[0].draft.typed) == (2, True)
    crowd.accept(s=0)
    assert crowd.document == 2
    assert not crowd.member[0].pair.held()


def test_a_refused_run_is_owed_a_retry_which_may_find_that_its_ally_was_faster() -> None:
    crowd = ManySessions(sessions=3, threshold=1, base=2, cap=2)
    rounds(crowd, 2)
    assert crowd.member[0].pair.tripped
    crowd.elapse(2)
    hear(crowd, 1)
    rewrite(crowd, 1)
    hear(crowd, 0)
    crowd.run(s=0)
    hear(crowd, 2)
    rewrite(crowd, 2)
    crowd.refuse(s=0)
    assert crowd.member[0].node.owed
    crowd.run(s=0)
    assert crowd.member[0].draft is None


def test_a_heartbeat_makes_a_session_believe_that_the_sides_agree() -> None:
    for kept in (False, True):
        crowd = ManySessions(threshold=3, documents=2, beats=True, pair_by_field=kept)
        rounds(crowd, 4)
        assert crowd.member[0].pair.echoes == 2
        crowd.beat(s=0)
        crowd.run(s=0)
        assert crowd.member[0].pair.echoes == (2 if kept else 0)


def test_a_derivation_that_is_registered_anew_has_no_pair_unless_that_outlives_it() -> None:
    for outlives in (False, True):
        crowd = ManySessions(threshold=3, bound=9, reborn=True, pair_outlives=outlives)
        rounds(crowd, 4)
        assert crowd.member[0].pair.held() is outlives


def test_a_session_that_comes_back_reads_the_document_and_runs() -> None:
    crowd = ManySessions(may_return=True)
    rewrite(crowd, 1)
    crowd.leave(s=0)
    crowd.come_back(s=0)
    assert crowd.member[0].sees == 1
    rewrite(crowd, 0)
    assert crowd.document == 0


def test_a_loop_of_one_user_shuts_the_gate_of_the_other() -> None:
    for apart in (False, True):
        node = FanOut(threshold=1, gate_by_instance=apart)
        node.change(i=0)
        node.run(overwrites=1)
        node.change(i=1)
        assert node.may_run(1) is apart


def test_two_that_cross_are_seen_by_descent_alone() -> None:
    for seen in (False, True):
        pair = Crossing(threshold=2, bound=9, by_descent=seen)
        pair.begin()
        for n in range(6):
            pair.deliver(s=n % 2)
            pair.run(s=n % 2)
            pair.commit(s=n % 2)
        assert [side.pair.tripped for side in pair.side] == [seen, seen]


def test_what_is_taken_back_is_counted_unless_a_revert_is_skipped() -> None:
    for skipped in (False, True):
        node = FastInput(own_revert_skipped=skipped)
        node.move(value=1)
        node.deliver()
        node.run()
        node.move(value=2)
        node.refuse()
        node.run()
        node.accept()
        assert node.pair.echoes == (0 if skipped else 1)
        assert node.output == 2


def test_a_burst_across_the_boundary_of_two_windows_trips_nothing_unless_the_window_slides() -> None:
    for slides in (False, True):
        cadence = Cadence(threshold=3, window=2, sliding_window=slides)
        cadence.echo()
        cadence.elapse(1)
        cadence.echo()
        cadence.elapse(2)
        cadence.echo()
        cadence.echo()
        assert cadence.pair.tripped is slides
