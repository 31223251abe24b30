"""``quiesce explore`` in other ways: threads, processes, files, checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lamps import project

from quiesce_checks.cli import run
from quiesce_checks.engines import ways
from quiesce_checks.engines.processes import Processes
from quiesce_checks.engines.transport import Lost, Report


@pytest.fixture(autouse=True)
def a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))


def said(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    run(["explore", "lamp.py:Lamp", "-s", "lamps=6,most=6", *words.split(), "--json"])
    data = json.loads(capsys.readouterr().out)
    outcomes = {verdict["property"]: verdict["outcome"] for verdict in data["verdicts"]}
    return {"outcomes": outcomes, "counts": [data["statistics"][name] for name in ("distinct", "generated", "depth")]}


@pytest.mark.parametrize(
    "words",
    [
        "--threads 2",
        "--threads auto",
        "--processes 2",
        "--spill .",
        "--spill . --memory 1M",
        "--checkpoints saved --every 0",
        "--checkpoints saved --every 0 --threads 3",
    ],
)
def test_other_ways_say_the_same(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(words, capsys) == said("", capsys)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--threads 0", "--threads is a whole number from 1, or auto, not '0'"),
        ("--processes 0", "invalid value for '--processes'"),
        ("--threads 2 --processes 2", "threads and processes are different ways to part a search: choose one of them"),
        ("--threads 2 --spill .", "a search goes on in files on one thread only: leave out one of spill and threads"),
        ("--spill nowhere", "invalid value for '--spill'"),
        ("--resume", "--resume needs --checkpoints DIR"),
        ("--checkpoints . --resume", "there is no checkpoint in .: leave out resume to begin anew"),
        ("--checkpoints nowhere --resume", "there is no checkpoint in nowhere: leave out resume to begin anew"),
        ("--checkpoints lamp.py", "invalid value for '--checkpoints'"),
        ("--threads 2 -p nosuch", "Lamp has no property 'nosuch'"),
    ],
)
def test_a_mistake_is_one_sentence(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", "lamp.py:Lamp", *words.split()]) == 2
    assert capsys.readouterr().err.startswith(text)


@pytest.mark.parametrize("way", ["", "--threads 2"])
def test_a_search_is_resumed(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = said(f"--checkpoints . --every 0 --limit-states 100 {way}", capsys)
    assert stopped["outcomes"]["few_on"] == "inconclusive"  # type: ignore[index]
    assert said(f"--checkpoints . --resume {way}", capsys) == said("", capsys)


def test_without_ray_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ways, "find_spec", lambda name: None)
    assert run(["explore", "lamp.py:Lamp", "--cluster", "auto"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("a search on a cluster needs ray, which is not installed")
    assert "pip install 'quiesce[cluster]'" in said


def test_owners_lost_again_and_again_leave_it_inconclusive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(self: Processes, level: int) -> list[Report]:
        raise Lost("the process of owner 1 was ended by signal 9 (SIGKILL)")

    monkeypatch.setattr(Processes, "exchange", lost)
    assert run(["explore", "lamp.py:Lamp", "-s", "lamps=6", "--processes", "2", "--checkpoints", "."]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(
        "the search was given up: owners were lost again and again before a level was done: the process"
    )
