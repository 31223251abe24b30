"""Which part of a property fails, and with what values; which rules a step shows."""

from __future__ import annotations

import pytest

from quiesce_checks.attempts import refusals, rules_at_work
from quiesce_checks.explain import Part, explain
from quiesce_model import (
    Age,
    Left,
    Machine,
    Record,
    action,
    age,
    constant,
    each,
    flag,
    invariant,
    left,
    optional,
    step_property,
    upto,
)
from quiesce_model.language.machine import Step, copy, steps


class Seat(Record):
    taken: bool = flag()
    guest: int | None = optional(upto(5))
    since: Age = age()

    def calm(self) -> bool:
        return not self.taken or self.since.running

    def within(self, c: Cinema, spare: int) -> bool:
        return c.sold + spare <= c.most


class Cinema(Machine):
    seats: int = constant(3)
    most: int = constant(1)

    seat: list[Seat] = each("seats", Seat)
    sold: int = upto(9)
    rest: Left = left(4)

    @action(n="seats")
    def sell(self, n: int) -> None:
        self.require(not self.seat[n].taken, "CIN-1")
        self.require(self.rest.over)
        self.seat[n].taken = True
        if self.rule("CIN-2"):
            self.seat[n].guest = n
        if self.rule("CIN-3"):
            self.sold += 1
        if self.rule("CIN-4"):
            self.rest.set(0)

    @invariant()
    def conjunction(self) -> bool:
        return self.sold >= 0 and self.sold <= self.most and self.rest.over

    @invariant()
    def for_all(self) -> bool:
        return all(seat.guest is None or seat.guest < self.most for seat in self.seat if seat.taken)

    @invariant()
    def pairs(self) -> bool:
        return all(
            a == b or not self.seat[a].taken or not self.seat[b].taken
            for a in range(self.seats)
            for b in range(self.seats)
        )

    @invariant()
    def early_returns(self) -> bool:
        if self.sold == 0:
            return True
        for seat in self.seat:
            if seat.taken:
                return seat.guest != 0
        return self.rest.over

    @invariant()
    def locals(self) -> bool:
        first = self.seat[0]
        limit = self.most + 1
        return self.sold < limit if first.taken else self.rest.over

    @invariant()
    def delegated(self) -> bool:
        return self.conjunction()

    @invariant()
    def of_a_record(self) -> bool:
        return all(seat.calm() for seat in self.seat)

    @invariant()
    def of_a_record_and_its_machine(self) -> bool:
        return self.seat[0].within(self, self.most - 1)

    @invariant()
    def a_sum(self) -> bool:
        return sum(1 for seat in self.seat if seat.taken) <= self.most

    @step_property(on="sell")
    def one_more(self, before: Cinema, n: int) -> bool:
        return before.sold == self.sold and not before.seat[n].taken

    @step_property()
    def nothing_moves(self, before: Cinema) -> bool:
        return self.seat[0] == before.seat[0]


def full() -> Cinema:
    cinema = Cinema()
    cinema.sell(n=0)
    cinema.sell(n=2)
    return cinema


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("conjunction", Part("sold ≤ most", "2 ≤ 1")),
        ("of_a_record_and_its_machine", Part("c.sold + spare ≤ c.most", "2 + 0 ≤ 1")),
        (
            "for_all",
            Part("seat.guest is None or seat.guest < most", "2 is None, 2 < 1", "seat = seat[2]"),
        ),
        (
            "pairs",
            Part(
                "a = b or not seat[a].taken or (not seat[b].taken)",
                "0 = 2, seat[a].taken: yes, seat[b].taken: yes",
                "a = 0, b = 2",
            ),
        ),
        ("early_returns", Part("seat.guest ≠ 0", "0 ≠ 0")),
        ("locals", Part("sold < limit", "2 < 2", "first.taken")),
        ("delegated", Part("sold ≤ most", "2 ≤ 1")),
        ("of_a_record", Part("not taken or since.running", "taken: yes, since.running: no", "seat = seat[0]")),
        ("a_sum", Part("sum(1 for seat in seat if seat.taken) ≤ most", "2 ≤ 1")),
    ],
)
def test_the_part_that_fails_is_told_with_its_values(name: str, expected: Part):
    assert explain(full(), name) == (expected,)


def test_a_step_property_is_told_of_its_step():
    before = full()
    after = copy(before)
    after.sell(n=1)
    step = Step("sell", (("n", 1),))
    assert explain(after, "one_more", before, step) == (Part("before.sold = sold", "2 = 3"),)


def test_of_two_records_the_fields_that_differ_are_told():
    before = Cinema()
    after = copy(before)
    after.sell(n=0)
    (part,) = explain(after, "nothing_moves", before, Step("sell", (("n", 0),)))
    assert part.values == "seat[0].taken: yes and no, seat[0].guest: 0 and None"


def test_a_property_that_holds_has_nothing_to_tell():
    assert explain(Cinema(), "conjunction") == ()


def test_a_step_shows_the_rules_without_which_it_would_differ():
    assert rules_at_work(Cinema(), Step("sell", (("n", 0),))) == ("CIN-2", "CIN-3")


def test_looking_for_rules_leaves_the_machine_as_it_was():
    cinema = Cinema()
    rules_at_work(cinema, Step("sell", (("n", 0),)))
    assert cinema.sold == 0
    cinema.sell(n=0)
    assert cinema.sold == 1


def test_what_keeps_steps_from_being_possible_is_told_by_rule():
    cinema = Cinema(seats=2)
    cinema.sell(n=0)
    cinema.sell(n=1)
    assert refusals(cinema, tuple(steps(cinema))) == (
        ("CIN-1", (Step("sell", (("n", 0),)), Step("sell", (("n", 1),)))),
    )
