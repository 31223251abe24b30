"""The published counts of the yardstick, from the search alone: its relation is written by hand."""

from __future__ import annotations

import pytest
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines.explore import explore
from quiesce_checks.verdict import Outcome


@pytest.mark.parametrize("scope", SCOPES)
def test_native_search_gives_the_published_counts(scope: str) -> None:
    expected = SCOPES[scope]
    found = explore(yardstick(expected), engine="native", confirm=None)
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (expected.distinct, expected.generated, expected.depth)
    assert found.verdict("waits_within_backoff").outcome is Outcome.HOLDS
    assert found.statistics.exhausted


@pytest.mark.parametrize("scope", ["base", "small"])
def test_plain_search_gives_the_published_counts(scope: str) -> None:
    expected = SCOPES[scope]
    found = explore(yardstick(expected), engine="interpreted", confirm=None)
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (expected.distinct, expected.generated, expected.depth)


def test_a_state_with_its_parent_takes_at_most_24_bytes() -> None:
    found = explore(yardstick(SCOPES["large"]), engine="native", confirm=None).statistics
    assert found.bytes / found.distinct <= 24


def test_the_planted_bug_lies_28_steps_deep() -> None:
    found = explore(yardstick(SCOPES["large"], bug=True), engine="native", stop="first", confirm=None)
    assert found.verdict("waits_within_backoff").outcome is Outcome.VIOLATED
    assert found.traces["waits_within_backoff"].length == 28


def test_counts_of_actions_sum_to_the_transitions() -> None:
    found = explore(yardstick(SCOPES["base"]), engine="native", confirm=None)
    assert sum(count.taken for count in found.statistics.actions) == found.statistics.generated - 1
    assert {count.action: count.first_level for count in found.by_name} == {"elapse": 1, "agree": 1, "run": 1}
    assert [count.first_level for count in found.statistics.actions] == [1, 1, 2, 1]
