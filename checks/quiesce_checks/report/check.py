"""What ``quiesce check`` prints: the lines of each entry, and the last line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..job import Engine
from ..judge import Judged, Judgement, Result, Summary
from ..machines import short_name, shown
from ..need import WITHOUT
from ..rules import Rule
from ..suite import Check
from ..verdict import Outcome, Verdict
from .figures import plural, seconds
from .page import Page, flow
from .verdicts import TONES, Group, Line, how_of

NEED = {Outcome.VIOLATED: "needed", Outcome.HOLDS: "unneeded"}
"""What an ablation's outcome says of a rule."""


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
    word = verdict.outcome.value
    if check.job.engine is Engine.ABLATE:
        word = NEED.get(verdict.outcome, word)
        own, how = ((verdict.how,) if expected else (item.why, verdict.how)), ()
    elif expected and verdict.outcome in (Outcome.VIOLATED, Outcome.DIVERGES):
        own = (f"as expected: {item.why or steps_of(verdict)}",)
        how = tuple(part for part in how if not part.startswith("shortest "))
    elif not expected:
        own = (item.why, *verdict.notes[: verdict.outcome is Outcome.VACUOUS])
    if check.job.engine in (Engine.EXPLORE, Engine.ABLATE, Engine.LOCKSTEP) and (check.job.scope or check.job.without):
        how = (*how, setting(check))
    tone = "good" if expected else "bad" if item.judgement is Judgement.SURPRISE else TONES[verdict.outcome]
    return Line(verdict.property, word, tone, own, how, surprise=not expected)


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
    """A rule is checked if it was switched off and what must fail failed, or its table says why nothing can."""
    shown_needed = {rule for result in results for rule in needed_in(result)}
    missing = tuple(rule.id for rule in rules if rule.id not in shown_needed and not rule.is_redundant)
    return Coverage(len(rules), len(rules) - len(missing), missing)


def needed_in(result: Result) -> Iterator[str]:
    """The rules that an entry shows to be needed: each rule of an ablation; the one rule that is switched off where a
    violation is expected."""
    job = result.check.job
    expected = [item for item in result.judged if item.judgement is Judgement.AS_EXPECTED]
    if job.engine is Engine.ABLATE:
        violated = [item for item in expected if item.verdict.outcome is Outcome.VIOLATED]
        yield from (item.verdict.property.removeprefix(WITHOUT) for item in violated)
    elif len(job.without) == 1 and result.check.expect is Outcome.VIOLATED and len(expected) == len(result.judged) > 0:
        yield job.without[0]


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
