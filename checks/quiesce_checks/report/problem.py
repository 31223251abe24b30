"""A user's mistake as text: where, what, the line with the place marked, and what to do."""

from __future__ import annotations

import linecache
from pathlib import Path

from ..problems import Problem
from .page import Page, hang, words


def problem_lines(problem: Problem, page: Page) -> list[str]:
    place = place_of(problem)
    said = words(f"{place}  {problem.text}" if place else problem.text, page.width)
    lines = [page.tone(said[0], "bad"), *said[1:]]
    excerpt = linecache.getline(problem.file, problem.line).rstrip() if problem.file and problem.line else ""
    if excerpt.strip():
        lines.append(f"{problem.line:>6} │ {excerpt.expandtabs(4)}")
        if problem.column:
            before = excerpt[: problem.column - 1].expandtabs(4)
            marked = min(problem.width, max(1, len(excerpt) - problem.column + 1))
            lines.append(f"{'':>6} │ {' ' * len(before)}{'^' * marked}")
    if problem.remedy:
        lines += hang("write   " if problem.column else "try     ", words(problem.remedy, page.width - 8))
    return lines


def place_of(problem: Problem) -> str:
    if not problem.file:
        return ""
    parts = [near(problem.file), *(str(n) for n in (problem.line, problem.column) if n)]
    return ":".join(parts)


def near(file: str) -> str:
    """The path as seen from here, if it lies here."""
    path = Path(file)
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file
