"""k-induction proves what holds, never what a search breaks, and shows why it fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import Counter, Lease, Mutex, counter, lease, mutex, state_property
from random_terms import levels, shortest_violation, tiny_relation
from test_bounded import cubes

from quiesce_checks.engines.induction import carry
from quiesce_checks.engines.proof import Attempt, Exploration, classify_cti, closed, prove
from quiesce_checks.relation.build import relation as explored_relation
from quiesce_checks.relation.build import saturation_limits
from quiesce_checks.relation.terms import const, eq, implies, le, lt, not_, or_
from quiesce_checks.trace import Disagreement
from quiesce_checks.verdict import Outcome


def test_properties_that_carry_each_other_are_proved_together_and_say_what_they_rest_on() -> None:
    exclusive, wants, yields, fault = prove(Mutex())
    assert {v.outcome for v in (exclusive, wants, yields, fault)} == {Outcome.PROVED}
    assert exclusive.how == "induction k=1 at polite=True"
    assert set(exclusive.needs) <= {"inside_wants", "the_other_yields"}
    assert exclusive.needs
    assert fault.property == "no_fault"


def test_without_lemmas_more_states_have_to_be_looked_back_on() -> None:
    (alone,) = prove(Mutex(), ["exclusive"], lemmas=())
    assert (alone.outcome, alone.k) == (Outcome.PROVED, 4)
    (named,) = prove(Mutex(), ["exclusive"], lemmas=("inside_wants", "the_other_yields"))
    assert (named.outcome, named.k) == (Outcome.PROVED, 1)


def test_a_lemma_of_ones_own_is_proved_and_used() -> None:
    made = mutex()
    wants, inside, turn = made.variables[:2], made.variables[3:], made.variables[2].term
    held = [
        implies(inside[p].term, wants[p].term) for p in (0, 1)
    ] + [
        implies(inside[p].term, or_(not_(wants[1 - p].term), eq(turn, const(p)))) for p in (0, 1)
    ]  # fmt: skip
    lemmas = [state_property(f"lemma{n}", term) for n, term in enumerate(held)]
    (verdict,) = prove(made, ["exclusive"], lemmas=lemmas)
    assert (verdict.outcome, verdict.k) == (Outcome.PROVED, 1)
    assert set(verdict.needs) <= {f"lemma{n}" for n in range(4)}


def test_a_wrong_lemma_does_not_help() -> None:
    made = mutex(polite=False)
    lemma = state_property("nobody_enters", not_(made.variables[3].term))
    exclusive = prove(made, ["exclusive"], lemmas=[lemma])[0]
    assert exclusive.outcome is Outcome.VIOLATED


def test_k_can_be_given() -> None:
    assert prove(Mutex(), ["exclusive"], lemmas=(), k=3)[0].outcome is Outcome.INCONCLUSIVE
    assert prove(Mutex(), ["exclusive"], lemmas=(), k=5)[0].how == "induction k=5 at polite=True"


def test_constants_stay_symbolic_under_the_assumptions() -> None:
    free, shorter, young, fault = prove(Lease(), symbolic=("term", "pause"))
    assert [v.outcome for v in (free, shorter, young, fault)] == [
        Outcome.PROVED,
        Outcome.PROVED,
        Outcome.VIOLATED,
        Outcome.PROVED,
    ]
    assert shorter.how == "induction k=1, any term, pause with pause_is_time, term_outlasts_pause"
    assert "no_fault proved" in shorter.notes
    assert young.trace is not None
    assert [str(step) for step in young.trace.steps] == ["take", "elapse(d=3)"]


def test_concrete_constants_are_said_and_time_is_unbounded_all_the_same() -> None:
    assert prove(Lease(), ["rest_is_shorter"])[0].how == "induction k=1 at term=3, pause=2; time unbounded"
    mixed = prove(Lease(), ["rest_is_shorter"], symbolic=("term",))[0]
    assert mixed.how == "induction k=1, any term at pause=2 with pause_is_time, term_outlasts_pause"


def test_each_assumption_is_necessary_for_something() -> None:
    def without(name: str, judged: str) -> tuple[Outcome, dict[str, int]]:
        (verdict,) = prove(Lease(), [judged], symbolic=("term", "pause"), without_assumptions=[name], lemmas=())
        return verdict.outcome, verdict.trace.machine.constants_ if verdict.trace is not None else {}

    outcome, constants = without("term_outlasts_pause", "rest_is_shorter")
    assert outcome is Outcome.VIOLATED
    assert constants["pause"] >= constants["term"]
    outcome, constants = without("pause_is_time", "no_fault")
    assert outcome is Outcome.VIOLATED
    assert constants["pause"] < 0


def test_a_proof_without_no_fault_says_so() -> None:
    limit, grows, fault = prove(Counter(by=2))
    assert fault.outcome is Outcome.VIOLATED
    assert grows.how == "induction k=1 at limit=3, by=2; no_fault not proved"
    assert limit.outcome is Outcome.PROVED


def test_a_wrong_bound_gives_the_base_case_s_run() -> None:
    (verdict,) = prove(Counter(limit=4), ["below_limit"])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert verdict.trace.states == ((0,), (1,), (2,), (3,), (4,))


def test_what_is_not_inductive_is_inconclusive_with_states_that_could_come_before() -> None:
    (verdict,) = prove(Mutex(), ["exclusive"], lemmas=(), max_k=2)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.how == "not inductive up to k=2; holds up to k = 2, at polite=True"
    assert verdict.trace is None
    assert verdict.cti is not None
    trace = verdict.cti.trace
    assert (verdict.cti.k, trace.length, len(trace.states)) == (2, 2, 3)
    assert [s[3] and s[4] for s in trace.states] == [0, 0, 1]
    assert trace.states[0] != trace.states[1]


def test_a_cti_is_told_from_a_reachable_state_where_the_scope_is_explored() -> None:
    machine = Mutex()
    made = explored_relation(machine)
    reachable = {state for level in levels(made) for state in level}
    exploration = Exploration(machine, reachable, saturation_limits(made))
    (failed,) = prove(machine, ["exclusive"], lemmas=(), k=1)
    assert failed.cti is not None
    assert classify_cti(failed.cti, exploration) == "not reachable at this scope"
    assert classify_cti(failed.cti, Exploration(Mutex(polite=False), reachable, exploration.limits)) == (
        "outside the scope"
    )


def test_a_cti_of_a_broken_property_starts_in_a_reachable_state() -> None:
    machine = Lease()
    made = explored_relation(machine)
    reachable = {state for level in levels(made) for state in level}
    (failed,) = prove(machine, ["always_young"], lemmas=("rests_only_when_free",), k=1, depth=0)
    assert failed.cti is not None
    assert failed.how == "not inductive up to k=1; holds up to k = 0, at term=3, pause=2"
    exploration = Exploration(machine, reachable, saturation_limits(made))
    assert classify_cti(failed.cti, exploration) == "reachable"


def test_a_time_out_in_the_step_is_no_proof() -> None:
    few, hard = prove(cubes(), ["few", "no_42"], timeout=200, max_k=2)
    assert (few.outcome, hard.outcome) == (Outcome.PROVED, Outcome.INCONCLUSIVE)
    assert hard.how.startswith("time-out")


def test_ctrl_c_ends_with_what_is_known() -> None:
    def stop_at_two(progress: object) -> None:
        if progress.depth == 2:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    exclusive, wants = prove(Mutex(), ["exclusive", "inside_wants"], lemmas=(), progress=stop_at_two)
    assert wants.outcome is Outcome.PROVED
    assert exclusive.how == "interrupted; not inductive up to k=1; holds up to k = 0, at polite=True"


def test_contradicting_assumptions_prove_nothing() -> None:
    made = lease(symbolic=True)
    never = state_property("never", lt(made.constants[0], const(0)), "assumption")
    made = replace(made, assumptions=(*made.assumptions, never))
    assert {v.outcome for v in prove(made)} == {Outcome.VACUOUS}


def test_a_relation_that_leaves_its_domains_is_a_disagreement() -> None:
    made = counter()
    (up, again) = made.actions
    loose = replace(made, actions=(replace(up, enabled=le(made.variables[0].term, const(3))), again))
    assert closed(made, (), None)
    with pytest.raises(Disagreement, match="lets up leave the domains"):
        prove(loose)


@pytest.mark.parametrize("seed", range(10))
def test_on_random_relations_nothing_broken_is_proved_and_all_that_holds_is(seed: int) -> None:
    relation = tiny_relation(seed)
    broken = {p.name for p in relation.properties if shortest_violation(relation, p) is not None}
    attempt = Attempt(relation, relation.properties, (), None)
    for k in range(1, 26):
        attempt.base(k - 1)
        attempt.step(k)
        if not attempt.open():
            break
    assert set(attempt.violated) == broken
    assert set(attempt.proved) == {p.name for p in relation.properties} - broken


def test_equal_states_make_no_counterexample_to_induction() -> None:
    made = mutex()
    exclusive = made.property_named("exclusive")
    for k in (2, 3):
        (failed,) = carry(made, k, [exclusive], []).failed
        assert failed.run is not None
        assert len(set(failed.run.states[:k])) == k
