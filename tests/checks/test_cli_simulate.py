"""``quiesce simulate``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden import hold_against, timeless
from lamps import project

from quiesce_checks.cli import run

PAGE = (Path(__file__).parent.parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_simulate_tells_verdicts_coverage_and_the_trace(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    assert run(["simulate", "lamp.py:Lamp", "-s", "lamps=3,most=2", "--runs", "200"]) == 1
    hold_against("cli-simulate", timeless(capsys.readouterr().out), request)
    assert Path("traces/lamp.few_on.itf.json").is_file()


def test_simulate_as_data_has_the_fields_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "lamp.py:Lamp", "-s", "most=2", "--runs", "20", "--seed", "7", "--json"]) == 3
    data = json.loads(capsys.readouterr().out)
    row = next(line for line in PAGE.splitlines() if line.startswith("| `simulate` |"))
    assert all(f'"{name}"' in row for name in data)
    row = next(line for line in PAGE.splitlines() if line.startswith("| COVERAGE |"))
    assert all(f"`{name}`" in row for name in data["coverage"])
    assert (data["seed"], data["coverage"]["runs"]) == (7, 20)
    outcomes = {verdict["property"]: verdict["outcome"] for verdict in data["verdicts"]}
    assert outcomes["few_on"] == "inconclusive"
    assert outcomes["all_on"] == "holds"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--runs 0", "invalid value for '--runs'"),
        ("-p nosuch", "Lamp has no property 'nosuch'"),
        ("-s nosuch=1", "Lamp has no constant 'nosuch'"),
    ],
)
def test_a_mistake_is_one_sentence(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "lamp.py:Lamp", *words.split()]) == 2
    assert capsys.readouterr().err.startswith(said)
