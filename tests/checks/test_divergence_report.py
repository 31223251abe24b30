"""A divergence as people read it."""

from __future__ import annotations

from typing import Any

import desks
import pytest
from desks import pairing
from golden import hold_against

from quiesce_checks.lockstep.drive import Divergence, walk
from quiesce_checks.lockstep.question import toured
from quiesce_checks.report.divergence import divergence_data, divergence_lines
from quiesce_checks.report.page import Page, wide
from quiesce_checks.subjects.breaker import breaker_pairing
from quiesce_model.language.machine import Step

KINDS = {
    "value": desks.WrongValue,
    "refusal": desks.NoRefusal,
    "refusal-changes": desks.ChangesOnRefusal,
    "crash": desks.Crashing,
    "crash-at-reset": desks.CrashingAtReset,
}


def found(subject: Any) -> Divergence:
    divergence = toured(pairing(subject)).verdict.divergence
    assert divergence is not None
    return divergence


@pytest.mark.parametrize("kind", KINDS)
def test_a_divergence_is_told(kind: str, request: pytest.FixtureRequest):
    lines = divergence_lines(found(KINDS[kind]), pairing(KINDS[kind]), Page())
    hold_against(f"divergence-{kind}", lines, request)


def never_trips() -> Divergence:
    """Of the breaker: the policy that the subject is given has another threshold."""
    steps = [Step("run", (("overwrites", True),)), Step("commit", (("place", 0),))]
    waits = Step("elapse", (("d", 2),))
    divergence, _ = walk(breaker(), [*steps, waits, *steps])
    assert divergence is not None
    return divergence


def breaker():
    from dataclasses import replace

    from quiesce.scheduler.breaker import RemoteEchoBreaker

    def slow(lines: Any, policy: Any) -> Any:
        return RemoteEchoBreaker(lines, replace(policy, echo_trip_threshold=3))

    return breaker_pairing(1_000, slow, threshold=2, window=2, base=1, cap=2, quiet=3)


@pytest.mark.parametrize("width", [60, 100, 140])
def test_it_is_wrapped_by_what_it_is_made_of(width: int, request: pytest.FixtureRequest):
    lines = divergence_lines(never_trips(), breaker(), Page(width), see=[("kept as", "tests/test_breaker.py")])
    assert max(wide(line) for line in lines) <= width
    hold_against(f"divergence-breaker-{width}", lines, request)


def test_long_walks_are_told_from_near_their_end():
    long, _ = walk(pairing(desks.WrongValue, most=60), [Step("sell")] * 60)
    assert long is not None
    lines = divergence_lines(long, pairing(desks.WrongValue, most=60), Page())
    assert any("… 20 steps in which both agree" in line for line in lines)
    assert len(lines) < 60


def test_a_divergence_as_data():
    data = divergence_data(found(desks.NoRefusal), pairing(desks.NoRefusal), "tests/test_desk.py")
    assert (data["kind"], data["length"], data["file"]) == ("diverged", 3, "tests/test_desk.py")
    assert data["turns"][-1]["model"] == {
        "kind": "refused",
        "seen": {"sold": 2, "rest": 2},
        "text": "blocked by TKT-2",
        "wrote": [],
    }
    assert {"field": "sold", "model": 2, "implementation": 0} in data["differs"]
