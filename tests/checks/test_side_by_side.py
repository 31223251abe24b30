"""Entries run by several processes: the same results, in the same order, and nothing left behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lamps import project

from quiesce_checks import side_by_side
from quiesce_checks.exits import Exit
from quiesce_checks.job import run
from quiesce_checks.judge import Result, run_check
from quiesce_checks.side_by_side import FEW, processes_for, results
from quiesce_checks.suite import Check, load_suite
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.language.machine import state
from quiesce_model.rehydration_twin import RehydrationTwin

SUITE = """
machine = "lamp.py:Lamp"

[[check]]
name = "enough"
scope = { lamps = 2, most = 3 }

[[check]]
name = "too-many"
scope = { lamps = 3, most = 2 }
properties = ["few_on"]
expect = "violated"

[[check]]
name = "surprise"
scope = { lamps = 3, most = 2 }
"""


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Check, ...]:
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs" / "several.toml").write_text(SUITE)
    return load_suite(Path("specs/several.toml"), (tmp_path,)).checks


def told(found: Result) -> list[object]:
    return [
        found.check.name,
        *((item.verdict.property, item.verdict.outcome, item.judgement, item.why) for item in found.judged),
        *(item.verdict.trace.states for item in found.judged if item.verdict.trace is not None),
        found.exit,
    ]


def never(check: Check) -> Result | None:
    raise AssertionError(f"{check.name} is run here")


def test_several_processes_come_to_the_same_in_the_same_order(checks: tuple[Check, ...]) -> None:
    alone = list(results(checks, 1, lambda check: run_check(check, run), False))
    together = list(results(checks, 2, never, False))
    assert [told(found) for found in together] == [told(found) for found in alone]
    assert [found.exit for found in together] == [Exit.AS_EXPECTED, Exit.AS_EXPECTED, Exit.VIOLATED]
    assert multiprocessing.active_children() == []


def test_who_stops_asking_leaves_no_process(checks: tuple[Check, ...]) -> None:
    coming = results(checks, 2, never, False)
    next(coming)
    coming.close()
    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_is_no_pass(checks: tuple[Check, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "one", killed)
    found = list(results(checks[:1], 2, never, False))
    assert [item.exit for item in found] == [Exit.INCONCLUSIVE]
    assert found[0].problem is not None
    assert "--jobs 1" in (found[0].problem.remedy or "")


def killed(file: str, name: str, update: bool) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_few_entries_start_no_processes() -> None:
    assert processes_for(None, FEW) == 1
    assert processes_for(None, 100) == min(os.cpu_count() or 1, 100)
    assert processes_for(3, 2) == 2


def test_machines_travel_with_their_state() -> None:
    loop = EchoLoop(sessions=3, threshold=2, without={"BRK-7"})
    loop.run(s=1)
    again = pickle.loads(pickle.dumps(loop))
    assert (state(again), again.constants_, again.without_) == (state(loop), loop.constants_, loop.without_)
    twin = RehydrationTwin(most=4)
    twin.write(value=1)
    assert state(pickle.loads(pickle.dumps(twin))) == state(twin)


LONG = """
machine = "lamp.py:Lamp"

[[check]]
name = "short"
scope = { lamps = 2, most = 3 }

[[check]]
name = "long"
scope = { lamps = 17, most = 17 }

[[check]]
name = "never"
scope = { lamps = 2, most = 3 }
"""


def test_an_interrupted_run_says_how_far_it_came_and_leaves_no_process(tmp_path: Path) -> None:
    project(tmp_path, LONG)
    command = [sys.executable, "-c", "from quiesce_checks.cli import main; main()", "check", "--jobs", "2"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        first = [asked.stdout.readline(), asked.stdout.readline()]
        os.killpg(asked.pid, signal.SIGINT)  # as a terminal does: the whole group
        rest = asked.stdout.read()  # ends when no process of the run holds it any more
        errors = asked.stderr.read()
    assert first[0].startswith("lamp  short")
    assert "interrupted after 1 of 3 entries" in rest
    assert (asked.returncode, errors) == (Exit.INTERRUPTED, "")
