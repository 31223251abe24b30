"""Two copies of a machine on common inputs."""

from __future__ import annotations

import pytest

from quiesce_checks.agreement import differences, readings, states_of
from quiesce_checks.engines.explore import explore
from quiesce_checks.relation.build import relation
from quiesce_model import (
    Blocked,
    Left,
    Machine,
    Misuse,
    action,
    assumption,
    constant,
    initial,
    invariant,
    left,
    step_property,
    twin,
    upto,
)
from quiesce_model.language.machine import state, steps


class Tank(Machine):
    """Is filled at once or lazily, and rests after."""

    size: int = constant(3)
    lazy: bool = constant(False)
    leak: int = constant(0)

    level: int = upto(lambda c: c.size)
    ordered: int = upto(lambda c: c.size)
    rest: Left = left(lambda c: 1 + c.leak)

    @assumption
    def some_room(self) -> bool:
        return self.size > 0

    @initial
    def half_full(self) -> None:
        self.level = 1

    @action(n=3)
    def pour(self, n: int) -> None:
        self.require(self.rest.over, "T-1")
        self.require(self.level + self.ordered + n <= self.size, "T-2")
        if self.lazy:
            self.ordered += n
        else:
            self.level += n
        self.rest.set(1 + self.leak)

    @action()
    def settle(self) -> None:
        self.require(self.ordered > 0)
        self.level += self.ordered
        self.ordered = 0


class EagerOrLazy(twin(Tank, alone=("settle",), differ={"lazy": (False, True)})):
    """A tank that is filled at once beside one that is filled lazily."""

    @invariant("T-1")
    def same_when_settled(self) -> bool:
        return self.one.level == self.other.level + self.other.ordered

    @invariant
    def never_behind(self) -> bool:
        return self.one.level == self.other.level

    @step_property(on="pour")
    def pours_alike(self, before: EagerOrLazy, n: int) -> bool:
        return self.one.level - before.one.level == n


def test_inputs_are_common_and_what_is_alone_has_a_side() -> None:
    made = EagerOrLazy(size=2)
    assert {step.action for step in steps(made)} == {"pour", "settle_one", "settle_other"}
    assert (made.one.level, made.other.level) == (1, 1)
    made.pour(n=1)
    assert (made.one.level, made.other.level, made.other.ordered) == (2, 1, 1)
    made.elapse(1)
    made.settle_other()
    assert made.other.level == 2
    before = state(made)
    with pytest.raises(Blocked):
        made.settle_one()
    with pytest.raises(Blocked):
        made.pour(n=1)
    assert state(made) == before


def test_constants_and_rules_are_those_of_the_twin() -> None:
    assert EagerOrLazy(size=5).one.size == 5
    assert (EagerOrLazy().one.lazy, EagerOrLazy().other.lazy) == (False, True)
    made = EagerOrLazy(without={"T-1"})
    made.pour(n=1)
    made.pour(n=1)
    assert made.one.level == 3
    with pytest.raises(Misuse, match="some_room"):
        EagerOrLazy(size=0)


def test_a_twin_is_explored_like_any_machine() -> None:
    found = {verdict.property: verdict.outcome for verdict in explore(EagerOrLazy()).verdicts}
    assert found["same_when_settled"] == "holds"
    assert found["pours_alike"] == "holds"
    assert found["never_behind"] == "violated"


@pytest.mark.parametrize("lazy", [(False, True), (True, True)])
def test_every_reading_has_it(lazy: tuple[bool, bool]) -> None:
    machine = twin(Tank, alone=("settle",), differ={"lazy": lazy, "leak": (0, 1)})()
    made = relation(machine)
    assert list(differences(made, readings(machine), states_of(made, 200))) == []
    assert len(states_of(made, 200)) > 10


def test_what_a_twin_cannot_be() -> None:
    with pytest.raises(Misuse, match="no action 'spill'"):
        twin(Tank, alone=("spill",))
    with pytest.raises(Misuse, match="no constant 'depth'"):
        twin(Tank, differ={"depth": (1, 2)})
