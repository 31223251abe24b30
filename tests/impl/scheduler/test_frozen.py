"""What was read cannot be changed in place, and is an ordinary list or dict in every other respect."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from api_world import ApiWorld, SessionPeer
from hypothesis import given
from hypothesis import strategies as st

from quiesce.frozen import FrozenDict, FrozenList, frozen

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_it_is_equal_and_serialises_and_thaws(value: Any) -> None:
    seen = frozen(value)
    assert seen == value
    assert json.loads(json.dumps(seen)) == value
    assert msgspec.json.decode(msgspec.json.encode(seen)) == value
    for thawed in (copy.deepcopy(seen), pickle.loads(pickle.dumps(seen))):
        assert thawed == value
    assert not _holds_frozen(copy.deepcopy(seen))


def _holds_frozen(value: Any) -> bool:
    if isinstance(value, FrozenList | FrozenDict):
        return True
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_holds_frozen, inside))


CHANGES: list[Callable[[Any], object]] = [
    lambda value: value["list"].append(1),
    lambda value: value["list"].sort(),
    lambda value: value["list"].__setitem__(0, 1),
    lambda value: value["list"].__iadd__([1]),
    lambda value: value["list"].__delitem__(0),
    lambda value: value.update(a=1),
    lambda value: value.__setitem__("a", 1),
    lambda value: value.pop("list"),
    lambda value: value.setdefault("b", 1),
    lambda value: value.__ior__({"a": 1}),
    lambda value: value["list"][0].clear(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_it_refuses_every_change_and_says_what_to_do(change: Callable[[Any], object]) -> None:
    value = frozen({"list": [{}, 2]})
    with pytest.raises(TypeError, match="cannot be changed in place: write a new one"):
        change(value)
    assert value == {"list": [{}, 2]}


def test_copies_may_be_changed() -> None:
    value = frozen({"list": [1]})
    assert [*value["list"], 2] == value["list"] + [2]
    for changed in (dict(value), value.copy(), copy.copy(value), value | {}):
        changed["b"] = 1
    one = value["list"].copy()
    one.append(2)
    assert value == {"list": [1]}


def test_a_program_that_appends_to_what_it_read_is_told(world: ApiWorld, alice: SessionPeer) -> None:
    """It would change the default, or every session's copy, and commit nothing."""
    session = alice.session
    options = session.cell("options", default=[])
    session.handler(lambda event: options.get().append(event))("soup")
    session.handler(lambda event: options.set([*options.get(), event]))("pizza")
    world.settle()
    options.update(lambda found: [*found, "fish"])
    world.settle()
    assert options.get() == ["pizza", "fish"]
    assert "cell.set([*value, more])" in alice.failures[0].message
    doubled = options.map(lambda option: {"of": option})
    session.effect(lambda: doubled.get()[0].update(of="other"))
    world.settle()
    assert len(alice.failures) == 2


def test_one_value_is_frozen_once(alice: SessionPeer) -> None:
    cell = alice.session.cell("c")
    cell.set([1, 2])
    assert cell.get() is cell.get()
    seen = cell.get()
    cell.set([1, 3])
    assert (cell.get(), seen) == ([1, 3], [1, 2])
