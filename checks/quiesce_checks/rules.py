"""The rules in words: the tables of ``specs/*.md``.

A table of rules is a Markdown table whose first column holds ids such as ``BRK-9``. Its other columns are
known by their headings: the rule's sentence, where it is from, the properties that check it, and what shows
that it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .sites import rule_key

ID = re.compile(r"^[A-Z]{2,6}-\d+[a-z]?$")

HEADINGS = {
    "sentence": ("rule", "sentence", "says", "what", "in words"),
    "source": ("seed", "source", "from", "section", "where", "decision"),
    "properties": ("propert", "checked by", "checks"),
    "need": ("ablation", "without", "off", "needed", "redundant", "shown"),
}


@dataclass(frozen=True)
class Rule:
    """One rule. ``need`` is what the table says of switching it off; ``file`` and ``line`` are where its
    row stands.
    """

    id: str
    sentence: str
    file: Path
    line: int
    source: str = ""
    properties: tuple[str, ...] = ()
    need: str = ""

    @property
    def is_redundant(self) -> bool:
        """Whether the table says that nothing can fail without the rule, and why."""
        return self.need.lower().startswith("redundant")


def read_rules(files: Sequence[Path]) -> tuple[Rule, ...]:
    """All rules of the files, by number."""
    found = [rule for file in files for rule in rules_in(file)]
    return tuple(sorted(found, key=lambda rule: rule_key(rule.id)))


def find_tables(folder: Path) -> list[Path]:
    """The rule tables of a project: ``specs/*.md``."""
    return sorted((folder / "specs").glob("*.md"))


def rules_in(file: Path) -> Iterator[Rule]:
    columns: dict[str, int] = {}
    previous: list[str] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        cells = row(line)
        if cells and all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            columns = headings(previous)
        elif cells and columns and ID.match(plain(cells[0])):
            yield rule_of(cells, columns, file, number)
        elif not cells:
            columns = {}
        previous = cells


def row(line: str) -> list[str]:
    """The cells of a table's line; a bar inside code or behind a backslash does not part them."""
    text = line.strip()
    if not text.startswith("|"):
        return []
    parts = re.findall(r"((?:`[^`]*`|\\\||[^|])*)\|", text[1:] if text.endswith("|") else text[1:] + "|")
    return [part.strip().replace("\\|", "|") for part in parts]


def headings(cells: Sequence[str]) -> dict[str, int]:
    """Which column holds what; the first is the id, and the sentence is the second unless a heading says
    otherwise.
    """
    found: dict[str, int] = {}
    for position, cell in enumerate(cells[1:], 1):
        for name, words in HEADINGS.items():
            if name not in found and any(word in plain(cell).lower() for word in words):
                found[name] = position
                break
    found.setdefault("sentence", 1)
    return found


def rule_of(cells: Sequence[str], columns: dict[str, int], file: Path, line: int) -> Rule:
    def cell(name: str) -> str:
        position = columns.get(name)
        return cells[position] if position is not None and position < len(cells) else ""

    return Rule(
        id=plain(cells[0]),
        sentence=plain(cell("sentence")),
        file=file,
        line=line,
        source=plain(cell("source")),
        properties=tuple(re.findall(r"`([A-Za-z_][\w.]*)`", cell("properties"))),
        need=plain(cell("need")),
    )


def plain(text: str) -> str:
    """Markdown without its marks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(\*\*|__|`)", "", text).strip()
