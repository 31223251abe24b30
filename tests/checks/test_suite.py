"""Suites: what a file may say, what is said of a file that may not, and what counts as expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lamps import SUITE, project

from quiesce_checks.exits import Exit
from quiesce_checks.exploring import Ways
from quiesce_checks.job import Answer, Engine, Job, Limit, Watcher, run
from quiesce_checks.judge import Judgement, run_check, summary
from quiesce_checks.machines import find_machine, instance
from quiesce_checks.problems import Problem
from quiesce_checks.report.check import coverage_of
from quiesce_checks.rules import read_rules
from quiesce_checks.suite import Check, load_suite, memory_size
from quiesce_checks.trace import Failure, Trace, replay
from quiesce_checks.verdict import Outcome, Verdict
from quiesce_checks.witness import keep
from quiesce_model.language.machine import Step


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project(tmp_path))
    return tmp_path


def entries(folder: Path, text: str = SUITE) -> dict[str, Check]:
    file = folder / "specs" / "lamp.toml"
    file.write_text(text, encoding="utf-8")
    return {check.name: check for check in load_suite(file).checks}


def test_an_entry_says_all_that_an_engine_is_asked(folder: Path):
    text = """
machine = "lamp.py:Lamp"
[[check]]
name = "everything"
tier = "full"
engine = "prove"
scope = { lamps = 4, dim = true }
properties = ["few_on", "no_fault"]
expect = "proved"
symbolic = ["most"]
k = 2
lemmas = ["rests"]
without = ["LMP-2"]
limit = { states = 100, seconds = 1.5, memory = "2G" }
"""
    check = entries(folder, text)["everything"]
    assert check.job == Job(
        machine=find_machine("lamp.py:Lamp"),
        engine=Engine.PROVE,
        scope={"lamps": 4, "dim": True},
        properties=("few_on", "no_fault"),
        without=("LMP-2",),
        symbolic=("most",),
        k=2,
        lemmas=("rests",),
        limit=Limit(100, 1.5, 2_000_000_000),
    )
    assert (check.expect, check.tier, check.line) == (Outcome.PROVED, "full", 4)


def test_an_entry_says_how_a_scope_is_searched(folder: Path):
    (folder / "specs" / "room").mkdir()
    check = entries(folder, HEAD + "threads = 'auto'\ncheckpoints = 'saved'\n")["x"]
    saved = folder / "specs" / "saved" / "lamp" / "x"
    assert check.job.ways == Ways(threads="auto", checkpoints=saved, resume="if there is")
    assert entries(folder, HEAD + "processes = 3\n")["x"].job.ways == Ways(processes=3)
    assert entries(folder, HEAD + "spill = true\n")["x"].job.ways == Ways(spill=True)
    assert entries(folder, HEAD + "spill = 'room'\n")["x"].job.ways == Ways(spill=folder / "specs" / "room")


@pytest.mark.parametrize(
    "way", ["threads = 2", "processes = 2", "spill = true\nlimit = { memory = '1M' }", "checkpoints = 'saved'"]
)
def test_each_way_of_searching_says_the_same(folder: Path, way: str):
    asked = "scope = { lamps = 6, most = 6 }\n"
    plain, other = (run_check(entries(folder, HEAD + asked + text)["x"], run) for text in ("", way + "\n"))
    counts = [(r.statistics.distinct, r.statistics.generated) for r in (plain, other) if r.statistics is not None]
    assert counts[0] == counts[1]
    assert [item.verdict.outcome for item in plain.judged] == [item.verdict.outcome for item in other.judged]


def test_an_entry_that_was_interrupted_goes_on_and_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch):
    asked = HEAD + "scope = { lamps = 6, most = 6 }\ncheckpoints = 'saved'\n"
    saved = folder / "specs" / "saved" / "lamp" / "x"

    def every(text: str, watcher: Watcher | None = None) -> Answer:
        job = entries(folder, text)["x"].job
        return run(replace(job, ways=replace(job.ways, every=0)), watcher)

    stopped = every(asked + "limit = { states = 100 }\n")
    assert stopped.statistics is not None
    assert not stopped.statistics.exhausted
    assert len(list(saved.iterdir())) == 2
    depths: list[int] = []
    found = every(asked, lambda beat: depths.append(beat.depth))
    assert found.statistics is not None
    assert found.statistics.exhausted
    assert depths[0] > 2
    assert not saved.exists()


def test_an_entry_does_not_go_on_from_what_was_saved_of_another_model(folder: Path):
    asked = HEAD + "scope = { lamps = LAMPS, most = 6 }\ncheckpoints = 'saved'\n"
    job = entries(folder, asked.replace("LAMPS", "5") + "limit = { states = 50 }\n")["x"].job
    run(replace(job, ways=replace(job.ways, every=0)))
    found = run(entries(folder, asked.replace("LAMPS", "6"))["x"].job)
    plain = run(entries(folder, asked.replace("LAMPS", "6").replace("checkpoints = 'saved'\n", ""))["x"].job)
    assert found.statistics is not None
    assert plain.statistics is not None
    assert found.statistics.distinct == plain.statistics.distinct


def test_what_is_left_out_has_its_usual_value(folder: Path):
    check = entries(folder)["enough"]
    assert (check.job.engine, check.expect, check.tier, check.witness) == (
        Engine.EXPLORE,
        Outcome.HOLDS,
        "default",
        None,
    )
    assert check.job.properties is None
    assert entries(folder)["any-most"].expect is Outcome.PROVED


def test_a_witness_lies_beside_its_suite(folder: Path):
    assert entries(folder)["too-many"].witness == folder / "specs" / "findings" / "too-many.itf.json"


def test_the_full_tier_has_the_default_one_in_it(folder: Path):
    suite = load_suite(folder / "specs" / "lamp.toml")
    assert [check.name for check in suite.of_tier("default")] == ["enough", "too-many", "any-most", "without-LMP-1"]
    assert [check.name for check in suite.of_tier("full")][-1] == "big"


HEAD = 'machine = "lamp.py:Lamp"\n[[check]]\nname = "x"\n'

MISTAKES = [
    ('machine = "lamp.py:Lamp"\nchek = 1\n', 2, "a suite has no key 'chek': did you mean 'check'?"),
    ("[[check]]\nname = 'x'\n", None, "a suite says which machine it checks"),
    ('machine = "lamp.py:Lamp"\n', None, "a suite has at least one entry, under [[check]]"),
    ('machine = "lamp.py:Lump"\n[[check]]\nname = "x"\n', 1, "lamp.py has no machine 'Lump': did you mean 'Lamp'?"),
    ('machine = "nowhere.py:Lamp"\n[[check]]\nname = "x"\n', 1, "there is no file nowhere.py"),
    ('machine = "no_such_module:Lamp"\n[[check]]\nname = "x"\n', 1, "there is no module 'no_such_module'"),
    ("machine = \n", 1, "this is not TOML"),
    (HEAD + "scop = { lamps = 2 }\n", 4, "an entry has no key 'scop': did you mean 'scope'?"),
    (HEAD + "\nscope = { lumps = 2 }\n", 5, "Lamp has no constant 'lumps': did you mean 'lamps'?"),
    (HEAD + "scope = { lamps = true }\n", 4, "Lamp.lamps is a whole number, not true"),
    (HEAD + "scope = { dim = 1 }\n", 4, "Lamp.dim is a flag (true or false), not 1"),
    (HEAD + "scope = 3\n", 4, "scope has to be a table of whole numbers and flags, not 3"),
    (HEAD + 'properties = ["few"]\n', 4, "Lamp has no property 'few'"),
    (HEAD + "properties = []\n", 4, "properties has to be a list of names, not []"),
    (
        HEAD + 'engine = "explor"\n',
        4,
        "engine has to be one of explore, prove, bmc, bridge, ablate, lockstep, not 'explor'",
    ),
    (HEAD + 'engine = "prove"\nsymbolic = ["moist"]\n', 5, "Lamp has no constant 'moist': did you mean 'most'?"),
    (HEAD + 'engine = "prove"\nlemmas = ["rest"]\n', 5, "Lamp has no property 'rest': did you mean 'rests'?"),
    (HEAD + "symbolic = ['most']\n", 4, "symbolic means nothing to the engine explore"),
    (HEAD + "threads = 0\n", 4, 'threads has to be a whole number from 1, or "auto", not 0'),
    (HEAD + "engine = 'prove'\nthreads = 2\n", 5, "threads means nothing to the engine prove"),
    (HEAD + "spill = 'nowhere'\n", 4, "spill has to be a folder that is there, not 'nowhere'"),
    (HEAD + "checkpoints = true\n", 4, "checkpoints has to be a folder, not True"),
    (HEAD + "depth = 3\n", 4, "depth means nothing to the engine explore"),
    (HEAD + "engine = 'prove'\nk = 0\n", 5, "k has to be a whole number from 1, not 0"),
    (HEAD + "engine = 'prove'\nk = true\n", 5, "k has to be a whole number from 1, not True"),
    (HEAD + "tier = 'slow'\n", 4, "tier has to be one of default, full, not 'slow'"),
    (HEAD + "expect = 'fails'\n", 4, "expect has to be one of holds, proved, violated, agrees, diverges, not 'fails'"),
    (HEAD + "expect = 'violated'\n", 4, "an expected violation names the properties that fail"),
    (HEAD + "witness = 'a.itf.json'\n", 4, 'a witness belongs to an entry with expect = "violated"'),
    (
        HEAD + "expect = 'violated'\nproperties = ['few_on', 'rests']\nwitness = 'a'\n",
        6,
        "a witness shows one property",
    ),
    (HEAD + "limit = { state = 3 }\n", 4, "a limit has no key 'state': did you mean 'states'?"),
    (HEAD + "limit = { seconds = 0 }\n", 4, "limit.seconds has to be a number above 0, not 0"),
    (HEAD + "limit = { memory = 'much' }\n", 4, "memory is given as 500M or 2G, not 'much'"),
    (HEAD + "[[check]]\nname = 'y'\n[[check]]\nname = 'x'\n", 7, "there is already an entry named 'x'"),
    ('machine = "lamp.py:Lamp"\n[[check]]\ntier = "full"\n', 2, "an entry needs a name"),
    (HEAD + "name = 'again'\n", 4, "this is not TOML"),
    (HEAD + "engine = 'prove'\nwithout_assumptions = ['none']\n", 5, "Lamp has no assumption 'none'"),
]


@pytest.mark.parametrize(("text", "line", "said"), MISTAKES, ids=[said for _, _, said in MISTAKES])
def test_a_mistake_in_a_suite_is_told_with_its_line(folder: Path, text: str, line: int | None, said: str):
    with pytest.raises(Problem) as caught:
        entries(folder, text)
    assert caught.value.text.startswith(said)
    assert (caught.value.file, caught.value.line) == (str(folder / "specs" / "lamp.toml"), line)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(Problem, match="cannot be read: No such file"):
        load_suite(Path("nowhere.toml"))


@pytest.mark.parametrize(
    ("text", "size"), [("2G", 2 * 10**9), ("500M", 5 * 10**8), ("1.5GB", 15 * 10**8), ("64", 64), ("3 kB", 3000)]
)
def test_memory_is_given_with_a_unit(text: str, size: int):
    assert memory_size(text) == size


# What counts as expected. The engine is a stand-in: it answers what the test says.


def answering(*verdicts: Verdict):
    def runner(job: Job, watcher: Watcher | None) -> Answer:
        return Answer(verdicts)

    return runner


def verdict(outcome: Outcome, trace: Trace | None = None, name: str = "few_on") -> Verdict:
    return Verdict("Lamp", name, outcome, "explore", "12 states, exhausted, depth 3", 0.1, trace)


def violation(check: Check, lamps: int = 3) -> Trace:
    """As many lamps are switched on."""
    machine = instance(check.job.machine, check.job.scope)
    steps: list[Step] = []
    for n in range(lamps):
        steps += [Step("switch", (("n", n),)), Step("elapse", (("d", 2),))]
    return replace(replay(machine, tuple(steps[:-1])), failure=Failure("few_on", "few"))


@pytest.mark.parametrize(
    ("expect", "outcome", "judgement", "exit"),
    [
        (Outcome.HOLDS, Outcome.HOLDS, Judgement.AS_EXPECTED, 0),
        (Outcome.HOLDS, Outcome.PROVED, Judgement.AS_EXPECTED, 0),
        (Outcome.PROVED, Outcome.HOLDS, Judgement.SURPRISE, 1),
        (Outcome.HOLDS, Outcome.VIOLATED, Judgement.SURPRISE, 1),
        (Outcome.VIOLATED, Outcome.HOLDS, Judgement.SURPRISE, 1),
        (Outcome.VIOLATED, Outcome.PROVED, Judgement.SURPRISE, 1),
        (Outcome.VIOLATED, Outcome.VIOLATED, Judgement.AS_EXPECTED, 0),
        (Outcome.HOLDS, Outcome.INCONCLUSIVE, Judgement.INCONCLUSIVE, 3),
        (Outcome.VIOLATED, Outcome.INCONCLUSIVE, Judgement.INCONCLUSIVE, 3),
        (Outcome.HOLDS, Outcome.VACUOUS, Judgement.VACUOUS, 4),
    ],
)
def test_a_surprise_either_way_fails(folder: Path, expect: Outcome, outcome: Outcome, judgement: Judgement, exit: int):
    check = replace(entries(folder)["enough"], expect=expect)
    result = run_check(check, answering(verdict(outcome)))
    assert [item.judgement for item in result.judged] == [judgement]
    assert result.exit == exit


def test_an_engine_that_judges_nothing_is_no_pass(folder: Path):
    assert run_check(entries(folder)["enough"], answering()).exit is Exit.VACUOUS


def test_what_is_found_by_the_way_counts_only_if_it_is_a_violation(folder: Path):
    check = replace(entries(folder)["too-many"], witness=None)
    asked = verdict(Outcome.VIOLATED)
    fine, fault = verdict(Outcome.HOLDS, name="no_fault"), verdict(Outcome.VIOLATED, name="no_fault")
    assert [item.verdict for item in run_check(check, answering(asked, fine)).judged] == [asked]
    assert run_check(check, answering(asked, fault)).exit is Exit.VIOLATED


def test_a_model_without_a_rule_may_leave_its_domains(folder: Path):
    check = entries(folder)["without-LMP-1"]
    found = answering(verdict(Outcome.VIOLATED, name="rests"), verdict(Outcome.VIOLATED, name="no_fault"))
    assert run_check(check, found).exit is Exit.AS_EXPECTED


def test_a_problem_of_one_entry_is_its_result(folder: Path):
    def refusing(job: Job, watcher: Watcher | None) -> Answer:
        raise Problem("z3 is not here")

    result = run_check(entries(folder)["any-most"], refusing)
    assert result.exit is Exit.USAGE
    assert result.problem is not None
    assert (result.problem.text, result.problem.line) == ("z3 is not here", 15)


def test_a_known_violation_needs_its_witness(folder: Path):
    check = entries(folder)["too-many"]
    result = run_check(check, answering(verdict(Outcome.VIOLATED, violation(check))))
    assert result.judged[0].judgement is Judgement.SURPRISE
    assert "there is no such witness; see quiesce check --update-witness" in result.judged[0].why


def test_a_witness_is_written_when_asked_and_then_serves(folder: Path):
    check = entries(folder)["too-many"]
    found = answering(verdict(Outcome.VIOLATED, violation(check)))
    assert run_check(check, found, update_witness=True).exit == 0
    result = run_check(check, found)
    assert result.judged[0].judgement is Judgement.AS_EXPECTED
    assert result.judged[0].why == "findings/too-many, 5 steps"


def judged_with_witness(check: Check, kept: Trace) -> str:
    assert check.witness is not None
    keep(kept, check.witness)
    (item,) = run_check(check, answering(verdict(Outcome.VIOLATED, violation(check)))).judged
    assert item.judgement is Judgement.SURPRISE
    return item.why


def test_a_witness_that_violates_no_more_is_a_surprise(folder: Path):
    check = entries(folder)["too-many"]
    why = judged_with_witness(check, violation(check, lamps=2))
    assert why.endswith("all its 3 steps are possible, but few_on holds at their end")


def test_a_witness_whose_steps_are_not_possible_any_more_is_a_surprise(folder: Path):
    check = entries(folder)["too-many"]
    whole = violation(check)
    steps = tuple(step for step in whole.steps if step.action != "elapse")
    why = judged_with_witness(check, Trace(whole.machine, whole.states[:4], steps, whole.failure))
    assert "step 2, switch(n=1), is not possible" in why


def test_a_witness_of_another_property_is_a_surprise(folder: Path):
    check = entries(folder)["too-many"]
    other = replace(violation(check), failure=Failure("rests", "rests"))
    assert judged_with_witness(check, other).endswith("it shows rests, not few_on")


def test_a_witness_of_another_scope_is_a_surprise(folder: Path):
    check = entries(folder)["too-many"]
    other = replace(check, job=replace(check.job, scope={"lamps": 3, "most": 1}))
    assert "the witness has other constants than the check" in judged_with_witness(check, violation(other))


def test_a_summary_counts_properties(folder: Path):
    check = entries(folder)["enough"]
    several = answering(verdict(Outcome.HOLDS), verdict(Outcome.HOLDS), verdict(Outcome.INCONCLUSIVE))
    total = summary([run_check(check, several)], 2.5)
    assert (total.as_expected, total.surprises, total.inconclusive, total.seconds) == (2, 0, 1, 2.5)


def test_a_rule_is_checked_if_an_entry_without_it_fails_as_it_must(folder: Path):
    rules = read_rules([folder / "specs" / "lamp.md"])
    check = entries(folder)["without-LMP-1"]
    shown = run_check(check, answering(verdict(Outcome.VIOLATED, name="rests")))
    not_shown = run_check(check, answering(verdict(Outcome.HOLDS, name="rests")))
    assert coverage_of([shown], rules).open == ()
    assert coverage_of([not_shown], rules).open == ("LMP-1",)
    assert coverage_of([], rules).open == ("LMP-1",)
