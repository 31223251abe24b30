"""The conflict rule: which writes touch which reads.

The rule may name a conflict where there is none; it must never miss one. A write knows the paths that it
touched; a whole-document write touches everything. For a read at ``p``:

- deep: any touched path at, above or below ``p``;
- shallow (type, keys or length at ``p``): a touched path at or above ``p``, or ``p`` itself when a key or an
  element of it came or went.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from quiesce.address import Path, at_or_below
from quiesce.commits import Edit, Put
from quiesce.values import Json, at, is_array, show_path, with_value, without


class Touched(msgspec.Struct, frozen=True, array_like=True):
    """The paths that a write changed (``paths``) and the containers whose keys or length changed
    (``reshaped``).
    """

    paths: tuple[Path, ...] = ((),)
    reshaped: tuple[Path, ...] = ()


WHOLE = Touched()
"""A document was set, made or deleted: every read of it is touched."""


def overlaps(touched: Touched, path: Path, *, shallow: bool) -> bool:
    """Whether a write that touched these paths may have changed what a read at ``path`` saw."""
    if shallow:
        return path in touched.reshaped or any(at_or_below(path, changed) for changed in touched.paths)
    return any(at_or_below(path, changed) or at_or_below(changed, path) for changed in touched.paths)


def apply_edits(before: Json, edits: Iterable[Edit]) -> tuple[Json, Touched]:
    """The edited document and what was touched. Raises ``PathError`` if an edit does not apply."""
    value = before
    paths: list[Path] = []
    reshaped: list[Path] = []
    for edit in edits:
        parent_path = edit.path[:-1]
        parent = at(value, parent_path)
        if isinstance(edit, Put):
            changed = with_value(value, edit.path, edit.value)
        else:
            changed = without(value, edit.path)
        if not edit.path:
            paths.append(())
        else:
            after = at(changed, parent_path)
            moved = is_array(parent) and not isinstance(edit, Put)
            paths.append(parent_path if moved else edit.path)
            if _size(parent) != _size(after):
                reshaped.append(parent_path)
        value = changed
    return value, Touched(tuple(paths), tuple(reshaped))


def _size(container: object) -> int:
    return len(cast("Sequence[object]", container)) if isinstance(container, dict | list | tuple) else -1


def explain(path: Path, seq: int, later: int) -> str:
    """A stale read in words; names the path and sequences and no value."""
    return f"its read at {show_path(path)} (as of {seq}) was overwritten at {later}"


def first_overlap(
    writes: Sequence[tuple[int, Touched]],
    path: Path,
    *,
    shallow: bool,
    excluding: frozenset[int] = frozenset(),
) -> int | None:
    """The sequence of the first of these writes that touches the read, or None."""
    for seq, touched in writes:
        if seq not in excluding and overlaps(touched, path, shallow=shallow):
            return seq
    return None
