"""What ``quiesce check`` prints: the lines of each entry, and the last line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..job import Engine, properties_of
from ..judge import Judged, Judgement, Result, Summary
from ..machines import short_name, shown
from ..rules import Rule
from ..suite import Check
from ..verdict import Outcome, Verdict
from .figures import plural, seconds
from .page import Page, flow
from .verdicts import TONES, Line, Widths, how_of, widths_of


def planned_widths(checks: Iterable[Check]) -> Widths:
    """The columns for all that is going to be run."""
    return widths_of(
        [
            Line(short_name(check.job.machine), name, check.name, Outcome.VIOLATED.value, None, "")
            for check in checks
            for name in planned(check)
        ]
    )


def planned(check: Check) -> Sequence[str]:
    if check.job.engine is Engine.BRIDGE:
        return ("explored is proved, saturated",)
    return check.job.properties or properties_of(check.job.machine)


def entry_lines(result: Result) -> list[Line]:
    """One line for each property of an entry."""
    if result.problem is not None:
        check = result.check
        return [
            Line(short_name(check.job.machine), "", check.name, "not run", "bad", "", result.seconds, surprise=True)
        ]
    return [judged_line(result.check, item, len(result.judged) == 1) for item in result.judged]


def judged_line(check: Check, item: Judged, alone: bool) -> Line:
    verdict = item.verdict
    expected = item.judgement is Judgement.AS_EXPECTED
    how = [how_of(verdict)]
    if expected and verdict.outcome is Outcome.VIOLATED:
        how = [f"as expected: {item.why or steps_of(verdict)}"]
    elif not expected:
        how = [item.why, *verdict.notes[: verdict.outcome is Outcome.VACUOUS], how_of(verdict)]
    if check.job.engine is Engine.EXPLORE and check.job.scope:
        how.append(scope_text(check))
    tone = "good" if expected else TONES[verdict.outcome] if verdict.outcome is not check.expect else "bad"
    return Line(
        short_name(check.job.machine),
        verdict.property,
        check.name,
        verdict.outcome.value,
        "bad" if item.judgement is Judgement.SURPRISE else tone,
        "; ".join(part for part in how if part),
        verdict.seconds,
        surprise=not expected,
    )


def steps_of(verdict: Verdict) -> str:
    return plural(verdict.trace.length, "step") if verdict.trace is not None else verdict.how


def scope_text(check: Check) -> str:
    """``at sessions=2, threshold=3``."""
    return "at " + ", ".join(f"{name}={shown(value)}" for name, value in check.job.scope.items())


@dataclass(frozen=True)
class Coverage:
    """Which rules were shown to be needed in a run: ``checked`` of ``rules``; ``open`` are the others."""

    rules: int
    checked: int
    open: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        return {"total": self.rules, "checked": self.checked, "open": list(self.open)}


def coverage_of(results: Iterable[Result], rules: Sequence[Rule]) -> Coverage:
    """A rule is checked if an entry without it gave the violation that it must, or its table says why none
    can.
    """
    shown_needed = {
        rule
        for result in results
        for rule in result.check.job.without
        if len(result.check.job.without) == 1
        and result.check.expect is Outcome.VIOLATED
        and result.judged
        and all(item.judgement is Judgement.AS_EXPECTED for item in result.judged)
    }
    missing = tuple(rule.id for rule in rules if rule.id not in shown_needed and not is_redundant(rule))
    return Coverage(len(rules), len(rules) - len(missing), missing)


def is_redundant(rule: Rule) -> bool:
    """Whether the table says that nothing can fail without the rule, and why."""
    return rule.need.lower().startswith(("redundant", "none", "not in the model"))


def summary_lines(totals: Summary, covered: Coverage | None, page: Page) -> list[str]:
    """``64 as expected, 0 surprises, 0 inconclusive · every rule checked (41 of 41) · 38 s``."""
    told = [
        f"{totals.as_expected:,} as expected",
        plural(totals.surprises, "surprise"),
        f"{totals.inconclusive:,} inconclusive",
    ]
    if totals.vacuous:
        told.append(f"{totals.vacuous:,} vacuous")
    if totals.not_run:
        told.append(plural(totals.not_run, "entry not run", "entries not run"))
    parts = [", ".join(told)]
    if covered is not None and covered.rules:
        if covered.open:
            named = ", ".join(covered.open[:6]) + (" …" if len(covered.open) > 6 else "")
            parts.append(f"{covered.checked} of {covered.rules} rules checked; open: {named}")
        else:
            parts.append(f"every rule checked ({covered.checked} of {covered.rules})")
    parts.append(seconds(totals.seconds))
    bad = totals.surprises or totals.vacuous or totals.not_run
    tone = "bad" if bad else "odd" if totals.inconclusive else "good"
    return [page.tone(line, tone) for line in flow(parts, page.width, " · ")]
