"""Ablations as entries of a suite: what the table of rules says has to come out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lamps import project

from quiesce_checks.exits import Exit
from quiesce_checks.job import Answer, Job, Watcher, run
from quiesce_checks.judge import Judgement, Result, run_check
from quiesce_checks.need import steps_in
from quiesce_checks.problems import Problem
from quiesce_checks.report.check import coverage_of, entry_group
from quiesce_checks.report.page import Page
from quiesce_checks.report.verdicts import group_lines
from quiesce_checks.rules import read_rules
from quiesce_checks.suite import load_suite
from quiesce_checks.verdict import Outcome, Verdict

ENTRY = 'machine = "lamp.py:Lamp"\n[[check]]\nname = "needed"\nengine = "ablate"\nscope = { most = 2 }\n'
TABLE = "| id | rule | property | without it |\n| --- | --- | --- | --- |\n"
REDUNDANT = "| LMP-2 | it rests | | redundant: why not |\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project(tmp_path))
    return tmp_path


def result(folder: Path, table: str, entry: str = ENTRY, runner=run) -> Result:
    (folder / "specs" / "lamp.md").write_text(TABLE + table)
    (folder / "specs" / "lamp.toml").write_text(entry)
    (check,) = load_suite(folder / "specs" / "lamp.toml").checks
    return run_check(check, runner)


def test_each_rule_has_a_line(folder: Path):
    found = result(folder, "| LMP-1 | rests | `rests` | fails in 2 |\n" + REDUNDANT)
    assert found.exit is Exit.AS_EXPECTED
    assert group_lines(entry_group(found), Page(100))[2:] == [
        "  needed    without LMP-1  rests fails in 2 steps",
        "  unneeded  without LMP-2  nothing fails",
    ]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("| LMP-1 | rests | `rests` | fails in 2 |", ""),
        ("| LMP-1 | rests | `rests` | fails in 5; 2 |", ""),
        ("| LMP-1 | rests | `rests` | fails |", ""),
        ("| LMP-1 | rests | the same | fails in 2 |", ""),
        ("| LMP-9 | another | `rests` | fails in 2 |", ""),
        ("| LMP-1 | rests | `rests` | fails in 3 |", "the table says 3"),
        ("| LMP-1 | rests | `few_on` | fails in 2 |", "the table names few_on"),
        ("| LMP-1 | rests | `rests` | redundant: it is not |", "the table calls LMP-1 redundant"),
    ],
)
def test_the_table_says_what_has_to_fail(folder: Path, row: str, why: str):
    found = result(folder, f"{row}\n", ENTRY + 'rules = ["LMP-1"]\n')
    (item,) = found.judged
    assert item.why == why
    assert item.judgement is (Judgement.SURPRISE if why else Judgement.AS_EXPECTED)


def test_a_rule_that_nothing_needs_is_a_surprise(folder: Path):
    found = result(folder, "| LMP-2 | it rests | `rests` | fails |\n", ENTRY + 'rules = ["LMP-2"]\n')
    assert [item.why for item in found.judged] == ["nothing needs LMP-2"]
    assert found.exit is Exit.VIOLATED


def answering(outcome: Outcome, name: str = "rests"):
    """An engine that finds this of every property that it is asked for, once a rule is off."""

    def runner(job: Job, watcher: Watcher | None) -> Answer:
        said = outcome if job.without else Outcome.HOLDS
        return Answer((Verdict("Lamp", name, said, "explore", "by hand"),))

    return runner


def test_a_model_that_only_leaves_a_domain_shows_no_need(folder: Path):
    row = "| LMP-1 | rests | | fails |\n"
    found = result(folder, row, ENTRY + 'rules = ["LMP-1"]\n', answering(Outcome.VIOLATED, "no_fault"))
    assert [item.why for item in found.judged] == ["nothing needs LMP-1"]


def test_a_rule_without_an_answer_is_inconclusive(folder: Path):
    found = result(folder, "", ENTRY + 'rules = ["LMP-1"]\n', answering(Outcome.INCONCLUSIVE))
    assert found.exit is Exit.INCONCLUSIVE


def test_a_goal_that_is_not_reached_any_more_shows_the_need(folder: Path):
    found = result(folder, "", ENTRY + 'rules = ["LMP-1"]\n', answering(Outcome.VACUOUS, "all_on"))
    assert [item.verdict.how for item in found.judged] == ["all_on is never reached"]
    assert found.exit is Exit.AS_EXPECTED


def test_named_properties_are_tried_alone_and_the_others_only_if_they_hold(folder: Path):
    asked: list[tuple[str, ...] | None] = []

    def runner(job: Job, watcher: Watcher | None) -> Answer:
        asked.append(job.properties)
        return run(job, watcher)

    rules = ENTRY + 'rules = ["LMP-1"]\n'
    result(folder, "| LMP-1 | rests | `rests` | fails |\n", rules, runner)
    assert asked == [None, ("rests",)]
    asked.clear()
    result(folder, "| LMP-1 | rests | `few_on` | fails |\n", rules, runner)
    assert asked == [None, ("few_on",), None]


def test_an_ablation_checks_the_rules_that_it_shows_to_be_needed(folder: Path):
    found = result(folder, "| LMP-1 | rests | `rests` | fails in 2 |\n" + REDUNDANT)
    rules = read_rules([folder / "specs" / "lamp.md"])
    assert coverage_of([found], rules).open == ()
    unshown = replace(found, judged=found.judged[1:])
    assert coverage_of([unshown], rules).open == ("LMP-1",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('rules = ["LMP-3"]\n', "Lamp has no rule 'LMP-3'"),
        ('expect = "violated"\n', "what an ablation has to find stands in the table of its rules"),
    ],
)
def test_a_mistake_in_an_ablation_is_told_with_its_line(folder: Path, line: str, said: str):
    with pytest.raises(Problem) as caught:
        result(folder, "", ENTRY + line)
    assert caught.value.text.startswith(said)
    assert caught.value.line == 6


@pytest.mark.parametrize(
    ("need", "steps"),
    [("fails in 4; 14", {4, 14}), ("fails in 5; 3; 10", {5, 3, 10}), ("fails", set()), ("in 2 steps", {2})],
)
def test_the_lengths_of_a_table_are_read(need: str, steps: set[int]):
    assert steps_in(need) == steps
