"""The sheet that a report is written on: how wide it is, and whether it has colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

Tone = Literal["good", "bad", "odd", "dim", "strong"]

PAINT = re.compile(r"\x1b\[[0-9;]*m")

CODES: dict[Tone, str] = {"good": "32", "bad": "1;31", "odd": "33", "dim": "2", "strong": "1"}


@dataclass(frozen=True)
class Page:
    """``width`` in columns; text is wrapped to it between the parts that it is made of, and never cut."""

    width: int = 100
    colour: bool = False

    @property
    def narrow(self) -> bool:
        return self.width < 96

    def tone(self, text: str, tone: Tone | None) -> str:
        if not self.colour or tone is None or not text.strip():
            return text
        return f"\x1b[{CODES[tone]}m{text}\x1b[0m"


def wide(text: str) -> int:
    """The columns that a text takes on a terminal, its colours aside."""
    return cell_len(PAINT.sub("", text))


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - wide(text))


def flow(parts: Iterable[str], width: int, between: str = "   ") -> list[str]:
    """Lines no wider than ``width``, broken between parts; a part that is wider by itself is broken at its
    spaces.
    """
    lines: list[str] = []
    line = ""
    for part in parts:
        joined = line + between + part if line else part
        if wide(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = words(part, width)
        lines += full
    return [*lines, line] if line else lines


def series(parts: Sequence[str], width: int) -> list[str]:
    """Parts with commas between them; a line that another one follows ends with its comma."""
    return flow([f"{part}," for part in parts[:-1]] + list(parts[-1:]), width, " ")


def words(text: str, width: int) -> list[str]:
    """The text broken at spaces; a word that is wider than a line keeps a line of its own, whole."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if line and wide(joined) > width:
            lines.append(line)
            joined = f"  {word}" if width > 24 else word
        line = joined
    return [*lines, line]


def hang(lead: str, lines: Sequence[str]) -> list[str]:
    """The lines behind a lead, those after the first indented to where it ends."""
    if not lines:
        return [lead.rstrip()]
    return [lead + lines[0], *(" " * wide(lead) + line for line in lines[1:])]


def columns(rows: Sequence[Sequence[str]], page: Page, heads: Sequence[str] = (), grow: int = -1) -> list[str]:
    """A table without rules. The column ``grow`` is wrapped to what the others leave; on a sheet too narrow
    for that it moves to lines of its own under the others.
    """
    if not rows:
        return []
    everything = [tuple(heads), *rows] if heads else list(rows)
    count = len(everything[0])
    grow %= count
    widths = [max(wide(row[n]) for row in everything) for n in range(count)]
    rest = sum(widths) - widths[grow] + 2 * (count - 1)
    room = page.width - rest
    lines: list[str] = []
    if room >= min(28, widths[grow]):
        widths[grow] = min(widths[grow], room)
        for number, row in enumerate(everything):
            lines += table_row(row, widths, grow, page, "dim" if heads and number == 0 else None)
        return lines
    for number, row in enumerate(everything):
        first = "  ".join(pad(cell, w) for n, (cell, w) in enumerate(zip(row, widths, strict=True)) if n != grow)
        shown = words(first.rstrip(), page.width) if wide(first.rstrip()) > page.width else [first.rstrip()]
        shown += [f"    {line}" for line in words(row[grow], page.width - 4) if line]
        lines += [page.tone(line, "dim" if heads and number == 0 else None) for line in shown]
    return lines


def table_row(row: Sequence[str], widths: Sequence[int], grow: int, page: Page, tone: Tone | None) -> list[str]:
    wrapped = words(row[grow], widths[grow])
    lines: list[str] = []
    for number, part in enumerate(wrapped):
        cells = [part if n == grow else (cell if number == 0 else "") for n, cell in enumerate(row)]
        line = "  ".join(pad(cell, width) for cell, width in zip(cells, widths, strict=True))
        lines.append(page.tone(line.rstrip(), tone))
    return lines
