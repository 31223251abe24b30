"""What an exploration says of each property, and with which trace."""

from __future__ import annotations

import pytest
from explored_machines import Counter, Idle, Lamps, Overflow, Signs, Stuck, Trap

from quiesce_checks.engines.explore import Engine, Stop, explore
from quiesce_checks.relation.build import proof_relation
from quiesce_checks.verdict import Outcome

ENGINES: tuple[Engine, ...] = ("native", "interpreted")


@pytest.mark.parametrize("engine", ENGINES)
def test_each_violated_property_has_a_shortest_trace_of_its_own(engine: Engine) -> None:
    found = explore(Counter(), engine=engine)
    assert {name: trace.length for name, trace in found.traces.items()} == {
        "below_four": 2,
        "below_nine": 4,
        "jumps_low": 4,
    }
    assert [str(step) for step in found.traces["below_four"].steps] == ["up", "jump"]
    assert found.traces["below_four"].states == ((0,), (1,), (4,))
    assert [str(step) for step in found.traces["jumps_low"].steps] == ["up", "jump", "jump", "jump"]


def test_a_trace_says_which_property_fails_and_where_it_is_written() -> None:
    failure = explore(Counter(), ["below_four"]).traces["below_four"].failure
    assert failure is not None
    assert failure.property == "below_four"
    assert failure.site is not None
    assert failure.site.file.endswith("explored_machines.py")


def test_what_holds_is_said_of_an_exhausted_scope() -> None:
    verdict = explore(Counter()).verdict("in_range")
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.how == "13 states, exhausted, depth 7"
    assert verdict.trace is None


def test_a_reachable_that_is_found_holds_and_carries_its_witness() -> None:
    verdict = explore(Counter()).verdict("full")
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.trace is not None
    assert verdict.trace.length == 6
    assert verdict.trace.failure is None


def test_a_reachable_that_is_nowhere_in_the_scope_is_vacuous() -> None:
    verdict = explore(Counter()).verdict("beyond")
    assert verdict.outcome is Outcome.VACUOUS
    assert verdict.notes


def test_the_search_ends_when_all_that_was_asked_is_decided() -> None:
    found = explore(Counter(), ["below_four", "full"])
    assert found.stop is Stop.DECIDED
    assert [v.property for v in found.verdicts] == ["below_four", "full"]


@pytest.mark.parametrize("engine", ENGINES)
def test_stop_first_leaves_the_rest_inconclusive(engine: Engine) -> None:
    found = explore(Lamps(), stop="first", engine=engine)
    outcomes = {v.property: v.outcome for v in found.verdicts}
    assert outcomes["one_rests"] is Outcome.VIOLATED
    assert outcomes["off_is_dark"] is Outcome.INCONCLUSIVE
    assert outcomes["bright"] is Outcome.INCONCLUSIVE
    assert not found.statistics.exhausted


@pytest.mark.parametrize("engine", ENGINES)
def test_leaving_a_domain_is_a_fault_with_its_attempt_and_place(engine: Engine) -> None:
    found = explore(Overflow(), engine=engine)
    trace = found.verdict("no_fault").trace
    assert trace is not None
    assert trace.length == 2
    assert trace.failure is not None
    assert str(trace.failure.attempted) == "grow(by=1)"
    assert trace.failure.text.startswith("n:")
    assert trace.failure.site is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_where_only_time_that_changes_nothing_is_left_is_a_deadlock(engine: Engine) -> None:
    found = explore(Trap(), engine=engine)
    verdict = found.verdict("no_deadlock")
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert [str(step) for step in verdict.trace.steps] == ["safe", "wrong", "elapse(d=1)", "elapse(d=1)"]


def test_a_terminal_state_is_no_deadlock() -> None:
    assert explore(Counter()).verdict("no_deadlock").outcome is Outcome.HOLDS


def test_deadlock_is_judged_where_a_terminal_is_declared_or_it_is_asked_for() -> None:
    assert [v.property for v in explore(Stuck()).verdicts] == ["three", "no_fault"]
    assert explore(Stuck(), deadlock=True).verdict("no_deadlock").outcome is Outcome.VIOLATED
    assert explore(Stuck(), ["no_deadlock"]).verdict("no_deadlock").outcome is Outcome.VIOLATED
    assert "no_deadlock" not in [v.property for v in explore(Counter(), deadlock=False).verdicts]
    assert explore(Idle(), deadlock=True).verdict("no_deadlock").outcome is Outcome.HOLDS


def test_an_action_never_taken_is_named() -> None:
    found = explore(Stuck())
    assert found.never_taken == ("never",)
    assert [count.first_level for count in found.statistics.actions] == [None]


def test_counts_by_name_sum_the_arguments() -> None:
    counts = {count.action: count for count in explore(Lamps()).by_name}
    assert set(counts) == {"light", "douse", "elapse"}
    assert counts["light"].first_level == 1
    assert counts["douse"].first_level == 4


def test_an_unknown_property_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="it has: below_nine, below_four"):
        explore(Counter(), ["below"])


def test_the_unbounded_reading_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the reading 'explored'"):
        explore(proof_relation(Lamps()))


def test_small_scopes_are_answered_without_a_compiler() -> None:
    found = explore(Signs())
    assert found.searched is not None
    assert found.searched.engine == "explore (interpreted)"
