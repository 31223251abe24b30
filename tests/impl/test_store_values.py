"""Values, their differences, and the conflict rule that must never miss a difference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiesce.address import Path
from quiesce.commits import Put, Remove
from quiesce.overlap import WHOLE, Touched, apply_edits, overlaps
from quiesce.protocol import too_deep
from quiesce.values import (
    ABSENT,
    PathError,
    ValueRefused,
    at,
    checked,
    diff,
    equal,
    same_shape,
    value_hash,
    with_value,
    without,
)

KEYS = st.sampled_from(["a", "b", "0", "1"])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, 0.5]), st.sampled_from(["", "x"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "2"]), max_size=3).map(tuple)


def all_paths(*values: Any) -> set[Path]:
    """Every path that leads to something in any of the values, and one step further."""
    found: set[Path] = set()

    def walk(value: Any, path: Path) -> None:
        found.add(path)
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            walk(child, (*path, str(key)))
        found.update((*path, key) for key in ("a", "0", "2"))

    for value in values:
        walk(value, ())
    return found


def test_equality_is_by_json_type() -> None:
    assert equal(1, 1.0)
    assert equal({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert equal({"a": 1, "b": 2}, {"b": 2, "a": 1})
    for left, right in [
        (1, True),
        (0, False),
        (None, False),
        ("1", 1),
        ([], {}),
        ([1], [True]),
        ("", None),
        (ABSENT, None),
    ]:
        assert not equal(left, right)
        assert not equal(right, left)


def test_what_is_not_json_is_refused_with_its_place() -> None:
    cases: list[tuple[object, str]] = [
        ({"a": [1, float("nan")]}, r"number at /a/1 is nan"),
        (float("inf"), r"number at / is inf"),
        ({"a": {1: 2}}, r"object at /a has the key 1"),
        ({"a": {1, 2}}, r"value at /a is a set"),
        ("\ud800", r"lone surrogate at position 0"),
        ({"\udfff": 1}, r"lone surrogate"),
        (1 << 2000, r"has 2001 bits"),
    ]
    for value, message in cases:
        with pytest.raises(ValueRefused, match=message):
            checked(value)
    deep: Any = 1
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(ValueRefused, match="nests too deeply"):
        checked(deep)
    assert too_deep(deep)
    while isinstance(deep, list):  # taken apart by hand: freeing it in one go would recurse
        deep = deep[0]


def test_depth_is_counted_in_containers() -> None:
    value: Any = 1
    for _ in range(64):
        value = [value]
    assert not too_deep(value)
    assert checked(value) == value
    assert too_deep([value])
    with pytest.raises(ValueRefused):
        checked([value])


@given(VALUES)
def test_a_checked_value_is_equal_and_private(value: Any) -> None:
    copy = checked(value)
    assert equal(copy, value)
    assert not isinstance(value, dict | list) or copy is not value


def test_a_diff_names_leaves_lengths_and_the_whole() -> None:
    assert diff({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}) == [("b", "c")]
    assert diff({"l": [1, 2]}, {"l": [1, 3]}) == [("l", "1")]
    assert diff({"l": [1, 2]}, {"l": [5, 2, 3]}) == [("l",)]
    assert diff({"a": 1}, {"b": 1}) == [("a",), ("b",)]
    assert diff({"a": {"b": 1}}, {"a": [1]}) == [("a",)]
    assert diff(ABSENT, {"a": 1}) == [()]
    assert diff({"a": 1}, ABSENT) == [()]
    assert diff(1, True) == [()]
    assert diff({"a": 1}, {"a": 1.0}) == []


@given(VALUES, VALUES)
def test_a_diff_is_empty_exactly_when_nothing_differs_and_reaches_all_that_does(before: Any, after: Any) -> None:
    paths = diff(before, after)
    assert (not paths) == equal(before, after)
    touched = Touched(tuple(paths))
    for path in paths:
        assert not equal(at(before, path), at(after, path))
    for path in all_paths(before, after):
        if not equal(at(before, path), at(after, path)):
            assert overlaps(touched, path, shallow=False), path


@given(VALUES, st.lists(st.tuples(PATHS, VALUES | st.just(ABSENT)), max_size=4))
@settings(max_examples=150, deadline=None)
def test_an_edit_touches_every_read_that_it_changes(before: Any, wanted: list[tuple[Path, Any]]) -> None:
    """The rule may name too much and must never name too little, deep and shallow."""
    edits: list[Put | Remove] = []
    after = before
    for path, value in wanted:
        edit = Remove(path) if value is ABSENT else Put(path, value)
        try:
            after, _ = apply_edits(after, [edit])
        except PathError:
            continue
        edits.append(edit)
    result, touched = apply_edits(before, edits)
    assert result == after
    for path in all_paths(before, after):
        if not equal(at(before, path), at(after, path)):
            assert overlaps(touched, path, shallow=False), (path, touched)
        if not same_shape(at(before, path), at(after, path)):
            assert overlaps(touched, path, shallow=True), (path, touched)


def test_what_is_beside_is_not_touched() -> None:
    before = {"a": 1, "b": {"c": 1, "d": [1, 2]}}
    _, touched = apply_edits(before, [Put(("b", "c"), 2)])
    assert overlaps(touched, ("b",), shallow=False)
    assert overlaps(touched, (), shallow=False)
    for path in [("a",), ("b", "d"), ("b", "d", "0"), ("b", "e")]:
        assert not overlaps(touched, path, shallow=False)
    for path in [(), ("b",)]:
        assert not overlaps(touched, path, shallow=True)
    _, touched = apply_edits(before, [Put(("b", "e"), 2)])
    assert overlaps(touched, ("b",), shallow=True)
    assert not overlaps(touched, (), shallow=True)
    _, touched = apply_edits(before, [Remove(("b", "d", "0"))])
    assert overlaps(touched, ("b", "d", "1"), shallow=False)
    assert overlaps(touched, ("b", "d"), shallow=True)
    assert overlaps(WHOLE, ("any", "where"), shallow=True)


@given(VALUES, PATHS, LEAVES)
def test_a_changed_copy_shares_the_rest_and_leaves_the_original(value: Any, path: Path, new: Any) -> None:
    original = checked(value)
    try:
        changed = with_value(value, path, new)
    except PathError:
        assert path
        return
    assert equal(value, original)
    assert equal(at(changed, path), new)
    if isinstance(value, dict) and path:
        for key, item in value.items():
            if key != path[0]:
                assert changed[key] is item  # type: ignore[index, call-overload]


def test_edits_that_do_not_apply_say_why() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: with_value({"a": 1}, ("a", "b"), 1), r"cannot reach /a/b: there is a number at /a"),
        (lambda: with_value({}, ("a", "b"), 1), r"cannot reach /a/b: there is nothing at /a"),
        (lambda: with_value([1], ("2",), 1), r"/2 is no position of an array of 1"),
        (lambda: with_value([1], ("01",), 1), r"/01 is no position"),
        (lambda: without({}, ("a",)), r"nothing to remove at /a"),
        (lambda: without([1], ("1",)), r"/1 is no position of an array of 1"),
        (lambda: without({}, ()), r"delete the document"),
    ]
    for make, message in cases:
        with pytest.raises(PathError, match=message):
            make()


@given(VALUES, VALUES)
def test_equal_values_hash_equally_and_others_do_not(left: Any, right: Any) -> None:
    assert (value_hash(left) == value_hash(right)) == equal(left, right)
