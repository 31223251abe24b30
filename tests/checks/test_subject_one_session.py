"""Two derivations of a real scheduler beside their model: every transition of projections, and walks at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from quiesce_checks.engines.explore import explore
from quiesce_checks.lockstep.drive import walk
from quiesce_checks.lockstep.subject import SubjectFailed
from quiesce_checks.lockstep.tour import tour
from quiesce_checks.lockstep.walk import production_walks
from quiesce_checks.subjects import PRODUCTION
from quiesce_checks.subjects.one_session import LEFT_OUT, OneSessionSubject, one_session_pairing
from quiesce_model.language.machine import Step
from quiesce_model.language.outcome import Misuse

CYCLE = {"cycle": True, "restless": True, "budget": 2, "cap": 2}


@pytest.mark.parametrize(
    ("scope", "transitions"),
    [
        (CYCLE, 1_614),
        ({"restless": True, "longest_echo": 1, "budget": 3, "cap": 1}, 200),
        pytest.param(CYCLE | {"may_unwatch": True}, 21_285, marks=pytest.mark.slow),
    ],
)
def test_every_transition_of_a_projection_agrees(scope: Mapping[str, Any], transitions: int) -> None:
    found = tour(one_session_pairing(tick=1, **scope))
    assert found.divergence is None
    assert (found.exhausted, found.transitions) == (True, transitions)


def test_walks_at_production_constants_agree() -> None:
    walked = production_walks(one_session_pairing(tick=1, **PRODUCTION["one_session"]), walks=6, length=80)
    assert walked.divergence is None
    assert walked.steps > 200


def step(action: str, **args: int) -> Step:
    return Step(action, tuple(args.items()))


def test_a_node_that_is_late_for_a_round_whose_runs_are_used_up_has_its_turn_in_the_next_pass() -> None:
    """The difference that is left out of the projections, so that it is seen if it goes away."""
    scope = {"budget": 1, "cap": 1, "longest_echo": 1, "cycle": True, "restless": True}
    run_both = [step("run", n=0), step("finish"), step("run", n=1), step("finish"), step("end_pass")]
    late = [step("begin_pass"), step("succeed", n=1, echo=1), step("run", n=0), step("succeed", n=0, echo=1)]
    steps = [step("begin_pass"), *run_both, step("elapse", d=1), *late, step("finish"), step("lift", n=1)]
    found, _ = walk(one_session_pairing(tick=1, **scope), [*steps, step("run", n=1)])
    assert found is not None
    assert found.turns[-1].subject.text == "the step was Ended"


class Deaf(OneSessionSubject):
    """A session to which one kind of step does nothing."""

    def __init__(self, deaf: str) -> None:
        super().__init__(1)
        setattr(self, deaf, lambda *args: None)


@pytest.mark.parametrize(
    ("deaf", "field"), [("unwatch", "node 0 is live"), ("resolve_idle", "node[0].gates.holds"), ("finish", "body?")]
)
def test_what_it_is_not_told_of_is_seen(deaf: str, field: str) -> None:
    pairing = replace(one_session_pairing(tick=1, **CYCLE, may_unwatch=deaf == "unwatch"), subject=lambda: Deaf(deaf))
    found = tour(pairing).divergence
    assert found is not None
    assert field in {name for name, _, _ in found.differs}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_of_the_model_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match=f"{name} is not walked"):
        one_session_pairing(**{name: 1})


LEFT_OUT_STEPS = {"write_elsewhere", "deliver", "send", "conflict", "refuse"}


@pytest.mark.parametrize("action", sorted(LEFT_OUT_STEPS))
def test_a_step_that_is_left_out_is_the_subjects_own_failure_in_one_sentence(action: str) -> None:
    """No scope of the pairing has such a step; a pairing of one's own might."""
    subject = OneSessionSubject(1)
    pairing = one_session_pairing(tick=1)
    parameters = dict.fromkeys(pairing.described().actions[action], 0)
    subject.reset(pairing.constants)
    with pytest.raises(SubjectFailed, match=r"^walks no step of a model with one of foreign, .*: leave them out$"):
        subject.step(step(action, **parameters), 0)


def test_a_walked_scope_has_no_step_that_is_left_out() -> None:
    graph = explore(one_session_pairing(tick=1, **CYCLE).walked, properties=(), keep_graph=True).graph
    assert graph is not None
    assert not {graph.steps[n].action for n in graph.actions.tolist()} & LEFT_OUT_STEPS
