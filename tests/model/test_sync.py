"""Sessions over one server, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.many_replicas import ManyReplicas
from quiesce_model.sync import Fate


def commit(machine: ManyReplicas, s: int, value: int) -> None:
    """Session ``s`` writes document 0 over what it reads there, and the server accepts that."""
    machine.write(s=s, document=0, read=0, value=value)
    machine.accept(s=s, place=machine.replica[s].pending() - 1)


def bring(machine: ManyReplicas, s: int) -> None:
    """What the server has decided reaches session ``s``: verdicts, then a window."""
    machine.flush(s=s)
    for place in range(machine.layers):
        layer = machine.replica[s].layer[place]
        if layer is not None and layer.fate is not Fate.SENT and not layer.learnt:
            machine.learn(s=s, place=place)
    machine.deliver(s=s)


def sees(machine: ManyReplicas) -> list[int]:
    return [me.visible(machine, 0) for me in machine.replica]


def test_a_commit_is_seen_here_at_once_and_there_with_a_window() -> None:
    machine = ManyReplicas()
    machine.write(s=0, document=0, read=0, value=1)
    assert sees(machine) == [1, 0]
    machine.accept(s=0, place=0)
    assert sees(machine) == [1, 0]
    bring(machine, 1)
    assert sees(machine) == [1, 1]
    assert [me.confirmed[0].seq for me in machine.replica] == [0, 1]


def test_a_session_is_not_sent_its_own_commit_and_keeps_it_as_a_layer_until_a_window_covers_it() -> None:
    machine = ManyReplicas()
    commit(machine, 0, 1)
    machine.learn(s=0, place=0)
    assert machine.replica[0].pending() == 1
    machine.flush(s=0)
    assert machine.seat[0].way[0].version[0] is None
    machine.deliver(s=0)
    assert machine.replica[0].pending() == 0
    assert (machine.replica[0].confirmed[0].seq, machine.replica[0].confirmed[0].value) == (1, 1)


def test_a_stale_commit_is_refused_and_its_author_has_the_reason_before_it_lets_go() -> None:
    machine = ManyReplicas()
    machine.write(s=1, document=0, read=0, value=1)
    commit(machine, 0, 1)
    with pytest.raises(Blocked) as blocked:
        machine.accept(s=1, place=0)
    assert blocked.value.rule == "SYN-3"
    machine.refuse(s=1, place=0)
    machine.learn(s=1, place=0)
    assert machine.replica[1].pending() == 1
    bring(machine, 1)
    assert machine.replica[1].pending() == 0
    assert machine.replica[1].confirmed[0].seq == 1
    commit(machine, 1, 0)
    assert machine.server.seq == 2


def test_what_was_read_through_a_refused_layer_is_refused_also_if_it_came_later() -> None:
    machine = ManyReplicas(layers=2)
    machine.write(s=1, document=0, read=0, value=1)
    commit(machine, 0, 1)
    machine.refuse(s=1, place=0)
    machine.write(s=1, document=0, read=0, value=0)
    with pytest.raises(Blocked):
        machine.accept(s=1, place=1)
    machine.refuse(s=1, place=1)


def test_a_window_waits_for_the_verdicts_that_it_covers() -> None:
    machine = ManyReplicas()
    commit(machine, 0, 1)
    machine.flush(s=0)
    with pytest.raises(Blocked) as blocked:
        machine.deliver(s=0)
    assert blocked.value.rule == "SYN-11"


def test_an_older_version_that_a_window_brings_after_an_answer_changes_nothing() -> None:
    machine = ManyReplicas(may_pull=True)
    commit(machine, 0, 1)
    machine.flush(s=1)
    bring(machine, 0)
    commit(machine, 0, 0)
    machine.pull(s=1, document=0)
    machine.arrive(s=1, document=0)
    machine.deliver(s=1)
    assert machine.replica[1].confirmed[0].seq == 2
    assert sees(machine) == [0, 0]


def test_after_a_lost_connection_a_session_gets_what_it_lacks_and_the_verdict_that_it_had() -> None:
    machine = ManyReplicas(may_fail=True, may_pull=True, layers=2)
    commit(machine, 0, 1)
    machine.flush(s=1)
    for s in range(2):
        machine.fail(s=s)
        machine.resume(s=s)
    bring(machine, 1)
    bring(machine, 0)
    assert sees(machine) == [1, 1]
    assert machine.server.seq == 1
    assert all(machine.at_rest(s) for s in range(2))


def forgotten(**constants: bool) -> ManyReplicas:
    """A session comes back after the server has forgotten it, with a commit whose verdict was lost."""
    machine = ManyReplicas(may_fail=True, may_expire=True, **constants)
    commit(machine, 0, 1)
    machine.fail(s=0)
    machine.expire(s=0)
    machine.resume(s=0)
    return machine


def test_a_commit_of_a_forgotten_session_is_refused_although_it_was_applied() -> None:
    machine = forgotten()
    machine.refuse(s=0, place=0)
    assert machine.replica[0].layer[0] is not None
    assert machine.replica[0].layer[0].applied == 1
    assert not machine.both_sides_know_the_same_fate()


def test_kept_verdicts_outlive_the_session() -> None:
    machine = forgotten(replay_kept=True)
    with pytest.raises(Blocked):
        machine.refuse(s=0, place=0)
    bring(machine, 0)
    assert machine.replica[0].confirmed[0].seq == 1


def hidden(**constants: bool) -> ManyReplicas:
    """Session 0 has an accepted layer over a version that is newer, which only an answer can bring about."""
    machine = ManyReplicas(layers=2, may_pull=True, **constants)
    commit(machine, 0, 1)
    bring(machine, 1)
    commit(machine, 1, 0)
    machine.pull(s=0, document=0)
    machine.arrive(s=0, document=0)
    assert sees(machine) == [1, 0]
    assert machine.server.head[0].version.value == 0
    machine.write(s=0, document=0, read=0, value=0)
    return machine


def test_a_read_under_a_layer_overwrites_what_was_never_seen() -> None:
    machine = hidden()
    machine.accept(s=0, place=1)
    assert machine.server.seq == 3


def test_with_the_basis_of_the_layer_it_is_refused() -> None:
    machine = hidden(basis_of_the_layer=True)
    with pytest.raises(Blocked):
        machine.accept(s=0, place=1)
    machine.refuse(s=0, place=1)


def test_what_is_not_watched_grows_old_and_watching_brings_it_up_to_date() -> None:
    machine = ManyReplicas(may_watch=True)
    machine.unwatch(s=1, document=0)
    commit(machine, 0, 1)
    bring(machine, 1)
    assert sees(machine) == [1, 0]
    machine.watch(s=1, document=0)
    machine.arrive(s=1, document=0)
    assert sees(machine) == [1, 1]
