"""Adoption: all readings of its models agree, its theorem is proved, and not without what it rests on."""

from __future__ import annotations

import pytest

from quiesce_checks.agreement import Terms, differences, readings, states_of
from quiesce_checks.agreement_engines import Formulas
from quiesce_checks.engines.bounded import bounded
from quiesce_checks.engines.proof import prove
from quiesce_checks.relation.build import relation
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine
from quiesce_model.adopt_children import AdoptChildren
from quiesce_model.adopt_delivery import AdoptDelivery
from quiesce_model.adopt_one import AdoptOne
from quiesce_model.adopt_or_run import AdoptOrRun
from quiesce_model.adopt_privacy import AdoptPrivacy
from quiesce_model.adopt_race import AdoptRace
from quiesce_model.adoption import Adoption

MACHINES: dict[str, Machine] = {
    "adoption": Adoption(may_leave=True, may_pull=True, may_fail=True, may_throw=True),
    "race": AdoptRace(writes=2, may_shrink=True, needed=True),
    "children": AdoptChildren(may_leave=True),
    "privacy": AdoptPrivacy(),
    "delivery": AdoptDelivery(may_skip=True),
    "side by side": AdoptOrRun(actions=1),
}


@pytest.mark.parametrize("name", ["adoption", "race", "privacy"])
def test_readings_agree(name: str) -> None:
    made = relation(MACHINES[name])
    assert list(differences(made, readings(MACHINES[name]), states_of(made, 12))) == []


@pytest.mark.parametrize("name", ["adoption", "privacy"])
def test_formulas_agree(name: str) -> None:
    made = relation(MACHINES[name])
    assert list(differences(made, (Terms(made), Formulas(MACHINES[name])), states_of(made, 6))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_readings_agree_in_many_states(name: str) -> None:
    made = relation(MACHINES[name])
    assert list(differences(made, readings(MACHINES[name]), states_of(made, 300))) == []


ENVIRONMENT = {
    "may_leave": True,
    "may_fail": True,
    "may_pull": True,
    "may_drop": True,
    "may_throw": True,
    "foreign": True,
    "most": 1_000_000,
    "writes": 1_000_000,
}


@pytest.mark.parametrize(
    "rule", ["ADO-8", pytest.param("ADO-12", marks=pytest.mark.slow), pytest.param("ADO-15", marks=pytest.mark.slow)]
)
def test_the_theorem_is_not_proved_without_its_conditions(rule: str) -> None:
    machine = AdoptOne(**ENVIRONMENT, without=[rule])  # type: ignore[arg-type]
    found = {v.property: v for v in prove(machine, max_k=1, depth=0)}
    assert found["one_number_is_one_value"].outcome is Outcome.PROVED
    assert found["adopting_is_running"].outcome is Outcome.INCONCLUSIVE
    assert found["adopting_is_running"].cti is not None


@pytest.mark.parametrize(("rule", "steps"), [("ADO-27", 3), ("ADO-32", 5), ("ADO-33", 3), ("ADO-34", 3)])
def test_a_row_misses_its_window_without_the_delivery_rules(rule: str, steps: int) -> None:
    (verdict,) = bounded(AdoptDelivery(without=[rule]), ["every_row_lies_in_a_window"], depth=5, symbolic=["most"])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.trace is not None
    assert verdict.trace.length == steps
