"""The command line: what each command prints, how it ends, and that no mistake of a user's shows a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from golden import hold_against, timeless
from lamps import SUITE, project

from quiesce_checks import cli
from quiesce_checks.cli import ENTRIES, run


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Quiesce = Callable[..., Ended]


@pytest.fixture
def quiesce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Quiesce:
    """The command, in a project of its own; its words separated by spaces."""
    monkeypatch.chdir(project(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(words: str, *more: str) -> Ended:
        code = run([*words.split(), *more])
        written = capsys.readouterr()
        return Ended(code, written.out, written.err)

    return command


def test_check_runs_every_suite_of_the_project(quiesce: Quiesce, request: pytest.FixtureRequest):
    quiesce("check --update-witness -k too-many")
    ended = quiesce("check")
    assert (ended.code, ended.err) == (0, "")
    hold_against("cli-check", timeless(ended.out), request)


def test_check_shows_a_surprise_and_where_its_trace_is(quiesce: Quiesce, request: pytest.FixtureRequest):
    Path("specs/lamp.toml").write_text('machine = "lamp.py:Lamp"\n[[check]]\nname = "default"\n')
    ended = quiesce("check")
    assert ended.code == 1
    assert Path("traces/lamp.few_on.itf.json").is_file()
    hold_against("cli-check-surprise", timeless(ended.out), request)


def test_check_says_that_an_expected_violation_did_not_come(quiesce: Quiesce):
    Path("specs/lamp.toml").write_text(SUITE.replace("most = 2 }\nprop", "most = 3 }\nprop"))
    ended = quiesce("check -k too-many")
    assert ended.code == 1
    assert "expected violated" in ended.out
    assert "0 as expected, 1 surprise" in ended.out


def test_check_as_data(quiesce: Quiesce):
    quiesce("check --update-witness -k too-many")
    ended = quiesce("check --json")
    assert ended.code == ended.data["exit"] == 0
    assert list(ended.data) == ["command", "tier", "checks", "summary", "interrupted", "exit"]
    entry = next(entry for entry in ended.data["checks"] if entry["name"] == "too-many")
    (found,) = entry["verdicts"]
    assert (found["outcome"], found["judgement"]) == ("violated", "as expected")
    assert found["trace"]["file"] == "specs/findings/too-many.itf.json"
    assert found["trace"]["length"] == len(found["trace"]["steps"]) == 7
    assert entry["statistics"]["distinct"] > 1
    assert ended.data["summary"]["as_expected"] == 7
    assert ended.data["summary"]["rules"] == {"total": 2, "checked": 2, "open": []}


def test_check_of_the_full_tier_has_more_entries(quiesce: Quiesce):
    names = [entry["name"] for entry in quiesce("check --tier full --json -k big -k enough").data["checks"]]
    assert names == ["enough", "big"]


def test_check_with_nothing_to_run_is_no_pass(quiesce: Quiesce):
    ended = quiesce("check -k nosuch")
    assert ended.code == 4
    assert ended.err.startswith("none of the 5 entries has nosuch in its name or its properties")


def test_explore_tells_verdicts_statistics_and_the_trace(quiesce: Quiesce, request: pytest.FixtureRequest):
    ended = quiesce("explore lamp.py:Lamp --scope lamps=3,most=2")
    assert ended.code == 1
    hold_against("cli-explore", timeless(ended.out), request)


def test_explore_as_data(quiesce: Quiesce):
    ended = quiesce("explore lamp.py:Lamp -s most=2 --json")
    assert ended.code == ended.data["exit"] == 0
    assert list(ended.data) == ["command", "machine", "scope", "without", "verdicts", "statistics", "exit"]
    assert {found["property"]: found["outcome"] for found in ended.data["verdicts"]} == {
        "few_on": "holds",
        "rests": "holds",
        "all_on": "holds",
        "no_fault": "holds",
    }
    assert ended.data["statistics"]["exhausted"] is True
    assert [action["action"] for action in ended.data["statistics"]["actions"]] == ["switch", "elapse"]


def test_explore_that_is_stopped_is_inconclusive(quiesce: Quiesce):
    ended = quiesce("explore lamp.py:Lamp -s lamps=6,most=6 --limit-states 50 -p few_on")
    assert ended.code == 3
    assert "the limit on states was reached" in ended.out


def test_explore_of_what_is_never_reached_is_vacuous(quiesce: Quiesce):
    text = Path("lamp.py").read_text().replace("all(lamp for lamp in self.on)", "self.switched == 9 and not self.dim")
    Path("dim.py").write_text(text.replace("min(9,", "min(8,"))
    ended = quiesce("explore dim.py -p all_on")
    assert ended.code == 4
    assert "vacuous" in ended.out


def test_explore_without_a_rule(quiesce: Quiesce):
    ended = quiesce("explore lamp.py:Lamp --without LMP-1 -p rests")
    assert ended.code == 1
    assert "lamp  without LMP-1" in ended.out


def test_prove_with_symbolic_constants(quiesce: Quiesce):
    ended = quiesce("prove lamp.py:Lamp --symbolic most --property rests --k 1")
    assert ended.code == 0
    assert "proved" in ended.out
    assert "any most" in ended.out


def test_a_failed_induction_shows_the_states_that_it_fails_from(quiesce: Quiesce):
    ended = quiesce("prove lamp.py:Lamp --property few_on --scope most=2,lamps=3 --k 1 --lemma no_fault")
    assert ended.code == 3
    assert "NOT INDUCTIVE at k=1  lamp.few_on" in ended.out
    assert "a state that need not be reachable" in ended.out


def test_bmc_finds_a_violation_and_proves_nothing(quiesce: Quiesce):
    assert quiesce("bmc lamp.py:Lamp -p few_on --depth 4").code == 1
    ended = quiesce("bmc lamp.py:Lamp -p few_on --depth 2")
    assert ended.code == 3
    assert "inconclusive" in ended.out


def test_ablate_asks_what_each_rule_is_good_for(quiesce: Quiesce, request: pytest.FixtureRequest):
    ended = quiesce("ablate lamp.py:Lamp --scope most=2")
    assert ended.code == 0  # nothing fails without LMP-2, as its table says
    hold_against("cli-ablate", timeless(ended.out), request)
    data = quiesce("ablate lamp.py:Lamp --scope most=2 --json").data
    assert [(found["rule"], found["fails"]) for found in data["ablations"]] == [
        ("LMP-1", [{"property": "rests", "steps": 2}]),
        ("LMP-2", []),
    ]


def test_a_rule_that_nothing_checks_is_not_covered(quiesce: Quiesce):
    Path("specs/lamp.md").write_text("| id | rule |\n| --- | --- |\n| LMP-1 | rests |\n| LMP-2 | makes it rest |\n")
    assert quiesce("ablate lamp.py:Lamp --rule LMP-2").code == 4


def test_a_property_that_fails_anyway_is_no_reason_for_a_rule(quiesce: Quiesce):
    data = quiesce("ablate lamp.py:Lamp --scope lamps=3 --rule LMP-2 --json").data
    assert data["ablations"][0]["fails"] == []


def test_rules_prints_the_table(quiesce: Quiesce, request: pytest.FixtureRequest):
    ended = quiesce("rules")
    assert ended.code == 0
    hold_against("cli-rules", ended.out, request)
    assert [rule["id"] for rule in quiesce("rules --json").data["rules"]] == ["LMP-1", "LMP-2"]


def test_why_shows_what_fails_without_a_rule(quiesce: Quiesce, request: pytest.FixtureRequest):
    ended = quiesce("why LMP-1")
    assert ended.code == 0
    hold_against("cli-why", timeless(ended.out), request)
    data = quiesce("why LMP-1 --json").data
    assert (data["machine"], data["trace"]["steps"]) == ("lamp", ["switch(n=0)", "switch(n=0)"])


def test_why_of_a_redundant_rule_says_that_nothing_fails(quiesce: Quiesce):
    ended = quiesce("why LMP-2 --machine lamp.py:Lamp")
    assert ended.code == 0
    assert "nothing fails" in ended.out


def test_a_saved_trace_is_shown_again(quiesce: Quiesce):
    explored = quiesce("explore lamp.py:Lamp").out
    shown = quiesce("trace show traces/lamp.few_on.itf.json")
    assert shown.code == 0
    assert shown.out.strip() in explored
    part = quiesce("trace show traces/lamp.few_on.itf.json --show on --hide on[0]")
    assert "on[1]: no → yes" in part.out
    assert "on[0]" not in part.out
    assert "switched" not in part.out
    assert quiesce("trace show traces/lamp.few_on.itf.json --full").out.count("rest = 0") == 2


def test_a_trace_as_data_has_the_whole_trace_in_it(quiesce: Quiesce):
    quiesce("explore lamp.py:Lamp")
    data = quiesce("trace show traces/lamp.few_on.itf.json --json").data
    assert data["length"] == 4
    assert len(data["itf"]["states"]) == 5
    assert data["property"] == "few_on"


def test_a_trace_whose_machine_is_gone_is_shown_as_the_file_has_it(quiesce: Quiesce):
    quiesce("explore lamp.py:Lamp")
    Path("lamp.py").unlink()
    shown = quiesce("trace show traces/lamp.few_on.itf.json")
    assert shown.code == 0
    assert shown.out.startswith("shown as the file has it: there is no file lamp.py")
    assert "on[1]: no → yes" in shown.out


def test_two_traces_are_compared(quiesce: Quiesce):
    quiesce("explore lamp.py:Lamp --traces one")
    quiesce("explore lamp.py:Lamp --traces two --scope lamps=3,most=2")
    files = ("one/lamp.few_on.itf.json", "two/lamp.few_on.itf.json")
    assert quiesce("trace diff", *files).code == 1
    data = quiesce("trace diff --json", *files).data
    assert (data["same"], data["exit"]) == (False, 1)
    assert quiesce("trace diff", files[0], files[0]).code == 0


USER_MISTAKES = [
    ("explor", "no such command 'explor'"),
    ("explore", "missing argument 'MACHINE'"),
    ("explore nosuch", "quiesce has no machine 'nosuch'"),
    ("explore lamp.py:Lump", "lamp.py has no machine 'Lump': did you mean 'Lamp'?"),
    ("explore nowhere.py:Lamp", "there is no file nowhere.py"),
    ("explore no.such.module:Lamp", "there is no module 'no' to import the machine from"),
    ("explore lamp.py:Lamp --scope lumps=3", "Lamp has no constant 'lumps': did you mean 'lamps'?"),
    ("explore lamp.py:Lamp --scope lamps=many", "lamps is given as a whole number or as true or false, not 'many'"),
    ("explore lamp.py:Lamp --scope dim=2", "Lamp.dim is a flag (true or false), not 2"),
    ("explore lamp.py:Lamp -p few", "Lamp has no property 'few'"),
    ("explore lamp.py:Lamp --without LMP-9", "Lamp has no rule 'LMP-9': did you mean 'LMP-"),
    ("explore lamp.py:Lamp --memory much", "memory is given as 500M or 2G, not 'much'"),
    ("explore lamp.py:Lamp --limit-states 0", "invalid value for '--limit-states'"),
    ("prove lamp.py:Lamp --symbolic mast", "Lamp has no constant 'mast': did you mean 'most'?"),
    ("prove lamp.py:Lamp --lemma rest", "Lamp has no property 'rest': did you mean 'rests'?"),
    ("prove lamp.py:Lamp -p all_on", "all_on is of the kind reachable, and prove judges invariant and step"),
    ("prove lamp.py:Lamp --symbolic lamps", "the size 'lamps' has to be a whole number that is known at the scope"),
    ("explore lamp.py:Lamp -s lamps=-1", "the size 'lamps' has to be a whole number that is known at the scope"),
    ("explore breaker -s threshold=0", "Breaker assumes a_trip_takes_an_echo, which these constants break"),
    ("bmc lamp.py:Lamp --depth 0", "invalid value for '--depth'"),
    ("ablate lamp.py:Lamp --rule LMP-3", "Lamp has no rule 'LMP-3'"),
    ("why LMP-3", "the project has no rule 'LMP-3'"),
    ("check nosuch", "there is no suite nosuch"),
    ("check --tier some", "invalid value for '--tier'"),
    ("trace show nowhere.itf.json", "nowhere.itf.json cannot be read: No such file"),
    ("trace show lamp.py", "lamp.py  this is no trace in the Informal Trace Format"),
]


@pytest.mark.parametrize(("words", "said"), USER_MISTAKES, ids=[words for words, _ in USER_MISTAKES])
def test_a_users_mistake_is_one_sentence(quiesce: Quiesce, words: str, said: str):
    ended = quiesce(words)
    assert ended.code == 2
    assert ended.out == ""
    assert " ".join(ended.err.split()).startswith(" ".join(said.split()))
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(("words", "said"), USER_MISTAKES[2:6], ids=[words for words, _ in USER_MISTAKES[2:6]])
def test_a_users_mistake_as_data_is_one_object(quiesce: Quiesce, words: str, said: str):
    ended = quiesce(f"{words} --json")
    assert (ended.code, ended.err) == (2, "")
    assert ended.data["error"]["text"].startswith(said)
    assert ended.data["exit"] == 2


MODULES = [
    ("def broken(:\n", "broken.py is not Python: invalid syntax", 1),
    ("x = 1\n\ny = x / 0\n", "broken.py cannot be used: ZeroDivisionError: division by zero", 3),
    ("import nosuchthing\n", "broken.py cannot be used: ModuleNotFoundError: No module named 'nosuchthing'", 1),
    ("x = 1\n", "broken.py has no machine: a machine is a class that extends quiesce_model.Machine", None),
]


@pytest.mark.parametrize(("text", "said", "line"), MODULES, ids=[said for _, said, _ in MODULES])
def test_a_module_that_cannot_be_imported_is_told_with_its_line(
    quiesce: Quiesce, text: str, said: str, line: int | None
):
    Path("broken.py").write_text(text)
    ended = quiesce("explore broken.py --json")
    assert ended.code == 2
    assert ended.data["error"]["text"] == said
    assert ended.data["error"]["line"] == line


def test_a_model_outside_the_language_is_told_where(quiesce: Quiesce):
    text = (
        Path("lamp.py")
        .read_text()
        .replace("        self.on[n] = not", "        while n: n -= 1\n        self.on[n] = not")
    )
    Path("loop.py").write_text(text)
    ended = quiesce("explore loop.py")
    assert ended.code == 2
    assert ended.err.startswith("loop.py:19:9  ")
    assert "        while n: n -= 1\n" in ended.err
    assert "^^^^" in ended.err
    assert "\nwrite   " in ended.err


def test_a_failure_of_our_own_says_where_to_report_it(quiesce: Quiesce, monkeypatch: pytest.MonkeyPatch):
    def broken(*given: Any, **more: Any) -> None:
        raise ZeroDivisionError("in the engine")

    monkeypatch.setattr("quiesce_checks.commands.engines.run", broken)
    ended = quiesce("explore lamp.py:Lamp")
    assert ended.code == 70
    assert ended.err.startswith(
        "this is a failure of quiesce itself, not of your model: ZeroDivisionError: in the engine"
    )
    assert "--traceback" in ended.err
    assert "Traceback" not in ended.err
    assert "Traceback" in quiesce("explore lamp.py:Lamp --traceback").err
    assert quiesce("explore lamp.py:Lamp --json").data["exit"] == 70


def test_an_interrupt_ends_with_130(quiesce: Quiesce, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quiesce_checks.commands.engines.run", interrupted)
    assert quiesce("explore lamp.py:Lamp").code == 130


def test_an_interrupted_check_tells_what_is_known(quiesce: Quiesce, monkeypatch: pytest.MonkeyPatch):
    from quiesce_checks import job

    asked: list[str] = []

    def once(given: job.Job, watcher: Any) -> job.Answer:
        asked.append(given.engine)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return job.run(given, watcher)

    monkeypatch.setattr("quiesce_checks.commands.check.run", once)
    ended = quiesce("check")
    assert ended.code == 130
    assert "4 as expected" in ended.out
    assert "interrupted after 1 of 4 entries" in ended.out


def test_without_a_subcommand_the_help_is_shown(quiesce: Quiesce):
    ended = quiesce("")
    assert (ended.code, ended.err) == (2, "")
    assert "The main job:" in ended.out
    assert quiesce("trace").out.startswith("Usage: quiesce trace")


def test_a_reader_that_has_read_enough_is_no_failure(tmp_path: Path, quiesce: Quiesce):
    command = f"{sys.executable} -m quiesce_checks.cli explore lamp.py:Lamp -s lamps=3,most=2 | head -1"
    ended = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert ended.stdout.startswith("lamp  lamps=3, most=2")
    assert ended.stderr == ""


def test_help_lists_every_command_that_is_there(quiesce: Quiesce):
    ended = quiesce("--help")
    assert ended.code == 0
    for name, entry in ENTRIES.items():
        assert (f"\n  {name} " in ended.out) == cli.is_there(entry)


OWN = [name for name, entry in ENTRIES.items() if entry.module.startswith("quiesce_checks.commands")]


@pytest.mark.parametrize("name", OWN)
def test_every_command_has_help_with_a_sentence_for_each_option(name: str):
    command = cli.cli.get_command(click.Context(cli.cli), name)
    assert command is not None
    assert command.help
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, parameter.name


BARE = """
import sys
MISSING = {"z3", "llvmlite", "numpy", "networkx", "hypothesis", "ray", "matplotlib"}
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
from quiesce_checks.cli import run
code = run(sys.argv[1:])
assert not MISSING & {name.partition(".")[0] for name in sys.modules}
sys.exit(code)
"""


def bare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command where only the base dependencies are installed."""
    return subprocess.run(
        [sys.executable, "-c", BARE, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_bare_install_has_help_and_traces(tmp_path: Path, quiesce: Quiesce):
    quiesce("explore lamp.py:Lamp")
    assert bare(tmp_path, "--help").returncode == 0
    assert bare(tmp_path, "explore", "--help").returncode == 0
    shown = bare(tmp_path, "trace", "show", "traces/lamp.few_on.itf.json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "fails: sum(1 for lamp in on if lamp) ≤ most" in shown.stdout


def test_a_bare_install_says_what_is_missing(tmp_path: Path, quiesce: Quiesce):
    ended = bare(tmp_path, "prove", "lamp.py:Lamp")
    assert ended.returncode == 2
    assert ended.stderr == "proving needs z3-solver, which is not installed\ntry     pip install 'quiesce[check]'\n"


DOCUMENTED = (Path(__file__).parent.parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = {
    "`explore`, `prove`, `bmc`": "explore lamp.py:Lamp",
    "`check`": "check -k enough",
    "`ablate`": "ablate lamp.py:Lamp",
    "`rules`": "rules",
    "`why`": "why LMP-1",
    "`trace diff`": "trace diff traces/lamp.few_on.itf.json traces/lamp.few_on.itf.json",
}


def documented(row: str) -> str:
    return next(line for line in DOCUMENTED.splitlines() if line.startswith(f"| {row} |"))


@pytest.mark.parametrize("row", COMMANDS)
def test_the_page_names_every_field_of_an_answer(quiesce: Quiesce, row: str):
    quiesce("explore lamp.py:Lamp")
    data = quiesce(f"{COMMANDS[row]} --json").data
    cell = documented(row).split("{", 1)[1]
    for name in data:
        assert f'"{name}"' in cell


def test_the_page_names_every_field_of_the_parts(quiesce: Quiesce):
    check = quiesce("check -k enough --json").data
    explored = quiesce("explore lamp.py:Lamp --json").data
    why = quiesce("why LMP-1 --json").data
    parts = {
        "VERDICT": explored["verdicts"][0],
        "STATISTICS": explored["statistics"],
        "TRACE": explored["verdicts"][0]["trace"],
        "CHECK": check["checks"][0],
        "SUMMARY": check["summary"],
        "ABLATION": why["ablation"],
        "RULE": why["rule"],
    }
    for row, part in parts.items():
        for name in part:
            assert f"`{name}`" in documented(row), (row, name)


@pytest.mark.parametrize("code", list(cli.Exit))
def test_the_page_names_every_exit_code(code: cli.Exit):
    assert f"\n| {int(code)} | " in DOCUMENTED
