"""Walks at random without an end of their own: heartbeats, Ctrl-C, seeds."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import desks
import pytest

from quiesce_checks.cli import run
from quiesce_checks.commands.screen import Progress
from quiesce_checks.lockstep.question import Beat, at_random
from quiesce_checks.verdict import Outcome


def test_who_waits_without_a_terminal_sees_a_line_now_and_then(capsys: pytest.CaptureFixture[str]):
    Progress(beat=0.0)(Beat("gate", 1_200, 3.0))
    assert capsys.readouterr().err == "lockstep gate · 1,200 steps · 400/s · 3.0 s\n"


@pytest.mark.parametrize("beat", [None, 60.0])
def test_and_no_more_than_that(beat: float | None, capsys: pytest.CaptureFixture[str]):
    progress = Progress(beat=beat)
    for _ in range(3):
        progress(Beat("gate", 1_200, 3.0))
    assert capsys.readouterr().err == ""


def test_an_interruption_leaves_what_is_known():
    steps: list[int] = []

    def watch(beat: Beat) -> None:
        steps.append(beat.states)
        if len(steps) == 2:
            raise KeyboardInterrupt

    compared = at_random(desks.pairing(pause=500), 3_600.0, watch, seed=5)
    assert compared.verdict.outcome is Outcome.INCONCLUSIVE
    assert re.match(
        rf"interrupted after \d+ random walks, {steps[1]:,} steps without a difference", compared.verdict.how
    )
    assert compared.walked is not None
    assert compared.walked.steps == steps[1] > steps[0] > 0


def test_ctrl_c_ends_with_its_own_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr(Progress, "__call__", lambda *_: signal.raise_signal(signal.SIGINT))
    assert run(["lockstep", "desks:pairing", "--for", "1h", "--seed", "5"]) == 130
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"interrupted after \d+ random walks, [\d,]+ steps without a difference", out)
    assert "seed 5" in out
    assert out.endswith("interrupted: this is what was known by then")


def test_the_seed_decides_the_walks():
    found = [at_random(desks.pairing(desks.TooCareful, pause=500), 3_600.0, seed=seed) for seed in (3, 3, 4)]
    walked = [(compared.walked.walks, compared.walked.steps) for compared in found if compared.walked is not None]
    assert walked[0] == walked[1] != walked[2]
