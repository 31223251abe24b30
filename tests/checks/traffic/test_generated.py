"""Generated storms and quiet weeks."""

from __future__ import annotations

import pytest

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce_checks.traffic.generated import (
    HOUR_MS,
    Storm,
    published_storms,
    replay_quiet,
    replay_storm,
)

POLICY = BreakerPolicy()
STORMS = {storm.name: storm for storm in published_storms(POLICY)}


@pytest.mark.parametrize("name", [name for name in STORMS if "in" in name.split()])
@pytest.mark.parametrize("seed", range(5))
def test_every_published_cadence_trips_at_its_twelfth_echo(name: str, seed: int) -> None:
    result = replay_storm(STORMS[name], POLICY, seed)
    assert result.let_through == 12
    assert result.tripped_at_ms is not None
    assert result.tripped_at_ms <= POLICY.echo_window_ms


@pytest.mark.parametrize("name", [name for name in STORMS if "in" in name.split()])
def test_at_the_cap_a_storm_commits_once_in_thirty_seconds(name: str) -> None:
    result = replay_storm(STORMS[name], POLICY, 1)
    assert result.capped_per_s == pytest.approx(1 / 30, rel=0.001)


def test_ten_minutes_of_a_fast_storm_are_thirty_six_commits() -> None:
    result = replay_storm(Storm("fast", 40, 600_000, jitter=0), POLICY, 1)
    assert (result.commits, result.commits_without) == (36, 15_001)


def test_a_steady_loop_trips_if_its_cadence_fits_the_threshold_into_one_window() -> None:
    fits = replay_storm(Storm("fits", 5_454, HOUR_MS, jitter=0), POLICY, 1)
    misses = replay_storm(Storm("misses", 5_455, HOUR_MS, jitter=0), POLICY, 1)
    assert fits.tripped_at_ms == 11 * 5_454
    assert (misses.tripped_at_ms, misses.commits) == (None, 660)


def test_quiet_weeks_never_trip_and_their_busiest_window_holds_ten() -> None:
    for seed in range(3):
        result = replay_quiet(POLICY, weeks=3, documents=5, seed=seed)
        assert result.trips == 0
        assert 5 < result.busiest_window <= 10
        assert result.changes > 5_000


def test_a_threshold_of_eight_would_trip_in_quiet_weeks() -> None:
    result = replay_quiet(BreakerPolicy(echo_trip_threshold=8), weeks=3, documents=20, seed=1)
    assert result.trips > 0
