"""Running the entries of suites, and telling the expected from the surprising."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import perf_counter

from . import need
from .exits import Exit, worst
from .job import Engine, Runner, Watcher
from .lockstep.keep import kept, load_kept, text_of
from .machines import instance
from .problems import Problem
from .report.figures import plural
from .rules import read_rules
from .suite import Check
from .trace import Trace
from .verdict import Outcome, Statistics, Verdict
from .witness import keep, load_witness, why_stale


class Judgement(StrEnum):
    """How an answer stands to what was expected. A surprise either way is a failure."""

    AS_EXPECTED = "as expected"
    SURPRISE = "surprise"
    INCONCLUSIVE = "inconclusive"
    VACUOUS = "vacuous"


EXITS = {
    Judgement.AS_EXPECTED: Exit.AS_EXPECTED,
    Judgement.SURPRISE: Exit.VIOLATED,
    Judgement.INCONCLUSIVE: Exit.INCONCLUSIVE,
    Judgement.VACUOUS: Exit.VACUOUS,
}

FULFILLED_BY = {
    Outcome.HOLDS: (Outcome.HOLDS, Outcome.PROVED),
    Outcome.PROVED: (Outcome.PROVED,),
    Outcome.VIOLATED: (Outcome.VIOLATED,),
    Outcome.AGREES: (Outcome.AGREES,),
    Outcome.DIVERGES: (Outcome.DIVERGES,),
}


@dataclass(frozen=True)
class Judged:
    """A verdict and what to think of it. ``why`` is what is wrong, or where the known violation is kept."""

    verdict: Verdict
    judgement: Judgement
    why: str = ""

    @property
    def exit(self) -> Exit:
        return Exit.SUBJECT if self.verdict.outcome is Outcome.FAILED else EXITS[self.judgement]


@dataclass(frozen=True)
class Result:
    """What came of one entry. ``problem`` is why it could not be run."""

    check: Check
    judged: tuple[Judged, ...]
    seconds: float
    statistics: Statistics | None = None
    problem: Problem | None = None

    @property
    def exit(self) -> Exit:
        if self.problem is not None:
            return self.problem.exit
        return worst(item.exit for item in self.judged)


@dataclass(frozen=True)
class Summary:
    """Counts of properties, one for each verdict."""

    as_expected: int
    surprises: int
    inconclusive: int
    vacuous: int
    not_run: int
    seconds: float


def summary(results: Iterable[Result], seconds: float) -> Summary:
    done = list(results)
    of = [item.judgement for result in done for item in result.judged]
    return Summary(
        of.count(Judgement.AS_EXPECTED),
        of.count(Judgement.SURPRISE),
        of.count(Judgement.INCONCLUSIVE),
        of.count(Judgement.VACUOUS),
        sum(result.problem is not None for result in done),
        seconds,
    )


def run_checks(
    checks: Iterable[Check],
    runner: Runner,
    *,
    watcher: Callable[[Check], Watcher | None] = lambda check: None,
    update_witness: bool = False,
) -> Iterator[Result]:
    """Each entry's result as soon as it is there."""
    for check in checks:
        yield run_check(check, runner, watcher(check), update_witness=update_witness)


def run_check(check: Check, runner: Runner, watcher: Watcher | None = None, *, update_witness: bool = False) -> Result:
    """Run one entry and judge every verdict. A problem with the model or the installation is part of the
    result.
    """
    begun = perf_counter()
    try:
        if check.job.engine is Engine.ABLATE:
            return Result(check, ablated(check, runner, watcher), perf_counter() - begun)
        answer = runner(check.job, watcher)
        judged = tuple(judge(check, verdict, update_witness) for verdict in answer.verdicts if counts(check, verdict))
    except Problem as problem:
        return Result(check, (), perf_counter() - begun, problem=problem.at(str(check.file), check.line))
    if not judged:
        problem = Problem("the engine had nothing to judge here", exit=Exit.VACUOUS)
        return Result(check, (), perf_counter() - begun, problem=problem.at(str(check.file), check.line))
    return Result(check, judged, perf_counter() - begun, answer.statistics)


def ablated(check: Check, runner: Runner, watcher: Watcher | None) -> tuple[Judged, ...]:
    """Each rule of an ablation against the tables that lie beside the suite."""
    rules = {rule.id: rule for rule in read_rules(sorted(check.file.parent.glob("*.md")))}
    found: list[Judged] = []
    for verdict, expected, why in need.verdicts(check.job, rules, runner, watcher):
        judgement = Judgement.AS_EXPECTED if expected else Judgement.SURPRISE
        if verdict.outcome is Outcome.INCONCLUSIVE:
            judgement = Judgement.INCONCLUSIVE
        found.append(Judged(verdict, judgement, why))
    return tuple(found)


def counts(check: Check, verdict: Verdict) -> bool:
    """Whether the entry speaks of this verdict. An engine also says what it found by the way: that is worth a line
    only if it is a violation, and not of a model with a rule switched off."""
    asked = check.job.properties is None or verdict.property in check.job.properties
    return asked or (verdict.outcome is Outcome.VIOLATED and not check.job.without)


def judge(check: Check, verdict: Verdict, update_witness: bool = False) -> Judged:
    """Compare a verdict with what the entry expects, and its kept trace with what the model does now."""
    asked = check.job.properties is None or verdict.property in check.job.properties
    outcome, expect = verdict.outcome, check.expect if asked else Outcome.HOLDS
    if outcome not in FULFILLED_BY[expect]:
        if outcome is Outcome.INCONCLUSIVE:
            return Judged(verdict, Judgement.INCONCLUSIVE, f"expected {expect}")
        if outcome is Outcome.VACUOUS:
            return Judged(verdict, Judgement.VACUOUS, f"expected {expect}")
        return Judged(verdict, Judgement.SURPRISE, f"expected {expect}")
    if check.witness is None:
        return Judged(verdict, Judgement.AS_EXPECTED)
    if expect is Outcome.DIVERGES:
        return judge_kept(check, verdict, check.witness, update_witness)
    return judge_witness(check, verdict, verdict.trace, check.witness, update_witness)


def judge_kept(check: Check, verdict: Verdict, witness: Path, update: bool) -> Judged:
    """A known divergence is kept as a walk, which has to end in one still."""
    job = check.job
    if update and verdict.divergence is not None and job.pairing is not None:
        made = kept(job.pairing, job.scope, job.tick, verdict.divergence, saturated=True)
        witness.parent.mkdir(parents=True, exist_ok=True)
        witness.write_text(text_of(made, verdict.divergence), encoding="utf-8")
    try:
        found = load_kept(witness)
        still = found.walk(found.made(witness))
    except Problem as problem:
        place = f"{problem.file}: " if problem.file else ""
        return Judged(verdict, Judgement.SURPRISE, f"{place}{problem.text}; see quiesce check --update-witness")
    if still is None:
        said = f"{witness}: the two agree on all its {len(found.steps)} steps; see quiesce check --update-witness"
        return Judged(verdict, Judgement.SURPRISE, said)
    steps = plural(len(found.steps), "step")
    return Judged(verdict, Judgement.AS_EXPECTED, f"{witness.parent.name}/{witness.stem}, {steps}")


def judge_witness(check: Check, verdict: Verdict, trace: Trace | None, path: object, update: bool) -> Judged:
    witness = check.witness
    assert witness is not None
    if update and trace is not None:
        keep(trace, witness)
    machine = instance(check.job.machine, check.job.scope, check.job.without)
    try:
        kept = load_witness(witness, machine)
    except Problem as problem:
        place = f"{problem.file}: " if problem.file else ""
        return Judged(verdict, Judgement.SURPRISE, f"{place}{problem.text}; see quiesce check --update-witness")
    stale = why_stale(kept, verdict.property)
    if stale:
        return Judged(verdict, Judgement.SURPRISE, f"{witness}: {stale}")
    name = witness.name.removesuffix(".itf.json")
    return Judged(verdict, Judgement.AS_EXPECTED, f"{witness.parent.name}/{name}, {plural(kept.length, 'step')}")
