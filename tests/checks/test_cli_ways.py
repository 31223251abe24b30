"""``quiesce explore`` in other ways: two threads, files, checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lamps import project

from quiesce_checks.cli import run


@pytest.fixture(autouse=True)
def a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))


def said(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    run(["explore", "lamp.py:Lamp", "-s", "lamps=6,most=6", *words.split(), "--json"])
    data = json.loads(capsys.readouterr().out)
    outcomes = {verdict["property"]: verdict["outcome"] for verdict in data["verdicts"]}
    return {"outcomes": outcomes, "counts": [data["statistics"][name] for name in ("distinct", "generated", "depth")]}


@pytest.mark.parametrize(
    "words", ["--threads 2", "--threads auto", "--spill .", "--spill . --memory 1M", "--checkpoints . --every 0"]
)
def test_other_ways_say_the_same(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(words, capsys) == said("", capsys)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--threads 3", "--threads is 1, 2 or auto, not '3'"),
        ("--spill nowhere", "invalid value for '--spill'"),
        ("--resume", "--resume needs --checkpoints DIR"),
        ("--checkpoints . --resume", "there is no checkpoint in .: leave out resume to begin anew"),
        ("--threads 2 -p nosuch", "Lamp has no property 'nosuch'"),
    ],
)
def test_a_mistake_is_one_sentence(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", "lamp.py:Lamp", *words.split()]) == 2
    assert capsys.readouterr().err.startswith(text)


def test_a_search_is_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    stopped = said("--checkpoints . --every 0 --limit-states 100", capsys)
    assert stopped["outcomes"]["few_on"] == "inconclusive"  # type: ignore[index]
    assert said("--checkpoints . --resume", capsys) == said("", capsys)
