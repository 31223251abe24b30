"""``quiesce lockstep``, lockstep in suites and in pytest, and the pages that show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden import hold_against, timeless
from pages import hold_page

from quiesce_checks.cli import run

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
Command = Callable[..., tuple[int, str, str]]

SUITE = """\
[[check]]
name = "right"
engine = "lockstep"
pairing = "desks:pairing"
scope = { most = 3 }

[[check]]
name = "known"
engine = "lockstep"
pairing = "desks:wrong_value"
expect = "diverges"
witness = "findings/known.py"
"""


@pytest.fixture
def quiesce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(words: str) -> tuple[int, str, str]:
        code = run(words.split())
        written = capsys.readouterr()
        return code, written.out, written.err

    return command


def suite(text: str = SUITE) -> None:
    Path("specs").mkdir(exist_ok=True)
    Path("specs/desk.toml").write_text(text)


def test_agreement_says_what_was_walked(quiesce: Command):
    code, out, err = quiesce("lockstep desks:pairing")
    assert (code, err) == (0, "")
    assert "9 transitions, all walked in 1 walk, 10 steps (bound 10); 5 states; 5 refusals asked" in out


def test_our_own_pairings_have_names(quiesce: Command):
    code, out, _ = quiesce("lockstep breaker --scope threshold=1,window=1,base=1,cap=1,quiet=2,in_flight=1 --tick 5")
    assert code == 0
    assert "agrees    lockstep with quiesce.scheduler.breaker" in out


def test_a_divergence_is_shown_and_kept(quiesce: Command, request: pytest.FixtureRequest):
    code, out, _ = quiesce("lockstep desks:no_refusal --keep tests")
    assert code == 1
    assert Path("tests/test_desk_open_not_refused.py").is_file()
    hold_against("cli-lockstep", timeless(out), request)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("crashing", 5, "CRASHED  desk  model ≠ desks.Desk"),
        ("leaking", 5, "its reset leaves something behind"),
        ("lacking", 4, "the subject does not show rest"),
        ("wrong_value", 1, "differs: rest  model 2  implementation 3"),
    ],
)
def test_each_way_of_being_wrong_has_its_exit_code(quiesce: Command, name: str, code: int, said: str):
    ended, out, _ = quiesce(f"lockstep desks:{name}")
    assert ended == code
    assert said in " ".join(out.split()) or said in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("lockstep braker", "quiesce has no pairing 'braker': did you mean 'breaker'?"),
        ("lockstep desks:misnamed", "desk: the model has no colour"),
        ("lockstep desks:nothing", "desks has no function 'nothing' that makes a pairing"),
        ("lockstep nowhere:nothing", "there is no module 'nowhere' to import the pairing from"),
        ("lockstep classifier --tick 5", "classifier has nothing to do with time"),
        ("lockstep breaker -s treshold=2", "Breaker has no constant 'treshold'"),
        ("lockstep breaker --walks all --for 5m", "--for and --seed are for walks at random"),
        ("lockstep breaker --timeout 5s", "--timeout is what an adapter has for an answer, and there is no --adapter"),
        ("lockstep breaker --walks production --for soon", "a time is given as 90s, 10m or 2h, not 'soon'"),
    ],
)
def test_a_mistake_is_one_sentence(quiesce: Command, words: str, said: str):
    code, out, err = quiesce(words)
    assert (code, out) == (2, "")
    assert err.replace("\n  ", " ").startswith(said)


def test_the_answer_as_data(quiesce: Command):
    code, out, _ = quiesce("lockstep desks:wrong_value -s most=3 --keep kept --json")
    data: Any = json.loads(out)
    assert code == data["exit"] == 1
    assert list(data) == [
        "command", "pairing", "adapter", "implementation", "scope", "tick", "walks", "seed", "verdict", "toured",
        "walked", "divergence", "exit",
    ]  # fmt: skip
    assert data["divergence"]["file"] == "kept/test_desk_rest.py"
    assert data["verdict"]["divergence"]["steps"] == ["sell", "sell", "sell"]
    page = (HERE.parent.parent / "docs" / "command-line.md").read_text()
    for row, part in (("TOURED", data["toured"]), ("DIVERGENCE", data["divergence"])):
        documented = next(line for line in page.splitlines() if line.startswith(f"| {row} |"))
        for name in part:
            assert f"`{name}`" in documented, (row, name)


def test_walks_at_production_constants(quiesce: Command):
    code, out, _ = quiesce("lockstep breaker --for 1s --json")
    data = json.loads(out)
    assert code == 0
    assert data["walks"] == "production"
    assert data["scope"]["window"] == 60_000
    assert data["tick"] == 1
    assert data["walked"]["steps"] > 0


def test_a_suite_of_nothing_but_lockstep_needs_no_machine(quiesce: Command, request: pytest.FixtureRequest):
    suite()
    code, out, _ = quiesce("check")
    assert code == 1
    assert "there is no such witness" in out
    assert quiesce("check --update-witness")[0] == 0
    code, out, _ = quiesce("check")
    assert code == 0
    assert "as expected: findings/known, 2 steps" in out


def test_a_known_divergence_that_is_mended_is_a_surprise(quiesce: Command):
    suite()
    quiesce("check --update-witness")
    suite(SUITE.replace("desks:wrong_value", "desks:pairing"))
    code, out, _ = quiesce("check -k known")
    assert code == 1
    assert "expected diverges" in out


def test_a_suite_shows_an_unexpected_divergence_and_keeps_it(quiesce: Command):
    suite(SUITE.replace("desks:pairing", "desks:no_refusal"))
    code, out, _ = quiesce("check -k right")
    assert code == 1
    assert "DIVERGED  desk" in out
    assert "run it   pytest traces/lockstep_desk_right.py" in out
    data = json.loads(quiesce("check -k right --json")[1])
    (verdict,) = data["checks"][0]["verdicts"]
    assert verdict["divergence"]["file"] == "traces/lockstep_desk_right.py"
    assert data["checks"][0]["pairing"] == "desks:no_refusal"


def test_a_crash_in_a_suite_is_a_failure_of_the_subject(quiesce: Command):
    suite(SUITE.replace("desks:wrong_value", "desks:crashing"))
    assert quiesce("check -k known")[0] == 5


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('pairing = "desks:pairing"\n', "", 3, "an entry with the engine lockstep names its pairing"),
        ('"desks:pairing"', '"desks:nothing"', 4, "desks has no function 'nothing'"),
        ("most = 3", "moost = 3", 5, "Tickets has no constant 'moost'"),
        ("scope = { most = 3 }", 'properties = ["x"]', 5, "properties means nothing to the engine lockstep"),
        ('expect = "diverges"', 'expect = "violated"', 11, "what the engine lockstep can find is agrees or diverges"),
        ('expect = "diverges"\n', "", 11, 'a witness belongs to an entry with expect = "diverges"'),
    ],
)
def test_a_mistake_in_a_suite_is_told_with_its_line(quiesce: Command, old: str, new: str, line: int, said: str):
    suite(SUITE.replace(old, new, 1))
    code, _, err = quiesce("check")
    assert code == 2
    assert err.replace("\n  ", " ").startswith(f"specs/desk.toml:{line}  {said}")


def test_pytest_shows_a_divergence_in_anyones_project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(HERE)
    (pytester.path / "specs").mkdir()
    (pytester.path / "specs" / "desk.toml").write_text(SUITE.replace("desks:pairing", "desks:no_refusal"))
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-k", "right"
    )
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["DIVERGED  desk  model ≠ desks.Desk*", "*run it   pytest *lockstep_desk_right.py"])
    assert (pytester.path / "traces" / "lockstep_desk_right.py").is_file()


@pytest.mark.parametrize("page", ["lockstep.md", "planted-bug.md"])
def test_a_page_is_as_it_runs(page: str, tmp_path: Path, request: pytest.FixtureRequest):
    hold_page(page, tmp_path, request)
