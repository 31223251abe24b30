"""In a tour an adapter whose steps bring along what is seen is asked ahead, and nothing is lost by that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quiesce_checks.lockstep.adapter import adapter_pairing
from quiesce_checks.lockstep.pairing import Pairing
from quiesce_checks.lockstep.question import toured
from quiesce_checks.lockstep.stdio import StdioSubject
from quiesce_checks.lockstep.stdio_child import Child
from quiesce_checks.lockstep.subject import SubjectFailed
from quiesce_checks.lockstep.tour import tour
from quiesce_checks.machines import find_machine
from quiesce_checks.verdict import Outcome
from quiesce_model.language.machine import Step

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "adapters"
GATE = find_machine("gate_model.py:Gate", (EXAMPLES,))
RIGHT = [sys.executable, "-S", str(EXAMPLES / "gate_adapter.py")]


class OneByOne(StdioSubject):
    def ahead(self, *given: object, **more: object) -> None:
        pass


def pairing(command: list[str], kind: Callable[..., StdioSubject] = StdioSubject) -> Pairing:
    machine = GATE(throttle=2, cap=2)
    return replace(adapter_pairing(machine, command), subject=lambda: kind(command, machine))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests went to a child at a time, each time that several could."""
    counts: list[int] = []
    deliver = Child.deliver

    def counted(child: Child, part: bytes, what: str, timeout: float) -> None:
        counts.append(part.count(b"\n"))
        deliver(child, part, what, timeout)

    monkeypatch.setattr(Child, "deliver", counted)
    return counts


def test_it_is_asked_ahead_and_finds_the_same(asked: list[int]):
    ahead, one_by_one = tour(pairing(RIGHT)), tour(pairing(RIGHT, OneByOne))
    assert ahead.divergence is None
    assert (ahead.steps, ahead.refusals) == (one_by_one.steps, one_by_one.refusals)
    assert max(asked) > 50


def test_a_bug_is_found_at_the_same_step():
    wrong = [*RIGHT, "--bug", "forgets"]
    one, other = toured(pairing(wrong)).verdict.divergence, toured(pairing(wrong, OneByOne)).verdict.divergence
    assert one is not None
    assert other is not None
    assert one == other


def test_whose_steps_do_not_show_anything_is_not_asked_ahead(asked: list[int]):
    little = [sys.executable, "-S", str(HERE / "unruly.py"), "shows little"]
    assert toured(pairing(little)).verdict.outcome is Outcome.AGREES
    assert asked == []


def subject(fault: str) -> StdioSubject:
    made = StdioSubject([sys.executable, "-S", str(HERE / "unruly.py"), fault], GATE())
    made.reset(GATE().constants_)
    made.step(Step("change"), 0)
    return made


def test_what_was_asked_ahead_and_not_taken_is_forgotten_with_the_child():
    made = subject("none")
    child = made.child
    made.ahead([(Step("change"), 0), (None, 1), (None, 2)], refusals=False)
    made.step(Step("change"), 0)
    made.reset(GATE().constants_)
    assert made.child is not child
    assert made.observe(0) == ("IDLE", 0, 0, 0, 0)


def test_who_shows_something_now_and_then_is_told_so():
    made = subject("shows now and then")
    made.ahead([(Step("change"), 1), (None, 2)], refusals=False)
    made.step(Step("change"), 1)
    with pytest.raises(
        SubjectFailed, match='brought "seen" along with earlier steps, and not with the one before observe'
    ):
        made.observe(1)
