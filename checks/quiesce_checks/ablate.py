"""What each rule is good for: switched off alone, which property fails, and after how many steps.

A rule without which nothing fails is not checked by anything. A rule without which the model only leaves a
domain is not either: that is a fault of the model as it then is, and no promise is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType

from .job import BUILT_IN, Job, Runner, Watcher, properties_of
from .machines import instance
from .problems import Problem, unknown
from .relation.relation import Site
from .sites import rule_sites
from .trace import Trace
from .verdict import Outcome, Verdict


@dataclass(frozen=True)
class Kill:
    """A property that fails without a rule. ``trace`` is its shortest, or None where a ``reachable`` is not
    found any more.
    """

    fails: str
    trace: Trace | None

    @property
    def steps(self) -> int | None:
        return self.trace.length if self.trace is not None else None


@dataclass(frozen=True)
class Ablation:
    """One rule switched off. ``kills`` are in the order of their length; ``fault`` says which domain is
    left, if one is; ``undecided`` counts properties without an answer.
    """

    rule: str
    sites: tuple[Site, ...]
    kills: tuple[Kill, ...]
    fault: str = ""
    undecided: int = 0
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        return bool(self.kills)


def ablate(
    job: Job,
    runner: Runner,
    rules: Sequence[str] = (),
    watcher: Watcher | None = None,
    named: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Iterator[Ablation]:
    """Run the job once for each rule with that rule off; ``rules`` are those asked for, or else all of the machine's.

    ``named`` has the properties that are expected to fail without a rule: they are tried first, by themselves, and
    the others only if none of them fails. What fails even with every rule in force is no kill. Raises
    :class:`Problem` for a rule that the machine has not.
    """
    sites = rule_sites(instance(job.machine, job.scope))
    for rule in rules:
        if rule not in sites:
            raise Problem(unknown("rule", rule, job.machine.__name__, sites))
    baseline = {verdict.property for verdict in runner(job, watcher).verdicts if failed(verdict)}
    for rule in rules or sites:
        begun = perf_counter()
        off = replace(job, without=(*job.without, rule))
        known = tuple(name for name in named.get(rule, ()) if name in properties_of(job.machine))
        found: Ablation | None = None
        if known:
            verdicts = runner(replace(off, properties=known), watcher).verdicts
            found = ablation(rule, sites[rule], verdicts, baseline, perf_counter() - begun)
        if found is None or not found.killed:
            verdicts = runner(off, watcher).verdicts
            found = ablation(rule, sites[rule], verdicts, baseline, perf_counter() - begun)
        yield found


def ablation(
    rule: str, sites: tuple[Site, ...], verdicts: Sequence[Verdict], baseline: set[str], seconds: float
) -> Ablation:
    kills = [
        Kill(verdict.property, verdict.trace)
        for verdict in verdicts
        if failed(verdict) and verdict.property not in baseline and verdict.property not in BUILT_IN
    ]
    kills.sort(key=lambda kill: (kill.steps is None, kill.steps or 0))
    fault = next(
        (
            verdict.trace.failure.text
            for verdict in verdicts
            if verdict.property in BUILT_IN and verdict.trace is not None and verdict.trace.failure is not None
        ),
        "",
    )
    undecided = sum(verdict.outcome is Outcome.INCONCLUSIVE for verdict in verdicts)
    return Ablation(rule, sites, tuple(kills), fault, undecided, seconds)


def failed(verdict: Verdict) -> bool:
    """Whether a promise is broken: a violation, or something that has to be possible and is not."""
    return verdict.outcome in (Outcome.VIOLATED, Outcome.VACUOUS)
