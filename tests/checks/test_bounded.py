"""Bounded search finds shortest runs, and says how far it looked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import Counter, Lease, act, counter, lease, mutex, state_property, step_judged, variables_of
from random_terms import levels, shortest_violation, tiny_relation

from quiesce_checks.engines.assurance import Progress
from quiesce_checks.engines.bounded import Search, bounded
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.relation.terms import INT, TRUE, const, eq, le, lt, not_, var
from quiesce_checks.trace import Disagreement
from quiesce_checks.verdict import Outcome
from quiesce_model import Age, Machine, action, age, constant, flag, terminal, upto


def steps(verdict: object) -> list[str]:
    return [str(step) for step in verdict.trace.steps]  # type: ignore[attr-defined]


def test_the_shortest_run_to_a_broken_invariant() -> None:
    (verdict,) = bounded(counter(limit=3), ["below_limit"], depth=9)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.how == "shortest in 3 steps, at limit=3, by=1"
    assert verdict.trace is not None
    assert verdict.trace.states == ((0,), (1,), (2,), (3,))
    assert steps(verdict) == ["up", "up", "up"]
    assert verdict.trace.failure is not None
    assert verdict.trace.failure.property == "below_limit"


def test_a_bound_that_is_too_short_is_inconclusive_and_says_how_far_it_holds() -> None:
    (verdict,) = bounded(counter(limit=3), ["below_limit"], depth=2)
    assert (verdict.outcome, verdict.trace) == (Outcome.INCONCLUSIVE, None)
    assert verdict.how == "holds up to k = 2, at limit=3, by=1"


def test_a_step_that_leaves_a_domain_is_a_fault_with_the_attempt() -> None:
    (verdict,) = bounded(counter(by=2), ["no_fault"], depth=4)
    assert verdict.trace is not None
    assert verdict.trace.failure is not None
    assert steps(verdict) == ["up"]
    assert str(verdict.trace.failure.attempted) == "up"
    assert verdict.trace.failure.text == "up faults: n: 4 is outside 0..3"


def test_a_reachable_state_is_shown_by_a_witness() -> None:
    found, far = (bounded(counter(), ["seen_two"], depth=depth)[0] for depth in (5, 1))
    assert (found.outcome, steps(found)) == (Outcome.HOLDS, ["up", "up"])
    assert found.how == "reached in 2 steps, at limit=3, by=1"
    assert (far.outcome, far.how) == (Outcome.INCONCLUSIVE, "not reached up to k = 1, at limit=3, by=1")


def test_two_processes_that_do_not_look_meet_after_four_steps() -> None:
    exclusive, yields = bounded(mutex(polite=False), ["exclusive", "the_other_yields"], depth=6)
    assert exclusive.trace is not None
    assert yields.trace is not None
    assert (exclusive.trace.length, yields.trace.length) == (4, 3)
    assert bounded(mutex(), ["exclusive"], depth=6)[0].outcome is Outcome.INCONCLUSIVE


def test_a_machine_is_searched_with_leaps_of_time_and_an_explored_relation_in_ticks() -> None:
    leap = bounded(Lease(), ["always_young"], depth=6)[0]
    ticks = bounded(lease("explored"), ["always_young"], depth=6)[0]
    assert steps(leap) == ["take", "elapse(d=4)"]
    assert steps(ticks) == ["take", *["elapse(d=1)"] * 4]


def test_symbolic_constants_come_out_small_and_the_run_is_the_machines_with_them() -> None:
    (verdict,) = bounded(Lease(), ["always_young"], depth=4, symbolic=("term", "pause"))
    assert verdict.how.endswith("any term, pause with pause_is_time, term_outlasts_pause")
    assert verdict.trace is not None
    assert verdict.trace.machine.constants_ == {"term": 2, "pause": 1}
    assert verdict.trace.notes == ("constants: term=2, pause=1",)


def test_an_assumption_is_necessary_if_without_it_the_machine_breaks_a_property() -> None:
    def ask(*without: str) -> tuple[Outcome, dict[str, int]]:
        (verdict,) = bounded(
            Lease(), ["rest_is_shorter"], depth=5, symbolic=("term", "pause"), without_assumptions=without
        )
        return verdict.outcome, verdict.trace.machine.constants_ if verdict.trace is not None else {}

    assert ask() == (Outcome.INCONCLUSIVE, {})
    outcome, constants = ask("term_outlasts_pause")
    assert outcome is Outcome.VIOLATED
    assert constants["pause"] >= constants["term"]


def test_no_constants_under_contradicting_assumptions_is_vacuous() -> None:
    made = lease(symbolic=True)
    never = state_property("never", lt(made.constants[0], const(0)), "assumption")
    (verdict,) = bounded(replace(made, assumptions=(*made.assumptions, never)), ["always_young"], depth=3)
    assert verdict.outcome is Outcome.VACUOUS
    assert verdict.how.startswith("no constants satisfy the assumptions: any term, pause with")


def test_a_dropped_update_is_a_disagreement_with_the_machine() -> None:
    made = lease(keeps_rest=False)
    rested = replace(made, properties=(state_property("never_given_up", eq(made.variables[1].term, const(0))),))
    assert bounded(rested, depth=5)[0].outcome is Outcome.INCONCLUSIVE
    free_again = state_property("taken_once", le(made.variables[0].term, const(4)))
    young = replace(
        made,
        actions=(*made.actions[:2], replace(made.actions[2], updates={0: made.actions[2].updates[0] + 1})),
        properties=(free_again,),
    )
    with pytest.raises(Disagreement, match=r"after step 2, elapse\(d=\d+\), held is"):
        bounded(young, depth=5)


def test_a_guard_that_the_machine_does_not_let_pass_is_a_disagreement() -> None:
    made = counter()
    eager = replace(made, actions=(made.actions[0], replace(made.actions[1], enabled=TRUE)))
    eager = replace(eager, properties=(state_property("never_back", le(const(0), made.variables[0].term - 1)),))
    eager = replace(eager, initial=(const(1),))
    with pytest.raises(Disagreement, match="the initial state"):
        bounded(eager, ["never_back"], depth=3)
    above = state_property("not_three_then_one", not_(eq(made.variables[0].term, const(2))))
    wrong = replace(made, actions=(act("again", TRUE, {0: const(2)}),), properties=(above,))
    with pytest.raises(Disagreement, match="the solver takes step 1, again"):
        bounded(wrong, ["not_three_then_one"], depth=3)


def cubes() -> Relation:
    """Counts, and on the way asks for three cubes whose sum is 42."""
    made = counter(limit=9)
    (n,) = variables_of(Counter(limit=9), (0, 9))
    a, b, c = (var(name, INT, 0) for name in "abc")
    hard = not_(eq(a * a * a + b * b * b - c * c * c, const(42)))
    asked = act("up", lt(n.term, const(9)), {0: n.term + 1}, inputs=(a, b, c))
    judged = (state_property("few", le(n.term, const(9))), step_judged("no_42", {0: hard}))
    return replace(made, actions=(asked,), properties=judged)


def test_a_time_out_costs_only_the_property_that_it_hits() -> None:
    few, hard = bounded(cubes(), ["few", "no_42"], depth=4, timeout=200)
    assert (few.outcome, few.how) == (Outcome.INCONCLUSIVE, "holds up to k = 4, at limit=9, by=1")
    assert hard.outcome is Outcome.INCONCLUSIVE
    assert hard.how == "time-out at depth 1; holds up to k = 0, at limit=9, by=1"


def test_ctrl_c_ends_with_what_is_known() -> None:
    def watch(progress: Progress) -> None:
        if progress.depth == 3:
            raise KeyboardInterrupt

    few, up = bounded(counter(limit=5), ["below_limit", "up_grows"], depth=9, progress=watch)
    assert few.how == "interrupted; holds up to k = 2, at limit=5, by=1"
    assert up.outcome is Outcome.INCONCLUSIVE


def test_progress_says_engine_machine_pending_properties_and_depth() -> None:
    seen: list[Progress] = []
    bounded(counter(limit=2), ["below_limit", "up_grows"], depth=3, progress=seen.append)
    assert [(p.engine, p.machine, p.depth) for p in seen] == [("bounded", "Counter", depth) for depth in range(4)]
    assert (seen[2].properties, seen[3].properties) == (("below_limit", "up_grows"), ("up_grows",))


def test_names_that_the_machine_has_not_are_told_with_those_it_has() -> None:
    with pytest.raises(KeyError, match=r"no property 'nothing'; it has: below_limit"):
        bounded(counter(), ["nothing"], depth=1)
    with pytest.raises(KeyError, match=r"no assumption 'fair'; it has: pause_is_time, term_outlasts_pause"):
        bounded(lease(), depth=1, without_assumptions=["fair"])


@pytest.mark.parametrize("seed", range(12))
def test_on_random_relations_the_shortest_run_is_as_long_as_in_breadth_first_search(seed: int) -> None:
    relation = tiny_relation(seed)
    longest = len(levels(relation)) + 1
    search = Search(relation, relation.properties)
    while search.pending and search.depth <= longest:
        search.deepen()
    found = {f.judged.name: len(f.run.actions) for f in search.found}
    assert not search.undecided
    assert {p.name: found.get(p.name) for p in relation.properties} == {
        p.name: shortest_violation(relation, p) for p in relation.properties
    }


def test_the_answers_are_the_same_every_time() -> None:
    def run() -> list[object]:
        return [(v.property, v.outcome, v.how, v.trace and v.trace.states) for v in bounded(mutex(False), depth=5)]

    assert run() == run()


class Errand(Machine):
    """Goes three steps, or gives up; done is a right place to stop, giving up is not."""

    lazy: bool = constant(True)
    at: int = upto(3)
    gave_up: bool = flag()
    tired: Age = age()

    @action()
    def go(self) -> None:
        self.require(self.at < 3 and not self.gave_up)
        self.at = self.at + 1
        self.tired.start()

    @action()
    def give_up(self) -> None:
        self.require(self.lazy and self.tired >= 2 and self.at < 3)
        self.require(not self.gave_up)
        self.gave_up = True

    @terminal
    def done(self) -> bool:
        return self.at == 3


def test_a_state_where_nothing_can_happen_is_found_though_time_goes_on() -> None:
    (stuck,) = bounded(Errand(), ["no_deadlock"], depth=5)
    assert steps(stuck) == ["go", "elapse(d=3)", "give_up"]
    (ticks,) = bounded(relation(Errand()), ["no_deadlock"], depth=6)
    assert ticks.trace is not None
    assert ticks.trace.length == 5
    assert bounded(Errand(lazy=False), ["no_deadlock"], depth=6)[0].outcome is Outcome.INCONCLUSIVE
    assert [v.property for v in bounded(Errand(), depth=0)] == ["no_fault", "no_deadlock"]
