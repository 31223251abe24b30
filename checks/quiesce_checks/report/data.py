"""What ``--json`` prints: the same answers as data. ``docs/command-line.md`` says what each field means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..judge import Judged, Result, Summary
from ..lockstep.drive import Divergence
from ..machines import short_name
from ..problems import Problem
from ..trace import Trace
from ..verdict import Statistics, Verdict
from .problem import near

Data = dict[str, Any]


def verdict_data(verdict: Verdict, saved: str | None = None) -> Data:
    return {
        "machine": short_name(verdict.machine),
        "property": verdict.property,
        "outcome": verdict.outcome.value,
        "engine": verdict.engine,
        "how": verdict.how,
        "seconds": round(verdict.seconds, 3),
        "trace": trace_data(verdict.trace, saved) if verdict.trace is not None else None,
        "notes": list(verdict.notes),
        "divergence": walk_data(verdict.divergence, saved) if verdict.divergence is not None else None,
    }


def walk_data(found: Divergence, saved: str | None = None) -> Data:
    """The walk that a comparison ended with; ``file`` is the test that it is kept as, if it is."""
    steps = [str(step) for step in found.steps]
    return {
        "length": len(steps),
        "steps": steps,
        "found_after": found.found_after,
        "differs": [{"field": name, "model": a, "implementation": b} for name, a, b in found.differs],
        "file": saved,
    }


def trace_data(trace: Trace, saved: str | None = None) -> Data:
    """``file`` is where the whole trace was saved in the Informal Trace Format, if it was."""
    return {
        "length": trace.length,
        "steps": [str(step) for step in trace.steps],
        "loop": trace.loop,
        "property": trace.failure.property if trace.failure else None,
        "file": saved,
    }


def statistics_data(statistics: Statistics | None) -> Data | None:
    if statistics is None:
        return None
    return {
        "distinct": statistics.distinct,
        "generated": statistics.generated,
        "depth": statistics.depth,
        "queue": statistics.queue,
        "exhausted": statistics.exhausted,
        "bytes": statistics.bytes,
        "seconds": round(statistics.seconds, 3),
        "compile_seconds": round(statistics.compile_seconds, 3),
        "actions": [
            {"action": action.action, "taken": action.taken, "first_level": action.first_level}
            for action in statistics.actions
        ],
    }


def problem_data(problem: Problem) -> Data:
    return {
        "text": problem.text,
        "file": near(problem.file) if problem.file else None,
        "line": problem.line,
        "column": problem.column,
        "remedy": problem.remedy,
    }


def result_data(result: Result, saved: Mapping[str, str]) -> Data:
    check = result.check
    kept = near(str(check.witness)) if check.witness is not None else None

    def file_of(item: Judged) -> str | None:
        return saved.get(f"{check.place}/{item.verdict.property}", kept)

    return {
        "suite": near(str(check.file)),
        "name": check.name,
        "tier": check.tier,
        "engine": check.job.engine.value,
        "scope": dict(check.job.scope),
        "without": list(check.job.without),
        "pairing": check.job.pairing.name if check.job.pairing is not None else None,
        "expect": check.expect.value,
        "exit": int(result.exit),
        "seconds": round(result.seconds, 3),
        "problem": problem_data(result.problem) if result.problem else None,
        "statistics": statistics_data(result.statistics),
        "verdicts": [judged_data(item, file_of(item)) for item in result.judged],
    }


def judged_data(item: Judged, saved: str | None) -> Data:
    return {**verdict_data(item.verdict, saved), "judgement": item.judgement.value, "why": item.why or None}


def summary_data(summary: Summary) -> Data:
    return {
        "as_expected": summary.as_expected,
        "surprises": summary.surprises,
        "inconclusive": summary.inconclusive,
        "vacuous": summary.vacuous,
        "not_run": summary.not_run,
        "seconds": round(summary.seconds, 3),
    }
