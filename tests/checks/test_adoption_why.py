"""A condition is asked for by the name that its source gives it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quiesce_checks.cli import run
from quiesce_checks.commands.rules import rules_from
from quiesce_checks.rules import read_rules

SPECS = Path(__file__).parents[2] / "specs"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("C1", ["ADO-1", "ADO-2", "ADO-3", "ADO-4", "ADO-5", "ADO-6", "ADO-7"]),
        ("C2", ["ADO-8", "ADO-9", "ADO-10", "ADO-11"]),
        ("C3", ["ADO-12"]),
        ("C4", ["ADO-13"]),
        ("C5", ["ADO-39"]),
        ("C6", ["ADO-28", "ADO-29", "ADO-30", "ADO-31"]),
        ("C7", ["ADO-14"]),
        ("C", []),
    ],
)
def test_each_condition_of_adoption_names_its_rules(name: str, rules: list[str]) -> None:
    assert rules_from(name, read_rules([SPECS / "adoption.md"])) == rules


def test_why_takes_the_name_of_a_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "specs").mkdir()
    shutil.copy(SPECS / "adoption.md", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    words = ["why", "C1", "--machine", "quiesce_model.adopt_identity:AdoptIdentity"]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("C1 is ADO-1; see also ADO-2, ADO-3, ADO-4, ADO-5, ADO-6, ADO-7\n")
    assert "what_is_adopted_is_ones_own fails in 2 steps" in said
    assert run(["why", "C8"]) != 0
    assert "the project has no rule 'C8'" in capsys.readouterr().err
