"""States as people see them: what changed, what is the same everywhere, what is hidden."""

from __future__ import annotations

import pytest
from lamps import Colour, Zoo

from quiesce_checks.report.page import Page, columns, flow, hang, series, wide, words
from quiesce_checks.report.shape import Atom, Fields, Items, changes, entries, matcher, select, shape, spans
from quiesce_model.language.machine import state


def node(machine: Zoo):
    return shape(machine.layout_, iter(state(machine)))


def shown(machine: Zoo) -> dict[str, str]:
    return {entry.path: entry.value for entry in entries(node(machine))}


def test_every_kind_of_field_has_a_short_text():
    zoo = Zoo()
    zoo.put(r=1, colour=Colour.RED)
    zoo.seen = 60_000
    values = shown(zoo)
    assert values["colour"] == "GREEN"
    assert values["level"] == "0"
    assert values["seen"] == "60,000"
    assert values["room[0].open"] == "no"
    assert values["room[1].open"] == "yes"
    assert values["room[0].since"] == "–"
    assert values["room[1].since"] == "0"
    assert values["room[0].parcel"] == "–"
    assert values["room[1].parcel.weight"] == "2"
    assert values["room[1].parcel.colour"] == "RED"
    assert values["history"] == "–"


def test_indexes_that_hold_the_same_are_shown_once():
    values = shown(Zoo(rooms=3))
    assert values["room[0..2].open"] == "no"
    assert values["grid[0..1][0..1]"] == "0"


def test_spans_join_neighbours_only():
    assert spans([0, 1, 2, 5, 7, 8]) == "0..2,5,7..8"


def test_a_change_names_the_deepest_place_that_both_states_have():
    zoo = Zoo(rooms=3)
    before = node(zoo)
    zoo.put(r=0, colour=Colour.BLUE)
    zoo.put(r=1, colour=Colour.BLUE)
    found = [str(change) for change in changes(before, node(zoo))]
    assert found == [
        "room[0..1].open: no → yes",
        "room[0..1].since: – → 0",
        "room[0..1].parcel: – → (weight 2, colour BLUE)",
        "grid[0..1][0]: 0 → 3",
    ]


def test_equal_states_have_no_changes():
    assert changes(node(Zoo()), node(Zoo())) == []


@pytest.mark.parametrize(
    ("show", "hide", "kept"),
    [
        (["room.open"], [], {"room[0..1].open"}),
        (["room[1]"], ["room.parcel", "room.number"], {"room[1].open", "room[1].since"}),
        (["*.colour", "colour"], [], {"colour", "best.colour"}),
        ([], ["room", "grid", "best", "history"], {"colour", "level", "seen", "rest"}),
        (["nothing"], [], set()),
    ],
)
def test_patterns_choose_fields(show: list[str], hide: list[str], kept: set[str]):
    chosen = select(node(Zoo()), matcher(show, hide))
    assert {entry.path for entry in entries(chosen)} == kept


def test_a_hidden_index_keeps_the_others_numbers():
    tree = Fields((("room", Items((Atom("a"), Atom("b"), Atom("c")))),))
    chosen = select(tree, lambda path: path != "room[0]")
    assert [entry.path for entry in entries(chosen)] == ["room[1]", "room[2]"]


def test_flow_breaks_between_parts_and_loses_nothing():
    parts = [f"part{n} = {n}" for n in range(20)]
    lines = flow(parts, 40)
    assert all(wide(line) <= 40 for line in lines)
    assert "   ".join(lines) == "   ".join(parts)


def test_a_word_wider_than_the_line_stays_whole():
    assert words("see traces/a-very-long-name-of-a-file.itf.json now", 12) == [
        "see",
        "traces/a-very-long-name-of-a-file.itf.json",
        "now",
    ]


def test_colour_takes_no_room():
    page = Page(colour=True)
    assert wide(page.tone("violated", "bad")) == len("violated")
    assert hang(page.tone("ab", "bad") + " ", ["1", "2"])[1] == "   2"


def test_series_ends_broken_lines_with_a_comma():
    assert series(["a=1", "b=2", "c=3"], 9) == ["a=1, b=2,", "c=3"]


def test_a_table_too_narrow_for_its_wide_column_puts_it_below():
    lines = columns([("BRK-1", "a sentence that is quite long for this", "breaker.py:10")], Page(width=40), grow=1)
    assert all(wide(line) <= 40 for line in lines)
    assert lines[0].startswith("BRK-1  breaker.py:10")
    assert "a sentence that is quite long for" in lines[1]
