"""Verdicts as lines: one for each property, aligned, so that the eye finds the surprise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..verdict import Outcome, Statistics, Verdict
from .figures import count, plural, rate, seconds, size
from .page import Page, Tone, pad, series, wide, words

TONES: dict[Outcome, Tone] = {
    Outcome.HOLDS: "good",
    Outcome.PROVED: "good",
    Outcome.VIOLATED: "bad",
    Outcome.INCONCLUSIVE: "odd",
    Outcome.VACUOUS: "odd",
}


PARTS = re.compile(r"; |, (?=any |at )")
"""Between the parts of an assurance: what was done; to what extent; at which constants."""

SAME = "same"
"""Stands for an assurance that was said before."""


@dataclass(frozen=True)
class Line:
    """What one line says. ``surprise`` marks an answer that is not the expected one; ``how`` is the
    assurance in words.
    """

    machine: str
    property: str
    entry: str
    outcome: str
    tone: Tone | None
    how: str
    seconds: float | None = None
    surprise: bool = False


def line_of(verdict: Verdict, machine: str, entry: str = "") -> Line:
    """The line of a verdict that nothing was expected of."""
    return Line(
        machine,
        verdict.property,
        entry,
        verdict.outcome.value,
        TONES[verdict.outcome],
        "; ".join((how_of(verdict), *verdict.notes[: verdict.outcome is Outcome.VACUOUS])),
        verdict.seconds,
    )


def how_of(verdict: Verdict) -> str:
    """The assurance; that it is inconclusive, its outcome says already."""
    return verdict.how.replace("inconclusive: ", "") if verdict.outcome is Outcome.INCONCLUSIVE else verdict.how


@dataclass(frozen=True)
class Widths:
    """The columns of a block of lines."""

    machine: int
    property: int
    entry: int
    outcome: int
    time: int


def widths_of(lines: Sequence[Line]) -> Widths:
    def widest(texts: Iterable[str]) -> int:
        return max((wide(text) for text in texts), default=0)

    return Widths(
        widest(line.machine for line in lines),
        widest(line.property for line in lines),
        widest(bracketed(line.entry) for line in lines),
        widest(line.outcome for line in lines),
        max(widest(time_of(line) for line in lines), wide(" 0.02 s")),
    )


def verdict_lines(lines: Sequence[Line], page: Page, known: Iterable[str] = ()) -> list[str]:
    """Lines that are all there at once."""
    return Block(page, widths_of(lines)).add(lines, known)


class Block:
    """Lines that come a few at a time, under columns that were fixed before. On a narrow sheet the
    assurance goes under the property.
    """

    def __init__(self, page: Page, widths: Widths) -> None:
        self.page = page
        self.widths = widths
        self.left = 4 + widths.machine + 2 + widths.property + 2 + widths.outcome
        self.left += widths.entry + 2 if widths.entry else 0
        self.room = page.width - self.left - widths.time - 2
        self.machine = ""

    def add(self, lines: Sequence[Line], known: Iterable[str] = ()) -> list[str]:
        """The text of more lines; what is ``known`` of their assurance is not said again."""
        make = self.narrow if self.page.narrow or self.room < 30 else self.broad
        return [text for line in once(lines, known) for text in make(line)]

    def broad(self, line: Line) -> list[str]:
        page, widths = self.page, self.widths
        name = line.machine if line.machine != self.machine else ""
        self.machine = line.machine
        cells = [pad(name, widths.machine), pad(line.property, widths.property)]
        cells += [pad(bracketed(line.entry), widths.entry)] if widths.entry else []
        head = mark(line, page) + "  ".join(cells)
        head += "  " + page.tone(pad(line.outcome, widths.outcome), line.tone) + "  "
        first, *rest = words(line.how, self.room)
        if time_of(line):
            first = pad(first, self.room) + "  " + time_of(line).rjust(widths.time)
        return [(head + first).rstrip(), *(" " * self.left + text for text in rest)]

    def narrow(self, line: Line) -> list[str]:
        page, widths = self.page, self.widths
        shown: list[str] = []
        if line.machine != self.machine:
            shown.append(page.tone(line.machine, "strong"))
            self.machine = line.machine
        left = 4 + widths.outcome
        head = mark(line, page) + page.tone(pad(line.outcome, widths.outcome), line.tone) + "  "
        room = page.width - left
        under = "" if line.how == SAME else " ".join(part for part in (bracketed(line.entry), line.how) if part)
        beside = f"{line.property}  {under}" if under else line.property
        taken = widths.time + 2 if time_of(line) else 0
        first = beside if wide(beside) + taken <= room else line.property
        rest = [] if first == beside else words(under, room)
        if time_of(line) and wide(first) + taken <= room:
            first = pad(first, room - widths.time) + time_of(line).rjust(widths.time)
        shown.append((head + first).rstrip())
        return shown + [" " * left + text for text in rest]


def once(lines: Sequence[Line], known: Iterable[str] = ()) -> Sequence[Line]:
    """What was said in an entry before is not said again, nor the time that was spent on all of it together."""
    told: list[Line] = []
    unsaid = set(known)
    said: set[str] = set()
    entry, time = "", None
    for position, line in enumerate(lines):
        if position and line.entry != entry:
            said = set()
        parts = [part for part in PARTS.split(line.how) if part not in unsaid]
        short = "; ".join(part for part in parts if part not in said)
        repeated = bool(position) and line.entry == entry and line.seconds == time
        how = short or (SAME if parts else "")
        told.append(replace(line, how=how, seconds=None if repeated else line.seconds))
        said |= set(parts)
        entry, time = line.entry, line.seconds
    return told


def bracketed(entry: str) -> str:
    return f"[{entry}]" if entry else ""


def time_of(line: Line) -> str:
    return seconds(line.seconds) if line.seconds is not None else ""


def mark(line: Line, page: Page) -> str:
    return page.tone("✗ ", "bad") if line.surprise else "  "


def statistics_lines(statistics: Statistics, page: Page) -> list[str]:
    """What an exploration did: states, levels, rate, memory, and how often each action was taken."""
    if not statistics.distinct:
        return []
    facts = [
        f"{plural(statistics.distinct, 'distinct state')}, {count(statistics.generated)} generated",
        f"depth {count(statistics.depth)}",
        "exhausted" if statistics.exhausted else f"{count(statistics.queue)} left in the queue",
    ]
    if statistics.bytes:
        facts.append(size(statistics.bytes))
    facts.append(f"{seconds(statistics.seconds)} ({rate(statistics.distinct, statistics.seconds)})")
    if statistics.compile_seconds:
        facts.append(f"compiled in {seconds(statistics.compile_seconds)}")
    lines = series(facts, page.width)
    taken = [action for action in statistics.actions if action.taken]
    never = [action.action for action in statistics.actions if not action.taken]
    if taken:
        shown = ", ".join(f"{action.action} {count(action.taken)}" for action in taken)
        lines += words(f"taken: {shown}", page.width)
    if never:
        lines += [page.tone(text, "odd") for text in words(f"never taken: {', '.join(never)}", page.width)]
    return lines
