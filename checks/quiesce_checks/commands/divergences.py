"""How divergences that a suite came upon are kept and told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..lockstep.keep import kept, text_of
from ..report.divergence import divergence_lines
from ..report.page import Page
from ..suite import Check
from ..verdict import Verdict


def save_divergences(check: Check, verdicts: Iterable[Verdict], folder: Path) -> dict[str, str]:
    """Keep the walk of every divergence where traces are kept; the files, by property."""
    saved: dict[str, str] = {}
    job = check.job
    for verdict in verdicts:
        if verdict.divergence is not None and job.pairing is not None:
            made = kept(job.pairing, job.scope, job.tick, verdict.divergence, saturated=True)
            path = folder / f"lockstep_{check.file.stem}_{check.name}.py".replace("-", "_")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(made, verdict.divergence), encoding="utf-8")
            saved[verdict.property] = str(path)
    return saved


def tell_divergences(check: Check, verdicts: Iterable[Verdict], saved: dict[str, str], page: Page) -> list[str]:
    """Each divergence with both answers at every step, and the file that keeps it."""
    lines: list[str] = []
    job = check.job
    for verdict in verdicts:
        if verdict.divergence is not None and job.pairing is not None:
            file = saved.get(verdict.property)
            see = [("kept as", file), ("run it", f"pytest {file}")] if file else []
            made = job.pairing.at(job.scope, job.tick)
            lines += ["", *divergence_lines(verdict.divergence, made, page, see=see)]
    return lines
