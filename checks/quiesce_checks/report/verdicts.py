"""Verdicts as text: one group for each question, one line for each property, aligned, so that the eye finds the
surprise. What was done is said once for the group, and what is special to a property beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..verdict import Outcome, Statistics, Verdict
from .figures import count, plural, rate, seconds, size
from .page import Page, Tone, hang, pad, series, wide, words

TONES: dict[Outcome, Tone] = {
    Outcome.HOLDS: "good",
    Outcome.PROVED: "good",
    Outcome.VIOLATED: "bad",
    Outcome.INCONCLUSIVE: "odd",
    Outcome.VACUOUS: "odd",
    Outcome.AGREES: "good",
    Outcome.DIVERGES: "bad",
    Outcome.FAILED: "bad",
}

PARTS = re.compile(r"; |, (?=any |at )")
"""Between the parts of an assurance: what was done; to what extent; at which constants."""

OUTCOME = len("violated")
"""The usual width of the column of outcomes, so that they stand under each other from group to group."""

SPECIAL = ("shortest ", "reached in ", "not reached ", "holds up to ", "not inductive ")
"""How parts of an assurance begin that are about one property alone."""


@dataclass(frozen=True)
class Line:
    """What is said of one property. ``own`` is about this answer, ``how`` the parts of its assurance; ``surprise``
    marks what is not as expected."""

    property: str
    outcome: str
    tone: Tone | None
    own: tuple[str, ...] = ()
    how: tuple[str, ...] = ()
    surprise: bool = False


@dataclass(frozen=True)
class Group:
    """The lines of one question to one engine; ``seconds`` is the time for all of it."""

    title: str
    lines: tuple[Line, ...]
    seconds: float | None = None


def line_of(verdict: Verdict) -> Line:
    """The line of a verdict that nothing was expected of."""
    notes = verdict.notes[: verdict.outcome is Outcome.VACUOUS]
    return Line(verdict.property, verdict.outcome.value, TONES[verdict.outcome], notes, how_of(verdict))


def how_of(verdict: Verdict) -> tuple[str, ...]:
    """The parts of the assurance. That it is inconclusive, the outcome says already."""
    how = verdict.how.replace("inconclusive: ", "") if verdict.outcome is Outcome.INCONCLUSIVE else verdict.how
    how = re.sub(r"=(True|False)\b", lambda found: f"={found[1].lower()}", how)
    return tuple(part for part in PARTS.split(how) if part)


def group_lines(group: Group, page: Page, *, told: bool = True) -> list[str]:
    """The group's text; without ``told``, what all its lines have in common is left out, since it is said elsewhere."""
    lines = [heading(group, page)]
    common = shared(group.lines)
    if told and common:
        lines += [f"    {page.tone(line, 'dim')}" for line in words("; ".join(common), page.width - 4)]
    outcome = max(OUTCOME, *(wide(line.outcome) for line in group.lines))
    names = max((wide(line.property) for line in group.lines), default=0)
    before: tuple[str, ...] = ()
    for line in group.lines:
        lines += property_lines(line, rest_of(line, common, before), outcome, names, page)
        before = line.how
    return lines


def rest_of(line: Line, common: Sequence[str], before: Sequence[str]) -> str:
    """What is left to say of a property: not what the group has in common, nor what was just said of another."""
    rest = [part for part in line.how if part not in common]
    new = [part for part in rest if part.startswith(SPECIAL) or part not in before]
    return "; ".join([*line.own, *(new or (["same"] if rest else []))])


def heading(group: Group, page: Page) -> str:
    time = seconds(group.seconds) if group.seconds is not None else ""
    if wide(group.title) + 2 + wide(time) > page.width:
        return page.tone(group.title, "strong")
    return (page.tone(pad(group.title, page.width - wide(time)), "strong") + time).rstrip()


def shared(lines: Sequence[Line]) -> list[str]:
    """What is said of every line, and is not about one property alone."""
    if not lines:
        return []
    first, *others = lines
    return [part for part in first.how if not part.startswith(SPECIAL) and all(part in line.how for line in others)]


def property_lines(line: Line, rest: str, outcome: int, names: int, page: Page) -> list[str]:
    mark = page.tone("✗", "bad") if line.surprise else " "
    lead = f"{mark} {page.tone(pad(line.outcome, outcome), line.tone)}  "
    left = wide(lead)
    if not rest:
        return [lead + line.property]
    room = page.width - left - names - 2
    if wide(rest) <= room or room >= 44:
        return hang(lead + pad(line.property, names) + "  ", words(rest, room))
    beside = page.width - left - wide(line.property) - 2
    if wide(rest) <= beside:
        return [f"{lead}{line.property}  {rest}"]
    return [lead + line.property, *(" " * (left + 2) + text for text in words(rest, page.width - left - 2))]


def statistics_lines(statistics: Statistics, page: Page) -> list[str]:
    """What an exploration did: states, levels, rate, memory, and how often each action was taken."""
    if not statistics.distinct:
        return []
    facts = [
        plural(statistics.distinct, "distinct state"),
        f"{count(statistics.generated)} generated",
        f"depth {count(statistics.depth)}",
        "exhausted" if statistics.exhausted else f"{count(statistics.queue)} left in the queue",
    ]
    if statistics.bytes:
        facts.append(size(statistics.bytes))
    facts.append(f"{seconds(statistics.seconds)} ({rate(statistics.distinct, statistics.seconds)})")
    if statistics.compile_seconds:
        facts.append(f"compiled in {seconds(statistics.compile_seconds)}")
    lines = series(facts, page.width)
    taken = [f"{action.action} {count(action.taken)}" for action in statistics.actions if action.taken]
    never = [action.action for action in statistics.actions if not action.taken]
    if taken:
        lines += hang("taken: ", series(taken, page.width - 7))
    if never:
        lines += [page.tone(line, "odd") for line in hang("never taken: ", series(never, page.width - 13))]
    return lines
