"""Two sessions a side that agree among themselves: what the breaker holds as specified, and with its repair."""

from __future__ import annotations

import pytest

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.simulate import NEVER_TRIPS, Storm, simulate_storm

HALF_A_MINUTE = 30_000
AS_SPECIFIED = BreakerPolicy()
REPAIRED = BreakerPolicy(clear_when_settled=True)
WITHOUT = BreakerPolicy(echo_trip_threshold=NEVER_TRIPS)


@pytest.mark.parametrize("seed", [1, 2])
def test_one_a_side_is_held_as_specified_and_with_the_repair(seed: int) -> None:
    held = [simulate_storm(Storm((1, 1), seed=seed), policy, HALF_A_MINUTE) for policy in (AS_SPECIFIED, REPAIRED)]
    assert held[0].commits == held[1].commits < 2 * (12 + 6) + 2


@pytest.mark.parametrize("seed", [1, 2])
def test_two_a_side_are_not_held_as_specified_and_are_with_the_repair(seed: int) -> None:
    """The loser of a race between the two that agree runs again, finds its own value and counts as convergence: its
    pair is gone."""
    storm = Storm((2, 2), seed=seed)
    without = simulate_storm(storm, WITHOUT, HALF_A_MINUTE).commits
    assert simulate_storm(storm, AS_SPECIFIED, HALF_A_MINUTE).commits > 0.9 * without > 300
    assert simulate_storm(storm, REPAIRED, HALF_A_MINUTE).commits < 4 * (12 + 6) + 4


def test_a_seed_gives_the_same_run_to_the_last_commit() -> None:
    runs = [simulate_storm(Storm((2, 1), seed=3), AS_SPECIFIED, 10_000).commit_times for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != simulate_storm(Storm((2, 1), seed=4), AS_SPECIFIED, 10_000).commit_times
