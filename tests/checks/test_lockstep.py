"""Lockstep by itself: every transition is taken, and each way of being wrong has a verdict of its own."""

from __future__ import annotations

import desks
import pytest
from desks import Desk, pairing

from quiesce_checks.engines.explore import explore
from quiesce_checks.engines.search import Limits
from quiesce_checks.lockstep import Observation
from quiesce_checks.lockstep.drive import Pair, walk
from quiesce_checks.lockstep.pairing import Mismatch, Misnamed
from quiesce_checks.lockstep.plan import lower_bound, plan
from quiesce_checks.lockstep.question import at_random, toured
from quiesce_checks.lockstep.shrink import shrink
from quiesce_checks.lockstep.tour import Flaky, Leak, tour, walks_of
from quiesce_checks.verdict import Outcome
from quiesce_model.language.machine import Machine, Step, apply, copy, state

SELL, OPEN = Step("sell"), Step("open")


def elapse(d: int) -> Step:
    return Step("elapse", (("d", d),))


def graph_of(machine: Machine):
    graph = explore(machine, properties=(), keep_graph=True).graph
    assert graph is not None
    return graph


@pytest.mark.parametrize("constants", [{}, {"most": 3, "pause": 4}, {"most": 1, "pause": 1}])
def test_the_walks_take_every_transition(constants: dict[str, int]):
    machine = desks.Tickets(**constants)
    graph = graph_of(machine)
    taken: set[tuple[tuple[int, ...], Step]] = set()
    for steps in walks_of(graph, plan(graph)):
        runner = copy(machine)
        for step in steps:
            taken.add((state(runner), step))
            if step.action == "elapse":
                runner.elapse(1)
            else:
                apply(runner, step)
    assert len(taken) == graph.edges


@pytest.mark.parametrize("constants", [{}, {"most": 3, "pause": 4}, {"most": 1, "pause": 1}, {"most": 5, "pause": 2}])
def test_the_plan_is_as_short_as_can_be_on_small_graphs(constants: dict[str, int]):
    graph = graph_of(desks.Tickets(**constants))
    assert plan(graph).steps == lower_bound(graph)


def test_the_bound_that_is_not_exact_is_no_higher():
    graph = graph_of(desks.Tickets(most=3, pause=4))
    assert graph.edges <= lower_bound(graph, exact_up_to=0) <= lower_bound(graph)


def test_a_right_subject_agrees_and_is_asked_for_what_is_forbidden():
    found = tour(pairing())
    assert found.divergence is None
    assert (found.states, found.exhausted, found.finished) == (5, True, True)
    assert found.refusals == 5  # to sell in three states that are sold out, to open in two of them
    assert found.steps == plan(graph_of(desks.Tickets())).steps


def test_what_the_subject_is_asked_is_every_transition():
    asked: list[tuple[Observation, str]] = []

    class Watched(Desk):
        def step(self, step: Step, at: int) -> None:
            asked.append((self.observe(at), step.action))
            super().step(step, at)

    found = tour(pairing(Watched, most=3))
    graph = graph_of(desks.Tickets(most=3))
    waits = sum(graph.steps[int(action)].action == "elapse" for action in graph.actions)
    assert len(set(asked)) == found.transitions - waits + found.refusals


@pytest.mark.parametrize(
    ("subject", "differs", "steps"),
    [
        (desks.WrongValue, ("rest", 2, 3), [SELL, SELL]),
        (desks.NoRefusal, ("sold", 2, 0), [SELL, SELL, OPEN]),
        (desks.ChangesOnRefusal, ("rest", 2, 3), [SELL, SELL, OPEN]),
    ],
)
def test_a_wrong_answer_is_a_divergence_of_the_shortest_walk(
    subject: type[Desk], differs: tuple[str, int, int], steps: list[Step]
):
    found = toured(pairing(subject))
    assert found.verdict.outcome is Outcome.DIVERGES
    short = found.verdict.divergence
    assert short is not None
    assert differs in short.differs
    assert list(short.steps) == steps
    assert short.found_after >= len(steps)


def test_a_missing_refusal_is_told_with_what_each_side_did():
    short = toured(pairing(desks.NoRefusal)).verdict.divergence
    assert short is not None
    last = short.turns[-1]
    assert (last.model.kind, last.model.text, last.subject.kind) == ("refused", "blocked by TKT-2", "done")


def test_a_refusal_too_many_is_a_divergence():
    short = at_random(pairing(desks.TooCareful, pause=500), 5.0).verdict.divergence
    assert short is not None
    assert [str(step) for step in short.steps] == ["sell", "sell", "elapse(d=500)", "open"]
    assert (short.turns[-1].model.kind, short.turns[-1].subject.text) == ("done", "pausing")


def test_a_crash_is_a_failure_with_its_text():
    verdict = toured(pairing(desks.Crashing)).verdict
    assert verdict.outcome is Outcome.FAILED
    assert "crashed at step 2" in verdict.how
    assert "ZeroDivisionError: no one sits here" in verdict.how
    assert verdict.divergence is not None
    assert list(verdict.divergence.steps) == [SELL, OPEN]


def test_a_crash_at_the_start_is_one_of_no_steps():
    verdict = toured(pairing(desks.CrashingAtReset)).verdict
    assert verdict.outcome is Outcome.FAILED
    assert "crashed at step 0" in verdict.how
    assert "KeyError: 'seats'" in verdict.how


def test_what_a_reset_leaves_behind_is_told_as_such():
    with pytest.raises(Leak, match="after another walk, and not when it is new: its reset leaves something behind"):
        tour(pairing(desks.Leaking))
    assert toured(pairing(desks.Leaking)).verdict.outcome is Outcome.FAILED


def test_a_subject_that_does_not_repeat_itself_is_flaky_with_the_numbers():
    desks.Flaky.lives = 0
    with pytest.raises(Flaky, match=r"differed once on a walk of \d steps and on 0 of 10 replays: it is not determ"):
        tour(pairing(desks.Flaky))


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (desks.LacksAction, "the subject has no action 'open', which the model has"),
        (desks.LacksField, "the subject does not show rest"),
    ],
)
def test_a_description_that_lacks_something_covers_nothing(subject: type[Desk], said: str):
    with pytest.raises(Mismatch, match=said):
        tour(pairing(subject))
    verdict = toured(pairing(subject)).verdict
    assert (verdict.outcome, verdict.how) == (Outcome.VACUOUS, said)


def test_a_pairing_that_names_what_is_not_there_is_a_mistake():
    with pytest.raises(Misnamed, match="the model has no colour"):
        desks.misnamed().check()


def test_a_long_divergence_shrinks_to_the_known_shortest():
    long = [SELL, elapse(3), OPEN, SELL, OPEN, SELL, elapse(7), SELL, elapse(5), OPEN, SELL, SELL, elapse(1)]
    found, taken = walk(pairing(desks.WrongValue), long)
    assert found is not None
    assert taken == len(found.turns) == 8
    short = shrink(pairing(desks.WrongValue), found).divergence
    assert list(short.steps) == [SELL, SELL]
    assert short.found_after == 8


def test_time_that_is_too_long_is_shortened():
    found, _ = walk(pairing(desks.TooCareful, pause=20), [SELL, SELL, elapse(3), elapse(17), OPEN])
    assert found is not None
    short = shrink(pairing(desks.TooCareful, pause=20), found).divergence
    assert [str(step) for step in short.steps] == ["sell", "sell", "elapse(d=20)", "open"]


def test_a_step_that_is_no_affair_of_the_subject_is_left_out():
    found, taken = walk(pairing(), [OPEN, SELL, OPEN])
    assert (found, taken) == (None, 2)


def test_both_start_afresh():
    pair = Pair(pairing())
    assert pair.reset().agrees
    assert pair.take(SELL).agrees
    assert pair.reset().model.seen == (0, 0)


def test_a_limit_leaves_the_answer_inconclusive():
    found = toured(pairing(), Limits(states=3))
    assert found.verdict.outcome is Outcome.INCONCLUSIVE
    assert "not all there are" in found.verdict.how


def test_an_interrupted_tour_says_how_far_it_came():
    class Interrupted(Desk):
        def step(self, step: Step, at: int) -> None:
            if step.action == "open":
                raise KeyboardInterrupt
            super().step(step, at)

    found = toured(pairing(Interrupted))
    assert found.verdict.outcome is Outcome.INCONCLUSIVE
    assert found.verdict.how.startswith("interrupted in the walks over")
