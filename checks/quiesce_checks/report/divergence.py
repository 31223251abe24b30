"""A divergence as text: every step with both answers, only what changed, and at the end what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quiesce_model.language.machine import apply, copy, leaves
from quiesce_model.language.outcome import Blocked, Fault

from ..attempts import rules_at_work
from ..lockstep.drive import ELAPSE, Answer, Divergence, Turn
from ..lockstep.pairing import Pairing
from ..lockstep.subject import Observation, Value
from ..machines import shown
from .data import Data
from .figures import plural
from .page import Page, flow, hang, pad, series, wide, words
from .shape import ABSENT, number, yes
from .story import call

INDENT = "  "
SAME, NOTHING = "the same", "nothing changes"
WORDS = {"crashed": "CRASHED", "failed": "FAILED"}
TOLD = 40
"""How many steps are told at most, the last ones; before them both sides agree."""


@dataclass(frozen=True)
class Row:
    """A step as it is told: its number, its name with the time, and what each side made of it, in parts."""

    number: int
    label: str
    model: tuple[str, ...]
    subject: tuple[str, ...]


@dataclass(frozen=True)
class Fields:
    """What is compared, and how its values are shown."""

    names: tuple[str, ...]
    ages: frozenset[str]
    happened: frozenset[str]

    @staticmethod
    def of(pairing: Pairing) -> Fields:
        ages = frozenset(leaf.name for leaf in leaves(pairing.model) if leaf.kind == "age")
        return Fields(pairing.fields, ages, frozenset(pairing.happened))

    def value(self, name: str, value: Value) -> str:
        if value is None or (name in self.ages and value == -1):
            return ABSENT
        if isinstance(value, bool):
            return yes(value)
        return number(value) if isinstance(value, int) else str(value)

    def changes(self, before: Observation, after: Observation) -> tuple[str, ...]:
        """What is seen otherwise than before; what happens in a step is told whenever it does."""
        told: list[str] = []
        for name, old, new in zip(self.names, before, after, strict=False):
            if name in self.happened:
                told += [f"{name}: {self.value(name, new)}"] if new is not None else []
            elif old != new:
                told.append(f"{name}: {self.value(name, old)} → {self.value(name, new)}")
        return tuple(told)

    def whole(self, seen: Observation) -> list[str]:
        """Everything that is seen, what happens in steps aside."""
        pairs = zip(self.names, seen, strict=False)
        return [f"{name} = {self.value(name, value)}" for name, value in pairs if name not in self.happened]


def divergence_lines(
    found: Divergence, pairing: Pairing, page: Page, *, see: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """The lines of a divergence. ``see`` are named lines for its foot: where it is kept, what runs it."""
    fields = Fields.of(pairing)
    rows = rows_of(found, fields)
    lines = heading(found, pairing, page)
    margin = max(len(str(rows[-1].number)) if rows else 1, 1) + 4
    if rows:
        lines += hang(pad("0", margin) + "start  ", flow(fields.whole(found.start.seen), page.width - margin - 7))
    lines += stacked(rows, margin, page) if page.narrow else table(rows, margin, page)
    lines += foot(found, pairing, fields, margin, page)
    width = max((wide(name) for name, _ in see), default=0) + 2
    for name, what in see:
        lines += hang(INDENT + page.tone(pad(name, width), "dim"), [what])
    return lines


def heading(found: Divergence, pairing: Pairing, page: Page) -> list[str]:
    word = WORDS.get(found.turns[-1].subject.kind, "DIVERGED")
    title = f"{found.pairing}  model ≠ {pairing.implementation}"
    steps = length(found)
    how = f"at step {steps:,}" if steps else "at the start"
    if found.found_after > steps:
        how += f" (found in {plural(found.found_after, 'step')}, shrunk)"
    first = f"{word}  {title}"
    painted = f"{page.tone(word, 'bad')}  {page.tone(title, 'strong')}"
    room = page.width - len(INDENT)
    lines = [f"{painted}  {how}"] if wide(first) + 2 + wide(how) <= page.width else [painted, INDENT + how]
    given = [f"{name}={shown(value)}" for name, value in pairing.constants.items()]
    if pairing.tick != 1:
        given.append(f"a unit of time is {pairing.tick:,} ms")
    return lines + (hang(INDENT + "with ", series(given, room - 5)) if given else [])


def length(found: Divergence) -> int:
    return len(found.steps)


def rows_of(found: Divergence, fields: Fields) -> list[Row]:
    rows: list[Row] = []
    model = subject = found.start.seen
    for position, turn in enumerate(found.turns, 1):
        if not turn.is_start:
            mine, theirs = told(turn.model, model, fields), told(turn.subject, subject, fields)
            same = turn.agrees and turn.model.kind == "done"
            rows.append(Row(position, label(turn), mine, (SAME,) if same else theirs))
        model, subject = turn.model.seen or model, turn.subject.seen or subject
    return rows


def label(turn: Turn) -> str:
    args = dict(turn.step.args)
    name = f"elapse {number(args['d'])}" if turn.step.action == ELAPSE else call(turn.step.action, args)
    return f"{name} at {turn.at:,} ms"


def told(answer: Answer, before: Observation, fields: Fields) -> tuple[str, ...]:
    """What a side made of a step."""
    if answer.kind == "crashed":
        return (f"crashes: {answer.text}",)
    if answer.kind == "failed":
        return ("fails",)
    changed = fields.changes(before, answer.seen)
    if answer.kind == "refused":
        said = answer.text.removeprefix("blocked by ")
        return (f"refuses: {said}" if said else "refuses", *changed)
    return changed or (NOTHING,)


def table(rows: Sequence[Row], margin: int, page: Page) -> list[str]:
    """Three columns: the step, the model's answer, the implementation's."""
    rows, left_out = rows[-TOLD:], len(rows) - TOLD
    first = min(max([4, *(wide(row.label) for row in rows)]), page.width // 3)
    room = (page.width - margin - first - 4) // 2
    heads = pad("step", first) + INDENT + pad("model", room) + INDENT + "implementation"
    lines = [page.tone(" " * margin + heads, "dim")] if rows else []
    lines += elided(left_out, margin)
    for row in rows:
        cells = (words(row.label, first), flow(row.model, room), flow(row.subject, room))
        for position in range(max(len(cell) for cell in cells)):
            label, model, subject = (cell[position] if position < len(cell) else "" for cell in cells)
            lead = pad(str(row.number) if position == 0 else "", margin)
            lines.append(f"{lead}{pad(label, first)}  {pad(model, room)}  {subject}".rstrip())
    return lines


def stacked(rows: Sequence[Row], margin: int, page: Page) -> list[str]:
    """The same for a narrow sheet: the answers under the step."""
    lines = elided(len(rows) - TOLD, margin)
    for row in rows[-TOLD:]:
        lines += hang(pad(str(row.number), margin), words(row.label, page.width - margin))
        sides = (("model", row.model), ("implementation", row.subject))
        if row.subject == (SAME,):
            sides = (("both", row.model),)
        for side, parts in sides:
            lead = " " * margin + pad(side, 16 if len(sides) > 1 else 6)
            lines += hang(lead, flow(parts, max(20, page.width - wide(lead))))
    return lines


def elided(count: int, margin: int) -> list[str]:
    return [" " * margin + f"… {plural(count, 'step')} in which both agree"] if count > 0 else []


def foot(found: Divergence, pairing: Pairing, fields: Fields, margin: int, page: Page) -> list[str]:
    last = found.turns[-1]
    lead = " " * margin
    lines: list[str] = []
    said = ""
    if last.subject.broken:
        where = "as it starts" if last.is_start else f"where the model {does(last.model)}"
        said = f"{'fails' if last.subject.kind == 'failed' else 'crashes'}: {last.subject.text}, {where}"
    elif last.model.kind != last.subject.kind:
        said = f"differs: the model {does(last.model)}, the implementation {does(last.subject)}"
    if said:
        lines += [lead + page.tone(line, "bad") for line in words(said, page.width - margin)]
        lines += hang(lead + "it wrote: ", last.subject.wrote) if last.subject.wrote else []
    else:
        rows = [(name, fields.value(name, a), fields.value(name, b)) for name, a, b in found.differs]
        named, seen = max(wide(row[0]) for row in rows), max(wide(row[1]) for row in rows)
        shown_rows = [f"{pad(name, named)}  model {pad(a, seen)}  implementation {b}" for name, a, b in rows]
        if max(wide(row) for row in shown_rows) + margin + 9 > page.width:
            shown_rows = [
                line
                for name, a, b in rows
                for line in flow([name, f"model {a}", f"implementation {b}"], page.width - margin - 9, INDENT)
            ]
        lines += hang(lead + page.tone("differs:", "bad") + " ", shown_rows)
    rules = rules_of(found, pairing)
    if rules:
        mark = series(rules, page.width - margin - 12)
        lines += [page.tone(line, "dim") for line in hang(lead + "rules here: ", mark)]
    return lines


def does(answer: Answer) -> str:
    said = answer.text.removeprefix("blocked by ")
    if answer.kind == "refused":
        return f"refuses the step ({said})" if said else "refuses the step"
    return "takes the step"


def rules_of(found: Divergence, pairing: Pairing) -> tuple[str, ...]:
    """The rules without which the model's last step would come out differently."""
    machine = copy(pairing.model)
    *before, last = found.turns
    for turn in before:
        if turn.step.action == ELAPSE:
            machine.elapse(dict(turn.step.args)["d"])
        elif turn.model.kind == "done" and not turn.is_start:
            try:
                apply(machine, turn.step)
            except (Blocked, Fault):
                return ()
    return () if last.is_start else rules_at_work(machine, last.step)


def divergence_data(found: Divergence, pairing: Pairing, file: str | None = None) -> Data:
    """The divergence as data; ``file`` is where it is kept, if it is."""
    return {
        "pairing": found.pairing,
        "implementation": pairing.implementation,
        "kind": found.turns[-1].subject.kind if found.turns[-1].subject.broken else "diverged",
        "length": length(found),
        "found_after": found.found_after,
        "constants": dict(pairing.constants),
        "tick": pairing.tick,
        "start": dict(zip(found.fields, found.start.seen, strict=False)),
        "turns": [turn_data(found, turn) for turn in found.turns],
        "differs": [{"field": name, "model": a, "implementation": b} for name, a, b in found.differs],
        "rules": list(rules_of(found, pairing)),
        "file": file,
    }


def turn_data(found: Divergence, turn: Turn) -> Data:
    return {
        "step": "start" if turn.is_start else str(turn.step),
        "at": turn.at,
        "model": answer_data(found, turn.model),
        "implementation": answer_data(found, turn.subject),
    }


def answer_data(found: Divergence, answer: Answer) -> Data:
    seen = dict(zip(found.fields, answer.seen, strict=False)) if answer.seen else None
    return {"kind": answer.kind, "seen": seen, "text": answer.text or None, "wrote": list(answer.wrote)}
