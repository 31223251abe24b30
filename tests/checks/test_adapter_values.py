"""Values between quiesce and an adapter: spelled as in saved traces, and read without guessing."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from quiesce_checks.formats.itf import encode_value
from quiesce_checks.lockstep.adapter_values import Fields, Misspelled, spelled
from quiesce_checks.lockstep.subject import Value
from quiesce_model import (
    Age,
    Bag,
    Left,
    Machine,
    Queue,
    Record,
    Subset,
    action,
    age,
    bag,
    constant,
    each,
    flag,
    ghost,
    left,
    one_of,
    optional,
    part,
    queue,
    subset,
    upto,
)
from quiesce_model.language.machine import leaves, state


class Colour(Enum):
    RED = 0
    GREEN = 1


class Lamp(Record):
    on: bool = flag()
    colour: Colour = one_of(Colour)


class House(Machine):
    rooms: int = constant(2)

    lamp: list[Lamp] = each("rooms", Lamp)
    porch: Lamp = part(Lamp)
    guest: int | None = optional(upto(9))
    burning: Age = age()
    rest: Left = left(5)
    waiting: Queue[int] = queue(3, upto(9))
    shards: Bag[Colour] = bag(3, one_of(Colour))
    dark: Subset = subset("rooms")
    total: int = ghost(upto(9))

    @action()
    def evening(self) -> None:
        self.lamp[1].on = True
        self.lamp[1].colour = Colour.GREEN
        self.guest = 7
        self.burning.start()
        self.rest.set(5)
        self.waiting.push(4)
        self.waiting.push(2)
        self.shards.add(Colour.GREEN)
        self.shards.add(Colour.RED)
        self.dark.add(0)


PLACES = ("lamp", "porch", "guest", "burning", "rest", "waiting", "shards", "dark")
EVENING: dict[str, Any] = {
    "lamp": [{"on": False, "colour": "RED"}, {"on": True, "colour": "GREEN"}],
    "porch": {"on": False, "colour": "RED"},
    "guest": {"tag": "Some", "value": 7},
    "burning": 0,
    "rest": 5,
    "waiting": [4, 2],
    "shards": ["GREEN", "RED"],
    "dark": {"#set": [0]},
}


def house() -> House:
    made = House()
    made.evening()
    return made


def shown_by(machine: House) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    """The leaves without ghosts, and what they are as lockstep compares them."""
    kept = [(leaf, number) for leaf, number in zip(leaves(machine), state(machine), strict=True) if not leaf.ghost]
    values = [leaf.choices[n] if leaf.choices else bool(n) if leaf.kind == "flag" else n for leaf, n in kept]
    return tuple(leaf.name for leaf, _ in kept), tuple(values)


def test_whole_places_are_the_leaves_of_the_model():
    fields = Fields(House(), PLACES)
    names, values = shown_by(house())
    assert fields.unknown == ()
    assert fields.leaves == names
    assert fields.read(EVENING) == values


def test_what_a_saved_trace_has_is_read():
    machine = house()
    saved = encode_value(machine.layout_, iter(state(machine)))
    assert Fields(machine, PLACES).read({name: saved[name] for name in PLACES}) == shown_by(machine)[1]


def test_leaves_can_be_shown_one_by_one():
    fields = Fields(House(), ("lamp[1].on", "guest?", "guest", "porch.colour"))
    seen = {"lamp[1].on": True, "guest?": True, "guest": 7, "porch.colour": "RED"}
    assert fields.read(seen) == (True, True, 7, "RED")


def test_an_absent_value_lies_at_its_start():
    fields = Fields(House(), ("guest", "burning"))
    assert fields.leaves == ("guest?", "guest", "burning")
    assert fields.read({"guest": {"tag": "None", "value": {"#tup": []}}, "burning": -1}) == (False, 0, -1)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("lamp", [], "lamp is a list of 2, not []"),
        ("lamp", [{"on": True}, {"on": True}], 'lamp[0] is an object with on, colour, not {"on": true}'),
        ("porch", {"on": 1, "colour": "RED"}, "porch.on is true or false, not 1"),
        ("porch", {"on": True, "colour": 0}, "porch.colour is the name of a member of its enum, not 0"),
        ("guest", 7, 'guest is {"tag": "Some", "value": …} or {"tag": "None"'),
        ("guest", None, "not null"),
        ("burning", None, "burning is a whole number (an age that does not run is -1), not null"),
        ("burning", True, "burning is a whole number"),
        ("rest", "5", 'rest is a whole number, not "5"'),
        ("rest", 0.5, "rest is a whole number, not 0.5"),
        ("rest", {"#bigint": 5}, '{"#bigint": 5} is no whole number: write {"#bigint": "42"}'),
        ("rest", {"#bigint": "5", "x": 1}, "is no whole number"),
        ("rest", {"#bigint": "9" * 5000}, "is no whole number"),
        ("waiting", [1, 2, 3, 4], "waiting is a list of at most 3, not [1, 2, 3, 4]"),
        ("waiting", [True], "waiting[0] is a whole number, not true"),
        ("dark", [0], 'dark is {"#set": […]} with numbers from 0 to 1, not [0]'),
        ("dark", {"#set": [2]}, 'not {"#set": [2]}'),
    ],
)
def test_nothing_is_guessed(place: str, value: Any, said: str):
    with pytest.raises(Misspelled) as wrong:
        Fields(House(), (place,)).read({place: value})
    assert said in str(wrong.value)


def test_large_numbers_are_written_out_and_read():
    assert spelled(2**53 - 1) == 2**53 - 1
    assert spelled(-(2**53)) == {"#bigint": "-9007199254740992"}
    assert Fields(House(), ("rest",)).read({"rest": {"#bigint": "9007199254740993"}}) == (9007199254740993,)


def test_arguments_are_spelled_as_values_are():
    assert [spelled(value) for value in (True, 3, Colour.GREEN)] == [True, 3, "GREEN"]


@pytest.mark.parametrize("name", ["lamps", "lamp[2]", "lamp.on", "porch.size", "guest.x", "", "lamp[x]"])
def test_a_place_that_the_model_has_not_is_known_as_such(name: str):
    assert Fields(House(), (name,)).unknown == (name,)
