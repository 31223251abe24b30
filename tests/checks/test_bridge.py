"""What is explored and what is proved are one model, and a bridge that is broken is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import Lease, Mutex, lease

from quiesce_checks.engines.bridge import bridge, clock_verdict, same_relation, time_adds_up
from quiesce_checks.relation.build import proof_relation, relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.relation.terms import TRUE, const, implies, ite, le, lt, min_
from quiesce_checks.verdict import Outcome, Verdict
from quiesce_model import Age, Machine, action, age, constant, invariant


class Relay(Machine):
    """An age that is copied into another, and compared there."""

    late: int = constant(4)
    first: Age = age()
    second: Age = age()

    @action()
    def begin(self) -> None:
        self.first.start()

    @action()
    def hand_over(self) -> None:
        self.require(self.first > 1)
        self.second = self.first

    @invariant()
    def in_time(self) -> bool:
        return self.second < self.late


def outcomes(verdicts: list[Verdict]) -> dict[str, str]:
    return {v.property: str(v.outcome) for v in verdicts}


@pytest.mark.parametrize("symbolic", [(), ("term", "pause")])
def test_every_question_is_answered_for_a_machine_with_a_clock(symbolic: tuple[str, ...]) -> None:
    assert outcomes(bridge(Lease(), symbolic=symbolic)) == {
        "clock held": "proved",
        "time adds up": "proved",
        "explored is proved, saturated": "proved",
    }


def test_a_machine_without_time_has_one_question() -> None:
    assert outcomes(bridge(Mutex())) == {"explored is proved, saturated": "proved"}


def test_an_age_that_is_copied_saturates_where_its_copy_is_compared() -> None:
    assert set(outcomes(bridge(Relay())).values()) == {"proved"}
    made = proof_relation(Relay())
    low = replace(made, clocks=(replace(made.clocks[0], saturation=const(2)), made.clocks[1]))
    assert clock_verdict(low, low.clocks[0]).outcome is Outcome.VIOLATED


def test_a_saturation_one_too_low_is_seen_and_says_what_can_tell() -> None:
    made = lease(saturation=3)
    verdict = clock_verdict(made, made.clocks[0])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.how.startswith("differs: whether give_up is possible; the property always_young; at held=4")
    made = lease(saturation=4)
    assert clock_verdict(made, made.clocks[0]).outcome is Outcome.PROVED


def test_an_exit_that_answers_differently_is_seen() -> None:
    made = proof_relation(Lease())
    low = replace(made.clocks[0], saturation=const(3))
    assert "the exit blocked  of give_up at by_hand.py" in clock_verdict(made, low).how


def with_update(made: Relation, action: int, variable: int, term: object) -> Relation:
    changed = {**made.actions[action].updates, variable: term}
    actions = list(made.actions)
    actions[action] = replace(actions[action], updates=changed)  # type: ignore[arg-type]
    return replace(made, actions=tuple(actions))


def test_time_that_does_not_add_up_is_seen() -> None:
    made = lease(term=4, pause=3)
    d, rest = made.actions[2].inputs[0], made.variables[1].term
    assert time_adds_up(made).outcome is Outcome.PROVED
    hasty = with_update(made, 2, 1, ite(lt(const(0), rest), ite(le(const(2), d), const(0), rest - 1), rest))
    verdict = time_adds_up(hasty)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.how.startswith("differs: rest after elapse")


def test_an_explored_relation_that_is_another_is_seen() -> None:
    machine = Lease()
    proved, explored = proof_relation(machine), relation(machine)
    held = explored.variables[0].term
    dropped = replace(
        explored, actions=(*explored.actions[:2], replace(explored.actions[2], updates={0: min_(held + 1, const(4))}))
    )
    assert same_relation(proved, dropped).outcome is Outcome.VIOLATED
    early = with_update(explored, 2, 0, min_(held + 1, const(3)))
    assert "held after elapse" in same_relation(proved, early).how
    loose = replace(explored, actions=(replace(explored.actions[0], enabled=TRUE), *explored.actions[1:]))
    assert "whether take is possible" in same_relation(proved, loose).how
    weak = replace(explored, properties=(replace(explored.properties[0], holds=TRUE), *explored.properties[1:]))
    assert "differs: the property rests_only_when_free;" in same_relation(proved, weak).how
    odd = replace(explored, initial=(const(0), const(0)))
    assert "held at the start" in same_relation(proved, odd).how


def test_a_property_of_steps_is_part_of_the_bridge() -> None:
    made = lease(saturation=4)
    held = made.variables[0].term
    judged = replace(made.properties[0], name="late", kind="step", holds=None, steps={1: lt(held, const(9))})
    verdict = clock_verdict(replace(made, properties=(judged,)), made.clocks[0])
    assert (verdict.outcome, verdict.how.split(";")[0]) == (
        Outcome.VIOLATED,
        "differs: the property late of give_up",
    )
    harmless = replace(judged, steps={0: implies(lt(const(4), held), lt(held, const(0)))})
    assert clock_verdict(replace(made, properties=(harmless,)), made.clocks[0]).outcome is Outcome.PROVED
