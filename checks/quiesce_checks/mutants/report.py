"""The table of mutants, as text and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..report.figures import count, plural, seconds
from ..report.page import Page, Tone, columns, flow, hang, words
from .mutant import Mutant
from .outcome import Outcome, Ready
from .passes import NOT_OF_THE_SCHEDULER
from .rules import NOT_OF_THE_BREAKER
from .run import Finding, Findings

HEADS = ("breaks", "mutant", "killed by", "steps", "found", "time")

MARKS: dict[str, tuple[str, Tone]] = {
    "survived": ("SURVIVED", "bad"),
    "not equivalent": ("NOT EQUIVALENT", "bad"),
    "equivalent": ("equivalent", "dim"),
}

HOW = {"differs": "", "crash": " (crash)", "endless": " (no end)", "flaky": " (flaky)"}


def table_lines(found: Findings, page: Page) -> list[str]:
    """The killed by rule, then who was not, with the reason or without; then what it comes to."""
    killed = [finding for finding in found.findings if finding.verdict == "killed"]
    lines = columns([row(finding) for finding in killed], page, HEADS, grow=2)
    for finding in found.findings:
        if finding.verdict != "killed":
            lines += [*spared_lines(finding, page)]
    lines += baseline_lines(found.baseline, page)
    return [*lines, "", *sum_lines(found, page)]


def row(finding: Finding) -> tuple[str, ...]:
    mutant, outcome = finding.mutant, finding.outcome
    return (
        mutant.rule,
        mutant.name,
        f"{outcome.run}{HOW[outcome.how]}",
        str(outcome.shrunk) if outcome.trace else "–",
        count(outcome.found) if outcome.found else "–",
        seconds(outcome.seconds),
    )


def spared_lines(finding: Finding, page: Page) -> list[str]:
    """One that was not killed, or should not have been."""
    mutant, outcome = finding.mutant, finding.outcome
    text, tone = MARKS[finding.verdict]
    lead = f"{page.tone(text, tone)}  {mutant.rule}  {mutant.name}"
    because = {
        "survived": f"{mutant.what}, and {plural(outcome.runs, 'run')} did not see it: what should be observed?",
        "equivalent": mutant.equivalent or "",
        "not equivalent": f"it is said that {mutant.equivalent}, but {outcome.run} saw: {outcome.said}",
    }[finding.verdict]
    return [lead, *hang("    ", words(because, page.width - 4))]


def baseline_lines(baseline: Outcome, page: Page) -> list[str]:
    if not baseline.killed:
        return []
    said = f"{baseline.run}: {baseline.said}. No kill means anything until this passes."
    return [page.tone("The code as it is does not pass", "bad"), *hang("    ", words(said, page.width - 4))]


def sum_lines(found: Findings, page: Page) -> list[str]:
    """``160 mutants: 154 killed, 6 equivalent · …``"""
    verdicts = Counter(finding.verdict for finding in found.findings)
    said = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("killed", *reversed(MARKS)) if verdicts[verdict])
    steps = sorted(finding.outcome.shrunk for finding in found.findings if finding.outcome.trace)
    parts = [
        f"{plural(len(found.findings), 'mutant')}: {said or 'none'}",
        f"killing traces of {plural(steps[len(steps) // 2], 'step')} (median), {steps[-1]} at most" if steps else "",
        "the code as it is fails"
        if found.baseline.killed
        else f"the code as it is passes {plural(len(found.runs), 'run')}",
        seconds(found.seconds),
    ]
    return flow([part for part in parts if part], page.width, " · ")


def list_lines(mutants: Sequence[Mutant], page: Page) -> list[str]:
    """The catalogue: what each mutant breaks, and how; then the rules that it leaves to others."""
    lines = columns(
        [(mutant.rule, mutant.name, mutant.what) for mutant in mutants], page, ("breaks", "mutant", "what it does"), -1
    )
    lines += ["", "not here:"]
    for rule, reason in (NOT_OF_THE_BREAKER | NOT_OF_THE_SCHEDULER).items():
        lines += hang(f"{rule:8}", words(reason, page.width - 8))
    return lines


def mutant_data(mutant: Mutant) -> dict[str, Any]:
    return {
        "mutant": mutant.name,
        "group": mutant.group,
        "rule": mutant.rule,
        "file": mutant.file,
        "what": mutant.what,
        "equivalent": mutant.equivalent,
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    outcome = finding.outcome
    return {
        **mutant_data(finding.mutant),
        "verdict": finding.verdict,
        "killed_by": outcome.run,
        "how": outcome.how,
        "differs": outcome.said or None,
        "steps": outcome.shrunk,
        "found_in": outcome.found,
        "trace": list(outcome.trace),
        "seconds": round(outcome.seconds, 3),
    }


def run_data(ready: Ready) -> dict[str, Any]:
    return {"run": ready.run, "states": ready.states, "transitions": ready.transitions, "steps": ready.steps}


def table_data(found: Findings) -> dict[str, Any]:
    return {
        "command": "mutants",
        "mutants": [finding_data(finding) for finding in found.findings],
        "runs": [run_data(ready) for ready in found.runs],
        "baseline": {"passes": not found.baseline.killed, "said": found.baseline.said or None},
        "seconds": round(found.seconds, 3),
        "exit": int(found.exit),
    }
