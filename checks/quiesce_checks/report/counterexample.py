"""A story as text: constants once, the first state whole, then what changed; at the end what fails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..explain import Part
from .figures import plural
from .page import Page, flow, hang, pad, series, wide, words
from .shape import ABSENT, Change, Entry, Node, differing, entries, leaves, select
from .story import Beat, Story

INDENT = "  "
LONG = 8
"""Lines of a first state that are shown whole."""


def counterexample(story: Story, page: Page, *, full: bool = False, see: Sequence[tuple[str, str]] = ()) -> list[str]:
    """The lines of a story. ``full`` gives every state whole; ``see`` are named lines for its foot: where
    the trace is saved, which command shows it again.
    """
    lines = heading(story, page)
    numbers = [str(beat.first) if beat.first == beat.last else f"{beat.first}–{beat.last}" for beat in story.beats]
    margin = max((len(text) for text in numbers), default=1) + 2
    lines.append(pad("0", margin) + ("start" if story.initial else "a state that need not be reachable"))
    lines += [" " * margin + INDENT + line for line in first_state(story, page, page.width - margin - 2, full)]
    labels = [wide(beat.label) for beat in story.beats]
    column = margin + max(labels, default=0) + 2
    beside = column <= max(22, page.width * 2 // 5)
    for text, beat in zip(numbers, story.beats, strict=True):
        if story.loop is not None and story.loop == beat.first - 1:
            lines.append(page.tone("┌ from here on, for ever:", "odd"))
        lead = pad(text, margin) + beat.label
        still = "" if story.filtered else "nothing changes"
        lines += beat_lines(beat, lead, column if beside else margin + 2, page, full, still)
    if story.loop is not None:
        lines.append(page.tone(f"└ and again from the state after step {story.loop}", "odd"))
    lines += foot(story, page, margin)
    width = max((wide(name) for name, _ in see), default=0) + 2
    for name, what in see:
        lines += hang(INDENT + page.tone(pad(name, width), "dim"), [what])
    return lines


def heading(story: Story, page: Page) -> list[str]:
    title = f"{story.machine}.{story.promised}" if story.promised else story.machine
    if story.headline:
        lines = [
            page.tone(story.headline, "bad") + f"  {page.tone(title, 'strong')}  in {plural(story.length, 'step')}"
        ]
    else:
        lines = [page.tone(title, "strong") + f"  {plural(story.length, 'step')}"]
    room = page.width - len(INDENT)
    about = ", ".join(part for part in (story.place, *story.rules) if part)
    if story.promise:
        said = words(story.promise, room)
        if about and wide(said[-1]) + 4 + wide(about) <= room:
            said[-1] += f"    {page.tone(about, 'dim')}"
        elif about:
            said.append(page.tone(about, "dim"))
        lines += [INDENT + line for line in said]
    elif about:
        lines.append(INDENT + page.tone(about, "dim"))
    given = [f"{name}={value}" for name, value in story.constants]
    if given:
        lines += hang(INDENT + "with ", series(given, room - 5))
    if story.without:
        lines += hang(INDENT + "without ", series(story.without, room - 8))
    lines += [INDENT + line for note in story.notes for line in words(note, room)]
    return lines


def whole(node: Node, width: int) -> list[str]:
    """A state in full: what belongs to no index first, then each group of indexes on lines of its own."""
    owners: dict[str, list[Entry]] = {}
    for entry in entries(node):
        owner, field = owned(entry.path)
        owners.setdefault(owner, []).append(Entry(field, entry.value))
    lines: list[str] = []
    for owner, found in owners.items():
        shown = [f"{entry.path} = {entry.value}" if entry.path else entry.value for entry in found]
        if not owner:
            lines += flow(shown, width)
        elif len(shown) == 1 and not found[0].path:
            lines += flow([f"{owner} = {shown[0]}"], width)
        else:
            lines += hang(f"{owner}   ", flow(shown, max(24, width - wide(owner) - 3)))
    return lines


def first_state(story: Story, page: Page, width: int, full: bool) -> list[str]:
    """The first state; of one that is long, the places that change later, and how many others there are."""
    lines = whole(story.start, width)
    if full or not story.initial or story.filtered or len(lines) <= LONG:
        return lines
    states = [story.start, *(beat.state for beat in story.beats)]
    moving = {path for one, other in pairwise(states) for path in differing(one, other)}
    ends = [path for path, _ in leaves(story.start)]
    kept = {path for path in ends if any(path == place or path.startswith(f"{place}[") for place in moving)}
    if not kept or len(kept) == len(ends):
        return lines
    still = len(ends) - len(kept)
    stay = "stays as it is" if still == 1 else "stay as they are"
    said = f"and {plural(still, 'place')} that {stay} (--full shows all)"
    return [*whole(select(story.start, kept.__contains__), width), page.tone(said, "dim")]


def owned(path: str) -> tuple[str, str]:
    """``session[0..3].pair.echoes`` is ``pair.echoes`` of ``session[0..3]``."""
    cut = path.rfind("]") + 1
    return path[:cut], path[cut:].removeprefix(".")


def beat_lines(beat: Beat, lead: str, column: int, page: Page, full: bool, still: str) -> list[str]:
    """One step: beside its name what it changed, and the rules that show in it."""
    mark = f"← {', '.join(beat.rules)}" if beat.rules else ""
    room = max(20, page.width - column)
    lines = whole(beat.state, room) if full else (changed(beat.changes, room) or [still])
    fitting = next((n for n in (0, -1) if wide(lines[n]) + 3 + wide(mark) <= room), None)
    if mark and fitting is not None:
        lines[fitting] += "   " + page.tone(mark, "dim")
    elif mark:
        lines.append(page.tone(mark, "dim"))
    if wide(lead) + 2 <= column:
        return [line.rstrip() for line in hang(pad(lead, column), lines)]
    return [lead, *(" " * column + line for line in lines)]


def changed(found: Sequence[Change], width: int) -> list[str]:
    """Changes, those of one group of indexes on lines of their own if there are several."""
    owners: dict[str, list[Change]] = {}
    for change in found:
        owner, _ = owned(change.path)
        owners.setdefault(owner, []).append(change)
    single = [
        spelled(change, change.path)
        for owner, group in owners.items()
        if not owner or len(group) == 1
        for change in group
    ]
    lines = flow(single, width)
    for owner, group in owners.items():
        if owner and len(group) > 1:
            parts = [spelled(change, owned(change.path)[1]) for change in group]
            lines += hang(f"{owner}   ", flow(parts, max(20, width - wide(owner) - 3)))
    return lines


def spelled(change: Change, path: str) -> str:
    """``echoes: 0 → 1``; a record that is gone is not told again."""
    before = "…" if change.after == ABSENT and change.before.startswith("(") else change.before
    return f"{path}: {before} → {change.after}" if path else f"{before} → {change.after}"


def foot(story: Story, page: Page, margin: int) -> list[str]:
    lines: list[str] = []
    for text in story.ending:
        lines += [" " * margin + page.tone(line, "bad") for line in words(text, page.width - margin)]
    for part in story.fails:
        lines += hang(" " * margin + page.tone("fails:", "bad") + " ", part_lines(part, page.width - margin - 7))
    return lines


def part_lines(part: Part, width: int) -> list[str]:
    shown = [part.text]
    if part.values:
        shown.append(f"({part.values})")
    if part.where:
        shown.append(f"where {part.where}")
    return flow(shown, width)
