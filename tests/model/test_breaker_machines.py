"""The breaker with runs in flight, and the table, under plain Python."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.breaker import Breaker
from quiesce_model.breaker_table import BreakerTable


def tripped(**constants: int) -> Breaker:
    breaker = Breaker(threshold=2, base=2, **constants)
    for _ in range(2):
        breaker.run(overwrites=True)
        breaker.commit(place=0)
    return breaker


def test_a_trip_shuts_the_gate_until_its_deadline() -> None:
    breaker = tripped()
    breaker.elapse(1)
    with pytest.raises(Blocked) as blocked:
        breaker.run(overwrites=True)
    assert blocked.value.rule == "BRK-18"
    breaker.elapse(1)
    breaker.run(overwrites=True)


def test_a_retry_waits_like_every_other_run() -> None:
    breaker = Breaker(threshold=1, base=2)
    breaker.run(overwrites=True)
    breaker.run(overwrites=True)
    breaker.commit(place=0)
    breaker.refuse(place=0)
    with pytest.raises(Blocked) as blocked:
        breaker.retry(overwrites=True)
    assert blocked.value.rule == "BRK-20"


def test_the_result_of_a_retired_registration_makes_no_step() -> None:
    breaker = Breaker(threshold=1)
    breaker.run(overwrites=True)
    breaker.retire()
    breaker.register()
    breaker.commit(place=0)
    assert not breaker.pair.held()
    assert breaker.gate.over


def test_in_kickoff_order_a_step_that_was_overtaken_is_ignored() -> None:
    for repaired in (False, True):
        breaker = Breaker(threshold=2, kickoff_order=repaired)
        breaker.run(overwrites=False)
        breaker.run(overwrites=True)
        breaker.commit(place=1)
        breaker.commit(place=0)
        assert breaker.pair.held() is repaired


def test_an_evicted_pair_leaves_its_deadline_behind() -> None:
    table = BreakerTable(threshold=1, capacity=2, base=2)
    for document in range(3):
        table.echo(a=0, d=document)
    assert [pair.held() for pair in table.node[0].pair] == [False, True, True]
    table.converge(a=0, d=1)
    table.converge(a=0, d=2)
    assert table.held() == 0
    assert table.node[0].gate.remaining == 2
    with pytest.raises(Blocked):
        table.run(a=0)


def test_agreement_on_one_document_does_not_lift_the_backoff_of_another() -> None:
    table = BreakerTable(threshold=1, base=2)
    table.echo(a=0, d=0)
    table.elapse(1)
    table.echo_and_converge(a=0, d=1, e=0)
    assert table.node[0].gate.remaining == 2
    assert not table.node[0].pair[0].held()


@pytest.mark.parametrize(("repaired", "evicted"), [(False, 0), (True, 1)])
def test_who_makes_room(repaired: bool, evicted: int) -> None:
    table = BreakerTable(threshold=2, capacity=2, evict_untripped_first=repaired)
    table.echo(a=0, d=0)
    table.echo(a=0, d=0)
    table.echo(a=0, d=1)
    table.echo(a=0, d=2)
    assert [pair.held() for pair in table.node[0].pair].index(False) == evicted
