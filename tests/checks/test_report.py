"""The texts of reports. Each is kept in ``tests/golden/report`` and read by a person before it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from golden import hold_against
from lamps import Colour, Zoo, project

from quiesce_checks.ablate import Ablation, Kill
from quiesce_checks.formats.itf import dumps, loads
from quiesce_checks.judge import Summary
from quiesce_checks.machines import find_machine
from quiesce_checks.problems import Problem
from quiesce_checks.relation.relation import Site
from quiesce_checks.report.check import Coverage, summary_lines
from quiesce_checks.report.compare import compare, comparison
from quiesce_checks.report.counterexample import counterexample
from quiesce_checks.report.figures import count, plural, rate, seconds, size
from quiesce_checks.report.page import Page, wide
from quiesce_checks.report.problem import problem_lines
from quiesce_checks.report.progress import Beat, progress_line
from quiesce_checks.report.rules import ablation_lines, rules_lines, why_lines
from quiesce_checks.report.shape import matcher
from quiesce_checks.report.story import retell, tell
from quiesce_checks.report.verdicts import Group, Line, group_lines, statistics_lines
from quiesce_checks.rules import read_rules
from quiesce_checks.trace import Failure, Trace, replay
from quiesce_checks.verdict import ActionCount, Statistics
from quiesce_model.language.machine import Step

ANY = "any threshold, window, base, cap at sessions=2 with base_within_cap, quiet_outlasts_cap"
EXPLORED = ("4,331 states, exhausted, depth 58", "at sessions=2, threshold=3")
GROUPS = [
    Group(
        "breaker  any-timers",
        (
            Line("deadline_only_when_tripped", "proved", "good", how=("induction k=1", ANY)),
            Line("spacing_once_tripped", "proved", "good", how=("induction k=2", ANY)),
        ),
        0.04,
    ),
    Group(
        "echo_loop  one-a-side",
        (
            Line("commits_while_time_stands", "holds", "good", how=EXPLORED),
            Line("bound_is_met", "holds", "good", how=("reached in 17 steps", *EXPLORED)),
        ),
        0.11,
    ),
    Group(
        "echo_loop  two-a-side",
        (
            Line(
                "commits_while_time_stands",
                "violated",
                "good",
                ("as expected: findings/agreeing-sessions, 23 steps",),
                ("31,020 states, exhausted, depth 71", "at sessions=4"),
            ),
        ),
        12.4,
    ),
    Group(
        "echo_loop  hardened",
        (
            Line(
                "commits_while_time_stands",
                "violated",
                "bad",
                ("expected holds",),
                ("shortest trace has 9 steps",),
                True,
            ),
            Line(
                "agreement_after_trip",
                "vacuous",
                "odd",
                (
                    "expected holds",
                    "no state of the whole scope is one: check the guards on the way or its size",
                ),
                surprise=True,
            ),
            Line("no_fault", "inconclusive", "odd", how=("31 states", "the limit on time was reached"), surprise=True),
        ),
        130.0,
    ),
]


@pytest.mark.parametrize("width", [100, 80, 60])
def test_verdicts_are_aligned_and_wrapped(width: int, request: pytest.FixtureRequest):
    lines = [line for group in GROUPS for line in group_lines(group, Page(width))]
    assert all(wide(line) <= width for line in lines)
    hold_against(f"verdicts-{width}", lines, request)


def test_colour_changes_no_text():
    plain = group_lines(GROUPS[3], Page(100))
    coloured = group_lines(GROUPS[3], Page(100, colour=True))
    assert [wide(line) for line in plain] == [wide(line) for line in coloured]
    assert "\x1b[1;31m✗\x1b[0m" in "".join(coloured)
    assert "\x1b" not in "".join(plain)


def test_what_all_lines_have_in_common_can_be_left_out():
    assert group_lines(GROUPS[1], Page(100), told=False)[1:] == [
        "  holds     commits_while_time_stands",
        "  holds     bound_is_met               reached in 17 steps",
    ]


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project(tmp_path))
    return find_machine("lamp.py:Lamp")


def violation(lamp: type, **constants: int) -> Trace:
    """Three lamps are switched on, two of them after a rest."""
    steps = (
        Step("switch", (("n", 0),)),
        Step("elapse", (("d", 1),)),
        Step("elapse", (("d", 1),)),
        Step("switch", (("n", 2),)),
        Step("elapse", (("d", 2),)),
        Step("switch", (("n", 1),)),
    )
    return replace(replay(lamp(**constants), steps), failure=Failure("few_on", "few lamps are on"))


SEE = [("saved", "traces/lamp.few_on.itf.json"), ("see it", "quiesce trace show traces/lamp.few_on.itf.json")]


@pytest.mark.parametrize("width", [100, 60])
def test_a_counterexample_tells_what_each_step_changed(width: int, lamp: type, request: pytest.FixtureRequest):
    story = tell(violation(lamp, lamps=3, most=2))
    hold_against(f"counterexample-{width}", counterexample(story, Page(width), see=SEE), request)


def test_a_counterexample_can_be_shown_whole(lamp: type, request: pytest.FixtureRequest):
    story = tell(violation(lamp, lamps=3, most=2))
    hold_against("counterexample-full", counterexample(story, Page(100), full=True), request)


def test_a_counterexample_can_be_shown_in_part(lamp: type, request: pytest.FixtureRequest):
    story = tell(violation(lamp, lamps=3, most=2), matcher(["on[1]", "switched"], []))
    hold_against("counterexample-part", counterexample(story, Page(100)), request)


def test_a_violation_without_rules_says_so(lamp: type, request: pytest.FixtureRequest):
    machine = lamp(without=["LMP-1"])
    trace = replay(machine, (Step("switch", (("n", 0),)), Step("switch", (("n", 1),))))
    story = tell(replace(trace, failure=Failure("rests", "rests")))
    hold_against("counterexample-without", counterexample(story, Page(100)), request)


def test_a_run_for_ever_shows_where_it_goes_back(lamp: type, request: pytest.FixtureRequest):
    steps = tuple(Step(name, args) for name, args in [("switch", (("n", 0),)), ("elapse", (("d", 2),))] * 2)
    trace = replace(replay(lamp(), steps), failure=Failure("all_on", "all on"), loop=2)
    hold_against("counterexample-loop", counterexample(tell(trace), Page(100)), request)


def test_a_fault_says_which_attempt_goes_wrong(request: pytest.FixtureRequest):
    trace = replay(Zoo(rooms=1), (Step("put", (("r", 0), ("colour", Colour.RED))),))
    machine = trace.machine
    attempted = Step("put", (("r", 0), ("colour", Colour.BLUE)))
    story = tell(replace(trace, failure=Failure("no_fault", "grid: an index is out of range", attempted=attempted)))
    assert machine.constants_ == {"rooms": 1, "loud": True}
    hold_against("counterexample-fault", counterexample(story, Page(100)), request)


def test_a_deadlock_says_what_keeps_each_step_from_being_possible(lamp: type, request: pytest.FixtureRequest):
    trace = replay(lamp(), (Step("switch", (("n", 1),)),))
    story = tell(replace(trace, failure=Failure("no_deadlock", "nothing can happen here")))
    hold_against("counterexample-deadlock", counterexample(story, Page(100)), request)


def test_a_failed_induction_starts_in_any_state(lamp: type, request: pytest.FixtureRequest):
    trace = violation(lamp, lamps=3, most=2)
    late = Trace(trace.machine, trace.states[3:], trace.steps[3:], trace.failure)
    story = tell(late, headline="NOT INDUCTIVE at k=2")
    hold_against("counterexample-induction", counterexample(story, Page(100)), request)


def test_a_trace_whose_machine_is_gone_is_shown_as_the_file_has_it(lamp: type, request: pytest.FixtureRequest):
    document = loads(dumps(violation(lamp, lamps=3, most=2)))
    hold_against("counterexample-file", counterexample(retell(document), Page(100)), request)


def test_two_traces_are_compared_where_they_part(lamp: type, request: pytest.FixtureRequest):
    one = violation(lamp, lamps=3, most=2)
    other = Trace(one.machine, one.states[:5], one.steps[:4], one.failure)
    third = replay(lamp(lamps=3), (*one.steps[:3], Step("switch", (("n", 1),))))
    page = Page(80)
    lines = comparison(compare(tell(one), tell(other)), ("one.itf.json", "other.itf.json"), page)
    lines += ["", *comparison(compare(tell(one), tell(third)), ("one.itf.json", "third.itf.json"), page)]
    lines += ["", *comparison(compare(tell(one), tell(one)), ("one.itf.json", "one.itf.json"), page)]
    hold_against("trace-diff", lines, request)


def test_statistics_say_what_was_done_and_what_never_happened(request: pytest.FixtureRequest):
    actions = (ActionCount("switch", 12_345, 1), ActionCount("elapse", 99, 2), ActionCount("leave", 0, None))
    done = Statistics(4331, 19_000, 58, 0, 0.11, 0.3, 81_000_000, True, actions)
    stopped = replace(done, exhausted=False, queue=1200, compile_seconds=0)
    hold_against("statistics", [*statistics_lines(done, Page(100)), "", *statistics_lines(stopped, Page(60))], request)


def test_a_problem_shows_the_line_and_what_to_do(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("loop.py").write_text("class M:\n    def run(self):\n        while self.wait > 0:\n            pass\n")
    file = str(tmp_path / "loop.py")
    marked = Problem(
        "while-loops are outside the modelling language",
        file=file,
        line=3,
        column=9,
        width=5,
        remedy="for _ in range(self.backoff_max): …",
    )
    lines = problem_lines(marked, Page(100))
    lines += ["", *problem_lines(Problem("there is no suite nosuch", remedy="quiesce check --help"), Page(100))]
    lines += ["", *problem_lines(Problem("k has to be a whole number from 1, not 0", file=file, line=2), Page(100))]
    hold_against("problems", lines, request)


ABLATIONS = [
    Ablation("BRK-9", (Site("/x/pair.py", 88), Site("/x/breaker.py", 12)), (Kill("spacing", None),)),
    Ablation("BRK-10", (Site("/x/pair.py", 91),), (), fault="pair.echoes: a value leaves its domain"),
    Ablation("BRK-11", (Site("/x/pair.py", 95),), (), undecided=2),
    Ablation("BRK-12", (Site("/x/pair.py", 99),), ()),
]


@pytest.mark.parametrize("width", [100, 60])
def test_ablations_make_a_table(width: int, lamp: type, request: pytest.FixtureRequest):
    trace = violation(lamp, lamps=3, most=2)
    killed = Ablation("BRK-8", (Site("/x/pair.py", 8),), (Kill("few_on", trace), Kill("rests", trace)))
    hold_against(f"ablation-{width}", ablation_lines([killed, *ABLATIONS], Page(width)), request)


@pytest.mark.parametrize("width", [100, 60])
def test_rules_are_told_with_their_places(width: int, lamp: type, tmp_path: Path, request: pytest.FixtureRequest):
    rules = read_rules([tmp_path / "specs" / "lamp.md"])
    sites = {"LMP-1": [Site("/x/lamp.py", 17)]}
    lines = rules_lines(rules, sites, Page(width))
    lines += ["", *why_lines("LMP-1", rules[0], sites["LMP-1"], Page(width))]
    lines += ["", *why_lines("LMP-3", None, (), Page(width))]
    hold_against(f"rules-{width}", lines, request)


def test_the_last_line_counts_everything(request: pytest.FixtureRequest):
    good, bad = Summary(64, 0, 0, 0, 0, 38.2), Summary(60, 1, 2, 1, 1, 190)
    covered, open_ = Coverage(41, 41, ()), Coverage(41, 38, ("BRK-3", "BRK-7", "BRK-9"))
    page = Page(80)
    lines = [
        *summary_lines(good, covered, page),
        "",
        *summary_lines(bad, open_, page),
        "",
        *summary_lines(good, None, page),
    ]
    hold_against("summary", lines, request)


@pytest.mark.parametrize("width", [120, 60, 30])
def test_progress_is_one_line_that_fits(width: int, request: pytest.FixtureRequest):
    beat = Beat(
        "explore", "echo_loop", ("commits_while_time_stands", "no_fault"), 25, 2_362_797, 401_122, 61_000_000, 2.8
    )
    lines = [
        progress_line(beat, width, "[3/41]"),
        progress_line(Beat("prove", "breaker", ("p",), 2, seconds=0.1), width),
    ]
    assert all(wide(line) <= width for line in lines)
    hold_against(f"progress-{width}", lines, request)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (count(4331), "4,331"),
        (plural(1, "step"), "1 step"),
        (plural(23, "step"), "23 steps"),
        (plural(2, "entry", "entries"), "2 entries"),
        (seconds(0.004), "0.00 s"),
        (seconds(0.02), "0.02 s"),
        (seconds(1.44), "1.4 s"),
        (seconds(38.2), "38 s"),
        (seconds(185), "3 min 05 s"),
        (seconds(7500), "2 h 05 min"),
        (size(312), "312 B"),
        (size(18_700), "18.7 kB"),
        (size(999_600), "1.0 MB"),
        (size(2_000_000_000), "2.0 GB"),
        (rate(3_000_000, 2), "1.5 M/s"),
        (rate(90_000, 2), "45 k/s"),
        (rate(9, 0), "–"),
    ],
)
def test_figures_are_read_at_a_glance(shown: str, expected: str):
    assert shown == expected
