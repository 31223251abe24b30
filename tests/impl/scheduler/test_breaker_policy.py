"""A policy that makes no breaker is refused with a sentence that says what to change."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from quiesce.scheduler.breaker_policy import BreakerPolicy, PolicyError


def test_the_defaults_are_the_seeds_constants_with_every_repair_off() -> None:
    assert {field.name: getattr(BreakerPolicy(), field.name) for field in fields(BreakerPolicy)} == {
        "echo_window_ms": 60_000,
        "echo_trip_threshold": 12,
        "echo_backoff_base_ms": 500,
        "echo_backoff_max_ms": 30_000,
        "echo_quiet_reset_ms": 120_000,
        "max_echo_pairs": 4_096,
        "evict_untripped_first": False,
        "kickoff_order": False,
        "clear_when_settled": False,
        "remote_causes_only": False,
        "ignore_own_reverts": False,
    }


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"echo_trip_threshold": 0}, "echo_trip_threshold is 0; give a whole number of at least 1"),
        ({"echo_window_ms": -1}, "echo_window_ms is -1; give a whole number of at least 1"),
        ({"echo_window_ms": 1.5}, "echo_window_ms is 1.5; give a whole number of at least 1"),
        ({"max_echo_pairs": True}, "max_echo_pairs is True; give a whole number of at least 1"),
        ({"kickoff_order": 1}, "kickoff_order is 1; give True or False"),
        (
            {"echo_backoff_base_ms": 40_000},
            "echo_backoff_base_ms (40000) is above echo_backoff_max_ms (30000); "
            "the backoff doubles from its base up to its cap",
        ),
        (
            {"echo_quiet_reset_ms": 30_000},
            "echo_quiet_reset_ms (30000) is not above echo_backoff_max_ms (30000); "
            "make it longer, or a loop that is held looks quiet",
        ),
        (
            {"echo_quiet_reset_ms": 60_000},
            "echo_quiet_reset_ms (60000) is not above echo_window_ms (60000); "
            "make it longer, or a loop that is held looks quiet",
        ),
    ],
)
def test_constants_that_make_no_breaker_are_refused(constants: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=f"^{re.escape(message)}$"):
        BreakerPolicy(**constants)
