"""What random walks saw, as text and as data."""

from __future__ import annotations

from typing import Any

from ..engines.simulation import Coverage
from .figures import count, plural, rate, seconds
from .page import Page, hang, series


def coverage_lines(coverage: Coverage, took: float, page: Page) -> list[str]:
    """Walks, steps, their lengths, and how often each action was taken."""
    lengths = f"{count(coverage.shortest)} to {count(coverage.longest)} steps long (median {coverage.median:,.0f})"
    facts = [
        plural(coverage.runs, "random run"),
        plural(coverage.steps, "step"),
        lengths,
        f"{seconds(took)} ({rate(coverage.steps, took)})",
    ]
    lines = series(facts, page.width)
    taken = [f"{action.action} {count(action.taken)}" for action in coverage.by_name if action.taken]
    if taken:
        lines += hang("taken: ", series(taken, page.width - 7))
    if coverage.never_taken:
        never = hang("never taken: ", series(list(coverage.never_taken), page.width - 13))
        lines += [page.tone(line, "odd") for line in never]
    return lines


def coverage_data(coverage: Coverage) -> dict[str, Any]:
    return {
        "runs": coverage.runs,
        "steps": coverage.steps,
        "shortest": coverage.shortest,
        "median": coverage.median,
        "longest": coverage.longest,
        "actions": [
            {"action": action.action, "taken": action.taken, "earliest": action.first_level}
            for action in coverage.by_name
        ],
    }
