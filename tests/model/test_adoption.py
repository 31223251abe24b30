"""Adoption under plain Python, told step by step: who adopts, who refuses, and what a wrong adoption comes to."""

from __future__ import annotations

import pytest

from quiesce_model.adopt_children import AdoptChildren
from quiesce_model.adopt_delivery import AdoptDelivery
from quiesce_model.adopt_pair import AdoptPair
from quiesce_model.adopt_privacy import AdoptPrivacy
from quiesce_model.adopt_race import AdoptRace
from quiesce_model.adopt_siblings import AdoptSiblings
from quiesce_model.adoption import Adoption
from quiesce_model.adoption_life import AdoptionLife
from quiesce_model.adoption_session import Difference


def window(space: AdoptionLife, s: int) -> None:
    """A window is made for a session, and arrives."""
    space.flush(s=s)
    space.deliver(s=s)


def written(space: AdoptionLife, document: int = 0, value: int = 1) -> None:
    """Session 0's user writes, and the server takes it."""
    space.write(s=0, document=document, value=value)
    space.decide(s=0)


def shared(**constants: int) -> Adoption:
    """Session 0 has written the input and run what follows from it; session 1 has been told nothing yet."""
    space = Adoption(**{"actions": 1, "parked": False} | constants)  # type: ignore[arg-type]
    written(space)
    space.run(s=0, n=0)
    space.decide(s=0)
    return space


def test_what_one_session_has_run_the_other_adopts() -> None:
    space = shared()
    window(space, 1)
    assert space.session[1].sees(1) == 0
    assert not space.session[1].node[0].dirty
    assert space.difference is Difference.NONE
    window(space, 0)
    assert space.quiescent()
    assert space.at_rest_all_is_current()


def test_without_rows_the_other_runs_too() -> None:
    space = shared(rows=False)
    window(space, 1)
    assert space.session[1].node[0].dirty


def test_a_row_is_not_sent_to_whoever_made_it() -> None:
    space = shared()
    space.flush(s=0)
    assert not space.session[0].window.row[0].kept


def test_a_pending_write_refuses() -> None:
    space = shared(writes=2)
    space.flush(s=1)
    space.write(s=1, document=0, value=1)
    space.deliver(s=1)
    assert space.session[1].node[0].dirty


def test_a_newer_version_that_overtook_the_window_refuses() -> None:
    space = shared(writes=2, may_pull=True)
    space.flush(s=1)
    written(space, value=0)
    space.pull(s=1, document=0)
    space.deliver(s=1)
    assert space.session[1].confirmed[0].seq == 3
    space.run(s=1, n=0)
    assert space.session[1].sees(1) == 1


def test_without_c2_that_row_is_adopted_over_another_input() -> None:
    space = shared(writes=3, most=6, may_pull=True, without=["ADO-8"])  # type: ignore[arg-type]
    space.flush(s=1)
    written(space, value=0)
    space.pull(s=1, document=0)
    space.deliver(s=1)
    assert space.difference is Difference.VALUE
    assert not space.session[1].node[0].dirty


def test_an_effect_runs_in_every_session() -> None:
    space = Adoption(parked=False)
    written(space)
    space.run(s=0, n=0)
    space.decide(s=0)
    window(space, 1)
    assert not space.session[1].node[0].dirty
    assert space.session[1].node[1].dirty
    space.run(s=1, n=1)
    assert space.session[1].node[1].screen == 0


def test_a_lost_row_costs_a_run_and_no_more() -> None:
    space = shared(may_drop=True)
    space.drop(n=0)
    window(space, 1)
    space.run(s=1, n=0)
    space.decide(s=1)
    window(space, 0)
    assert space.quiescent()
    assert space.at_rest_all_is_current()


def test_a_stale_observation_is_dropped_and_nobody_is_told() -> None:
    space = shared(writes=2)
    window(space, 1)
    space.session[1].node[0].dirty = True
    space.run(s=1, n=0)
    written(space, value=0)
    row = space.store.row[0]
    was = (row.observed, row.writer)
    space.decide(s=1)
    assert (row.observed, row.writer) == was
    assert row.dirty


def test_a_window_that_is_lost_comes_again() -> None:
    space = shared(may_fail=True)
    space.flush(s=1)
    space.disconnect(s=1)
    space.resume(s=1)
    window(space, 1)
    assert not space.session[1].node[0].dirty
    assert space.session[1].sees(1) == 0


def test_a_row_that_speaks_of_what_is_not_watched_is_not_sent() -> None:
    space = AdoptPair(writes=2, parked=False)
    written(space)
    space.ask(s=0, document=1)
    space.pull(s=0, document=1)
    space.run(s=0, n=0)
    space.decide(s=0)
    written(space, document=1)
    space.flush(s=1)
    assert not space.session[1].window.row[0].kept


def deaf(**repairs: bool) -> AdoptRace:
    """A run that began before its action was adopted has ended."""
    space = AdoptRace(documents=4, writes=4, needed=True, parked=False, **repairs)
    written(space, value=0)
    window(space, 1)
    space.run(s=1, n=0)
    written(space, value=1)
    space.run(s=0, n=0)
    space.finish(s=0)
    space.decide(s=0)
    written(space, document=3)
    window(space, 1)
    assert space.body[1].adopted
    space.finish(s=1)
    return space


def test_a_run_that_began_before_its_action_was_adopted_leaves_it_deaf() -> None:
    space = deaf()
    assert not space.session[1].node[0].dirty
    assert not space.session[1].node[0].trigger[1]
    assert space.looks(1, 0, 1)


def test_with_validation_at_its_end_it_runs_again() -> None:
    assert deaf(validate_run_end=True).session[1].node[0].dirty


def test_with_an_end_that_yields_it_listens_to_what_the_row_says() -> None:
    assert deaf(end_yields=True).session[1].node[0].trigger[1]


@pytest.mark.parametrize(("marked", "child"), [(True, True), (False, False)])
def test_a_child_is_started_by_a_run_and_by_nothing_else(marked: bool, child: bool) -> None:
    space = AdoptChildren(marked=marked, parked=False)
    written(space)
    space.run(s=0, n=0)
    space.decide(s=0)
    window(space, 1)
    if space.session[1].node[0].dirty:
        space.run(s=1, n=0)
    assert space.child[1] is child
    assert space.difference is (Difference.NONE if marked else Difference.CHILD)


def test_of_two_fields_of_one_document_the_last_alone_is_adopted() -> None:
    space = AdoptSiblings(parked=False)
    written(space)
    for n in range(2):
        space.run(s=0, n=n)
        space.decide(s=0)
    window(space, 1)
    assert [node.dirty for node in space.session[1].node] == [True, False]


def test_another_tab_adopts_and_another_user_does_not() -> None:
    space = AdoptPrivacy()
    space.write_shared(s=0)
    space.run(s=0)
    for s in (1, 2):
        space.sync(s=s)
    assert [reader.dirty for reader in space.reader] == [False, True, False]


def test_without_the_filter_the_other_user_is_told_of_data_that_are_not_his() -> None:
    space = AdoptPrivacy(without=["ADO-28"])
    space.write_shared(s=0)
    space.run(s=0)
    space.sync(s=1)
    assert space.leaked
    assert not space.reader[1].dirty


def test_a_row_of_a_run_that_wrote_nothing_rides_the_next_window() -> None:
    space = AdoptDelivery()
    space.commit()
    space.observe(other=False)
    space.flush(s=0, skips=False)
    assert not space.seat[0].carried
    space.deliver(s=0)
    space.commit()
    space.flush(s=0, skips=False)
    assert space.seat[0].carried
