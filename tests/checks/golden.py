"""Texts that are kept: what a person reads is an interface."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "golden" / "report"


def hold_against(name: str, lines: Iterable[str] | str, request: pytest.FixtureRequest) -> None:
    """Compare with ``tests/golden/report/<name>.txt``; ``--update-golden`` writes it."""
    text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    path = FOLDER / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def timeless(text: str) -> str:
    """The text with every time, rate and size of memory replaced, and the room before them."""
    text = re.sub(r"(\d distinct states?,[^\n]*,)\n *", r"\1 ", text)  # where it breaks, the digits of a time decide
    text = re.sub(r" *\b\d+(\.\d+)? s\b", " T", text)
    text = re.sub(r"\b\d+ min \d\d T", "T", text)
    text = re.sub(r"\d+(\.\d+)? ?[kM]?/s", "R", text)
    return re.sub(r"\d+(\.\d+)? [kMG]?B\b", "M", text)
