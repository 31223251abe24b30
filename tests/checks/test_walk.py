"""Random walks at production constants reach the edges, and find what is one millisecond off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from quiesce_checks.lockstep.drive import walk
from quiesce_checks.lockstep.pairing import Pairing
from quiesce_checks.lockstep.shrink import shrink
from quiesce_checks.lockstep.stateful import state_machine
from quiesce_checks.lockstep.walk import Edges, production_walks
from quiesce_checks.subjects.breaker import BreakerSubject, breaker_pairing
from quiesce_model.language.machine import Step, copy

GENERATED = settings(max_examples=60, stateful_step_count=20, deadline=None, phases=(Phase.generate,), database=None)
PRODUCTION = {"threshold": 12, "window": 60_000, "base": 500, "cap": 30_000, "quiet": 120_000}


class Off(BreakerSubject):
    """The runtime's breaker with one constant off by a little."""

    def __init__(self, name: str, by: int) -> None:
        super().__init__(1)
        self.name, self.by = name, by

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        super().reset({**constants, self.name: constants[self.name] + self.by})


def off(name: str, by: int, **other: int) -> Pairing:
    return replace(breaker_pairing(tick=1, **(PRODUCTION | other)), subject=lambda: Off(name, by))


def test_the_runtime_agrees_at_production_constants() -> None:
    walked = production_walks(breaker_pairing(tick=1, **PRODUCTION), walks=25, length=80)
    assert walked.divergence is None
    assert walked.steps > 300


def test_walks_stand_before_at_and_after_edges() -> None:
    walked = production_walks(breaker_pairing(tick=1, **PRODUCTION), walks=25, length=80)
    assert {which for which, _ in walked.edges} == {-1, 0, 1}


def test_edges_are_those_of_what_ages_are_compared_with() -> None:
    pairing = breaker_pairing(tick=1, **PRODUCTION)
    machine = copy(pairing.model)
    for step in (Step("run", (("overwrites", True),)), Step("commit", (("place", 0),))):
        getattr(machine, step.action)(**dict(step.args))
    distances = dict(Edges(pairing.model).distances(machine))
    assert {distances[59_999], distances[60_000], distances[60_001]} == {-1, 0, 1}


@pytest.mark.parametrize(("name", "by", "threshold"), [("threshold", 1, 12), ("threshold", -1, 12), ("base", 1, 4)])
def test_a_constant_that_is_off_is_found(name: str, by: int, threshold: int) -> None:
    pairing = off(name, by, threshold=threshold)
    found = production_walks(pairing, walks=200, length=120).divergence
    assert found is not None
    shortest = shrink(pairing, found).divergence
    assert len(shortest.steps) <= 26  # 24 is what it takes, and one run that nothing needs may stay in flight


@pytest.mark.parametrize("by", [1, -1])
def test_a_window_one_millisecond_off_differs_at_its_edge(by: int) -> None:
    """The walk that a search for it comes to: an echo just past (or at) the end of the window."""
    echo = (Step("run", (("overwrites", True),)), Step("commit", (("place", 0),)))
    wait = Step("elapse", (("d", 60_001 if by == 1 else 60_000),))
    steps = (*echo, wait, *echo)
    assert walk(breaker_pairing(tick=1, **PRODUCTION), steps)[0] is None
    found, _ = walk(off("window", by), steps)
    assert found is not None
    assert found.differs[0][0] == "pair.echoes"


def test_hypothesis_gets_a_state_machine() -> None:
    machine = state_machine(breaker_pairing(tick=1, **PRODUCTION))
    run_state_machine_as_test(machine, settings=settings(max_examples=8, stateful_step_count=15, deadline=None))


def test_the_state_machine_finds_a_wrong_constant() -> None:
    machine = state_machine(off("threshold", -11))
    with pytest.raises(AssertionError, match="the model shows"):
        run_state_machine_as_test(machine, settings=GENERATED)
