"""Two traces side by side: how far they go together, and what differs from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .figures import plural
from .page import Page, columns, flow, hang
from .shape import Change, changes
from .story import Beat, Story


@dataclass(frozen=True)
class Comparison:
    """``shared`` beats lead both stories through the same states. ``constants`` and ``start`` are what
    differs before the first step, ``apart`` the places where the states differ after the first beat that is
    not shared.
    """

    shared: int
    constants: tuple[Change, ...]
    start: tuple[Change, ...]
    apart: tuple[Change, ...]
    rest: tuple[tuple[Beat, ...], tuple[Beat, ...]]

    @property
    def same(self) -> bool:
        return not (self.constants or self.start or self.rest[0] or self.rest[1])

    def data(self) -> dict[str, Any]:
        return {
            "same": self.same,
            "shared": self.shared,
            "constants": [change_data(change) for change in self.constants],
            "start": [change_data(change) for change in self.start],
            "apart": [change_data(change) for change in self.apart],
            "only_in_first": [beat.label for beat in self.rest[0]],
            "only_in_second": [beat.label for beat in self.rest[1]],
        }


def change_data(change: Change) -> dict[str, str]:
    return {"path": change.path, "first": change.before, "second": change.after}


def compare(one: Story, other: Story) -> Comparison:
    constants = differing(dict(one.constants), dict(other.constants))
    start = tuple(changes(one.start, other.start))
    shared = 0
    if not start:
        pairs = zip(one.beats, other.beats, strict=False)
        while (pair := next(pairs, None)) and (pair[0].label, pair[0].state) == (pair[1].label, pair[1].state):
            shared += 1
    rest = (one.beats[shared:], other.beats[shared:])
    apart = tuple(changes(rest[0][0].state, rest[1][0].state)) if rest[0] and rest[1] else ()
    return Comparison(shared, constants, start, apart, rest)


def differing(one: dict[str, str], other: dict[str, str]) -> tuple[Change, ...]:
    names = {**one, **other}
    return tuple(
        Change(name, one.get(name, "–"), other.get(name, "–")) for name in names if one.get(name) != other.get(name)
    )


def comparison(found: Comparison, names: tuple[str, str], page: Page) -> list[str]:
    if found.same:
        return [f"the same trace of {plural(found.shared, 'line')}"]
    lines: list[str] = []
    for title, differences in (("constants", found.constants), ("start", found.start)):
        if differences:
            shown = [f"{change.path}: {change.before} | {change.after}" for change in differences]
            lines += hang(f"{title}   ", flow(shown, page.width - len(title) - 3))
    lines.append(f"{plural(found.shared, 'line')} the same, then:")
    one, other = found.rest
    count = max(len(one), len(other))
    rows = [
        (str(found.shared + position + 1), label(one, position), label(other, position)) for position in range(count)
    ]
    lines += columns(rows, page, ("", *names))
    if found.apart:
        shown = [f"{change.path}: {change.before} | {change.after}" for change in found.apart]
        lines += hang(f"in line {found.shared + 1}   ", flow(shown, page.width - 14))
    return lines


def label(beats: Sequence[Beat], position: int) -> str:
    return beats[position].label if position < len(beats) else ("ends" if position == len(beats) else "")
