"""What ``quiesce check`` prints: the lines of each entry, and the last line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..job import Engine
from ..judge import Judged, Judgement, Result, Summary
from ..machines import short_name, shown
from ..rules import Rule
from ..suite import Check
from ..verdict import Outcome, Verdict
from .figures import plural, seconds
from .page import Page, flow
from .verdicts import TONES, Group, Line, how_of


def entry_group(result: Result) -> Group:
    """One line for each property of an entry."""
    check = result.check
    title = f"{short_name(check.job.machine)}  {check.name}"
    if result.problem is not None:
        return Group(title, (Line("", "not run", "bad", surprise=True),), result.seconds)
    return Group(title, tuple(judged_line(check, item) for item in result.judged), result.seconds)


def judged_line(check: Check, item: Judged) -> Line:
    verdict = item.verdict
    expected = item.judgement is Judgement.AS_EXPECTED
    how = how_of(verdict)
    own: tuple[str, ...] = ()
    if expected and verdict.outcome is Outcome.VIOLATED:
        own = (f"as expected: {item.why or steps_of(verdict)}",)
        how = tuple(part for part in how if not part.startswith("shortest "))
    elif not expected:
        own = (item.why, *verdict.notes[: verdict.outcome is Outcome.VACUOUS])
    if check.job.engine is Engine.EXPLORE and (check.job.scope or check.job.without):
        how = (*how, setting(check))
    tone = "good" if expected else "bad" if item.judgement is Judgement.SURPRISE else TONES[verdict.outcome]
    return Line(verdict.property, verdict.outcome.value, tone, own, how, surprise=not expected)


def steps_of(verdict: Verdict) -> str:
    return plural(verdict.trace.length, "step") if verdict.trace is not None else verdict.how


def setting(check: Check) -> str:
    """``at sessions=2, threshold=3, without BRK-7``."""
    constants = ", ".join(f"{name}={shown(value)}" for name, value in check.job.scope.items())
    off = ", ".join(check.job.without)
    return ", ".join(part for part in (f"at {constants}" if constants else "", f"without {off}" if off else "") if part)


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
