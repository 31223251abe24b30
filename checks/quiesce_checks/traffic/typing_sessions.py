"""The two recorded typing sessions: who typed what into one text, and when."""

from __future__ import annotations

import gzip
import heapq
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import cast

from quiesce_checks.traffic.merge import ConcurrentEdit, Patch, linear_patches

SESSIONS = ("clownschool", "friendsforever")

UNTIMED_GAP_MS = 136.0
"""Between two edits of a recording without times: the mean gap of the one that has them (3,152 s,
23,136 edits)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit as it reaches the text: ``at`` in milliseconds from the first, patches on the text
    merged so far."""

    at: float
    writer: int
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True)
class TypingSession:
    """A recording in one order. ``timed`` says whether the times are the recorded ones (to the second;
    the edits of one second are spread evenly over it) or an even pace."""

    name: str
    writers: int
    timed: bool
    edits: tuple[Edit, ...]
    final_text: str


def load_session(name: str) -> TypingSession:
    """Read one of ``SESSIONS`` and merge its concurrent edits into one order.

    The order is that of the recorded times, except that no edit comes before one it was made on. Raises
    ``ValueError`` if the merged edits do not make the final text that the recording gives.
    """
    packed = files("quiesce_checks.traffic").joinpath("data", f"{name}.json.gz").read_bytes()
    recording = cast("dict[str, object]", json.loads(gzip.decompress(packed)))
    rows = [_row(row) for row in cast("list[dict[str, object]]", recording["txns"])]
    order = _by_time([row.second for row in rows], [row.edit.parents for row in rows])
    place = {number: position for position, number in enumerate(order)}
    in_order = [
        ConcurrentEdit(row.edit.writer, tuple(place[parent] for parent in row.edit.parents), row.edit.patches)
        for row in (rows[number] for number in order)
    ]
    seconds = [rows[number].second for number in order]
    timed = seconds[0] != seconds[-1]
    instants = _spread(seconds) if timed else [number * UNTIMED_GAP_MS for number in range(len(rows))]
    edits = tuple(
        Edit(at, edit.writer, patches)
        for at, edit, patches in zip(instants, in_order, linear_patches(in_order), strict=True)
    )
    final = cast("str", recording["endContent"])
    if _typed(edits) != final:
        raise ValueError(f"the edits of {name} do not make its final text; the recording or the merge is damaged")
    return TypingSession(name, len({edit.writer for edit in edits}), timed, edits, final)


@dataclass(frozen=True, slots=True)
class _Row:
    second: int
    edit: ConcurrentEdit


def _row(row: dict[str, object]) -> _Row:
    patches = cast("list[tuple[int, int, str]]", row["patches"])
    return _Row(
        int(datetime.fromisoformat(cast("str", row["time"])).timestamp()),
        ConcurrentEdit(
            cast("int", row["agent"]),
            tuple(cast("list[int]", row["parents"])),
            tuple(Patch(position, deleted, inserted) for position, deleted, inserted in patches),
        ),
    )


def _by_time(seconds: Sequence[int], parents: Sequence[tuple[int, ...]]) -> list[int]:
    children: list[list[int]] = [[] for _ in seconds]
    waits_for = [len(made_on) for made_on in parents]
    for number, made_on in enumerate(parents):
        for parent in made_on:
            children[parent].append(number)
    ready = [(seconds[number], number) for number, count in enumerate(waits_for) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for child in children[number]:
            waits_for[child] -= 1
            if not waits_for[child]:
                heapq.heappush(ready, (seconds[child], child))
    return order


def _spread(seconds: Sequence[int]) -> list[float]:
    """Milliseconds from the first edit; edits of one second at even distances within it."""
    sizes, seen = Counter(seconds), Counter[int]()
    instants: list[float] = []
    for second in seconds:
        instants.append((second - seconds[0]) * 1_000 + seen[second] * 1_000 / sizes[second])
        seen[second] += 1
    return instants


def _typed(edits: Sequence[Edit]) -> str:
    text = ""
    for patch in _patches(edits):
        text = patch.apply(text)
    return text


def _patches(edits: Sequence[Edit]) -> Iterator[Patch]:
    for edit in edits:
        yield from edit.patches
