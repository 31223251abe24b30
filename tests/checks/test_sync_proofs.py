"""What sessions over one server promise, proved for any number of commits; and what is not proved where it is wrong."""

from __future__ import annotations

from quiesce_checks.engines.bounded import bounded
from quiesce_checks.engines.proof import prove
from quiesce_checks.verdict import Outcome
from quiesce_model.many_replicas import ManyReplicas

PROMISES = (
    "at_rest_all_agree",
    "nothing_is_lost",
    "nothing_goes_back",
    "windows_join",
    "own_commits_stay",
    "readers_are_told",
    "accepted_reads_are_current",
    "a_commit_is_applied_once",
    "a_refusal_is_known_with_its_reason",
)


def test_any_number_of_commits_wherever_connections_die() -> None:
    verdicts = prove(ManyReplicas(), [*PROMISES, "no_fault"], symbolic=("most", "may_fail"), max_k=1, depth=0)
    assert {v.property: v.outcome for v in verdicts} == {v.property: Outcome.PROVED for v in verdicts}
    assert verdicts[0].how.startswith("induction k=1, any most, may_fail at ")


def test_reads_through_layers_are_not_proved_where_answers_overtake_windows() -> None:
    machine = ManyReplicas(layers=2, may_pull=True)
    (verdict,) = prove(machine, ["accepted_reads_are_current"], symbolic=("most",), max_k=1, depth=0)
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_without_a_rule_the_solver_finds_the_run_that_needs_it() -> None:
    machine = ManyReplicas(without=["SYN-9"])
    (verdict,) = bounded(machine, ["own_commits_stay"], depth=5, symbolic=("most",))
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert verdict.trace.length == 5
