"""A chart of lanes as a picture: where everything goes. Time flows down, a lane is a column, a step is a row.

In a row the one who takes the step has a dot, with the action above the line and what it changes below. Where that
changes something of another lane, an arrow goes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..explain import Part
from .chart import Cell, Chart, Event, Note, Row
from .figures import plural
from .story import Story
from .svg import Element, Ink, box, document, dot, group, line, shape, text, wide, wrap

INK, DIM, FAINT, RULE = "#1f2328", "#59636e", "#818b98", "#eaeef2"
ARROW, ALARM, CALM, WRONG = "#0969da", "#bc4c00", "#1a7f37", "#cf222e"

TITLE, WORD, SMALL = Ink(17, INK, True), Ink(12.5, INK), Ink(11, DIM)
FAILED, FAILS = Ink(12.5, WRONG, True), Ink(12.5, WRONG)
HEAD, ABOUT = Ink(12.5, INK, True), Ink(11, DIM)
ACTION, CHANGE, OVER = Ink(12, INK, True), Ink(11.5, INK), Ink(11.5, FAINT)
CITED, COUNT = Ink(10, FAINT), Ink(11, DIM)
SAID = Ink(12, INK)
OF_TIME, LATER = Ink(11.5, DIM, True), Ink(11.5, DIM)

EDGE = 20
"""From the card's edge to what is on it."""

MARGIN = 34
"""The column of the steps' numbers."""

NARROWEST, WIDEST, ALONE = 116, 250, 470
"""How wide a lane may be, and how wide a single one."""

LEAST = 560
"""How wide a card is at least, if no less was asked for: its head needs some room."""

STEM = 12
"""From the left of a lane to the line down its middle, and half of that on to its text."""

LEADING = 15

FEW = 3
"""So many changes of a lane have a line each."""


@dataclass(frozen=True)
class Frame:
    """Where the lanes are: their left edges, how wide each is, and how wide the card is."""

    lefts: tuple[float, ...]
    lane: float
    width: float

    def stem(self, lane: int) -> float:
        return self.lefts[lane] + STEM

    def words(self, lane: int) -> float:
        """Where the texts of a lane begin."""
        return self.lefts[lane] + STEM * 1.75

    @property
    def room(self) -> float:
        """How wide the texts of a lane may be."""
        return self.lane - STEM * 1.75 - 6


@dataclass
class Sheet:
    """What has been laid out so far, and how far down it goes."""

    bottom: float = EDGE
    elements: list[Element] = field(default_factory=list[Element])

    def write(self, lines: Iterable[str], ink: Ink, x: float, leading: float = LEADING + 2) -> None:
        for told in lines:
            self.bottom += leading
            self.elements.append(text(x, self.bottom - 4, told, ink))


def picture(story: Story, chart: Chart, *, title: str = "", width: int = 900) -> str:
    """The file of a chart, as wide as asked for, or wider if its lanes need it. ``title`` is the story's own, if none
    is given."""
    frame = framed(len(chart.lanes), width)
    sheet = Sheet()
    heading(sheet, story, frame, title)
    heads(sheet, chart, frame)
    top = sheet.bottom
    body = Sheet(top)
    bars = opening(body, chart, frame)
    for row in chart.rows:
        if isinstance(row, Note):
            note(body, row, frame)
        else:
            step(body, row, frame, bars, failing=bool(story.promised) and row.last == story.length)
    stems = [line(frame.stem(n), top, frame.stem(n), body.bottom, "#c3cbd4", 1.5) for n in range(len(chart.lanes))]
    sheet.elements += [*stems, *bars.drawn(body.bottom), *body.elements]
    sheet.bottom = body.bottom
    foot(sheet, story, frame)
    height = sheet.bottom + EDGE - 4
    card = box(0.5, 0.5, frame.width - 1, height - 1, "#ffffff", stroke="#d1d9e0", corner=10)
    return document(frame.width, height, title or called(story), [card, *sheet.elements])


def framed(lanes: int, width: float) -> Frame:
    lane = min(WIDEST if lanes > 1 else ALONE, max(NARROWEST, (width - 2 * EDGE - MARGIN) / lanes))
    lefts = tuple(EDGE + MARGIN + lane * n for n in range(lanes))
    return Frame(lefts, lane, max(2 * EDGE + MARGIN + lane * lanes, min(width, LEAST)))


def called(story: Story) -> str:
    return f"{story.machine}.{story.promised}" if story.promised else story.machine


# Above and below the steps.


def heading(sheet: Sheet, story: Story, frame: Frame, title: str) -> None:
    """What went wrong, what was promised, and the constants, once."""
    room = frame.width - 2 * EDGE
    if title or not story.headline:
        sheet.write(wrap(title or called(story), TITLE, room), TITLE, EDGE, 23)
        sheet.bottom += 3
    said = f"{called(story)}, in {plural(story.length, 'step')}" if story.headline else plural(story.length, "step")
    sheet.write(wrap(f"{story.headline} {said}".strip(), FAILED, room), FAILED if story.headline else WORD, EDGE)
    if story.promise:
        sheet.write(wrap(f"Promised: {story.promise}", WORD, room), WORD, EDGE)
    given = ", ".join(f"{name}={value}" for name, value in story.constants)
    without = f"without {', '.join(story.without)}" if story.without else ""
    for told in filter(None, (given and f"with {given}", without, *story.notes)):
        sheet.write(wrap(told, SMALL, room), SMALL, EDGE, LEADING)
    sheet.bottom += 12


def heads(sheet: Sheet, chart: Chart, frame: Frame) -> None:
    """The lanes' names in boxes of the same height."""
    room = frame.lane - 20
    named = [wrap(lane.name, HEAD, room) for lane in chart.lanes]
    about = [wrap(lane.about, ABOUT, room) if lane.about else [] for lane in chart.lanes]
    lines = max(len(name) + len(word) for name, word in zip(named, about, strict=True))
    height = lines * 16 + 10
    for n, (name, word) in enumerate(zip(named, about, strict=True)):
        left = frame.lefts[n]
        sheet.elements.append(box(left, sheet.bottom, frame.lane - 8, height, "#f6f8fa", stroke="#d1d9e0", corner=6))
        told = [*((one, HEAD) for one in name), *((one, ABOUT) for one in word)]
        for place, (one, ink) in enumerate(told):
            sheet.elements.append(text(left + 8, sheet.bottom + 17 + 16 * place, one, ink))
    sheet.bottom += height


def foot(sheet: Sheet, story: Story, frame: Frame) -> None:
    """What fails at the end, with its values; or from where it goes round for ever."""
    room = frame.width - 2 * EDGE - 24
    lines: list[tuple[str, Ink]] = []
    if story.loop is not None:
        again = f"and again from the state after step {story.loop}, for ever"
        lines += [(told, OF_TIME) for told in wrap(again, OF_TIME, room)]
    if story.promised:
        lines += [(told, FAILED) for told in wrap(f"✗ {story.promised}", FAILED, room)]
    for told in (*story.ending, *map(part_text, story.fails)):
        lines += [(one, FAILS) for one in wrap(told, FAILS, room)]
    if not lines:
        return
    sheet.bottom += 10
    height = len(lines) * 18 + 12
    wrong = bool(story.promised)
    fill, edge = ("#fff1f0", "#ff8182") if wrong else ("#f6f8fa", "#d1d9e0")
    sheet.elements.append(box(EDGE, sheet.bottom, frame.width - 2 * EDGE, height, fill, stroke=edge, corner=6))
    for place, (told, ink) in enumerate(lines):
        sheet.elements.append(text(EDGE + 12, sheet.bottom + 19 + 18 * place, told, ink))
    sheet.bottom += height


def part_text(part: Part) -> str:
    """``commits ≤ bound is not so: 9 ≤ 8``."""
    where = f", where {part.where}" if part.where else ""
    return f"fails: {part.text}" + (f"   ({part.values})" if part.values else "") + where


# The steps.


@dataclass
class Bars:
    """Along each lane, for how long a breaker stands tripped."""

    frame: Frame
    since: list[float | None]
    done: list[Element] = field(default_factory=list[Element])

    def at(self, y: float, cells: Sequence[Cell]) -> None:
        for lane, cell in enumerate(cells):
            began = self.since[lane]
            if cell.tripped and began is None:
                self.since[lane] = y
            elif not cell.tripped and began is not None:
                self.done.append(self.bar(lane, began, y))
                self.since[lane] = None

    def bar(self, lane: int, top: float, bottom: float) -> Element:
        return line(self.frame.stem(lane), top, self.frame.stem(lane), bottom, "#fd8c73", 5)

    def drawn(self, bottom: float) -> list[Element]:
        return [*self.done, *(self.bar(n, top, bottom) for n, top in enumerate(self.since) if top is not None)]


def opening(body: Sheet, chart: Chart, frame: Frame) -> Bars:
    """The state that the steps begin in."""
    bars = Bars(frame, [None] * len(chart.lanes))
    bars.at(body.bottom, chart.first)
    inside: list[Element] = []
    if chart.opening != "start":
        note(body, Note(chart.opening), frame)
    y = body.bottom + 16
    if chart.opening == "start":
        inside.append(text(EDGE, y, "0", COUNT))
    deep = [cell_elements(cell, frame, n, y, inside) for n, cell in enumerate(chart.first)]
    body.elements += inside
    body.bottom = max([y, *deep]) + 8
    return bars


def step(body: Sheet, row: Row, frame: Frame, bars: Bars, *, failing: bool) -> None:
    """One row: the number, the dot with its action, the arrows, and what changes."""
    inside: list[Element] = [line(EDGE, body.bottom, frame.width - EDGE, body.bottom, RULE)]
    top = body.bottom
    y = time_passes(row, frame, top, inside) if row.elapsed else acting(row, frame, top, inside)
    count = str(row.first) if row.first == row.last else f"{row.first}–{row.last}"
    number = Ink(COUNT.size, WRONG, True) if failing else COUNT
    for place, one in enumerate(wrap(count, number, MARGIN + 6)):
        inside.append(text(EDGE, (top + 24 if row.elapsed else y + 4) + 13 * place, one, number))
    bars.at(y, row.cells)
    below = y + 15
    deep = [cell_elements(cell, frame, n, below, inside) for n, cell in enumerate(row.cells) if cell.touched]
    body.elements.append(group(inside, row.told))
    body.bottom = max([y + 9, *(bottom + 7 for bottom in deep)])
    if row.said:
        remark(body, row, frame)


def remark(body: Sheet, row: Row, frame: Frame) -> None:
    """What somebody says of a step, below it, from its lane on to the right or else to the left."""
    right = frame.width - EDGE
    left = max(EDGE + MARGIN, min(frame.words(row.actor or 0) - 6, right - 330))
    lines = wrap(row.said, SAID, right - left - 16)
    width = max(wide(one, SAID) for one in lines) + 16
    height = len(lines) * 16 + 8
    body.elements.append(box(left, body.bottom, width, height, "#fff8c5", stroke="#d4a72c", corner=5))
    for place, one in enumerate(lines):
        body.elements.append(text(left + 8, body.bottom + 16 + 16 * place, one, SAID))
    body.bottom += height + 7


def acting(row: Row, frame: Frame, top: float, inside: list[Element]) -> float:
    """The action above its line, the line's dot and arrows; how far down the line is."""
    actor = row.actor or 0
    words, room = frame.words(actor), frame.room
    label = wrap(row.label, ACTION, room)
    for place, one in enumerate(label):
        inside.append(text(words, top + 15 + 14 * place, one, ACTION))
    last = top + 15 + 14 * (len(label) - 1)
    used = wide(label[-1], ACTION) + 7
    cited = ", ".join(row.rules)
    if cited and used + wide(cited, CITED) <= room:
        inside.append(text(words + used, last, cited, CITED))
    elif cited:
        for one in wrap(cited, CITED, room):
            last += 12
            inside.append(text(words, last, one, CITED))
    y = last + 7
    reached = [n for n, cell in enumerate(row.cells) if cell.touched and n != actor]
    start = frame.stem(actor)
    for ends in ([n for n in reached if n < actor][:1], [n for n in reached if n > actor][-1:]):
        inside.extend(line(start, y, frame.stem(n) + (6 if n < actor else -6), y, ARROW, 1.5) for n in ends)
    for n in reached:
        tip, way = frame.stem(n), 1 if n < actor else -1
        inside.append(shape(((tip + 1.5 * way, y), (tip + 9 * way, y - 4), (tip + 9 * way, y + 4)), ARROW))
    inside.append(dot(start, y, 4.5, ARROW if reached else INK))
    return y


def time_passes(row: Row, frame: Frame, top: float, inside: list[Element]) -> float:
    """A gap, the deeper the longer it is, with its length."""
    left, right = EDGE + MARGIN, frame.width - EDGE
    told = f"{plural(row.elapsed, 'unit')} of time {'passes' if row.elapsed == 1 else 'pass'}"
    lines = wrap(told, OF_TIME, right - left - STEM * 1.75)
    depth = 14 * len(lines) + 10 + min(40, 4 * row.elapsed.bit_length())
    inside.append(box(left, top + 4, right - left, depth, "#f6f8fa", corner=4))
    for place, one in enumerate(lines):
        inside.append(text(frame.words(0), top + 24 + 14 * place, one, OF_TIME))
    return top + 4 + depth


def cell_elements(cell: Cell, frame: Frame, lane: int, y: float, inside: list[Element]) -> float:
    """Events and changes of a lane from a base line on; the last base line."""
    words, room = frame.words(lane), frame.room
    for event in cell.events:
        for one in wrap(event.text, EVENT, room - 10):
            inside += chip(one, event, words, y)
            y += LEADING + 4
    for ink in (CHANGE, OVER):
        for told in flowed(cell, ink, room):
            inside.append(text(words, y, told, ink))
            y += LEADING
    return y - LEADING


def flowed(cell: Cell, ink: Ink, room: float) -> list[str]:
    """The changes of a lane that are written so, one a line; of many, as many on a line as fit."""
    told = [word.text for word in cell.changes if word.faint == (ink == OVER)]
    lines: list[str] = []
    for one in told:
        beside = f"{lines[-1]}  ·  {one}" if lines else ""
        if len(cell.changes) > FEW and beside and wide(beside, ink) <= room:
            lines[-1] = beside
        else:
            lines += wrap(one, ink, room)
    return lines


EVENT = Ink(11, "#ffffff", True)


def chip(told: str, event: Event, x: float, y: float) -> list[Element]:
    """A word that is to be seen."""
    fill = ALARM if event.alarm else CALM
    return [box(x - 1, y - 12, wide(told, EVENT) + 10, 17, fill, corner=8), text(x + 4, y, told, EVENT)]


def note(body: Sheet, row: Note, frame: Frame) -> None:
    """A row of words over all lanes."""
    left, right = EDGE + MARGIN, frame.width - EDGE
    lines = wrap(row.text, LATER, right - left - STEM * 1.75)
    depth = 16 * len(lines) + 10
    body.elements.append(box(left, body.bottom + 4, right - left, depth, "#f6f8fa", corner=4))
    for place, one in enumerate(lines):
        body.elements.append(text(frame.words(0), body.bottom + 21 + 16 * place, one, LATER))
    body.bottom += depth + 4
