"""Each named repair of the breaker: what it changes, and that without it the rule is the seed's."""

from __future__ import annotations

import pytest
from echo_stand_ins import Bench, Node, Reads, convergence_of, doc, echo_of, place, remote, write

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, ClearReason, Gate, Move
from quiesce.scheduler.echo import Cause, Origin

A, B, C, D = (doc(name) for name in "abcd")


# --- evict_untripped_first ---


def evicting(*, repaired: bool) -> Bench:
    return Bench(
        BreakerPolicy(echo_trip_threshold=2, max_echo_pairs=3, evict_untripped_first=repaired),
    )


def test_evict_untripped_first_spares_the_oldest_pair_if_it_has_tripped() -> None:
    kept: list[list[str]] = []
    for repaired in (False, True):
        bench = evicting(repaired=repaired)
        bench.trip(0, A)
        for now, document in enumerate((B, C, D), start=1):
            bench.echo(now, document)
        kept.append(bench.documents())
    assert kept == [["b", "c", "d"], ["a", "c", "d"]]


def test_evict_untripped_first_takes_the_oldest_tripped_pair_if_there_is_no_other() -> None:
    bench = evicting(repaired=True)
    for now, document in enumerate((A, B, C)):
        bench.trip(now, document)
    bench.echo(5, D)
    assert bench.documents() == ["b", "c", "d"]
    assert [event.reason for event in bench.clears()] == [ClearReason.EVICTED]


# --- kickoff_order ---


def test_as_specified_steps_apply_in_the_order_of_success() -> None:
    bench = Bench()
    bench.apply(10, echo_of(kickoff=5))
    bench.apply(11, convergence_of(kickoff=4))
    assert bench.documents() == []


def test_kickoff_order_ignores_a_convergence_older_than_the_pairs_last_step() -> None:
    bench = Bench(BreakerPolicy(kickoff_order=True))
    bench.apply(10, echo_of(kickoff=5))
    bench.apply(11, convergence_of(kickoff=4))
    assert bench.documents() == ["note"]
    bench.apply(12, echo_of(kickoff=9))
    bench.apply(13, convergence_of(kickoff=8))
    assert bench.documents() == ["note"]
    bench.apply(14, convergence_of(kickoff=9))
    assert bench.documents() == []


def test_kickoff_order_ignores_an_older_echo_altogether() -> None:
    bench = Bench(BreakerPolicy(kickoff_order=True))
    bench.apply(10, echo_of(A, kickoff=5))
    bench.apply(11, echo_of(B, kickoff=5))
    before = bench.breaker.pairs()
    bench.apply(12, echo_of(A, kickoff=4))
    assert bench.breaker.pairs() == before
    assert bench.breaker.stats(12).cycles_observed == 2


def test_kickoff_order_does_not_renew_a_backoff_for_an_older_echo() -> None:
    bench = Bench(BreakerPolicy(echo_trip_threshold=1, kickoff_order=True))
    bench.apply(10, echo_of(kickoff=5))
    assert bench.apply(12, echo_of(kickoff=4)) == Gate(510, Move.KEPT)


@pytest.mark.parametrize("kickoff_order", [False, True])
def test_kickoff_order_tells_commits_apart_that_were_started_in_one_millisecond(kickoff_order: bool) -> None:
    """The later of two runs is known first to have succeeded. The one that it overtook counts only as specified."""
    bench = Bench(BreakerPolicy(echo_trip_threshold=3, kickoff_order=kickoff_order))
    bench.echo(0)
    overtaken, later = (bench.breaker.capture([remote()], [write()], 10) for _ in range(2))
    for capture in (later, overtaken):
        bench.apply(20, *bench.breaker.steps(bench.node, capture, Reads((place(),))))
    (pair,) = bench.breaker.pairs()
    assert (pair.echoes, pair.tripped) == ((2, False) if kickoff_order else (3, True))


def test_kickoff_order_counts_a_settling_convergence_as_the_pairs_last_step() -> None:
    bench = Bench(BreakerPolicy(kickoff_order=True, clear_when_settled=True))
    bench.apply(10, echo_of(kickoff=5))
    bench.apply(11, convergence_of(kickoff=7))
    bench.apply(12, echo_of(kickoff=6))
    assert bench.breaker.stats(12).cycles_observed == 1


# --- clear_when_settled ---


def settling(threshold: int = 12) -> Bench:
    return Bench(BreakerPolicy(echo_trip_threshold=threshold, clear_when_settled=True))


def test_settling_lifts_the_deadline_and_keeps_the_pair() -> None:
    bench = settling()
    bench.trip(0)
    assert bench.converge(100) == Gate(None, Move.LIFTED)
    assert (bench.gate(100), bench.active(100), bench.documents()) == (None, 0, ["note"])
    assert bench.clears() == []


def test_an_echo_while_settling_renews_a_tripped_pair_where_it_was() -> None:
    bench = settling()
    bench.trip(0)
    bench.echo(500)
    bench.converge(600)
    assert bench.echo(30_600) == Gate(32_600, Move.LATER)
    bench.breaker.housekeep(90_000)
    assert bench.documents() == ["note"]


def test_an_echo_while_settling_counts_on_for_an_untripped_pair() -> None:
    bench = settling()
    for now in range(6):
        bench.echo(now)
        bench.converge(now)
    for now in range(10, 15):
        bench.echo(now)
    assert bench.gate(15) is None
    assert bench.echo(16) == Gate(516, Move.LATER)


def test_as_specified_the_same_steps_never_trip() -> None:
    bench = Bench()
    for now in range(100):
        bench.echo(now)
        bench.converge(now)
    assert bench.breaker.stats(100).trips == 0


def test_a_settling_pairs_window_is_still_a_window() -> None:
    bench = settling()
    bench.echo(0)
    bench.converge(45_000)
    bench.echo(60_001)
    (pair,) = bench.breaker.pairs()
    assert (pair.echoes, pair.window_opened) == (1, 60_001)


def test_a_settled_pair_is_cleared_once_the_period_has_passed() -> None:
    bench = settling()
    bench.trip(0)
    bench.echo(500)
    bench.converge(1_000)
    assert bench.breaker.housekeeping_deadline() == 31_001
    bench.breaker.housekeep(31_000)
    assert bench.documents() == ["note"]
    bench.breaker.housekeep(31_001)
    assert bench.documents() == []
    assert bench.clears() == [Cleared("greeting", doc(), 31_001, ClearReason.CONVERGENCE, renewals=1, held_ms=31_001)]


def test_an_echo_past_the_period_starts_afresh_though_nobody_kept_house() -> None:
    bench = settling()
    bench.trip(0)
    bench.converge(1_000)
    assert bench.echo(31_001) == Gate(None, Move.KEPT)
    assert [event.reason for event in bench.clears()] == [ClearReason.CONVERGENCE]


def test_each_convergence_starts_the_period_anew() -> None:
    bench = settling()
    bench.trip(0)
    bench.converge(1_000)
    bench.converge(20_000)
    bench.breaker.housekeep(49_000)
    assert bench.documents() == ["note"]
    bench.breaker.housekeep(50_001)
    assert bench.documents() == []


def test_periods_end_in_the_order_in_which_they_were_started() -> None:
    bench = settling(threshold=1)
    bench.echo(0, A)
    bench.echo(0, B)
    bench.converge(1_000, A)
    bench.converge(2_000, B)
    bench.converge(3_000, A)
    assert bench.breaker.housekeeping_deadline() == 32_001
    bench.breaker.housekeep(32_001)
    assert bench.documents() == ["a"]


def test_a_pair_that_converges_for_ever_ends_by_its_quiet() -> None:
    bench = settling()
    bench.trip(0)
    for now in range(1_000, 121_000, 10_000):
        bench.converge(now)
    bench.breaker.housekeep(120_001)
    assert [event.reason for event in bench.clears()] == [ClearReason.QUIET]
    assert bench.breaker.housekeeping_deadline() is None


def test_an_untripped_pair_settles_without_a_report() -> None:
    bench = settling()
    bench.echo(0)
    bench.converge(1_000)
    bench.breaker.housekeep(31_001)
    assert (bench.documents(), bench.clears()) == ([], [])


def test_retirement_ends_a_settling_pair() -> None:
    bench = settling()
    bench.trip(0)
    bench.converge(1_000)
    bench.breaker.retire(bench.node, 2_000)
    assert [event.reason for event in bench.clears()] == [ClearReason.RETIRED]
    assert bench.breaker.housekeeping_deadline() is None


def test_when_housekeeping_is_late_the_end_that_came_first_is_the_one_reported() -> None:
    late = settling(threshold=1)
    late.echo(0, A)
    late.converge(95_000, A)  # would settle after 125,000, but is quiet after 120,000
    late.echo(110_000, B, node=Node())
    late.breaker.housekeep(10_000_000)
    assert [(event.document, event.reason) for event in late.clears()] == [
        (A, ClearReason.QUIET),
        (B, ClearReason.QUIET),
    ]


# --- remote_causes_only and ignore_own_reverts ---


def runs_to_trip(policy: BreakerPolicy, *origins: Origin) -> int | None:
    """How many overwriting runs with causes of these origins it takes to trip, of a hundred."""
    bench = Bench(policy)
    causes = [Cause(place("value"), origin) for origin in origins]
    for run in range(1, 101):
        capture = bench.breaker.capture(causes, [write("value")], run)
        steps = bench.breaker.steps(bench.node, capture, Reads(deep=(place("value"),)))
        if bench.breaker.observe(bench.node, steps, run).until is not None:
            return run
    return None


def test_as_specified_every_origin_of_a_cause_counts() -> None:
    assert [runs_to_trip(BreakerPolicy(), origin) for origin in Origin] == [12, 12, 12]


def test_remote_causes_only_counts_remote_causes_only() -> None:
    policy = BreakerPolicy(remote_causes_only=True)
    found = {origin: runs_to_trip(policy, origin) for origin in Origin}
    assert found == {Origin.REMOTE: 12, Origin.LOCAL: None, Origin.OWN_REVERT: None}
    assert runs_to_trip(policy, Origin.LOCAL, Origin.REMOTE) == 12


def test_ignore_own_reverts_ignores_own_reverts_only() -> None:
    policy = BreakerPolicy(ignore_own_reverts=True)
    found = {origin: runs_to_trip(policy, origin) for origin in Origin}
    assert found == {Origin.REMOTE: 12, Origin.LOCAL: 12, Origin.OWN_REVERT: None}
    assert runs_to_trip(policy, Origin.OWN_REVERT, Origin.REMOTE) == 12


def test_both_together_count_remote_causes_only() -> None:
    policy = BreakerPolicy(remote_causes_only=True, ignore_own_reverts=True)
    assert [runs_to_trip(policy, origin) for origin in Origin] == [12, None, None]


def test_an_own_revert_neither_counts_nor_clears() -> None:
    bench = Bench(BreakerPolicy(ignore_own_reverts=True))
    bench.trip(0)
    revert = [Cause(place("value"), Origin.OWN_REVERT)]
    for writes in ([], [write("value")]):
        capture = bench.breaker.capture(revert, writes, 100)
        assert bench.breaker.steps(bench.node, capture, Reads(deep=(place("value"),))) == ()
    assert bench.gate(100) == 500
