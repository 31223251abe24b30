"""JSON values: what may be stored, when two of them are the same, how to reach into one and what differs.

A value is immutable by agreement: everything that holds one (store, replica, transaction) shares structure
and builds a changed value by copying the containers along the changed path. ``checked`` makes the one private
copy, at the border where a value comes in.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias, TypeGuard, cast

from quiesce.address import Path

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class Absent(Enum):
    """The type of ``ABSENT``: no value at all, which is not the value ``null``."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

Maybe: TypeAlias = "Json | Absent"
"""A value, or ``ABSENT`` where there is no document or no such path."""

MAX_DEPTH: Final = 64
"""How many containers may lie inside each other. Deeper values are refused before any recursion can fail."""

MAX_INTEGER_BITS: Final = 1024
"""Integers are exact; beyond this many bits they are refused, since printing one costs quadratic time."""


class ValueRefused(ValueError):
    """A value that cannot be stored. The message says what, where, and what to do."""


class PathError(LookupError):
    """An edit that does not apply to the value it meets. The message names the path and what is there."""


def is_array(value: Maybe) -> TypeGuard[Sequence[Json]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list | tuple)


def is_object(value: Maybe) -> TypeGuard[Mapping[str, Json]]:
    """Whether the value is a JSON object."""
    return isinstance(value, Mapping)


def show_path(path: Path) -> str:
    """A path as people read it: ``/title``, and ``/`` for the whole document."""
    return "/" + "/".join(path)


def checked(value: object, depth: int = MAX_DEPTH) -> Json:
    """A private copy of ``value`` as JSON, or ``ValueRefused``.

    Accepts None, bool, int, float, str, lists or tuples, and mappings with string keys. Refuses numbers that
    are not finite, strings that are not Unicode text (lone surrogates), other types, and more than ``depth``
    levels.
    """
    return _checked(value, (), depth)


def _checked(value: object, path: Path, depth: int) -> Json:
    if value is None or value is True or value is False:
        return cast("Json", value)
    if isinstance(value, str):
        if not value.isascii():
            _refuse_surrogates(value, path)
        return str(value)
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise ValueRefused(
                f"the integer at {show_path(path)} has {value.bit_length()} bits, more than "
                f"{MAX_INTEGER_BITS}: "
                "store it as a string"
            )
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueRefused(
                f"the number at {show_path(path)} is {value}, which JSON cannot hold: store null or a string instead"
            )
        return float(value)
    if depth <= 0:
        raise ValueRefused(
            f"the value nests too deeply at {show_path(path[:4])}/…: at most {MAX_DEPTH} containers may "
            "lie inside "
            "each other; split it into documents"
        )
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [_checked(item, (*path, str(index)), depth - 1) for index, item in enumerate(items)]
    if isinstance(value, Mapping):
        made: dict[str, Json] = {}
        for key, item in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise ValueRefused(
                    f"the object at {show_path(path)} has the key {key!r}: keys are strings; convert it first"
                )
            if not key.isascii():
                _refuse_surrogates(key, path)
            made[str(key)] = _checked(item, (*path, key), depth - 1)
        return made
    raise ValueRefused(
        f"the value at {show_path(path)} is a {type(value).__name__}, which is not JSON: convert it to an "
        "object, "
        "array, string, number, boolean or null"
    )


def _refuse_surrogates(text: str, path: Path) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueRefused(
            f"a string at {show_path(path)} holds a lone surrogate at position {error.start}, which is not "
            "text: "
            "decode it correctly or escape it"
        ) from None


def equal(left: Maybe, right: Maybe) -> bool:
    """Sameness by JSON type: ``1`` is ``1.0`` and is not ``true``; key order does not matter (decision
    B16).
    """
    if left is right:
        return True
    if left is ABSENT or right is ABSENT:
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return False  # the same boolean is the same object
    if isinstance(left, int | float):
        return isinstance(right, int | float) and left == right
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    if is_object(left):
        if not is_object(right) or len(left) != len(right):
            return False
        return all(key in right and equal(item, right[key]) for key, item in left.items())
    if is_array(left):
        return is_array(right) and len(left) == len(right) and all(map(equal, left, right))
    return False


def position(segment: str, length: int) -> int | None:
    """The array position that a path segment names, if it lies within ``length``; positions have one
    spelling.
    """
    if segment.isascii() and segment.isdigit() and (segment == "0" or segment[0] != "0") and len(segment) < 10:
        index = int(segment)
        if index < length:
            return index
    return None


def at(value: Maybe, path: Path) -> Maybe:
    """The value at a path, or ``ABSENT``."""
    for segment in path:
        if is_object(value):
            value = value.get(segment, ABSENT)
        elif is_array(value):
            index = position(segment, len(value))
            value = ABSENT if index is None else value[index]
        else:
            return ABSENT
    return value


def reach(value: Maybe, path: Path) -> int:
    """How many segments of ``path`` lead to something, -1 if there is no document: what is absent is so at a depth."""
    if value is ABSENT:
        return -1
    for count, segment in enumerate(path):
        value = at(value, (segment,))
        if value is ABSENT:
            return count
    return len(path)


def keys_of(value: Maybe) -> tuple[str, ...] | int:
    """An object's keys, or an array's length; no keys where there is neither."""
    if is_object(value):
        return tuple(value)
    return len(value) if is_array(value) else ()


def same_shape(left: Maybe, right: Maybe) -> bool:
    """Whether a shallow read cannot tell the two apart: same container type with the same keys or length, or
    equal leaves. Values inside a container do not matter."""
    if left is right:
        return True
    if is_object(left):
        return is_object(right) and left.keys() == right.keys()
    if is_array(left):
        return is_array(right) and len(left) == len(right)
    return not is_object(right) and not is_array(right) and equal(left, right)


def diff(before: Maybe, after: Maybe) -> list[Path]:
    """The changed paths between two documents, in document order.

    Leaves that differ, keys that appear or disappear (at the key), an array whose length changed (at the
    array itself, and at no path inside it), and ``()`` for a document that appears or disappears. Equal
    values: nothing.
    """
    return list(_diff(before, after, ()))


def _diff(before: Maybe, after: Maybe, path: Path) -> Iterator[Path]:
    if before is after:
        return
    if is_object(before) and is_object(after):
        for key, item in before.items():
            if key not in after:
                yield (*path, key)
            else:
                yield from _diff(item, after[key], (*path, key))
        for key in after:
            if key not in before:
                yield (*path, key)
    elif is_array(before) and is_array(after):
        if len(before) != len(after):
            yield path
        else:
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _diff(one, other, (*path, str(index)))
    elif not equal(before, after):
        yield path


def with_value(value: Maybe, path: Path, new: Json) -> Json:
    """A copy of ``value`` with ``new`` at ``path``; containers beside the path are shared.

    The parent must be a container. In an array the position must exist, or be its length, which appends.
    Raises ``PathError`` otherwise.
    """
    if not path:
        return new
    return _rebuilt(value, path, 0, new)


def without(value: Maybe, path: Path) -> Json:
    """A copy of ``value`` without what is at ``path``; in an array the later elements move up.

    ``path`` is not empty: a whole document is deleted, not edited. Raises ``PathError`` if nothing is there.
    """
    if not path:
        raise PathError("the root cannot be removed by an edit: delete the document")
    return _rebuilt(value, path, 0, ABSENT)


def _rebuilt(value: Maybe, path: Path, depth: int, new: Maybe) -> Json:
    segment, last = path[depth], depth == len(path) - 1
    if is_object(value):
        made = dict(value)
        if last:
            if new is not ABSENT:
                made[segment] = new
            elif segment in made:
                del made[segment]
            else:
                raise PathError(f"nothing to remove at {show_path(path)}: the object has no such key")
        elif segment in made:
            made[segment] = _rebuilt(made[segment], path, depth + 1, new)
        else:
            raise PathError(_no_container(path, depth + 1, "nothing"))
        return made
    if is_array(value):
        items = list(value)
        index = position(segment, len(items) + 1)
        if index is None or (index == len(items) and not (last and new is not ABSENT)):
            raise PathError(
                f"{show_path(path[: depth + 1])} is no position of an array of {len(items)}: "
                "use a decimal position, or the length to append"
            )
        if not last:
            items[index] = _rebuilt(items[index], path, depth + 1, new)
        elif new is ABSENT:
            del items[index]
        elif index == len(items):
            items.append(new)
        else:
            items[index] = new
        return items
    raise PathError(_no_container(path, depth, describe(value)))


def _no_container(path: Path, depth: int, found: str) -> str:
    return (
        f"cannot reach {show_path(path)}: there is {found} at {show_path(path[:depth])}, "
        "where an object or array is needed; write that first"
    )


def describe(value: Maybe) -> str:
    """A value's type in words, for messages; never its content."""
    if value is ABSENT:
        return "nothing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if is_array(value) else "an object"


def value_hash(value: Json) -> str:
    """SHA-256 over a canonical spelling (sorted keys, whole floats as integers), so equal values hash
    equally.
    """
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {key: _canonical(item) for key, item in value.items()}
    if is_array(value):
        return [_canonical(item) for item in value]
    return value
