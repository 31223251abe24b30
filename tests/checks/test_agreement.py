"""All readings of a model mean the same, and a reading that is broken is caught."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quiesce_checks.agreement import Difference, Terms, differences, readings, states_of
from quiesce_checks.agreement_engines import Formulas, successors
from quiesce_checks.engines import smt
from quiesce_checks.relation import symbolic
from quiesce_checks.relation import terms as t
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.interpret import Interpreter
from quiesce_model import twin
from quiesce_model.breaker import Breaker
from quiesce_model.breaker_table import BreakerTable
from quiesce_model.cadence import Cadence
from quiesce_model.classifier import Classifier
from quiesce_model.crossing import Crossing
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.fan_out import FanOut
from quiesce_model.fast_input import FastInput
from quiesce_model.language import containers, values
from quiesce_model.language.machine import Machine
from quiesce_model.many_replicas import ManyReplicas
from quiesce_model.many_sessions import ManySessions
from quiesce_model.one_node import OneNode
from quiesce_model.one_session import OneSession

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


def disagreements_with_formulas(machine: Machine, most: int) -> list[Difference]:
    made = relation(machine)
    return list(differences(made, (Terms(made), Formulas(machine)), states_of(made, most)))


SHIPPED: dict[str, Machine] = {
    "breaker": Breaker(threshold=2, window=1, base=1, cap=2, quiet=3, in_flight=1),
    "breaker, repaired": Breaker(
        threshold=2, window=1, base=1, cap=2, quiet=3, in_flight=2, clear_when_settled=True, kickoff_order=True
    ),
    "table": BreakerTable(threshold=2, window=1, base=1, cap=1, quiet=2, documents=2, capacity=1),
    "classifier": Classifier(causes=1),
    "echo loop": EchoLoop(threshold=2, window=1, base=1, cap=1, quiet=2, may_agree=True, may_leave=True),
    "fan out": FanOut(threshold=2, window=1, base=1, cap=2, quiet=3),
    "crossing": Crossing(threshold=2, window=1, base=1, cap=2, quiet=3, by_descent=True),
    "fast input": FastInput(threshold=2, window=1, base=1, cap=2, quiet=3),
    "cadence": Cadence(threshold=3, window=2, base=1, cap=1, quiet=3),
}

LARGER: dict[str, Machine] = {
    "one node": OneNode(debounce=1, throttle=0, longest_echo=1, budget=1, cap=1, hold_passes=1),
    "one session": OneSession(cycle=True, foreign=True, budget=1, cap=1),
    "many replicas": ManyReplicas(most=2, may_pull=True, may_watch=True, may_fail=True, may_expire=True),
    "many sessions": ManySessions(
        threshold=2, window=1, base=1, cap=1, quiet=2, may_agree=True, may_type=True, may_return=True
    ),
}
"""Machines of which a state takes longer to ask about."""


@pytest.mark.parametrize("name", SHIPPED)
def test_readings_of_a_shipped_model_agree(name: str) -> None:
    assert disagreements(SHIPPED[name], 120) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_readings_of_a_shipped_model_agree_everywhere(name: str) -> None:
    assert disagreements(SHIPPED[name], 1_000_000) == []


@pytest.mark.parametrize("name", LARGER)
def test_readings_of_a_larger_shipped_model_agree(name: str) -> None:
    assert disagreements(LARGER[name], 20) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_readings_of_a_larger_shipped_model_agree_far_and_wide(name: str) -> None:
    assert disagreements(LARGER[name], 4_000) == []
    assert disagreements_with_formulas(LARGER[name], 300) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_formulas_of_a_shipped_model_agree(name: str) -> None:
    assert disagreements_with_formulas(SHIPPED[name], 40) == []


@pytest.mark.parametrize("seed", range(12))
def test_formulas_of_a_random_machine_agree(seed: int) -> None:
    machine, _ = machine_of(seed)
    assert disagreements_with_formulas(machine, 12) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_python_source_of_a_shipped_model_agrees(name: str) -> None:
    machine = SHIPPED[name]
    made = relation(machine)
    states = states_of(made, 250)
    reading = Terms(made)
    for now, found in zip(states, successors(machine, states), strict=True):
        comes = {action.step: reading.comes_to(now, action.step) for action in made.actions}
        assert found == {step: come.after for step, come in comes.items() if come.kind == "step"}


def towards_zero(a: smt.Formula, b: smt.Formula) -> tuple[smt.Formula, smt.Formula]:
    return a / b, a / b


def test_a_broken_reading_of_formulas_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3's own division, which rounds another way for a negative divisor."""
    body = """
    @action(i=4)
    def halve(self, i: int) -> None:
        self.low = (i - 1) // -2
"""
    machine = random_machines.load(random_machines.HEAD + body, "halving")()
    assert disagreements_with_formulas(machine, 5) == []
    monkeypatch.setattr(smt, "division", towards_zero)
    assert disagreements_with_formulas(machine, 5) == []  # a constant quotient never gets to the solver
    body = """
    @action(i=4)
    def halve(self, i: int) -> None:
        self.low = (self.low + i - 1) // (-2 if self.lit else 2)
"""
    machine = random_machines.load(random_machines.HEAD + body, "halving by a number")()
    assert disagreements_with_formulas(machine, 5) != []


@pytest.mark.parametrize("seed", SEEDS)
def test_readings_of_a_random_machine_agree(seed: int) -> None:
    machine, _ = machine_of(seed)
    assert disagreements(machine, 25) == []


@pytest.mark.parametrize("seed", range(6))
def test_readings_of_a_random_twin_agree(seed: int) -> None:
    machine, _ = machine_of(seed)
    assert disagreements(twin(type(machine), alone=("act0",), differ={"top": (2, 3)})(), 8) == []


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


def turned_round(self: symbolic.Execution, a: symbolic.Spot, b: symbolic.Spot) -> t.Term:
    return PRECEDES(self, b, a)


PRECEDES = symbolic.Execution.precedes


def blank_not(row: Any, place: int) -> None:
    """A place that is given up and keeps what it had; that there is one is asked all the same."""
    row.at(place)


BROKEN: dict[str, tuple[Any, str, Any]] = {
    "statement form: division towards zero": (Interpreter, "arithmetic", floor_towards_zero),
    "terms: a branch forgotten at a join": (symbolic.Execution, "merge", forgetful_merge),
    "terms: < read as <=": (t, "lt", t.le),
    "plain Python: a rest one tick short": (values.Left, "set", lax_set),
    "plain Python: a record copied in part": (values.RecordType, "copy_into", no_copy),
    "plain Python: a place given up keeps what it had": (containers, "blank", blank_not),
    "plain Python: a bag in the order of arrival": (containers, "precedes", lambda row, a, b: False),
    "terms: items not exchanged": (symbolic.Execution, "swap", lambda self, a, b: None),
    "terms: the order of items turned round": (symbolic.Execution, "precedes", turned_round),
}


CONCERNS: dict[str, str] = {
    "plain Python: a rest one tick short": ".rest.set(",
    "plain Python: a place given up keeps what it had": ".drop()",
    "plain Python: a bag in the order of arrival": "self.pile.add(",
    "terms: items not exchanged": "self.pile.add(",
    "terms: the order of items turned round": "self.pile.add(",
}
"""What a machine has to have for a break to show in it: others are not looked at."""


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_reading_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement = BROKEN[what]
    monkeypatch.setattr(owner, name, replacement)
    for seed in SEEDS:
        if CONCERNS.get(what, "") not in random_machines.machine_source(seed)[0]:
            continue
        machine, _ = machine_of(seed)
        try:
            if disagreements(machine, 15):
                return
        except AssertionError:
            return  # the broken reading contradicts itself
    pytest.fail(f"nothing noticed: {what}")
