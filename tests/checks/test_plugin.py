"""The pytest plugin, in a project of somebody else's: each entry of a suite is a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamps import SUITE, project

pytest_plugins = ["pytester"]

PLAIN = """\
machine = "lamp.py:Lamp"

[[check]]
name = "enough"
scope = { lamps = 2, most = 2 }

[[check]]
name = "too-few"
scope = { lamps = 2 }
properties = ["few_on"]

[[check]]
name = "big"
tier = "full"
scope = { lamps = 3, most = 3 }
"""


@pytest.fixture
def theirs(pytester: pytest.Pytester) -> pytest.Pytester:
    project(pytester.path, PLAIN)
    return pytester


def run(theirs: pytest.Pytester, *words: str) -> pytest.RunResult:
    return theirs.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *words)


def test_each_entry_is_a_test_named_by_file_and_entry(theirs: pytest.Pytester):
    result = run(theirs, "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["specs/lamp.toml::enough PASSED*", "specs/lamp.toml::too-few FAILED*"])


def test_a_failure_shows_the_counterexample_and_no_traceback(theirs: pytest.Pytester):
    result = run(theirs)
    result.stdout.fnmatch_lines(
        [
            "lamp  too-few *",
            "✗ violated  few_on  expected holds; shortest trace has 4 steps",
            "VIOLATED  lamp.few_on  in 4 steps",
            "2–3  elapse 2     rest: 2 → 0",
            "     fails: sum(1 for lamp in on if lamp) ≤ most   (2 ≤ 1)",
            "  see it  quiesce trace show *traces/lamp.few_on.itf.json",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert (theirs.path / "traces" / "lamp.few_on.itf.json").is_file()


def test_one_entry_is_run_by_its_name(theirs: pytest.Pytester):
    run(theirs, "specs/lamp.toml::enough").assert_outcomes(passed=1)


def test_the_full_tier_is_run_when_asked(theirs: pytest.Pytester):
    run(theirs, "--quiesce-tier=full").assert_outcomes(passed=2, failed=1)


def test_a_suite_that_cannot_be_read_is_an_error_with_its_line(theirs: pytest.Pytester):
    (theirs.path / "specs" / "lamp.toml").write_text(PLAIN.replace("properties", "propertys"))
    result = run(theirs)
    assert result.ret == 2
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["specs/lamp.toml:10  an entry has no key 'propertys': did you mean 'properties'?*"])


def test_other_toml_files_are_left_alone(theirs: pytest.Pytester):
    (theirs.path / "specs" / "lamp.toml").write_text("[tool]\nname = 'x'\n")
    (theirs.path / "pyproject.toml").write_text("[project]\nname = 'x'\n[[check]]\nname = 'y'\n")
    assert run(theirs).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_suite_elsewhere_is_run_when_it_is_named(theirs: pytest.Pytester):
    (theirs.path / "specs" / "lamp.toml").rename(theirs.path / "lamp.toml")
    assert run(theirs).ret == pytest.ExitCode.NO_TESTS_COLLECTED
    run(theirs, "lamp.toml").assert_outcomes(passed=1, failed=1)


def test_witnesses_are_written_when_asked(theirs: pytest.Pytester):
    (theirs.path / "specs" / "lamp.toml").write_text(SUITE)
    witness = Path(theirs.path / "specs" / "findings" / "too-many.itf.json")
    run(theirs, "specs/lamp.toml::too-many").assert_outcomes(failed=1)
    run(theirs, "specs/lamp.toml::too-many", "--quiesce-update-witness").assert_outcomes(passed=1)
    assert witness.is_file()
    run(theirs, "specs/lamp.toml::too-many").assert_outcomes(passed=1)


def test_a_machine_may_be_a_module_beside_the_suites(theirs: pytest.Pytester):
    """Found with pytest's own search path, which does not have the project's folder."""
    (theirs.path / "lamp.py").rename(theirs.path / "lamp_beside_its_suites.py")
    text = PLAIN.replace("lamp.py:Lamp", "lamp_beside_its_suites:Lamp")
    (theirs.path / "specs" / "lamp.toml").write_text(text)
    run(theirs, "-k", "enough").assert_outcomes(passed=1)
