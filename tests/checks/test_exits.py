"""Exit codes: one for each kind of ending, and the worst of several."""

from __future__ import annotations

import pytest

from quiesce_checks.exits import OF_OUTCOME, WORST_FIRST, Exit, worst
from quiesce_checks.verdict import Outcome


def test_every_code_has_a_place_in_the_order():
    assert sorted(WORST_FIRST) == sorted(Exit)


def test_every_outcome_has_a_code():
    assert set(OF_OUTCOME) == set(Outcome)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 3], 3),
        ([3, 4], 4),
        ([4, 1, 3], 1),
        ([1, 5], 5),
        ([5, 2], 2),
        ([2, 130, 1], 130),
    ],
)
def test_the_worst_code_of_a_run_wins(codes: list[int], expected: int):
    assert worst(Exit(code) for code in codes) == expected
