"""Gates, the single wake, and what holds idle open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scheduler_world import D, Peer, Sessions

from quiesce.commits import Document
from quiesce.scheduler.convergence import ConvergencePolicy
from quiesce.scheduler.definition import IndexFault, verify
from quiesce.scheduler.gates import Gates
from quiesce.scheduler.idle import holds_until
from quiesce.scheduler.node import Kind, Node, Registration
from quiesce.scheduler.run import Run

IN = Document("in")


@pytest.fixture
def world() -> Sessions:
    return Sessions()


@pytest.fixture
def alice(world: Sessions) -> Peer:
    return world.peer("alice")


def reading(run: Run) -> None:
    run.read(IN)


def runs_at(world: Sessions, peer: Peer, node: Node, until: float) -> list[float]:
    """Let time pass; the moments, from now, at which the node ran."""
    start, found = world.clock.now, list[float]()
    while world.clock.now < start + until:
        before = node.runs
        world.advance(1)
        found += [world.clock.now - start] * (node.runs - before)
    return found


def changing(peer: Peer, other: str) -> Callable[[Run], None]:
    """A body that never agrees with its namesake of the other document."""

    def body(run: Run) -> None:
        mine, theirs = run.read(Document("d")), run.read(Document(other))
        _ = mine
        run.write(Document("d"), (), (theirs if isinstance(theirs, int) else 0) + 1)

    return body


# -- eligibility


def test_eligible_at_is_the_latest_of_the_four_and_open_at_equality() -> None:
    gates = Gates(debounce_ready_at=10, throttle_ready_at=40, backoff_until=30, echo_backoff_until=20)
    assert gates.eligible_at == 40
    assert gates.closed(39.999)
    assert not gates.closed(40)


@pytest.mark.parametrize("field", ["debounce_ready_at", "throttle_ready_at", "backoff_until", "echo_backoff_until"])
def test_each_gate_alone_defers_a_run_to_its_deadline_exactly(world: Sessions, alice: Peer, field: str) -> None:
    node = alice.effect("e", reading)
    world.settle()
    setattr(node.gates, field, world.clock.now + 50)
    alice.put("in", 1)
    world.settle()
    assert node.runs == 1
    assert alice.scheduler.wake_at == world.clock.now + 50
    world.advance(49)
    assert node.runs == 1
    world.advance(1)
    assert node.runs == 2


def test_clearing_the_convergence_backoff_does_not_touch_the_echo_backoff_nor_the_reverse() -> None:
    gates = Gates(backoff_until=5, backoff_streak=1, echo_backoff_until=7)
    assert gates.clear_backoff()
    assert gates.echo_backoff_until == 7
    gates.back_off(0, ConvergencePolicy())
    gates.echo_backoff_until = 0
    assert gates.backoff_until == 250


# -- debounce and throttle


def test_a_debounced_effect_runs_so_long_after_the_last_change(world: Sessions, alice: Peer) -> None:
    node = alice.effect("e", reading, debounce_ms=100)
    world.settle()
    assert node.runs == 1, "the first run is at once"
    for value in range(3):
        alice.put("in", value)
        world.settle()
        world.advance(60)
    assert node.runs == 1
    assert runs_at(world, alice, node, 100) == [40]


def test_a_debounced_derivation_runs_at_once_the_first_time_and_trails_later(world: Sessions, alice: Peer) -> None:
    node = alice.derive("x", lambda run: [run.read(IN) or 0, 1][1], debounce_ms=100)
    alice.effect("show", lambda run: run.read(Document("x")))
    world.settle()
    assert node.runs == 1
    alice.put("in", 1)
    world.settle()
    assert runs_at(world, alice, node, 150) == [100]


def test_shortening_an_armed_debounce_lowers_the_deadline_and_the_wake(world: Sessions, alice: Peer) -> None:
    node = alice.effect("e", reading, debounce_ms=1_000)
    world.settle()
    alice.put("in", 1)
    world.settle()
    world.advance(100)
    alice.scheduler.set_gates(node, debounce_ms=50)
    world.settle()
    assert alice.scheduler.wake_at == world.clock.now + 50
    assert runs_at(world, alice, node, 60) == [50]


def test_a_throttled_effect_runs_so_long_after_its_last_run(world: Sessions, alice: Peer) -> None:
    node = alice.effect("e", reading, throttle_ms=100)
    world.settle()
    alice.put("in", 1)
    world.settle()
    assert runs_at(world, alice, node, 30) == []
    alice.put("in", 2)
    world.settle()
    assert runs_at(world, alice, node, 200) == [70]


@pytest.mark.parametrize("backoff", ["echo_backoff_until", "backoff_until"])
def test_an_owed_retry_releases_debounce_and_throttle_but_neither_backoff(
    world: Sessions, alice: Peer, backoff: str
) -> None:
    """Seed §2: each backoff bounds a loop, and a retry inside one waits its turn like every other run."""
    bob = world.peer("bob")
    alice.put("in", 0)
    world.settle()
    node = alice.effect("e", lambda run: run.write(D, (), run.read(IN)), debounce_ms=300, throttle_ms=500)
    world.settle()
    world.advance(500)
    alice.put("in", 1)
    world.settle()
    world.advance(299)
    bob.put("in", 2)
    while bob.link.up():
        pass
    world.loop.decide()
    world.clock.advance(1)
    alice.scheduler.timer_fired()
    alice.run()  # meets a conflict
    assert node.runs == 2
    setattr(node.gates, backoff, world.clock.now + 40)
    world.settle()
    assert node.stale_failures == 1
    assert (node.gates.debounce_ready_at, node.gates.throttle_ready_at) == (0, 0)
    alice.put("in", 3)
    world.settle()
    assert node.gates.debounce_ready_at == 0, "while the retry is owed nothing arms it again"
    assert runs_at(world, alice, node, 100) == [40]
    assert alice.value("d") == 3


# -- convergence


def two_that_never_agree(alice: Peer) -> list[Node]:
    p, q = Document("p"), Document("q")
    alice.put("p", 0)
    alice.put("q", 0)
    return [
        alice.effect("p", lambda run: run.write(p, (), int(str(run.read(q))) + 1)),
        alice.effect("q", lambda run: run.write(q, (), int(str(run.read(p))) + 1)),
    ]


def test_what_does_not_converge_waits_longer_each_time_and_runs_ten_times_a_pass(world: Sessions, alice: Peer) -> None:
    nodes = two_that_never_agree(alice)
    bystander = alice.effect("bystander", reading)
    world.settle()
    assert max(node.runs for node in nodes) == 10
    starts: list[float] = []
    for _ in range(5):
        waiting = [node for node in nodes if node.gates.backoff_until > world.clock.now]
        starts.append(max(node.gates.backoff_until for node in waiting) - world.clock.now)
        world.advance(starts[-1])
    assert starts == [250, 500, 1000, 2000, 2000]
    assert bystander.runs == 1
    assert bystander.gates.backoff_until == 0


def test_a_loop_of_ones_own_does_not_starve_others(world: Sessions, alice: Peer) -> None:
    two_that_never_agree(alice)
    other = alice.effect("other", reading)
    world.settle()
    alice.put("in", 1)
    world.settle()
    assert other.runs == 2


def test_idle_is_held_by_a_loop_for_so_many_passes_and_then_resolves(world: Sessions, alice: Peer) -> None:
    two_that_never_agree(alice)
    told: list[float] = []
    start = world.clock.now
    alice.scheduler.when_idle(lambda: told.append(world.clock.now - start))
    world.settle()
    assert told == []
    world.advance(10_000)
    assert told == [250 + 500]


# -- idle


@pytest.mark.parametrize("gate", ["debounce", "throttle", "backoff", "echo"])
@pytest.mark.parametrize("kind", ["effect", "awaited", "demanded", "dormant"])
def test_which_deferred_nodes_hold_idle(gate: str, kind: str) -> None:
    holding = {
        ("effect", "debounce"),
        ("effect", "throttle"),
        ("effect", "backoff"),
        ("awaited", "debounce"),
        ("awaited", "throttle"),
        ("awaited", "backoff"),
        ("demanded", "backoff"),
    }
    node = Node("n", Kind.EFFECT if kind == "effect" else Kind.COMPUTATION, lambda run: None)
    node.registration = Registration()
    node.live = kind != "dormant"
    node.provisional = kind == "awaited"
    node.runs = 0 if kind == "awaited" else 1
    field = {
        "debounce": "debounce_ready_at",
        "throttle": "throttle_ready_at",
        "backoff": "backoff_until",
        "echo": "echo_backoff_until",
    }[gate]
    setattr(node.gates, field, 100.0)
    assert holds_until(node, 3) == (100.0 if (kind, gate) in holding else 0.0)
    node.gates.hold_passes = 3
    assert holds_until(node, 3) == 0.0


def test_idle_resolves_when_the_part_that_holds_it_is_over_though_the_echo_backoff_stands(
    world: Sessions, alice: Peer
) -> None:
    node = alice.effect("e", reading, throttle_ms=100)
    world.settle()
    node.gates.echo_backoff_until = world.clock.now + 10_000
    alice.put("in", 1)
    world.settle()
    start, told = world.clock.now, list[float]()
    alice.scheduler.when_idle(lambda: told.append(world.clock.now - start))
    world.advance(20_000)
    assert told == [100]
    assert node.runs == 2


def test_a_durable_idle_waits_for_commits_and_another_does_not(world: Sessions, alice: Peer) -> None:
    alice.put("in", 1)
    world.settle()
    alice.effect("e", lambda run: run.write(D, (), run.read(IN)))
    alice.run()
    assert alice.scheduler.is_idle()
    assert not alice.scheduler.is_idle(durable=True)
    world.loop.settle()
    assert alice.scheduler.is_idle(durable=True)


def test_a_dormant_node_holds_nothing_and_arms_no_wake(world: Sessions, alice: Peer) -> None:
    node = alice.derive("x", lambda run: run.read(IN))
    node.gates.backoff_until = world.clock.now + 100
    alice.put("in", 1)
    world.settle()
    assert alice.scheduler.is_idle(durable=True)
    assert alice.scheduler.wake_at is None


def test_a_reader_that_comes_later_finds_the_wake_of_a_gated_node(world: Sessions, alice: Peer) -> None:
    alice.put("in", 1)
    node = alice.derive("x", lambda run: run.read(IN))
    node.gates.backoff_until = world.clock.now + 100
    show = alice.effect("show", lambda run: run.read(Document("x")))
    world.settle()
    assert alice.scheduler.wake_at == world.clock.now + 100
    alice.scheduler.unregister(show)
    world.settle()
    assert alice.scheduler.wake_at is None


# -- the check itself


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s, x, e: setattr(x, "live", False),
        lambda s, x, e: s.triggers.replace(e, e.reads, type(e.reads)()),
        lambda s, x, e: x.downstream.clear() or e.upstream.clear(),
        lambda s, x, e: setattr(s, "wake_at", None),
        lambda s, x, e: setattr(s, "wake_at", s.wake_at + 1),
        lambda s, x, e: s.agenda._waiting.clear(),
        lambda s, x, e: s.provisional.update({x: None}),
        lambda s, x, e: setattr(e.gates, "backoff_streak", 1),
        lambda s, x, e: e.children.update({x: None}),
    ],
    ids=["liveness", "triggers", "edges", "no wake", "late wake", "agenda", "provisional", "backed off", "children"],
)
def test_the_check_of_the_definitions_sees_what_is_wrong(
    world: Sessions, alice: Peer, spoil: Callable[..., object]
) -> None:
    alice.put("in", 1)
    x = alice.derive("x", lambda run: run.read(IN))
    e = alice.effect("e", lambda run: run.read(Document("x")), throttle_ms=100)
    world.settle()
    alice.put("in", 2)
    world.settle()
    world.advance(0)
    verify(alice.scheduler)
    spoil(alice.scheduler, x, e)
    with pytest.raises(IndexFault):
        verify(alice.scheduler)


def test_what_did_not_converge_waits_for_its_backoff_when_it_is_registered_anew(world: Sessions, alice: Peer) -> None:
    """Retirement clears the debounce and the echo backoff; the others stay on the record, which outlives it."""
    node = alice.effect("e", reading, throttle_ms=40)
    world.settle()
    began = world.clock.now
    node.gates.back_off(began, alice.scheduler.convergence)
    alice.scheduler.backed_off[node] = None
    node.gates.echo_backoff_until = world.clock.now + 9_000
    alice.scheduler.unregister(node)
    alice.scheduler.register(node)
    world.settle()
    assert (node.runs, node.gates.eligible_at) == (1, began + 250)
    world.advance(250)
    assert (node.runs, node.gates.backoff_streak, node.gates.throttle_ready_at) == (2, 0, began + 290)
