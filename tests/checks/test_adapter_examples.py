"""The example adapters: right ones agree, planted bugs are found, made short and kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from golden import hold_against
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from javascript import needs_node
from pages import PART, comparable

from quiesce_checks.cli import run
from quiesce_checks.lockstep.adapter import adapter_pairing
from quiesce_checks.lockstep.keep import Kept, load_kept
from quiesce_checks.lockstep.stateful import state_machine
from quiesce_checks.machines import find_machine
from quiesce_model.language.machine import Step

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "adapters"
PYTHON = f"{sys.executable} -S gate_adapter.py"
NODE = "node gate_adapter.js"

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def quiesce(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in the folder of the examples."""
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(*words: str) -> tuple[int, str]:
        code = run(words)
        written = capsys.readouterr()
        return code, (written.out + written.err).replace(sys.executable, "python")

    return command


def lockstep(quiesce: Command, adapter: str, *words: str) -> tuple[int, str]:
    return quiesce("lockstep", "gate_model.py:Gate", "--adapter", adapter, *words)


@pytest.mark.parametrize("adapter", [PYTHON, pytest.param(NODE, marks=needs_node)], ids=["python", "node"])
def test_the_examples_agree_with_the_model(quiesce: Command, adapter: str):
    code, out = lockstep(quiesce, adapter)
    assert code == 0
    assert "178 transitions, all walked in 1 walk" in out
    assert "177 refusals asked for" in out


@pytest.mark.parametrize(
    ("adapter", "bug", "steps", "said"),
    [
        (PYTHON, "forgets", 7, "differs: step  model 0  implementation 1"),
        pytest.param(
            NODE,
            "late",
            3,
            "the implementation refuses the step (quiet ends at 2)",
            marks=[needs_node, pytest.mark.slow],
        ),
    ],
    ids=["python-forgets", "node-late"],
)
def test_a_planted_bug_is_found_and_made_short(quiesce: Command, adapter: str, bug: str, steps: int, said: str):
    code, out = lockstep(quiesce, f"{adapter} --bug {bug}")
    assert code == 1
    assert f"at step {steps}, found in" in out
    assert said in out


def test_a_divergence_is_kept_with_its_adapter_and_fails_until_that_is_mended(
    quiesce: Command, tmp_path: Path, request: pytest.FixtureRequest
):
    code, _ = lockstep(quiesce, f"{PYTHON} --bug late", "-s", "debounce=1", "--tick", "50", "--keep", str(tmp_path))
    assert code == 1
    file = tmp_path / "test_gate_start_refused.py"
    text = file.read_text()
    hold_against("kept-adapter", text.replace(sys.executable, "python"), request)
    with pytest.raises(AssertionError, match="refuses the step"):
        load_kept(file).agree(str(EXAMPLES / "tests" / "test_kept.py"))
    mended = tmp_path / "mended.py"
    mended.write_text(text.replace(" --bug late", ""))
    load_kept(mended).agree(str(EXAMPLES / "tests" / "test_kept.py"))


def test_the_command_is_run_where_its_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    steps = (Step("change"), Step("elapse", (("d", 2),)), Step("start"))
    kept = Kept("gate_model.py:Gate", steps, adapter=f"{PYTHON} --bug late")
    with pytest.raises(AssertionError, match="refuses the step"):
        kept.agree(str(EXAMPLES / "tests" / "test_kept.py"))


def test_walks_at_random_stand_at_the_edges_of_real_durations(quiesce: Command):
    words = ("--for", "5m", "--seed", "7", "-s", "debounce=200,throttle=1000,base=500,cap=30000", "--json")
    code, out = lockstep(quiesce, f"{PYTHON} --bug late", *words)
    data = json.loads(out)
    assert code == data["exit"] == 1
    assert data["seed"] == 7
    assert [turn["at"] for turn in data["divergence"]["turns"]] == [0, 200, 200]


def test_the_seed_of_walks_without_a_difference_is_said(quiesce: Command):
    code, out = lockstep(quiesce, PYTHON, "--for", "1ms", "--seed", "11")
    assert code == 0
    assert "; seed 11" in " ".join(out.split())


SUITE = """\
machine = "gate_model.py:Gate"

[[check]]
name = "right"
engine = "lockstep"
adapter = "{python}"
scope = {{ debounce = 1 }}

[[check]]
name = "late"
engine = "lockstep"
adapter = "{python} --bug late"
expect = "diverges"
witness = "findings/late.py"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the example and a suite."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "gate.toml").write_text(SUITE.format(python=PYTHON))
    return tmp_path


def test_a_suite_asks_it_every_time(quiesce: Command, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project)
    code, out = quiesce("check", "--update-witness")
    assert code == 0
    assert "agrees    lockstep with gate.py" in out
    assert "as expected: findings/late, 3 steps" in out
    assert "--bug late" in (project / "specs" / "findings" / "late.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('machine = "gate_model.py:Gate"\n', "\n", 6, "an entry with an adapter says which machine it is for"),
        ("debounce = 1", "debonce = 1", 7, "Gate has no constant 'debonce': did you mean 'debounce'?"),
        ('name = "right"', 'name = "right"\nproperties = ["x"]', 5, "properties means nothing beside an adapter"),
        ('adapter = "', "adapter = \"'", 6, "the adapter is given as a command line: No closing quotation"),
    ],
)
def test_a_mistake_in_a_suite_has_its_line(
    quiesce: Command, project: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, line: int, said: str
):
    monkeypatch.chdir(project)
    suite = project / "specs" / "gate.toml"
    suite.write_text(suite.read_text().replace(old, new, 1))
    code, out = quiesce("check")
    assert code == 2
    assert " ".join(out.split()).startswith(f"specs/gate.toml:{line} {said}")


@needs_node
def test_the_readme_is_as_it_runs(quiesce: Command, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "96")

    def called(found: re.Match[str]) -> str:
        _, *words = shlex.split(found["call"])
        printed = quiesce(*words)[1].rstrip("\n").split("\n")
        return "\n".join([f"    $ {found['call']}", *(f"    {line}".rstrip() for line in printed)])

    ran = PART.sub(called, text)
    assert ran.count("    $ ") == 2
    assert comparable(ran) == comparable(text)


def test_hypothesis_drives_an_adapter():
    machine = find_machine("gate_model.py:Gate", (EXAMPLES,))
    quick = settings(max_examples=15, stateful_step_count=15, deadline=None, database=None, phases=(Phase.generate,))
    right = adapter_pairing(machine(), PYTHON, folder=EXAMPLES)
    run_state_machine_as_test(state_machine(right), settings=quick)
    wrong = adapter_pairing(machine(), f"{PYTHON} --bug late", folder=EXAMPLES)
    with pytest.raises(AssertionError, match=r"after start at .* refused \(not before"):
        run_state_machine_as_test(state_machine(wrong), settings=settings(quick, max_examples=200))
