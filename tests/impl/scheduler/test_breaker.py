"""The breaker's rules as the seed gives them (§1 *Trip condition*, §2, §3), fed with steps at chosen
instants."""

from __future__ import annotations

import weakref

import pytest
from echo_stand_ins import Bench, Node, Reads, convergence_of, doc, echo_of, place, remote, write

from quiesce.scheduler.breaker import MAX_WAITING_EVENTS, TRIP_EVENT
from quiesce.scheduler.breaker_pairs import ActionPairs, Deadlines, Pair
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerStats, Cleared, ClearReason, Gate, Move, Tripped

A, B, C = doc("a"), doc("b"), doc("c")
SMALL = BreakerPolicy(
    echo_window_ms=1_000,
    echo_trip_threshold=2,
    echo_backoff_base_ms=100,
    echo_backoff_max_ms=800,
    echo_quiet_reset_ms=5_000,
    max_echo_pairs=3,
)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def small() -> Bench:
    return Bench(SMALL)


# --- the trip ---


def test_the_twelfth_echo_in_the_window_trips(bench: Bench) -> None:
    for count in range(11):
        assert bench.echo(count * 1_000) == Gate(None, Move.KEPT)
    assert bench.echo(11_000) == Gate(11_500, Move.LATER)


def test_the_gate_opens_at_its_deadline(bench: Bench) -> None:
    bench.trip(0)
    assert bench.gate(499.999) == 500
    assert bench.gate(500) is None


def test_an_echo_at_the_last_instant_of_the_window_counts(bench: Bench) -> None:
    for now in (*range(11), 60_000):
        bench.echo(now)
    assert bench.gate(60_000) == 60_500


def test_an_echo_past_the_window_opens_a_new_one_at_one(bench: Bench) -> None:
    for now in (*range(11), 60_001):
        bench.echo(now)
    assert bench.gate(60_001) is None
    (pair,) = bench.breaker.pairs()
    assert (pair.echoes, pair.window_opened) == (1, 60_001)
    for _ in range(10):
        bench.echo(120_001)
    assert bench.gate(120_001) is None
    bench.echo(120_001)
    assert bench.gate(120_001) == 120_501


def test_the_window_opens_at_the_first_echo_and_does_not_slide(bench: Bench) -> None:
    bench.echo(0)
    for now in range(50_000, 50_010):
        bench.echo(now)  # eleven in the first window
    for now in range(60_001, 60_011):
        bench.echo(now)  # ten more, twenty in ten seconds across the boundary
    assert bench.breaker.stats(60_011).trips == 0


def test_a_convergence_clears_an_untripped_pair(bench: Bench) -> None:
    for now in range(11):
        bench.echo(now)
    assert bench.converge(11) == Gate(None, Move.KEPT)
    assert bench.breaker.pairs() == ()
    for now in range(12, 23):
        bench.echo(now)
    assert bench.breaker.stats(23).trips == 0


def test_a_convergence_of_another_document_clears_nothing(bench: Bench) -> None:
    bench.echo(0, A)
    bench.converge(1, B)
    assert bench.documents() == ["a"]


def test_a_convergence_without_a_pair_changes_nothing(bench: Bench) -> None:
    assert bench.converge(0) == Gate(None, Move.KEPT)
    assert bench.breaker.pairs() == ()
    assert bench.breaker.take_events() == ()


def test_threshold_one_trips_at_once() -> None:
    bench = Bench(BreakerPolicy(echo_trip_threshold=1))
    assert bench.echo(0) == Gate(500, Move.LATER)


def test_each_document_is_counted_apart(bench: Bench) -> None:
    for number in range(663):
        bench.echo(number, doc(f"item-{number}"))
    assert bench.breaker.stats(1_000) == BreakerStats(active=0, trips=0, cycles_observed=663)


def test_two_actions_of_one_label_are_counted_apart(bench: Bench) -> None:
    one, other = Node("render"), Node("render")
    for now in range(11):
        bench.echo(now, node=one)
        bench.echo(now, node=other)
    assert bench.breaker.stats(11).trips == 0
    bench.echo(11, node=one)
    assert (bench.gate(11, one), bench.gate(11, other)) == (511, None)


# --- the backoff ---


def test_each_echo_after_the_trip_renews_one_step_longer_up_to_the_cap(bench: Bench) -> None:
    now = bench.trip(0).until
    steps: list[float] = []
    for _ in range(8):
        assert now is not None
        until = bench.echo(now).until
        assert until is not None
        steps.append(until - now)
        now = until
    assert steps == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]


def test_a_renewal_needs_one_echo_and_comes_before_the_deadline_too(bench: Bench) -> None:
    bench.trip(0)
    assert bench.echo(100) == Gate(1_100, Move.LATER)


def test_a_lapsed_window_does_not_reset_a_tripped_pair(bench: Bench) -> None:
    bench.trip(0)
    assert bench.echo(70_000).until == 71_000


def test_a_convergence_lifts_the_backoff_and_the_pair_starts_afresh(bench: Bench) -> None:
    bench.trip(0)
    bench.echo(100)
    assert bench.converge(200) == Gate(None, Move.LIFTED)
    assert bench.gate(200) is None
    assert bench.trip(300) == Gate(800, Move.LATER)


def test_a_convergence_after_the_deadline_is_a_lift_too(bench: Bench) -> None:
    bench.trip(0)
    assert bench.converge(600) == Gate(None, Move.LIFTED)


def test_a_convergence_leaves_the_backoff_of_another_document_standing(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(100, B)
    assert bench.converge(200, A) == Gate(600, Move.KEPT)
    assert bench.converge(300, B) == Gate(None, Move.LIFTED)


def test_a_lift_falls_back_to_the_latest_deadline_that_stands(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(100, B)
    bench.trip(100, C)
    bench.echo(150, C)
    assert bench.gate(150) == 1_150
    assert bench.converge(200, C) == Gate(600, Move.EARLIER)


def test_a_lift_with_only_passed_deadlines_left_opens_the_gate(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(1_000, B)
    assert bench.converge(1_100, B) == Gate(None, Move.LIFTED)


def test_the_steps_of_one_run_all_apply_before_the_gate_is_made(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(0, B)
    gate = bench.apply(100, convergence_of(A), echo_of(B))
    assert gate == Gate(1_100, Move.LATER)
    assert bench.documents() == ["b"]
    assert bench.apply(200, echo_of(C), convergence_of(B)) == Gate(None, Move.LIFTED)


def test_a_run_without_steps_leaves_the_gate(bench: Bench) -> None:
    bench.trip(0)
    assert bench.apply(100) == Gate(500, Move.KEPT)
    assert bench.apply(600) == Gate(None, Move.KEPT)


# --- quiet ---


def test_a_tripped_pair_is_cleared_once_more_than_the_quiet_time_has_passed(bench: Bench) -> None:
    bench.trip(0)
    bench.breaker.housekeep(120_000)
    assert bench.documents() == ["note"]
    bench.breaker.housekeep(120_001)
    assert bench.documents() == []
    assert [(event.reason, event.held_ms) for event in bench.clears()] == [(ClearReason.QUIET, 120_001)]


def test_housekeeping_at_its_own_deadline_does_what_it_was_called_for(bench: Bench) -> None:
    assert bench.breaker.housekeeping_deadline() is None
    bench.trip(0)
    bench.echo(500)
    deadline = bench.breaker.housekeeping_deadline()
    assert deadline == 120_501
    bench.breaker.housekeep(deadline)
    assert bench.breaker.housekeeping_deadline() is None
    assert bench.documents() == []


def test_an_echo_at_the_last_instant_before_quiet_renews(bench: Bench) -> None:
    bench.trip(0)
    assert bench.echo(120_000).until == 121_000


def test_an_echo_after_a_quiet_stretch_starts_afresh_though_nobody_kept_house(bench: Bench) -> None:
    bench.trip(0)
    assert bench.echo(120_001) == Gate(None, Move.KEPT)
    (pair,) = bench.breaker.pairs()
    assert (pair.tripped, pair.echoes) == (False, 1)
    assert [event.reason for event in bench.clears()] == [ClearReason.QUIET]


def test_every_echo_puts_the_quiet_time_off(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(10_000, B)
    bench.echo(50_000, A)
    assert bench.breaker.housekeeping_deadline() == 130_001
    bench.breaker.housekeep(130_001)
    assert bench.documents() == ["a"]
    assert bench.breaker.housekeeping_deadline() == 170_001


def test_an_untripped_pair_never_falls_quiet(bench: Bench) -> None:
    bench.echo(0)
    assert bench.breaker.housekeeping_deadline() is None
    bench.breaker.housekeep(10_000_000)
    assert bench.documents() == ["note"]


# --- retirement ---


def test_retirement_drops_pairs_and_gate_and_reports_the_tripped(bench: Bench) -> None:
    bench.trip(0, A)
    bench.echo(10, A)
    bench.echo(20, B)
    assert bench.breaker.retire(bench.node, 50) == Gate(None, Move.LIFTED)
    assert bench.gate(50) is None
    assert bench.breaker.pairs() == ()
    assert bench.clears() == [Cleared("greeting", A, 50, ClearReason.RETIRED, renewals=1, held_ms=50)]


def test_a_later_registration_of_the_action_inherits_nothing(bench: Bench) -> None:
    bench.trip(0)
    bench.breaker.retire(bench.node, 50)
    for now in range(60, 71):
        assert bench.echo(now).until is None
    assert bench.echo(71).until == 571


def test_retirement_of_one_action_leaves_another(bench: Bench) -> None:
    other = Node()
    bench.trip(0)
    bench.trip(0, node=other)
    bench.breaker.retire(bench.node, 50)
    assert (bench.gate(50), bench.gate(50, other)) == (None, 500)


def test_retirement_without_a_pair_is_nothing(bench: Bench) -> None:
    assert bench.breaker.retire(bench.node, 0) == Gate(None, Move.KEPT)
    assert bench.breaker.take_events() == ()


def test_retirement_drops_the_deadline_that_an_evicted_pair_left(small: Bench) -> None:
    small.trip(0, A)
    for number in range(3):
        small.echo(10, doc(f"d{number}"), node=Node())
    assert small.gate(20) == 100
    assert small.breaker.retire(small.node, 20) == Gate(None, Move.LIFTED)
    assert (small.gate(20), small.active(20)) == (None, 0)
    small.breaker.housekeep(200)


def test_a_pair_that_fell_quiet_before_retirement_is_reported_as_quiet(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(100_000, B)
    bench.breaker.retire(bench.node, 120_001)
    assert [(event.document, event.reason) for event in bench.clears()] == [
        (A, ClearReason.QUIET),
        (B, ClearReason.RETIRED),
    ]


def test_retirement_reports_the_oldest_pair_first(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(1, B)
    bench.echo(2, A)
    bench.breaker.retire(bench.node, 3)
    assert [event.document for event in bench.clears()] == [B, A]


# --- the bounded table ---


def test_the_table_is_bounded_and_gives_up_the_oldest(bench: Bench) -> None:
    for number in range(4_097):
        bench.echo(number, doc(f"d{number}"))
    pairs = bench.breaker.pairs()
    assert len(pairs) == 4_096
    assert pairs[0].document == doc("d1")


def test_a_counted_echo_makes_a_pair_the_youngest(small: Bench) -> None:
    for now, document in enumerate((A, B, C, A)):
        small.echo(now, document)
    assert small.documents() == ["b", "c", "a"]
    small.echo(5, doc("d"))
    assert small.documents() == ["c", "a", "d"]


def test_a_tripped_pair_is_evicted_in_its_turn(small: Bench) -> None:
    small.trip(0, A)
    small.echo(1, B)
    small.echo(2, C)
    small.echo(3, doc("d"))
    assert small.documents() == ["b", "c", "d"]
    assert small.clears() == [Cleared("greeting", A, 3, ClearReason.EVICTED, renewals=0, held_ms=3)]


def test_an_untripped_pair_is_evicted_without_a_report(small: Bench) -> None:
    for now, name in enumerate("abcd"):
        small.echo(now, doc(name))
    assert small.breaker.take_events() == ()


def fill_until_a_is_evicted(small: Bench, now: float) -> None:
    for name in "bcd":
        small.echo(now, doc(name), node=Node())


def test_the_deadline_of_an_evicted_pair_stands_until_it_passes(small: Bench) -> None:
    small.trip(0, A)
    fill_until_a_is_evicted(small, 10)
    assert (small.gate(99), small.active(99)) == (100, 1)
    assert (small.gate(100), small.active(100)) == (None, 0)


def test_an_evicted_pairs_deadline_counts_when_another_pair_is_cleared(small: Bench) -> None:
    small.trip(0, A)
    small.trip(5, B)
    small.echo(6, C, node=Node())
    small.echo(7, doc("d"), node=Node())
    assert small.documents() == ["b", "c", "d"]
    assert small.converge(10, B) == Gate(100, Move.EARLIER)
    assert small.apply(100, convergence_of(B)) == Gate(None, Move.KEPT)


def test_a_convergence_does_not_lift_an_evicted_pairs_deadline(small: Bench) -> None:
    small.trip(0, A)
    fill_until_a_is_evicted(small, 10)
    assert not small.breaker.tracks(small.node)
    small.echo(20, A)
    assert small.converge(30, A) == Gate(100, Move.KEPT)


def test_an_action_whose_last_deadline_has_passed_is_let_go(small: Bench) -> None:
    node = Node()
    gone = weakref.ref(node)
    small.trip(0, A, node=node)
    del node
    fill_until_a_is_evicted(small, 10)
    small.breaker.housekeep(99)
    assert gone() is not None
    small.breaker.housekeep(100)
    assert gone() is None


def test_a_pair_renewed_for_days_keeps_a_bounded_heap() -> None:
    deadlines = Deadlines()
    pair = Pair(ActionPairs(Node()), A, window_opened=0, last_echo=0, last_kickoff=(0, 0))
    for at in range(10_000):
        deadlines.set(pair, at)
        assert deadlines.latest() == at
    assert deadlines.entries <= 18
    deadlines.set(pair, 3)
    assert deadlines.latest() == 3


def test_an_evicted_pair_starts_again_at_one(small: Bench) -> None:
    small.trip(0, A)
    fill_until_a_is_evicted(small, 10)
    assert small.echo(20, A) == Gate(100, Move.KEPT)
    assert small.breaker.pairs()[-1].echoes == 1


# --- a run, from kickoff to success ---


def run(bench: Bench, now: float, node: Node, *, overwrites: bool) -> Gate:
    capture = bench.breaker.capture([remote("value")], [write("value")] if overwrites else [], now)
    steps = bench.breaker.steps(node, capture, Reads(deep=(place("value"),)))
    return bench.breaker.observe(node, steps, now)


def test_runs_that_overwrite_trip_and_one_that_agrees_lifts(bench: Bench) -> None:
    for now in range(12):
        run(bench, now, bench.node, overwrites=True)
    assert bench.gate(12) == 511
    assert run(bench, 600, bench.node, overwrites=False) == Gate(None, Move.LIFTED)


def test_steps_are_formed_against_the_pairs_held_at_success(bench: Bench) -> None:
    agreeing = bench.breaker.capture([remote("value")], [], 0)
    overwriting = bench.breaker.capture([remote("value")], [write("value")], 1)
    reads = Reads(deep=(place("value"),))
    assert bench.breaker.steps(bench.node, agreeing, reads) == ()
    bench.breaker.observe(bench.node, bench.breaker.steps(bench.node, overwriting, reads), 2)
    bench.breaker.observe(bench.node, bench.breaker.steps(bench.node, agreeing, reads), 3)
    assert bench.breaker.pairs() == ()


def test_an_input_that_the_action_does_not_write_never_trips(bench: Bench) -> None:
    clock, output = doc("clock"), doc("output")
    reads = Reads(deep=(place(of=clock), place(of=output)))
    for now in range(1_000):
        capture = bench.breaker.capture([remote("value", of=clock)], [write("value", of=output)], now)
        bench.breaker.observe(bench.node, bench.breaker.steps(bench.node, capture, reads), now)
    assert bench.breaker.stats(1_000) == BreakerStats(active=0, trips=0, cycles_observed=0)


# --- what is told ---


def test_one_line_a_trip_in_the_seeds_words(bench: Bench) -> None:
    document = doc("note", instance="session:ann:tab-1")
    bench.trip(0, document)
    for now in range(500, 100_000, 20_000):
        bench.echo(now, document)
    assert bench.log.lines == [
        (
            TRIP_EVENT,
            "action greeting rewrote document home/session:ann:tab-1/note 12 times within 60000ms "
            "against a remote writer; backing off its re-runs, starting at 500ms",
        )
    ]
    assert TRIP_EVENT == "remote-echo-breaker-tripped"


def test_every_trip_has_its_own_line(bench: Bench) -> None:
    bench.trip(0)
    bench.converge(1)
    bench.trip(2)
    bench.trip(2, A)
    assert len(bench.log.lines) == bench.breaker.stats(3).trips == 3


def test_a_trip_and_its_end_are_reported_with_renewals_and_held_time(bench: Bench) -> None:
    bench.trip(1_000)
    bench.echo(1_500)
    bench.echo(2_500)
    bench.converge(4_500)
    assert bench.breaker.take_events() == (
        Tripped("greeting", doc(), 1_000),
        Cleared("greeting", doc(), 4_500, ClearReason.CONVERGENCE, renewals=2, held_ms=3_500),
    )
    assert bench.breaker.take_events() == ()


def test_events_nobody_takes_are_bounded_and_the_loss_is_counted(bench: Bench) -> None:
    for now in range(MAX_WAITING_EVENTS):
        bench.trip(now)
        bench.converge(now)
    events = bench.breaker.take_events()
    assert len(events) == MAX_WAITING_EVENTS
    assert bench.breaker.events_dropped == MAX_WAITING_EVENTS
    assert events[-1].at == MAX_WAITING_EVENTS - 1


def test_active_follows_deadlines_and_not_tripped_pairs(bench: Bench) -> None:
    bench.trip(0, A)
    bench.trip(100, B)
    assert [bench.active(now) for now in (100, 499, 500, 599, 600)] == [2, 2, 1, 1, 0]
    assert len(bench.breaker.pairs()) == 2


def test_reading_changes_nothing(bench: Bench) -> None:
    bench.trip(0)
    before = bench.breaker.pairs()
    for now in (0, 500, 500_000):
        bench.breaker.stats(now)
        bench.gate(now)
        bench.breaker.housekeeping_deadline()
        bench.breaker.steps(bench.node, bench.breaker.capture([], [], now), Reads())
    assert bench.breaker.pairs() == before
    assert bench.breaker.stats(0) == BreakerStats(active=1, trips=1, cycles_observed=12)


def test_a_breaker_that_nothing_echoes_to_keeps_nothing(bench: Bench) -> None:
    nodes = [Node() for _ in range(100)]
    for node in nodes:
        bench.trip(0, node=node)
        bench.converge(1, node=node)
    assert bench.breaker.pairs() == ()
    assert not any(bench.breaker.tracks(node) for node in nodes)
