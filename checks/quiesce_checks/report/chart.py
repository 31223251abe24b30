"""A story as a chart of lanes: what each step does in the lane of the one who takes it, and in the others.

Everything here is text and order; :mod:`.picture` gives it a place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..problems import Problem
from .figures import plural
from .lanes import Lanes, parted
from .shape import ABSENT, NOTHING, Atom, Change, Fields, Items, Node, changes, entries, select
from .story import Beat, Story, call, everything

EMPTY = ("0", "no", ABSENT)
"""What the ends of a record show that has nothing in it."""

TRIPPED = "tripped"
"""The flag whose rise is the event to look for: a breaker's."""

LONGEST_FOLD = 64
"""The most steps that are looked for as a round that repeats."""


@dataclass(frozen=True)
class Event:
    """What is more than a change: a breaker trips (``alarm``), a record with something in it is cleared."""

    text: str
    alarm: bool


@dataclass(frozen=True)
class Word:
    """One change, or one value at first; ``faint`` if it says that something is over: a flag down, a value gone."""

    text: str
    faint: bool = False


@dataclass(frozen=True)
class Cell:
    """What one step changes in one lane; ``tripped`` is whether a breaker stands tripped there afterwards."""

    changes: tuple[Word, ...] = ()
    events: tuple[Event, ...] = ()
    tripped: bool = False

    @property
    def touched(self) -> bool:
        return bool(self.changes or self.events)


@dataclass(frozen=True)
class Row:
    """One step, or steps in which only time passes; ``actor`` is the position of the lane that takes it, if one does.

    ``cells`` has one for each lane; ``told`` is the step in full, hidden fields too;
    ``said`` is what somebody has to say of it.
    """

    first: int
    last: int
    label: str
    actor: int | None
    cells: tuple[Cell, ...]
    rules: tuple[str, ...] = ()
    elapsed: int = 0
    told: str = ""
    said: str = ""


@dataclass(frozen=True)
class Note:
    """A row of words: what is folded or left out."""

    text: str


@dataclass(frozen=True)
class Lane:
    """A column: what it is called, and a word about it."""

    name: str
    about: str = ""


@dataclass(frozen=True)
class Chart:
    """Lanes and rows. ``opening`` says what the first row with its cells is: the start, or the state after a step."""

    lanes: tuple[Lane, ...]
    opening: str
    first: tuple[Cell, ...]
    rows: tuple[Row | Note, ...]


@dataclass(frozen=True)
class Telling:
    """Which steps are told, counted from 1 (``last`` None: all), and what is said beside the trace: a word ``about``
    lanes, by index or ``shared``; a sentence on steps, by number."""

    first: int = 1
    last: int | None = None
    about: tuple[tuple[str, str], ...] = ()
    said: tuple[tuple[int, str], ...] = ()

    def has(self, beat: Beat) -> bool:
        return beat.last >= self.first and (self.last is None or beat.first <= self.last)


WHOLE = Telling()


def chart(
    story: Story,
    lanes: Lanes | None,
    keep: Callable[[str], bool] = everything,
    telling: Telling = WHOLE,
) -> Chart:
    """The chart of a whole story, with the fields that ``keep`` accepts; lanes in which nothing happens are none.

    Raises :class:`Problem` where something is said of a lane or a step that is not there.
    """
    states = [story.start, *(beat.state for beat in story.beats)]
    columns = Columns(lanes, story.machine, keep, states)
    taken = [(before, beat) for before, beat in zip(states, story.beats, strict=False) if telling.has(beat)]
    before = taken[0][0] if taken else story.start
    changed = {path for was, beat in taken for path in columns.moved(was, beat.state)}
    first = columns.opening(before, changed if taken else None)
    rows = with_words([columns.row(was, beat) for was, beat in taken], telling.said)
    if rows and lanes is not None and not any(row.actor or any(cell.touched for cell in row.cells[1:]) for row in rows):
        return chart(story, None, keep, telling)
    shared = lanes is None or columns.has_shared or any(row.actor == 0 for row in rows)
    used = range(0 if shared else 1, len(first))
    return Chart(
        tuple(columns.heads(telling.about)[n] for n in used),
        opening_of(story, taken[0][1].first if taken else 1),
        tuple(first[n] for n in used),
        (*folded([only(row, used) for row in rows]), *left_out(rows[-1].last + 1 if rows else 1, story.length)),
    )


def opening_of(story: Story, start: int) -> str:
    if start > 1:
        return "after step 1, which is left out" if start == 2 else f"after steps 1–{start - 1}, which are left out"
    return "start" if story.initial else "a state that need not be reachable"


def left_out(first: int, last: int) -> list[Note]:
    if last < first:
        return []
    return [Note(f"step {first} is left out" if first == last else f"steps {first}–{last} are left out")]


def with_words(rows: Sequence[Row], said: Sequence[tuple[int, str]]) -> list[Row]:
    spoken = list(rows)
    for step, words in said:
        position = next((n for n, row in enumerate(rows) if row.first <= step <= row.last), None)
        if position is None:
            raise Problem(f"there is no step {step} in the picture to say something of")
        spoken[position] = replace(spoken[position], said=words)
    return spoken


def only(row: Row, used: Sequence[int]) -> Row:
    """The row with the cells of these lanes."""
    actor = used.index(row.actor) if row.actor is not None else None
    return replace(row, cells=tuple(row.cells[n] for n in used), actor=actor)


class Columns:
    """The lanes of a machine's states: the one for what all share, and one for each index."""

    def __init__(self, lanes: Lanes | None, machine: str, keep: Callable[[str], bool], states: Sequence[Node]) -> None:
        self.lanes = lanes
        self.machine = machine
        self.keep = keep
        paths = {unindexed(path) for state in states for node in self.nodes(state) for path in ends(node)}
        self.short = shortened(paths)
        self.has_shared = any(self.nodes(select(state, keep))[0] != NOTHING for state in states)

    def heads(self, about: Sequence[tuple[str, str]]) -> tuple[Lane, ...]:
        said = dict(about)
        if self.lanes is None:
            named = {"shared": self.machine}
        else:
            named = {"shared": "shared", **{str(n): f"{self.lanes.name} {n}" for n in range(self.lanes.size)}}
        unknown = next((lane for lane in said if lane not in named), None)
        if unknown is not None:
            raise Problem(f"there is no lane {unknown} to say a word about: the lanes are {', '.join(named)}")
        return tuple(Lane(name, said.get(lane, "")) for lane, name in named.items())

    def nodes(self, state: Node) -> tuple[Node, ...]:
        """What each lane has of a state, the shared one first."""
        if self.lanes is None:
            return (state,)
        shared, own = parted(state, self.lanes)
        return (shared, *own)

    def actor(self, beat: Beat) -> int | None:
        if beat.action == "elapse":
            return None
        named: Any = dict(beat.arguments).get(self.lanes.parameter) if self.lanes else None
        return named + 1 if self.lanes and type(named) is int and named < self.lanes.size else 0

    def row(self, before: Node, beat: Beat) -> Row:
        kept = zip(self.nodes(select(before, self.keep)), self.nodes(select(beat.state, self.keep)), strict=True)
        whole = zip(self.nodes(before), self.nodes(beat.state), strict=True)
        cells = tuple(self.cell(*of_kept, *of_whole) for of_kept, of_whole in zip(kept, whole, strict=True))
        actor = self.actor(beat)
        rest = [(name, value) for name, value in beat.arguments if not actor or name != self.lane_parameter()]
        elapsed = int(beat.label.rpartition(" ")[2]) if beat.action == "elapse" else 0
        told = "; ".join([f"{beat.first} {beat.label}", *map(str, beat.changes)])
        label = beat.label if elapsed else call(beat.action, dict(rest))
        return Row(beat.first, beat.last, label, actor, cells, beat.rules, elapsed, told)

    def lane_parameter(self) -> str:
        return self.lanes.parameter if self.lanes else ""

    def cell(self, before: Node, after: Node, whole_before: Node, whole_after: Node) -> Cell:
        kept = tuple(ends(after))
        old, new = ends(whole_before), ends(whole_after)
        risen = [record for record, flag in map(owned, new) if flag == TRIPPED and is_up(new, old, record)]
        events = [
            *(Event(f"{self.owner(record)}{TRIPPED}", True) for record in risen if within(kept, record)),
            *(
                Event(f"{self.owner(path)}cleared", False)
                for path in cleared(whole_before, whole_after)
                if within(kept, path)
            ),
        ]
        told = changes(before, after, spell=brief)
        lines = [self.spelled(change) for change in told if not events or owned(change.path)[1] != TRIPPED]
        return Cell(tuple(lines), tuple(events), any(is_up(new, {}, record) for record, _ in map(owned, new)))

    def owner(self, path: str) -> str:
        return f"{self.name(path)} " if path else ""

    def name(self, path: str) -> str:
        """A place as short as it is told from all others: ``echoes`` for ``session[1].pair.echoes``."""
        bare = unindexed(path)
        length = self.short.get(bare, 1)
        return ".".join(names(path)[-length:])

    def spelled(self, change: Change) -> Word:
        name = self.name(change.path)
        over = change.after in ("no", ABSENT)
        if over or (change.before, change.after) == ("no", "yes") or change.before == ABSENT:
            return Word(f"{name}: {change.after}", faint=over)
        return Word(f"{name} {change.before}→{change.after}")

    def moved(self, before: Node, after: Node) -> set[str]:
        """The kept places that differ between two states, whatever the lane."""
        pairs = zip(self.nodes(select(before, self.keep)), self.nodes(select(after, self.keep)), strict=True)
        return {unindexed(path) for old, new in pairs for path in different(old, new)}

    def opening(self, state: Node, changed: set[str] | None) -> tuple[Cell, ...]:
        """Of what changes later in any lane (of all, if None), what is there at first: no flag that is down, nothing
        absent."""
        cells: list[Cell] = []
        for kept, whole in zip(self.nodes(select(state, self.keep)), self.nodes(state), strict=True):
            lines: list[Word] = []
            for entry in entries(kept):
                if (changed is None or unindexed(entry.path) in changed) and entry.value not in ("no", ABSENT):
                    value = ": yes" if entry.value == "yes" else f" {entry.value}"
                    lines.append(Word(self.name(entry.path) + value))
            now = ends(whole)
            cells.append(Cell(tuple(lines), (), any(is_up(now, {}, record) for record, _ in map(owned, now))))
        return tuple(cells)


def ends(node: Node, path: str = "") -> dict[str, str]:
    """Every end of a tree by its place, each index on its own."""
    if isinstance(node, Atom):
        return {path: node.text}
    found: dict[str, str] = {}
    if isinstance(node, Fields):
        for name, item in node.items:
            found |= ends(item, f"{path}.{name}" if path else name)
    else:
        for index, item in enumerate(node.items):
            found |= ends(item, f"{path}[{index}]")
    return found


def different(before: Node, after: Node) -> Iterator[str]:
    old, new = ends(before), ends(after)
    for path in dict.fromkeys((*old, *new)):
        if old.get(path) != new.get(path):
            yield path


def unindexed(path: str) -> str:
    """``node.gate`` for ``node[0].gate``."""
    return re.sub(r"\[[^\]]*\]", "", path)


def names(path: str) -> list[str]:
    """The names of a place; the dots of ``[0..2]`` are in none."""
    return re.split(r"\.(?![^\[]*\])", path)


def owned(path: str) -> tuple[str, str]:
    """``pair.tripped`` is ``tripped`` of ``pair``."""
    *record, name = names(path)
    return ".".join(record), name


def is_up(new: Mapping[str, str], old: Mapping[str, str], record: str) -> bool:
    """Whether the record's breaker is tripped, and was not."""
    flag = f"{record}.{TRIPPED}" if record else TRIPPED
    return new.get(flag) == "yes" and old.get(flag) != "yes"


def within(paths: Iterable[str], record: str) -> bool:
    return any(not record or path.startswith((f"{record}.", f"{record}[")) for path in paths)


def shortened(paths: Iterable[str]) -> dict[str, int]:
    """For each place how many of its last names tell it from all others."""
    split = {path: names(path) for path in paths}
    taken = Counter(tuple(found[-n:]) for found in split.values() for n in range(1, len(found) + 1))
    return {
        path: next((n for n in range(1, len(found)) if taken[tuple(found[-n:])] == 1), len(found))
        for path, found in split.items()
    }


def brief(node: Node) -> str:
    """A whole record in few words: flags that are up by name, other values with theirs; a single value alone; yes, if
    there is no more to say of it."""
    if isinstance(node, Atom):
        return node.text
    if isinstance(node, Items):
        return f"[{', '.join(brief(item) for item in node.items)}]"
    if len(node.items) == 1 and isinstance(node.items[0][1], Atom) and node.items[0][1].text not in ("yes", "no"):
        return node.items[0][1].text
    told = [
        name if item == Atom("yes") else f"{name} {brief(item)}"
        for name, item in node.items
        if item not in (Atom("no"), Atom(ABSENT), NOTHING)
    ]
    return f"({', '.join(told)})" if told else "yes"


def cleared(before: Node, after: Node, path: str = "") -> Iterator[str]:
    """The records, outermost first, that had something in them and are empty now."""
    if isinstance(before, Items) and isinstance(after, Items):
        for index, (old, new) in enumerate(zip(before.items, after.items, strict=True)):
            yield from cleared(old, new, f"{path}[{index}]")
    if not isinstance(before, Fields) or not isinstance(after, Fields):
        return
    if path and len(after.items) > 1 and is_empty(after) and not is_empty(before):
        yield path
        return
    now = dict(after.items)
    for name, old in before.items:
        if name in now:
            yield from cleared(old, now[name], f"{path}.{name}" if path else name)


def is_empty(node: Node) -> bool:
    return all(value in EMPTY for value in ends(node).values())


def folded(rows: Sequence[Row]) -> Iterator[Row | Note]:
    """The rows, with a round of steps that comes again and again, changes and all, shown once."""
    keys = [(row.label, row.actor, row.elapsed, row.cells, row.said) for row in rows]
    position = 0
    while position < len(rows):
        length, times = round_at(keys, position)
        yield from rows[position : position + length]
        if times > 1:
            first, last = rows[position], rows[position + length - 1]
            end = rows[position + length * times - 1].last
            again = f"step {first.first}" if length == 1 else f"steps {first.first}–{last.last}"
            yield Note(f"{again} again, {plural(times - 1, 'time')}: up to step {end}")
        position += length * times


def round_at(keys: Sequence[object], position: int) -> tuple[int, int]:
    """How many steps from here on make a round, and how often it is gone: the one that saves most rows, (1, 1) if
    none saves two."""
    best, saved = (1, 1), 1
    for length in range(1, min(LONGEST_FOLD, (len(keys) - position) // 2) + 1):
        first = keys[position : position + length]
        times = 1
        while keys[position + length * times : position + length * (times + 1)] == first:
            times += 1
        if length * (times - 1) > saved:
            best, saved = (length, times), length * (times - 1)
    return best
