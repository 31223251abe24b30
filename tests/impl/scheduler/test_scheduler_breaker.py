"""The breaker in its place: two sessions over one emulated server with manual fan-out (seed §6)."""

from __future__ import annotations

import pytest
from scheduler_world import D, Peer, Sessions

from quiesce.address import Scope
from quiesce.commits import Document
from quiesce.scheduler.breaker import TRIP_EVENT
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, ClearReason, Gate, Move, Tripped
from quiesce.scheduler.node import Node
from quiesce.scheduler.reports import report_to
from quiesce.scheduler.run import Run
from quiesce.server.health import stats as health

IN = Document("in")
NEVER = BreakerPolicy(echo_trip_threshold=10**9)


def tagging(peer: Peer, tag: str, *, explicit: bool = True) -> Node:
    """An effect that writes its own tag to the shared document."""

    def body(run: Run) -> None:
        if explicit:
            run.read(D)
        run.write(D, (), tag)

    return peer.effect(f"tag-{tag}", body)


@pytest.fixture
def world() -> Sessions:
    return Sessions()


@pytest.fixture
def pair(world: Sessions) -> tuple[Peer, Peer]:
    return world.peer("alice"), world.peer("bob")


def stats(*peers: Peer) -> list[tuple[int, int, int]]:
    return [
        (held.active, held.trips, held.cycles_observed)
        for held in (peer.scheduler.echo_breaker_stats() for peer in peers)
    ]


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit read", "diff base alone"])
def test_both_sides_trip_and_commits_stop_while_time_is_held(
    world: Sessions, pair: tuple[Peer, Peer], explicit: bool
) -> None:
    """The write's own diff-base read is enough, and trips at the same exchange."""
    alice, bob = pair
    tagging(alice, "a", explicit=explicit)
    tagging(bob, "b", explicit=explicit)
    world.settle()
    assert stats(alice, bob) == [(1, 1, 12), (1, 1, 12)]
    assert world.commits == 1 + 24
    assert all(peer.counts.counts_breakdown()["scheduler"][TRIP_EVENT] == 1 for peer in pair)
    assert [type(report) for report in alice.reports] == [Tripped]


def test_without_the_breaker_the_same_loop_never_stops(pair: tuple[Peer, Peer]) -> None:
    world = Sessions(policy=NEVER)
    tagging(world.peer("alice"), "a")
    tagging(world.peer("bob"), "b")
    with pytest.raises(RuntimeError, match="never come to rest"):
        world.settle(limit=500)
    assert world.commits > 400


def test_one_run_a_cycle_while_the_disagreement_goes_on(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    nodes = [tagging(alice, "a"), tagging(bob, "b")]
    world.settle()
    for backoff in (500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000):
        before = [node.runs for node in nodes]
        world.advance(backoff - 1)
        assert [node.runs for node in nodes] == before
        world.advance(1)
        assert all(node.runs - was <= 1 for node, was in zip(nodes, before, strict=True))
        assert sum(node.runs for node in nodes) > sum(before)
    assert [peer.counts.counts_breakdown()["scheduler"][TRIP_EVENT] for peer in pair] == [1, 1]


def test_thirty_six_commits_a_session_in_ten_minutes(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    tagging(alice, "a")
    tagging(bob, "b")
    world.settle()
    world.advance(600_000)
    assert world.commits == pytest.approx(72, abs=2)


def test_the_wake_of_a_backed_off_run_neither_holds_idle_nor_is_lost(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    tagging(alice, "a")
    tagging(bob, "b")
    world.settle()
    assert all(peer.scheduler.is_idle(durable=True) for peer in pair)
    assert any(peer.scheduler.has_armed_gate_wake() for peer in pair)


def test_agreement_clears_the_pair_and_lifts_the_backoff(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    tag = {"bob": "b"}
    tagging(alice, "a")

    def body(run: Run) -> None:
        run.read(D)
        run.write(D, (), tag["bob"])

    node = bob.effect("tag-b", body)
    world.settle()
    tag["bob"] = "a"
    world.advance(60_000)
    assert bob.value("d") == "a"
    commits = world.commits
    world.advance(60_000)
    assert world.commits == commits
    assert node.gates.echo_backoff_until == 0
    assert [held[0] for held in stats(alice, bob)] == [0, 0]
    assert [report.reason for report in bob.reports if isinstance(report, Cleared)] == [ClearReason.CONVERGENCE]


def test_a_pair_that_ends_without_a_run_is_cleared_by_quiet(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    nodes = {peer: tagging(peer, "a" if peer is alice else "b") for peer in pair}
    world.settle()
    last = bob if alice.value("d") == "a" else alice  # the one whose run is deferred
    other = alice if last is bob else bob
    last.scheduler.unregister(nodes[last])
    world.settle()
    world.advance(119_999)
    assert not [report for report in other.reports if isinstance(report, Cleared)]
    world.advance(10)
    cleared = [report for report in other.reports if isinstance(report, Cleared)]
    assert [report.reason for report in cleared] == [ClearReason.QUIET]


def test_housekeeping_is_no_wake_and_holds_no_idle(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    nodes = {peer: tagging(peer, "a" if peer is alice else "b") for peer in pair}
    world.settle()
    last = bob if alice.value("d") == "a" else alice
    other = alice if last is bob else bob
    last.scheduler.unregister(nodes[last])
    world.settle()
    assert other.scheduler.is_idle(durable=True)
    assert not other.scheduler.has_armed_gate_wake()
    assert other.scheduler.timer_at is not None


def test_a_registration_inherits_no_backoff(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    nodes = {peer: tagging(peer, "a" if peer is alice else "b") for peer in pair}
    world.settle()
    last = bob if alice.value("d") == "a" else alice
    node = nodes[last]
    assert node.gates.echo_backoff_until > world.clock.now
    runs = node.runs
    last.scheduler.unregister(node)
    assert node.gates.echo_backoff_until == 0
    assert [report.reason for report in last.reports if isinstance(report, Cleared)] == [ClearReason.RETIRED]
    last.scheduler.register(node)
    last.run()
    assert node.runs == runs + 1


@pytest.mark.parametrize(("until", "move"), [(None, Move.LIFTED), (100, Move.EARLIER)])
def test_a_gate_that_is_lifted_or_lowered_is_noticed_at_once(
    world: Sessions, pair: tuple[Peer, Peer], until: float | None, move: Move
) -> None:
    """An older commit's convergence may end a backoff behind which a run is waiting already."""
    alice, _ = pair
    node = alice.effect("e", lambda run: run.read(IN))
    world.settle()
    start = world.clock.now
    alice.scheduler.apply_echo_gate(node, Gate(start + 500, Move.LATER))
    alice.put("in", 1)
    world.settle()
    assert (node.runs, alice.scheduler.wake_at) == (1, start + 500)
    alice.scheduler.apply_echo_gate(node, Gate(until and start + until, move))
    world.settle()
    world.advance(until or 0)
    assert (node.runs, world.clock.now - start) == (2, until or 0)


def test_a_late_success_of_an_older_registration_makes_no_step(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    node = tagging(alice, "a")
    world.settle()
    bob.put("d", "b")
    world.loop.settle()
    alice.run()  # an echo, whose commit is under way
    alice.scheduler.unregister(node)
    alice.scheduler.register(node)
    world.settle()
    assert stats(alice) == [(0, 0, 0)]


def test_a_real_change_of_another_input_is_served_when_the_backoff_ends(
    world: Sessions, pair: tuple[Peer, Peer]
) -> None:
    alice, bob = pair
    alice.put("in", 0)
    world.settle()
    alice.effect("a", lambda run: (run.read(D), run.write(D, (), f"a{run.read(IN)}")))
    tagging(bob, "b")
    world.settle()
    world.advance(60_000)
    alice.put("in", 1)
    world.settle()
    seen: list[object] = []
    alice.effect("watch", lambda run: seen.append(run.read(D)))
    world.advance(61_000)
    assert "a1" in seen


# -- what is no loop


@pytest.mark.parametrize("beside", [False, True], ids=["another document", "another field"])
def test_a_derivation_of_anothers_edits_never_trips(world: Sessions, pair: tuple[Peer, Peer], beside: bool) -> None:
    alice, bob = pair
    alice.put("d", {"input": 0, "output": 0})
    world.settle()
    target = (D, ("output",)) if beside else (Document("out"), ())
    alice.effect("derive", lambda run: run.write(*target, run.read(D, ("input",))))
    world.settle()
    for number in range(1, 40):
        bob.put("d", number, ("input",))
        world.settle()
    assert alice.value(*target) == 39
    assert stats(alice) == [(0, 0, 0)]


def test_two_people_who_type_into_one_document_never_trip(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    handlers = {peer: peer.handler("type", lambda run: run.write(D, (), run.payload)) for peer in pair}
    for peer in pair:
        peer.effect("show", lambda run: run.read(D))
    for number in range(40):
        for peer in pair:
            peer.scheduler.send(handlers[peer], f"{id(peer)} {number}")
        world.settle()
    assert stats(*pair) == [(0, 0, 0), (0, 0, 0)]


def test_a_fast_input_never_trips(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    alice.effect("sample", lambda run: (run.read(D), run.write(D, (), run.read(IN)) if run.read(IN) else None))
    for number in range(1, 200):
        bob.put("in", number)
        world.settle()
        world.advance(5)
    assert alice.value("d") == 199
    assert stats(alice) == [(0, 0, 0)]


def test_a_cold_load_that_writes_every_label_again_never_trips(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    """663 documents, each written once, because of an input (seed §1)."""
    alice, bob = pair
    alice.scheduler.checked = False  # its cost grows with the square of the nodes
    bob.put("in", 0)
    world.settle()
    for number in range(663):
        out = Document(f"label{number}")
        alice.effect(f"label{number}", lambda run, out=out: run.write(out, (), f"label {run.read(IN)}"))
    world.settle()
    bob.put("in", 1)
    world.settle()
    assert alice.value("label662") == "label 1"
    assert stats(alice) == [(0, 0, 0)]


def test_an_action_that_settles_after_a_run_or_two_never_trips(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    for peer, tag in zip(pair, "ab", strict=True):
        peer.effect("max", lambda run, tag=tag: run.write(D, (), max(tag, str(run.read(D)))))
    world.settle()
    assert pair[0].value("d") == pair[1].value("d")
    assert all(held[1] == 0 for held in stats(*pair))


def test_each_session_s_own_instance_is_a_document_of_its_own(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    mine = Document("d", Scope.SESSION)
    for peer, tag in zip(pair, "ab", strict=True):
        peer.effect("tag", lambda run, tag=tag: (run.read(mine), run.write(mine, (), tag)))
    world.settle()
    assert stats(*pair) == [(0, 0, 0), (0, 0, 0)]
    assert pair[0].value(mine) != pair[1].value(mine)


def test_reports_reach_the_health_page(world: Sessions, pair: tuple[Peer, Peer]) -> None:
    for peer in pair:
        peer.on_report = report_to(peer.client)
    for peer, tag in zip(pair, "ab", strict=True):
        tagging(peer, tag)
    world.settle()
    reports = health(world.hub)["spaces"]["board"]["sessionReports"]
    assert {(report["principal"], report["event"], report["action"]) for report in reports} == {
        ("alice", "trip", "tag-a"),
        ("bob", "trip", "tag-b"),
    }
    assert {(report["document"], report["instance"]) for report in reports} == {("d", "space")}


def test_a_server_without_the_capability_gets_no_reports_and_nothing_breaks(
    world: Sessions, pair: tuple[Peer, Peer]
) -> None:
    for peer, tag in zip(pair, "ab", strict=True):
        peer.client.server_capabilities = frozenset()
        peer.on_report = report_to(peer.client)
        tagging(peer, tag)
    world.settle()
    assert stats(*pair) == [(1, 1, 12), (1, 1, 12)]
    assert health(world.hub)["spaces"]["board"]["sessionReports"] == []
