"""Opening again: all readings of its models agree, and each property fails once what it rests on is broken."""

from __future__ import annotations

import pytest

from quiesce_checks.agreement import Terms, differences, readings, states_of
from quiesce_checks.agreement_engines import Formulas
from quiesce_checks.engines import counterexample
from quiesce_checks.engines.counterexample import from_anywhere
from quiesce_checks.engines.explore import explore
from quiesce_checks.engines.unrolling import Run
from quiesce_checks.relation.build import proof_relation, relation
from quiesce_checks.trace import Disagreement
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine, Misuse
from quiesce_model.language.machine import copy, state, unbounded
from quiesce_model.rehydration import Rehydration
from quiesce_model.rehydration_lemmas import RehydrationLemmas
from quiesce_model.rehydration_tree import RehydrationTree
from quiesce_model.rehydration_twin import RehydrationTwin
from quiesce_model.stored import Stored

MACHINES: dict[str, Machine] = {
    "opening": Rehydration(most=2, foreign=True, others=True, may_throw=True, may_fail=True, may_drop=True, restarts=1),
    "chain": RehydrationLemmas(documents=3, most=1),
    "list": RehydrationTree(most=1, may_fail=True),
    "two sessions": RehydrationTwin(most=1),
}


@pytest.mark.parametrize("name", MACHINES)
def test_readings_agree(name: str) -> None:
    made = relation(MACHINES[name])
    assert list(differences(made, readings(MACHINES[name]), states_of(made, 20))) == []


@pytest.mark.parametrize("name", ["opening", "list"])
def test_formulas_agree(name: str) -> None:
    made = relation(MACHINES[name])
    assert list(differences(made, (Terms(made), Formulas(MACHINES[name])), states_of(made, 8))) == []


class NumbersAhead(RehydrationLemmas):
    """An observation claims the commit after the last."""

    def observe(self, n: int, row: Stored, other_code: bool, private: bool, failed: bool) -> None:
        row.kept = True
        row.observed = min(self.space.seq + 1, self.most)


class NumbersTwice(RehydrationLemmas):
    """The first commit takes a number, and the others have the same."""

    def commit(self, document: int, value: int) -> None:
        self.space.seq = 1
        for d in range(self.documents):
            if d == document:
                self.space.head[d].renew(1, value)


class TimeForgotten(RehydrationLemmas):
    """A row does not know which versions it saw."""

    def observe(self, n: int, row: Stored, other_code: bool, private: bool, failed: bool) -> None:
        row.clear(self)
        row.kept = True
        row.observed = self.space.seq


class StatesKept(RehydrationLemmas):
    """Disposing of a session forgets less than it should."""

    def start_over(self) -> None:
        self.here.has[0] = False
        self.here.page = 1
        self.require(False)

    def catch_up(self) -> None:
        self.here.has[0] = False


FAILS: list[tuple[str, Machine]] = [
    ("restoring_is_running", Rehydration(most=2, without="REH-1")),
    ("at_rest_all_is_current", Rehydration(most=2, without="REH-6")),
    ("nothing_of_others_is_found", Rehydration(most=1, others=True, without="REH-2")),
    ("first_runs_wait_for_the_sync", Rehydration(most=1, may_fail=True, without="REH-9")),
    ("listings_complete", Rehydration(most=1)),
    ("opens_without_a_run", Rehydration(most=2, restores=False)),
    ("opens_behind_the_store", Rehydration(most=2, restores=False)),
    ("numbers_are_given_once", NumbersAhead(most=2)),
    ("one_number_is_one_value", NumbersTwice(most=2)),
    ("a_row_knows_its_time", TimeForgotten(most=1)),
    ("a_row_is_true", RehydrationLemmas(most=2, foreign=True, base_read=False, without="REH-18")),
    ("nothing_is_older_than_a_candidate", RehydrationLemmas(most=2, without="REH-1")),
    ("waiting_is_counted", RehydrationLemmas(most=1, may_fail=True, without="REH-9")),
    ("what_is_clean_is_current", RehydrationLemmas(most=1, without="REH-10")),
    ("a_session_that_is_down_has_nothing", StatesKept(most=1)),
    ("every_row_has_its_action", RehydrationTree(most=2, without="REH-19")),
    ("opens_without_a_run", RehydrationTree(most=2, restores=False)),
    ("nobody_can_tell", RehydrationTwin(most=2, without="REH-10")),
    ("one_ran_what_the_other_restored", RehydrationTwin(most=1)),
]


@pytest.mark.parametrize(("property", "machine"), FAILS, ids=[name for name, _ in FAILS])
def test_each_property_fails_once_what_it_rests_on_is_broken(property: str, machine: Machine) -> None:
    (verdict,) = [found for found in explore(machine, properties=[property]).verdicts if found.property == property]
    assert verdict.outcome in (Outcome.VIOLATED, Outcome.VACUOUS)


def test_every_property_is_among_them() -> None:
    declared = {
        made.name for machine in (*MACHINES.values(), RehydrationLemmas()) for made in relation(machine).properties
    }
    assert {name for name, _ in FAILS} == declared


# Counters beyond what bounds them in exploration.


def test_a_step_of_a_proof_is_replayed_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver's counters have no bound, so plain Python replays what it finds with none."""
    made = proof_relation(Rehydration(most=1), ("most",))
    behind = unbounded(Rehydration(most=1))
    behind.start(whole=True)
    behind.space.seq = 26_473
    behind.space.head[0].seq = 26_473
    ahead = copy(behind)
    ahead.deliver()
    deliver = next(n for n, action in enumerate(made.actions) if action.step.action == "deliver")
    run = Run((("most", 1),), (state(behind), state(ahead)), (deliver,), ((),))
    judged = next(known for known in made.properties if known.name == "restoring_is_running")
    assert from_anywhere(made, run, judged).states[-1] == state(ahead)
    monkeypatch.setattr(counterexample, "unbounded", lambda machine: machine)
    with pytest.raises(Disagreement, match="26473 is outside"):
        from_anywhere(made, run, judged)


def test_only_counters_lose_their_bound() -> None:
    machine = unbounded(Rehydration(most=1))
    machine.space.seq = 5
    assert state(machine)[0] == 5
    with pytest.raises(Exception, match="outside"):
        machine.here.page = 9


def test_assumptions() -> None:
    for constants in ({"values": 1}, {"hold": 0}, {"restarts": -1}, {"documents": 1}):
        with pytest.raises(Misuse, match="assumes"):
            Rehydration(**constants)
