"""What the breaker promises about deadlines and starts, for any threshold, window, base, cap and quiet stretch."""

from __future__ import annotations

import pytest

from quiesce_checks.engines.bounded import bounded
from quiesce_checks.engines.bridge import bridge
from quiesce_checks.engines.proof import prove
from quiesce_checks.verdict import Outcome
from quiesce_model.breaker import Breaker

SYMBOLIC = ("threshold", "window", "base", "cap", "quiet")

DEADLINES = (
    "deadline_only_when_tripped",
    "backoff_between_base_and_cap",
    "deadline_runs_from_the_last_echo",
    "gate_is_the_deadline",
    "waiting_is_not_quiet",
    "every_echo_renews_one_step_longer",
    "trips_when_one_window_holds_the_threshold",
)
STARTS = ("starts_wait_for_the_backoff",)
IN_FLIGHT = ("landings_are_those_in_flight",)


@pytest.mark.parametrize("clear_when_settled", [False, True])
def test_deadlines_steps_and_starts_are_as_stated_for_any_constants(clear_when_settled: bool) -> None:
    machine = Breaker(in_flight=2, clear_when_settled=clear_when_settled)
    verdicts = prove(machine, [*DEADLINES, *STARTS, *IN_FLIGHT, "no_fault"], symbolic=SYMBOLIC, max_k=1, depth=0)
    assert {v.property: (v.outcome, v.k) for v in verdicts} == {v.property: (Outcome.PROVED, 1) for v in verdicts}
    assert verdicts[0].how.startswith("induction k=1, any threshold, window, base, cap, quiet at ")
    assert "no_fault proved" in verdicts[0].notes


@pytest.mark.parametrize(
    ("assumption", "broken", "steps"),
    [
        ("a_trip_takes_an_echo", "no_fault", 0),
        ("a_backoff_takes_time", "an_echo_shuts_the_gate", 2),
        ("base_within_cap", "backoff_between_base_and_cap", 2),
        ("quiet_outlasts_cap", "waiting_is_not_quiet", 2),
    ],
)
def test_each_assumption_is_necessary(assumption: str, broken: str, steps: int) -> None:
    (verdict,) = bounded(Breaker(), [broken], depth=3, symbolic=SYMBOLIC, without_assumptions=[assumption])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert verdict.trace.length == steps
    assert verdict.trace.machine.unchecked_ == (assumption,)
    assert not getattr(verdict.trace.machine, assumption)()


def test_a_start_that_does_not_wait_is_found_for_some_constants() -> None:
    machine = Breaker(without=["BRK-18"])
    (verdict,) = bounded(machine, ["starts_wait_for_the_backoff"], depth=3, symbolic=SYMBOLIC)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert verdict.trace.length == 3


def test_exploring_and_proving_the_breaker_is_about_one_model() -> None:
    assert {str(v.outcome) for v in bridge(Breaker())} == {"proved"}
