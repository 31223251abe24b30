"""A state that a run leads to is told from one that none does."""

from __future__ import annotations

from quiesce_checks.engines.reached import reached
from quiesce_checks.engines.search import Limits
from quiesce_model.breaker import Breaker
from quiesce_model.language.machine import Step, apply, copy, leaves, state

SCOPE = {"threshold": 2, "window": 1, "base": 1, "cap": 2, "quiet": 3, "in_flight": 1}


def after(*steps: Step) -> tuple[int, ...]:
    machine = Breaker(**SCOPE)
    for step in steps:
        apply(machine, step)
    return state(machine)


def changed(name: str, value: int) -> tuple[int, ...]:
    machine = Breaker(**SCOPE)
    names = [leaf.name for leaf in leaves(machine)]
    row = list(state(copy(machine)))
    row[names.index(name)] = value
    return tuple(row)


def test_the_initial_state_is_reached_in_no_step() -> None:
    assert reached(Breaker(**SCOPE), state(Breaker(**SCOPE))) == "reachable in 0 steps"


def test_a_state_that_a_run_leads_to_is_reachable() -> None:
    run = Step("run", (("overwrites", True),))
    assert reached(Breaker(**SCOPE), after(run, Step("commit", (("place", 0),)))) == "reachable in 2 steps"


def test_a_state_that_no_run_leads_to_is_not() -> None:
    assert reached(Breaker(**SCOPE), changed("pair.deadline", 2)).startswith("not reachable at this scope")


def test_ages_beyond_what_is_told_apart_are_the_same_state() -> None:
    run = Step("run", (("overwrites", True),))
    row = list(after(run, Step("commit", (("place", 0),))))
    row[[leaf.name for leaf in leaves(Breaker(**SCOPE))].index("pair.opened")] = 1_000
    assert reached(Breaker(**SCOPE), tuple(row)).startswith("reachable in")


def test_a_limit_is_no_answer() -> None:
    found = reached(Breaker(**SCOPE), changed("pair.deadline", 2), Limits(states=20))
    assert found.startswith("not known")
