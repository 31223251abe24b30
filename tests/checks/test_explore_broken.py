"""Each comparison of the searches is seen to fail: break one part, and the counts or the states differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from explored_at_random import at_random
from explored_machines import Cells, Lamps, Signs
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import emit, interpreted, kernel, packing, room, successors, visited
from quiesce_checks.engines.explore import Exploration, explore
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.relation.terms import Term
from quiesce_checks.trace import Disagreement


def native_and_plain(read: Relation) -> tuple[Exploration, Exploration]:
    one = explore(read, engine="native", confirm=None)
    return one, explore(read, engine="interpreted", confirm=None)


def states_of(found: Exploration) -> set[tuple[int, ...]]:
    assert found.searched is not None
    return {found.searched.states.leaves(i) for i in range(found.statistics.distinct)}


def agree(read: Relation) -> bool:
    try:
        one, other = native_and_plain(read)
    except Disagreement:
        return False
    counts = [(f.statistics.generated, f.statistics.depth, len(states_of(f))) for f in (one, other)]
    outcomes = [[v.outcome for v in f.verdicts] for f in (one, other)]
    return counts[0] == counts[1] and outcomes[0] == outcomes[1] and states_of(one) == states_of(other)


SWAPS = {"sub": "add", "mul": "add", "le": "eq", "and": "or", "or": "and", "mod": "div", "div": "mod"}


@pytest.mark.parametrize("op", SWAPS)
def test_an_operation_emitted_as_another_is_noticed(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good: Callable[[emit.Emitter, Term], str] = emit.Emitter.instruction

    def bad(self: emit.Emitter, term: Term) -> str:
        if term.op != op:
            return good(self, term)
        other = Term()
        other.op, other.args, other.data, other.sort = SWAPS[op], term.args, term.data, term.sort
        other.low, other.high, other.number = term.low, term.high, term.number
        return good(self, other)

    monkeypatch.setattr(emit.Emitter, "instruction", bad)
    assert not all(agree(at_random(seed)) for seed in range(24))


def test_a_field_stepped_the_wrong_way_in_its_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = emit.Emitter.op

    def bad(self: emit.Emitter, text: str) -> str:
        return good(self, text.replace("add ", "sub ") if text.startswith("add ") else text)

    monkeypatch.setattr(emit.Emitter, "op", bad)
    assert not agree(relation(Lamps()))


def test_a_remainder_with_the_dividends_sign_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = emit.Emitter.op

    def bad(self: emit.Emitter, text: str) -> str:
        return good(self, text.replace("icmp slt", "icmp sgt"))

    monkeypatch.setattr(emit.Emitter, "op", bad)
    assert not agree(relation(Signs()))


def test_a_field_one_bit_too_narrow_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "width_of", lambda low, high: max(1, (high - low).bit_length() - 1))  # type: ignore[misc]
    assert not agree(relation(Lamps()))


def test_a_comparison_that_skips_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = visited.same
    read = relation(Cells(size=13))
    assert packing.layout(read).words > 1
    monkeypatch.setattr(visited, "mix", lambda out, words: out.op(f"and i64 {words[0]}, 0"))  # type: ignore[misc]
    assert agree(read), "with one hash for all states the comparison decides alone"
    monkeypatch.setattr(visited, "same", lambda out, a, b: good(out, a[1:], b[1:]))  # type: ignore[misc]
    assert not agree(read)


def test_a_tag_that_is_taken_for_the_state_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visited, "same", lambda out, a, b: "true")  # type: ignore[misc]
    assert not agree(yardstick(SCOPES["small"]))


def test_new_states_that_are_not_judged_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.Lanes, "watch", lambda *_: None)  # type: ignore[misc]
    assert not agree(relation(Signs()))


def test_a_lane_beyond_the_levels_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(self: Any, out: Any, state: str, end: str) -> str:
        return f"splat (i1 true)"  # noqa: F541

    monkeypatch.setattr(successors.Lanes, "valid", bad)
    assert not agree(relation(Lamps()))


def test_an_action_left_out_of_the_plain_search_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = interpreted.source
    monkeypatch.setattr(interpreted, "source", lambda problem: good(problem).replace("append((0,", "append; ((0,"))  # type: ignore[misc]
    assert not agree(relation(Lamps()))


def test_states_lost_when_the_table_grows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = yardstick(SCOPES["base"])
    monkeypatch.setattr(room, "FIRST_TABLE", 10)
    monkeypatch.setattr(room, "REFILL", 100)
    assert agree(read)
    monkeypatch.setattr(room, "range", lambda a, b, c: range(a, b, 2 * c), raising=False)  # type: ignore[misc]
    assert not agree(read)


def test_a_step_that_the_machine_does_not_take_raises_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Lamps()
    read = relation(machine)

    def light(self: Lamps, i: int) -> None:
        self.lamp[i].level = 5

    monkeypatch.setattr(Lamps, "light", light)
    with pytest.raises(Disagreement):
        explore(read, ["bright"])


def test_a_property_that_the_machine_judges_otherwise_raises_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    read = relation(Lamps())
    monkeypatch.setattr(Lamps, "one_rests", lambda self: True)
    with pytest.raises(Disagreement, match="the property holds"):
        explore(read, ["one_rests"])
