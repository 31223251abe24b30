"""The echo loop under plain Python: who trips, who waits, and the loop that never does."""

from __future__ import annotations

import pytest

from quiesce_model import Blocked
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.language.machine import Step, apply, leaves, state


def steps(text: str) -> list[Step]:
    """``run 1, commit 1`` as steps of session 1."""
    named = (part.split() for part in text.split(","))
    return [Step(action, (("s", int(s)),)) for action, s in named]


def walk(machine: EchoLoop, text: str) -> None:
    for step in steps(text):
        apply(machine, step)


def without_ghosts(machine: EchoLoop) -> tuple[int, ...]:
    return tuple(v for v, leaf in zip(state(machine), leaves(machine), strict=True) if not leaf.ghost)


def test_one_against_one_stops_after_twice_the_threshold() -> None:
    loop = EchoLoop(threshold=2, bound=4)
    walk(loop, "run 1, commit 1, deliver 0, run 0, commit 0")
    walk(loop, "deliver 1, run 1, commit 1, deliver 0, run 0, commit 0, deliver 1")
    assert loop.commits == 4
    assert [me.pair.tripped for me in loop.session] == [True, True]
    for s in range(2):
        with pytest.raises(Blocked):
            loop.run(s=s)
    loop.elapse()
    loop.run(s=1)


def test_a_stale_commit_is_refused_counts_nothing_and_is_tried_again() -> None:
    loop = EchoLoop(sessions=3, threshold=2)
    walk(loop, "run 1, commit 1, deliver 0, deliver 2, run 0, run 2, commit 0")
    with pytest.raises(Blocked):
        loop.commit(s=2)
    walk(loop, "refuse 2")
    assert loop.session[2].triggered
    assert loop.session[2].sees == loop.document == 0
    assert not loop.session[2].pair.held()


def test_a_delivery_that_changes_nothing_triggers_nothing() -> None:
    loop = EchoLoop(sessions=3)
    walk(loop, "run 1, commit 1, deliver 0, run 0, commit 0, deliver 2")
    assert not loop.session[2].triggered  # the value came back before the delivery did


BEFORE = "run 1, commit 1, deliver 0, run 0, commit 0, deliver 1, deliver 3, run 3, commit 3"
ROUND = (
    "deliver 0, deliver 1, deliver 2, run 1, run 2, commit 2, deliver 0, deliver 1, deliver 3, run 0, run 1, commit 1, "
    "deliver 0, deliver 2, deliver 3, run 0, run 3, commit 0, deliver 1, deliver 2, deliver 3, run 2, run 3, commit 3"
)


def test_two_against_two_commit_without_end_while_no_time_passes() -> None:
    loop = EchoLoop(sessions=4, threshold=2, bound=1000)
    walk(loop, BEFORE)
    commits, start = loop.commits, without_ghosts(loop)
    for n in range(1, 101):
        walk(loop, ROUND)
        assert without_ghosts(loop) == start
        assert loop.commits == commits + 4 * n


def test_clear_when_settled_stops_that_round() -> None:
    loop = EchoLoop(sessions=4, threshold=2, bound=8, clear_when_settled=True)
    walk(loop, BEFORE)
    walk(loop, ROUND)
    with pytest.raises(Blocked) as blocked:
        walk(loop, ROUND)
    assert blocked.value.rule == "BRK-18"
    assert loop.commits_while_time_stands()


def test_agreement_lifts_the_backoff_of_the_session_that_finds_what_it_wants() -> None:
    loop = EchoLoop(threshold=1, bound=2, base=2, cap=2, may_agree=True)
    walk(loop, "run 1, commit 1, deliver 0, run 0, commit 0, deliver 1")
    loop.agree()
    with pytest.raises(Blocked):
        loop.run(s=1)
    loop.elapse(2)
    loop.run(s=1)
    assert not loop.session[1].pair.held()
    assert loop.session[1].pending is None
