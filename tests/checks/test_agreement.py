"""All readings of a model mean the same, and a reading that is broken is caught."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quiesce_checks.agreement import Difference, differences, readings, states_of
from quiesce_checks.relation import symbolic
from quiesce_checks.relation import terms as t
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.interpret import Interpreter
from quiesce_model.language import values
from quiesce_model.language.machine import Machine

sys.path.insert(0, str(Path(__file__).parent))

import random_machines

SEEDS = range(60)
MORE_SEEDS = range(60, 600)


def machine_of(seed: int) -> tuple[Machine, Counter[str]]:
    source, used = random_machines.machine_source(seed)
    return random_machines.load(source, f"random_machine_{seed}")(), used


def disagreements(machine: Machine, most: int) -> list[Difference]:
    made = relation(machine)
    return list(differences(made, readings(machine), states_of(made, most)))


@pytest.mark.parametrize("seed", SEEDS)
def test_readings_of_a_random_machine_agree(seed: int) -> None:
    machine, _ = machine_of(seed)
    assert disagreements(machine, 25) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_readings_of_many_more_random_machines_agree(seed: int) -> None:
    machine, _ = machine_of(seed)
    assert disagreements(machine, 120) == []


def test_random_machines_cover_every_construct(record_property: Callable[[str, object], None]) -> None:
    total: Counter[str] = Counter()
    for seed in SEEDS:
        _, used = random_machines.machine_source(seed)
        total += used
    share = {name: round(count / total.total(), 4) for name, count in total.most_common()}
    record_property("share of each construct", share)
    assert min(total.values()) >= 5, total
    assert len(total) >= 45, sorted(total)


def test_random_machines_are_lively() -> None:
    """A good part of them have states to explore, and faults and blocked steps occur too."""
    sizes: list[int] = []
    kinds: Counter[str] = Counter()
    for seed in SEEDS:
        machine, _ = machine_of(seed)
        made = relation(machine)
        sizes.append(len(states_of(made, 25)))
        kinds.update(exit.kind for action in made.actions for exit in action.exits)
    assert sum(size >= 25 for size in sizes) > len(sizes) // 2
    assert set(kinds) >= {"blocked", "domain", "division"}


# Each reading broken in one place: the comparison has to see it.


def floor_towards_zero(self: Interpreter, expr: Any) -> int:
    a, b = self.value(expr.left), self.value(expr.right)
    results = {"+": a + b, "-": a - b, "*": a * b, "min": min(a, b), "max": max(a, b)}
    if expr.op in results:
        return results[expr.op]
    if b == 0:
        return INTERPRETED(self, expr)
    quotient = int(a / b)
    return quotient if expr.op == "//" else a - b * quotient


INTERPRETED = Interpreter.arithmetic


def forgetful_merge(self: symbolic.Execution, condition: t.Term, then: symbolic.State, other: symbolic.State) -> None:
    """A merge that loses what the other branch had written last."""
    MERGE(self, condition, then, other)
    other.row[0] = then.row[0]


MERGE = symbolic.Execution.merge


def lax_set(self: values.Left, duration: int) -> None:
    self.write_(0, max(0, values.amount(duration) - 1))


def no_copy(self: Any, target: Any, value: Any) -> None:
    """A record that is assigned without its last member."""
    source = list(value.items_)
    for position, member in list(enumerate(self.members))[:-1]:
        member.type.put(target, position, source[position])


BROKEN: dict[str, tuple[Any, str, Any]] = {
    "statement form: division towards zero": (Interpreter, "arithmetic", floor_towards_zero),
    "terms: a branch forgotten at a join": (symbolic.Execution, "merge", forgetful_merge),
    "terms: < read as <=": (t, "lt", t.le),
    "plain Python: a rest one tick short": (values.Left, "set", lax_set),
    "plain Python: a record copied in part": (values.RecordType, "copy_into", no_copy),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_reading_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement = BROKEN[what]
    monkeypatch.setattr(owner, name, replacement)
    for seed in SEEDS:
        machine, _ = machine_of(seed)
        try:
            if disagreements(machine, 15):
                return
        except AssertionError:
            return  # the broken reading contradicts itself
    pytest.fail(f"nothing noticed: {what}")
