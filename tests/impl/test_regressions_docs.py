"""docs/regressions.md names tests that exist, and a reason where it names none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "regressions.md"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def rows(text: str) -> list[tuple[str, str, str]]:
    """Number, what went wrong, and what catches it."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    return [(cells[0], cells[1], cells[2]) for cells in found if cells[0].isdigit()]


def faults(text: str) -> list[str]:
    """What is wrong with a page like this."""
    found: list[str] = []
    for number, _, catches in rows(text):
        named = NAMED.findall(catches)
        if not named and not catches.startswith("not here"):
            found.append(f"row {number} names neither a test nor a reason")
        for file, name in named:
            source = HERE / file
            if not source.exists() or f"def {name}(" not in source.read_text():
                found.append(f"row {number} names {file}::{name}, which does not exist")
    return found


def test_every_entry_names_tests_that_exist_or_says_why_not() -> None:
    text = PAGE.read_text()
    assert [int(number) for number, _, _ in rows(text)] == [*range(1, 44), *range(1, 23)]
    assert faults(text) == []


@pytest.mark.parametrize("catches", ["`test_nothing.py::test_x`", "`test_regressions_docs.py::test_x`", "maybe"])
def test_an_entry_that_names_nothing_is_seen(catches: str) -> None:
    assert len(faults(f"| 1 | something | {catches} |")) == 1
