"""Where a state's fields are, and what is refused because it does not fit."""

from __future__ import annotations

from random import Random

import pytest
from explored_at_random import at_random
from explored_machines import Cells, Lamps, Nothing

from quiesce_checks.engines.explore import explore
from quiesce_checks.engines.packing import TooWide, layout, place, place_records, words_of
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.terms import variables
from quiesce_model import Machine, action, constant, upto


@pytest.mark.parametrize("seed", range(20))
def test_what_is_packed_is_unpacked(seed: int) -> None:
    read = at_random(seed)
    random = Random(seed)
    found = layout(read)
    for _ in range(20):
        state = tuple(random.randint(v.low.data, v.high.data) for v in read.variables if v.high is not None)
        words = found.pack(state)
        assert len(words) == found.words
        assert all(0 <= word < 2**64 for word in words)
        assert found.unpack(words) == state


@pytest.mark.parametrize("seed", range(20))
def test_no_field_straddles_a_word_or_overlaps_another(seed: int) -> None:
    taken: dict[int, int] = {}
    for field in layout(at_random(seed)).fields:
        assert field.shift + field.width <= 64
        assert taken.get(field.word, 0) & field.mask == 0
        taken[field.word] = taken.get(field.word, 0) | field.mask


def test_fields_of_one_record_stand_in_one_word() -> None:
    found = layout(relation(Lamps(lamps=12)))
    records = [f.word for f in found.fields]
    assert found.words == 2
    assert all(len(set(records[3 * i : 3 * i + 3])) == 1 for i in range(12))


def test_records_are_split_where_that_saves_a_word() -> None:
    assert words_of(place([20] * 6, [[0, 1], [2, 3], [4, 5]])) == 3
    assert words_of(place_records([20] * 6, [[0, 1], [2, 3], [4, 5]])) == 2
    assert place_records([40, 20, 40, 20], [[0, 1], [2, 3]]) == [(0, 0), (0, 40), (1, 0), (1, 40)]


def test_a_machine_without_fields_takes_one_word_of_nothing() -> None:
    found = layout(relation(Nothing()))
    assert found.words == 1
    assert found.pack(()) == (0,)


def test_six_hundred_bits_take_eleven_words_of_six_numbers_each() -> None:
    assert layout(relation(Cells(size=60))).words == 11


class Huge(Machine):
    """Numbers that grow beyond the machine's word."""

    most: int = constant(2**40)
    a: int = upto(lambda c: c.most)
    b: int = upto(lambda c: c.most)

    @action()
    def multiply(self) -> None:
        self.require(self.a * self.b < 7)
        self.a = 1


def test_a_product_beyond_64_bits_is_refused_with_its_place() -> None:
    with pytest.raises(TooWide, match=r"test_explore_packing.py:\d+ \(multiply\): a number here may be anything"):
        explore(Huge())
    assert explore(Huge(most=2**31)).statistics.distinct == 2


def test_a_domain_beyond_64_bits_is_refused_by_name() -> None:
    with pytest.raises(TooWide, match="a ranges over"):
        explore(Huge(most=2**64))


def test_variables_are_found_below_their_terms() -> None:
    read = relation(Lamps())
    known = {v.term.number for v in read.variables}
    assert all(v.number in known for a in read.actions for v in variables([a.enabled, *a.updates.values()]))
