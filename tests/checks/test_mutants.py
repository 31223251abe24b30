"""The runtime's breaker and scheduler, broken on purpose: lockstep sees every mutant, and passes the code as it is."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from golden import hold_against

from quiesce_checks.exits import Exit
from quiesce_checks.mutants.catalogue import BREAKER_MUTANTS, CATALOGUE, SCHEDULER_MUTANTS, matching
from quiesce_checks.mutants.child import Request, read
from quiesce_checks.mutants.command import mutants
from quiesce_checks.mutants.hook import AlreadyImported, Served, serve
from quiesce_checks.mutants.mutant import Mutant
from quiesce_checks.mutants.outcome import BASELINE, Outcome, Ready, data_of, from_data
from quiesce_checks.mutants.passes import NOT_OF_THE_SCHEDULER
from quiesce_checks.mutants.report import list_lines, table_data, table_lines
from quiesce_checks.mutants.rules import NOT_OF_THE_BREAKER
from quiesce_checks.mutants.run import Finding, Findings, put_all
from quiesce_checks.mutants.runs import RUNS
from quiesce_checks.mutants.shipped import SHIPPED_WALK
from quiesce_checks.problems import Problem
from quiesce_checks.report.page import Page
from quiesce_checks.rules import read_rules

TABLE = Path(__file__).parents[2] / "specs" / "breaker.md"

TRIP = matching("never_trips")[0]


def named(name: str) -> Mutant:
    return next(mutant for mutant in CATALOGUE if mutant.name == name)


# The catalogue.


@pytest.mark.parametrize("mutant", CATALOGUE, ids=lambda mutant: mutant.name)
def test_its_text_stands_in_the_file_once_and_what_it_becomes_is_python(mutant: Mutant):
    compile(mutant.source(), mutant.file, "exec")


def test_no_two_mutants_have_one_name_or_do_the_same():
    assert len({mutant.name for mutant in CATALOGUE}) == len(CATALOGUE)
    assert len({(mutant.file, mutant.source()) for mutant in CATALOGUE}) == len(CATALOGUE)


def test_every_rule_of_the_breaker_has_a_mutant_or_a_reason():
    rules = {rule.id for rule in read_rules([TABLE])}
    broken = {mutant.rule for mutant in BREAKER_MUTANTS if mutant.rule.startswith("BRK-")}
    assert broken <= rules
    assert broken | set(NOT_OF_THE_BREAKER) == rules
    assert not broken & set(NOT_OF_THE_BREAKER)


def test_every_rule_of_the_scheduler_has_a_mutant_or_a_reason():
    rules = {rule.id for rule in read_rules([TABLE.with_name("gates.md"), TABLE.with_name("scheduler.md")])}
    broken = {mutant.rule for mutant in SCHEDULER_MUTANTS if mutant.rule.startswith(("GAT-", "SCH-"))}
    assert broken | set(NOT_OF_THE_SCHEDULER) == rules
    assert not broken & set(NOT_OF_THE_SCHEDULER)
    assert {mutant.rule for mutant in SCHEDULER_MUTANTS} >= set(NOT_OF_THE_BREAKER) - {"BRK-20"}


def test_every_file_with_a_mutant_is_walked_by_a_run():
    assert {mutant.file for mutant in CATALOGUE} <= {file for run in RUNS for file in run.exercises}


def test_a_mutant_that_no_longer_applies_is_a_failure_before_anything_runs():
    stale = replace(TRIP, name="stale", old="a text that is in no file")
    with pytest.raises(Problem, match=r"stale no longer applies: its text stands 0 times in scheduler/breaker\.py"):
        put_all([TRIP, stale])
    ambiguous = replace(TRIP, old="now")
    with pytest.raises(Problem, match="no longer applies: its text stands"):
        put_all([ambiguous])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("brk-17", {"no_cap", "cap_early", "cap_late"}), ("never_trip*", {"never_trips"}), ("nobody", set())],
)
def test_a_pattern_chooses_by_rule_or_name(pattern: str, expected: set[str]):
    assert {mutant.name for mutant in matching(pattern)} == expected


# The harness.


def test_a_served_text_is_what_is_imported():
    loader = Served("VALUE = 7\n", "nowhere.py")
    module = type(sys)("nowhere")
    loader.exec_module(module)
    assert module.VALUE == 7  # type: ignore[attr-defined]


def test_a_module_that_is_imported_already_cannot_be_served(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, TRIP.module, type(sys)(TRIP.module))
    before = list(sys.meta_path)
    with pytest.raises(AlreadyImported, match="in a process of its own"):
        serve(TRIP)
    assert sys.meta_path == before


def test_a_request_and_its_answers_survive_the_way_between_processes():
    request = Request((TRIP,), jobs=3, patience=4, runs=("breaker",), baseline=False)
    assert read(request.text()) == request
    for said in (
        Outcome("m", "differs", "breaker", "gate", 9, ("run", "commit"), 0.5, 2),
        Ready("breaker", 1, 2, 3, 0.1),
    ):
        assert from_data(data_of(said)) == said


def test_a_crash_an_endless_loop_a_broken_import_and_a_survivor_are_told_apart():
    def beside(name: str, new: str) -> Mutant:
        return replace(TRIP, name=name, new=new)

    found = put_all(
        [
            beside("crashes", "                raise ArithmeticError('planted')\n"),
            beside("never_returns", "                while True:\n                    pass\n"),
            beside("harmless", "                self._trip(pair, now)  # as it was\n"),
            replace(TRIP, name="not_imported", old="MAX_WAITING_EVENTS = 1_024", new="MAX_WAITING_EVENTS = 1 / 0"),
            replace(named("trips_at_the_threshold_only"), name="said_equivalent", new="pair.echoes > 0"),
        ],
        patience=3,
        runs=["breaker"],
    )
    said = {finding.mutant.name: (finding.outcome.how, finding.verdict) for finding in found.findings}
    assert said == {
        "crashes": ("crash", "killed"),
        "never_returns": ("endless", "killed"),
        "harmless": ("survived", "survived"),
        "not_imported": ("crash", "killed"),
        "said_equivalent": ("differs", "not equivalent"),
    }
    assert found.findings[0].outcome.said == "ArithmeticError: planted"
    assert not found.baseline.killed
    assert found.exit is Exit.VIOLATED


def test_code_that_does_not_pass_as_it_is_makes_every_kill_worthless():
    broken = Outcome(BASELINE, "differs", "breaker", "gate", 4, ("run", "commit"))
    assert Findings((), (), broken, 1.0).exit is Exit.SUBJECT


def test_the_shipped_walk_goes_a_millisecond_before_and_past_every_boundary():
    waits = {dict(step.args)["d"] for step in SHIPPED_WALK if step.action == "elapse"}
    assert {60_000, 60_001, 499, 999, 29_999, 120_000, 1} <= waits


# The table.


def complaints(found: Findings) -> list[str]:
    return [f"{finding.mutant.name}: {finding.verdict}" for finding in found.findings if not finding.expected]


def test_what_a_boundary_moved_by_one_does_is_seen_and_the_code_as_it_is_passes():
    """The default run's share of the table: the boundaries that the smallest runs can see, and some of each group."""
    chosen = [
        *(
            mutant
            for mutant in matching("boundary")
            if mutant.rule in ("BRK-12", "BRK-13", "BRK-17", "BRK-18", "BRK-29")
        ),
        *map(named, ["agreement_lifts_all", "pairs_by_bare_id", "second_trip_silent", "retired_called_quiet"]),
        *map(named, ["settles_always", "settling_lifts_nothing", "local_causes_count", "own_reverts_count"]),
    ]
    found = put_all(chosen)
    assert not found.baseline.killed
    assert not complaints(found)
    assert all(finding.outcome.shrunk <= 12 for finding in found.findings if finding.outcome.how == "differs")


def test_what_a_scheduler_must_not_do_is_seen():
    """The default run's share of the scheduler's: what the smallest run can see of gates, wake, idle and passes."""
    chosen = [
        *map(named, ["debounce_ignored", "gate_shut_at_its_deadline", "gate_opens_early", "debounce_short"]),
        *map(named, ["backoff_without_cap", "wake_queues_nothing", "sleeps_without_wake", "deferrals_not_counted"]),
        *map(named, ["changes_make_nothing_due", "unsettled_not_backed_off", "clean_at_the_end"]),
    ]
    found = put_all(chosen, runs=["node, debounced effect"])
    assert not found.baseline.killed
    assert not complaints(found)


@pytest.mark.slow
def test_every_mutant_is_killed_or_equivalent_and_the_code_as_it_is_passes_every_run():
    found = put_all(CATALOGUE)
    assert not found.baseline.killed
    assert not complaints(found)
    assert {ready.run for ready in found.runs} == {run.name for run in RUNS}
    assert found.exit is Exit.AS_EXPECTED


# What a person reads.


def example() -> Findings:
    told = {
        "never_trips": Outcome("never_trips", "differs", "breaker", "pair.tripped", 79, ("run",) * 4, 0.012, 1),
        "no_line": Outcome("no_line", "crash", "breaker", "TypeError: no", 1_234, ("run",) * 4, 0.2, 1),
        "no_cap": Outcome("no_cap", "endless", "breaker", "no answer in time", 0, (), 30.2, 1),
        "gate_late": Outcome("gate_late", "survived", seconds=3.0, runs=5),
        "trips_at_the_threshold_only": Outcome("trips_at_the_threshold_only", "survived", seconds=3.0, runs=5),
        "at_never_reaches": Outcome("at_never_reaches", "differs", "classifier", "step 0", 5, ("write",) * 3, 0.1, 1),
    }
    findings = tuple(Finding(named(name), outcome) for name, outcome in told.items())
    runs = (Ready("breaker", 114, 506, 1_528, 0.2), Ready("classifier", 3_240, 6_672, 13_844, 0.4))
    return Findings(findings, runs, Outcome(BASELINE, "survived", runs=2), 12.3)


def test_the_table(request: pytest.FixtureRequest):
    hold_against("mutants", table_lines(example(), Page(100)), request)


def test_the_table_on_a_narrow_sheet(request: pytest.FixtureRequest):
    hold_against("mutants-60", table_lines(example(), Page(60)), request)


def test_the_table_when_the_code_as_it_is_does_not_pass(request: pytest.FixtureRequest):
    broken = Outcome(BASELINE, "differs", "breaker", "gate", 4, ("run", "commit"), 0.1, 1)
    hold_against("mutants-broken", table_lines(replace(example(), baseline=broken), Page(100)), request)


def test_the_list(request: pytest.FixtureRequest):
    hold_against("mutants-list", list_lines(matching("BRK-18"), Page(100)), request)


def test_the_table_as_data():
    data = table_data(example())
    assert data["exit"] == 1
    assert data["baseline"] == {"passes": True, "said": None}
    assert data["mutants"][0] == {
        "mutant": "never_trips",
        "group": "rule",
        "rule": "BRK-13",
        "file": "scheduler/breaker.py",
        "what": "the threshold trips nothing",
        "equivalent": None,
        "verdict": "killed",
        "killed_by": "breaker",
        "how": "differs",
        "differs": "pair.tripped",
        "steps": 4,
        "found_in": 79,
        "trace": ["run"] * 4,
        "seconds": 0.012,
    }


def test_one_command_prints_the_table_of_some():
    result = CliRunner().invoke(mutants, ["-k", "threshold_early"], standalone_mode=False)
    assert re.search(r"^BRK-13 +threshold_early +breaker +2 ", result.output, re.MULTILINE)
    assert "1 mutant: 1 killed" in result.output


def test_a_pattern_that_nobody_has_is_a_mistake():
    with pytest.raises(Problem, match=r"no mutant of [0-9]+ is named like 'nobody'"):
        CliRunner().invoke(mutants, ["-k", "nobody"], standalone_mode=False, catch_exceptions=False)
