"""``quiesce rules``, ``why`` and ``ablate``: the rules in words, and what each is good for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from quiesce_model.language.machine import Machine

from ..ablate import Ablation
from ..ablate import ablate as ablations
from ..exits import Exit, worst
from ..job import Engine, Job, Limit, run
from ..machines import instance, shipped, short_name
from ..problems import Problem, unknown
from ..relation.relation import Site
from ..report.counterexample import counterexample
from ..report.data import trace_data
from ..report.figures import plural, seconds
from ..report.page import hang, words
from ..report.rules import ablation_data, ablation_lines, fails, in_steps, rule_data, rules_lines, why_lines
from ..report.story import tell
from ..rules import Rule, find_tables, read_rules
from ..sites import rule_sites
from ..suite import Suite, find_suites, load_suite
from ..verdict import Outcome
from ..witness import keep
from .options import (
    flat,
    json_option,
    machine_argument,
    machine_of,
    merged,
    names,
    question_options,
    save_option,
    trace_options,
)
from .screen import Progress, interruptible, say, say_json, sheet
from .traces import Look

PATIENCE = 60.0
"""Seconds that ``why`` looks for a failure at one scope."""


@click.command()
@json_option
def rules(as_json: bool) -> Exit:
    """Print the rules of specs/*.md: sentence, place in the model, properties."""
    found = tables()
    sites = sites_of(machines(project()))
    if as_json:
        say_json({"command": "rules", "rules": [rule_data(rule, sites) for rule in found], "exit": 0})
        return Exit.AS_EXPECTED
    page = sheet()
    say(rules_lines(found, sites, page))
    unworded = [rule for rule in sites if rule not in {known.id for known in found}]
    say(["", f"{plural(len(found), 'rule')} in {', '.join(dict.fromkeys(str(r.file.name) for r in found))}"])
    if unworded:
        say([page.tone(f"in a model, but in no table: {', '.join(unworded)}", "odd")])
    return Exit.AS_EXPECTED


def tables() -> tuple[Rule, ...]:
    files = find_tables(Path.cwd())
    found = read_rules(files)
    if not found:
        remedy = "write a table whose first column holds ids such as BRK-9"
        raise Problem("there is no table of rules in specs/*.md here", remedy=remedy)
    return found


def project() -> list[Suite]:
    """The suites of the folder that the command was started in."""
    return [load_suite(file, (Path.cwd(),)) for file in find_suites(Path.cwd())]


def machines(suites: Iterable[Suite]) -> list[type[Machine]]:
    """The machines of the suites; the shipped ones, where there are no suites."""
    own = [check.job.machine for suite in suites for check in suite.checks]
    return list(dict.fromkeys(own or shipped().values()))


def sites_of(known: Iterable[type[Machine]]) -> dict[str, list[Site]]:
    """Where the rules stand, over several machines."""
    found: dict[str, list[Site]] = {}
    for machine in known:
        for rule, sites in rule_sites(instance(machine, {})).items():
            places = found.setdefault(rule, [])
            places += [site for site in sites if site not in places]
    return found


@click.command()
@machine_argument
@click.option("--rule", "chosen", type=names, multiple=True, help="Only these rules (all, if not given).")
@question_options
@click.option("--seconds", "patience", type=click.FloatRange(0, min_open=True), help="At most, for each rule.")
@json_option
def ablate(
    machine: type[Machine],
    chosen: Any,
    scopes: Any,
    properties: Any,
    without: Any,
    patience: float | None,
    as_json: bool,
) -> Exit:
    """Switch each rule of MACHINE off alone: which property fails, and in how many steps.

    A rule without which nothing fails is checked by nothing; so is one without which the model only leaves
    a domain. Ends with 4 if there is such a rule that the table in specs/ does not call redundant."""
    job = Job(
        machine,
        Engine.EXPLORE,
        scope=merged(scopes),
        properties=flat(properties) or None,
        without=flat(without),
        limit=Limit(seconds=patience),
    )
    found: list[Ablation] = []
    with interruptible() as interruption:
        for ablation in shown_progress(ablations(job, run, flat(chosen))):
            found.append(ablation)
            if interruption.came:
                break
    redundant = {rule.id for rule in read_rules(find_tables(Path.cwd())) if rule.is_redundant}
    exit = worst(exit_of(ablation, redundant) for ablation in found)
    if interruption.came:
        exit = Exit.INTERRUPTED
    if as_json:
        say_json(
            {
                "command": "ablate",
                "machine": short_name(machine),
                "scope": dict(job.scope),
                "ablations": [ablation_data(ablation) for ablation in found],
                "exit": int(exit),
            }
        )
        return exit
    page = sheet()
    say(ablation_lines(found, page))
    killed = sum(ablation.killed for ablation in found)
    total = sum(ablation.seconds for ablation in found)
    last = f"{killed} of {plural(len(found), 'rule')} of {short_name(machine)} needed for a property here"
    say(["", page.tone(f"{last} · {seconds(total)}", "good" if killed == len(found) else "odd")])
    return exit


def exit_of(ablation: Ablation, redundant: set[str]) -> Exit:
    if ablation.killed or ablation.rule in redundant:
        return Exit.AS_EXPECTED
    return Exit.INCONCLUSIVE if ablation.undecided else Exit.VACUOUS


def shown_progress(found: Iterator[Ablation]) -> Iterator[Ablation]:
    """The same, with a line on standard error that names the rule last decided."""
    progress = Progress()
    try:
        for ablation in found:
            progress.note(f"without {ablation.rule}: {fails(ablation)}")
            yield ablation
    except KeyboardInterrupt:
        return
    finally:
        progress.clear()


@click.command()
@click.argument("rule")
@click.option("-m", "--machine", "chosen", type=machine_of, metavar="MACHINE", help="The machine to show it on.")
@trace_options
@save_option
@json_option
def why(rule: str, chosen: type[Machine] | None, full: bool, show: Any, hide: Any, traces: Path, as_json: bool) -> Exit:
    """Show why RULE is there: what fails without it, and the shortest way to it.

    RULE may also be what the tables call its source, such as C6: then it is the first of the rules from there."""
    known = {found.id: found for found in read_rules(find_tables(Path.cwd()))}
    suites = project()
    candidates = [chosen] if chosen is not None else machines(suites)
    sites = sites_of(candidates)
    asked, several = rule, [rule]
    if rule not in sites and rule not in known:
        several = rules_from(rule, known.values())
        if not several:
            raise Problem(unknown("rule", rule, "the project", [*known, *sites]))
        rule = several[0]
    progress = Progress()
    with interruptible() as interruption:
        try:
            found = next(reasons(rule, suites, candidates, progress), None)
        finally:
            progress.clear()
    exit = Exit.AS_EXPECTED if found is not None else Exit.VACUOUS
    if rule in known and known[rule].is_redundant:
        exit = Exit.AS_EXPECTED
    if interruption.came:
        exit = Exit.INTERRUPTED
    kill = found[1].kills[0] if found is not None else None
    saved = None
    if found is not None and kill is not None and kill.trace is not None:
        path = traces / f"without-{rule}.{short_name(found[0].machine)}.{kill.fails}.itf.json"
        keep(kill.trace, path)
        saved = str(path)
    if as_json:
        say_json(
            {
                "command": "why",
                "rule": rule_data(known[rule], sites) if rule in known else {"id": rule},
                "machine": short_name(found[0].machine) if found is not None else None,
                "scope": dict(found[0].scope) if found is not None else None,
                "ablation": ablation_data(found[1]) if found is not None else None,
                "trace": trace_data(kill.trace, saved) if kill is not None and kill.trace is not None else None,
                "exit": int(exit),
            }
        )
        return exit
    page = sheet()
    if asked != rule:
        others = f"; see also {', '.join(several[1:])}" if several[1:] else ""
        say([f"{asked} is {rule}{others}"])
    say(why_lines(rule, known.get(rule), sites.get(rule, ()), page))
    if found is None or kill is None:
        say([page.tone("without it  nothing fails at the scopes that were looked at", "odd")])
        return exit
    where = f"{short_name(found[0].machine)}.{kill.fails}"
    said = f"{where} {'is not reached' if kill.steps is None else f'fails in {in_steps(found[1])}'}"
    say(hang("without it  ", words(said, page.width - 12)))
    if kill.trace is not None and saved is not None:
        look = Look(full, flat(show), flat(hide))
        see = [("saved", saved), ("see it", f"quiesce trace show {saved}")]
        say(["", *counterexample(tell(kill.trace, look.keep), page, full=full, see=see)])
    return exit


def rules_from(source: str, known: Iterable[Rule]) -> list[str]:
    """The rules that the tables say are from ``source``, one of its words, such as C6 or §3."""
    return [rule.id for rule in known if source in re.split(r"[\s,;]+", rule.source)]


Reason = tuple[Job, Ablation]


def reasons(
    rule: str, suites: Sequence[Suite], candidates: Sequence[type[Machine]], progress: Progress
) -> Iterator[Reason]:
    """What fails without the rule: where the suites say that something does, then at each machine's own
    scope.
    """
    for job in jobs(rule, suites, candidates):
        for ablation in ablations(job, run, (rule,), progress):
            if ablation.killed:
                yield job, ablation


def jobs(rule: str, suites: Sequence[Suite], candidates: Sequence[type[Machine]]) -> Iterator[Job]:
    limit = Limit(seconds=PATIENCE)
    for suite in suites:
        for check in suite.checks:
            job = check.job
            if job.engine is Engine.ABLATE and job.machine in candidates and concerns(job, rule):
                yield replace(job, engine=Engine.EXPLORE, rules=(), limit=limit)
            if (
                job.without == (rule,)
                and check.expect is Outcome.VIOLATED
                and job.engine is Engine.EXPLORE
                and job.machine in candidates
            ):
                yield replace(job, without=(), limit=limit)
    for machine in candidates:
        if rule in rule_sites(instance(machine, {})):
            yield Job(machine, Engine.EXPLORE, limit=limit)


def concerns(job: Job, rule: str) -> bool:
    return rule in (job.rules or rule_sites(instance(job.machine, job.scope)))
