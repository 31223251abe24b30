"""An effect that takes long is debounced by itself, and what its author says about it."""

from __future__ import annotations

from typing import Any

import pytest
from api_world import ApiWorld, SessionPeer

from quiesce.scheduler.gates import AUTO_DEBOUNCE_DELAY_MS


def slow(world: ApiWorld, alice: SessionPeer, milliseconds: float, runs: int, **options: Any) -> list[int]:
    """An effect whose body takes so long, after so many runs."""
    cell, shown = alice.session.cell("n", default=0), list[int]()

    def show() -> None:
        shown.append(cell.get())
        world.clock.advance(milliseconds)

    alice.session.effect(**options)(show)
    world.settle()
    for number in range(1, runs):
        cell.set(number)
        world.settle()
    return shown


def test_the_third_slow_run_on_average_debounces_an_effect(world: ApiWorld, alice: SessionPeer) -> None:
    shown = slow(world, alice, 50, 3)
    assert shown == [0, 1, 2]
    cell = alice.session.cell("n")
    for value in (10, 11):
        cell.set(value)
        world.settle()
    assert shown == [0, 1, 2]
    world.advance(AUTO_DEBOUNCE_DELAY_MS - 1)
    assert shown == [0, 1, 2]
    world.advance(1)
    assert shown == [0, 1, 2, 11]
    assert alice.counts.counts_breakdown()["scheduler"] == {"action-auto-debounced": 1}


@pytest.mark.parametrize(
    ("milliseconds", "runs", "options"),
    [(49, 5, {}), (50, 2, {}), (50, 5, {"auto_debounce": False})],
    ids=["not slow", "too few runs", "opted out"],
)
def test_what_is_not_slow_or_opted_out_runs_at_once(
    world: ApiWorld, alice: SessionPeer, milliseconds: float, runs: int, options: dict[str, Any]
) -> None:
    shown = slow(world, alice, milliseconds, runs, **options)
    assert shown == list(range(runs))
    alice.session.cell("n").set(100)
    world.settle()
    assert shown[-1] == 100


def test_an_authors_own_debounce_is_left_alone(world: ApiWorld, alice: SessionPeer) -> None:
    slow(world, alice, 50, 1, debounce_ms=5)
    cell = alice.session.cell("n")
    for value in range(5):
        cell.set(value)
        world.settle()
        world.advance(5)
    (node,) = [node for node in alice.scheduler.nodes if "show" in node.label]
    assert (node.runs, node.gates.debounce_ms) == (6, 5)


def test_a_slow_derivation_is_not_debounced(world: ApiWorld, alice: SessionPeer) -> None:
    cell = alice.session.cell("n", default=0)

    def derive() -> int:
        world.clock.advance(80)
        return cell.get()

    derived = alice.session.computed(name="d")(derive)
    alice.session.effect(lambda: derived.get())
    for value in range(5):
        cell.set(value)
        world.settle()
        assert derived.get() == value
