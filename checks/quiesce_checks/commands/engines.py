"""``quiesce explore``, ``prove`` and ``bmc``: one machine, one engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from quiesce_model.language.machine import Machine

from ..exits import OF_OUTCOME, Exit, worst
from ..exploring import Ways
from ..job import Answer, Engine, Job, Limit, check_rules, run
from ..machines import short_name, shown
from ..problems import Problem
from ..report.data import statistics_data, verdict_data
from ..report.verdicts import Group, group_lines, line_of, statistics_lines
from ..suite import memory_size
from .options import (
    flat,
    folder,
    json_option,
    machine_argument,
    merged,
    names,
    new_folder,
    question_options,
    save_option,
    threads,
    trace_options,
)
from .screen import Progress, interruptible, say, say_json, sheet
from .traces import Look, save_traces, tell_traces


@click.command()
@machine_argument
@question_options
@click.option("--limit-states", type=click.IntRange(1), help="Stop when so many states are kept.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after so many seconds.")
@click.option("--memory", type=memory_size, metavar="SIZE", help="Stop before more is used than this: 500M, 2G.")
@click.option("--threads", type=threads, default="1", show_default=True, metavar="N|auto", help="How many threads.")
@click.option("--processes", type=click.IntRange(1), metavar="N", help="Part the states between N processes.")
@click.option("--cluster", metavar="auto|HOST:PORT", help="Part the states between the machines of a Ray cluster.")
@click.option("--spill", type=folder, metavar="DIR", help="Go on in files in this folder where memory is used up.")
@click.option("--checkpoints", type=new_folder, metavar="DIR", help="Save the search in this folder now and then.")
@click.option("--every", type=click.FloatRange(0), default=60, show_default=True, help="Seconds between checkpoints.")
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint.")
@trace_options
@save_option
@json_option
def explore(
    machine: type[Machine],
    limit_states: int | None,
    seconds: float | None,
    memory: int | None,
    threads: Any,
    processes: int | None,
    cluster: str | None,
    spill: Path | None,
    checkpoints: Path | None,
    every: float,
    resume: bool,
    **asked: Any,
) -> Exit:
    """Visit every reachable state of MACHINE at a scope.

    MACHINE is package.module:Class, path/to/file.py:Class or the short name of a shipped model. A violated
    property comes with a shortest trace."""
    if resume and checkpoints is None:
        raise Problem("--resume needs --checkpoints DIR: the folder that the search was saved to")
    ways = Ways(threads, processes, cluster, spill, checkpoints, every, resume)
    limit = Limit(limit_states, seconds, memory)
    return answer(Job(machine, Engine.EXPLORE, limit=limit, ways=ways, **question(asked)), **view(asked))


@click.command()
@machine_argument
@question_options
@click.option("--symbolic", type=names, multiple=True, help="Constants left free: threshold,window.")
@click.option("--k", type=click.IntRange(1), help="How many states an induction step looks back on.")
@click.option("--lemma", "lemmas", type=names, multiple=True, help="Properties that may help (all others).")
@click.option("--without-assumption", type=names, multiple=True, help="Assumptions to drop.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="For each question to the solver.")
@trace_options
@save_option
@json_option
def prove(
    machine: type[Machine],
    symbolic: Any,
    k: int | None,
    lemmas: Any,
    without_assumption: Any,
    seconds: float | None,
    **asked: Any,
) -> Exit:
    """Prove properties of MACHINE for runs of any length, by k-induction.

    Constants named with --symbolic stay free under the machine's assumptions; the others have the values of
    the scope."""
    job = Job(
        machine,
        Engine.PROVE,
        symbolic=flat(symbolic),
        k=k,
        lemmas=flat(lemmas) or None,
        without_assumptions=flat(without_assumption),
        limit=Limit(seconds=seconds),
        **question(asked),
    )
    return answer(job, **view(asked))


@click.command()
@machine_argument
@question_options
@click.option("--depth", type=click.IntRange(1), default=20, show_default=True, help="The longest runs looked at.")
@click.option("--symbolic", type=names, multiple=True, help="Constants left free.")
@click.option("--without-assumption", type=names, multiple=True, help="Assumptions to drop.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="For each question to the solver.")
@trace_options
@save_option
@json_option
def bmc(
    machine: type[Machine],
    depth: int,
    symbolic: Any,
    without_assumption: Any,
    seconds: float | None,
    **asked: Any,
) -> Exit:
    """Search all runs of MACHINE up to a depth, with a solver. Finds violations; never proves that there
    are none.
    """
    job = Job(
        machine,
        Engine.BMC,
        depth=depth,
        symbolic=flat(symbolic),
        without_assumptions=flat(without_assumption),
        limit=Limit(seconds=seconds),
        **question(asked),
    )
    return answer(job, **view(asked))


def question(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "scope": merged(asked["scopes"]),
        "properties": flat(asked["properties"]) or None,
        "without": flat(asked["without"]),
    }


def view(asked: dict[str, Any]) -> dict[str, Any]:
    look = Look(full=asked["full"], show=flat(asked["show"]), hide=flat(asked["hide"]))
    return {"look": look, "traces": asked["traces"], "as_json": asked["as_json"]}


def answer(job: Job, look: Look, traces: Path, as_json: bool) -> Exit:
    """Ask, save the traces, and print what came out."""
    check_rules(job)
    progress = Progress()
    with interruptible() as interruption:
        try:
            found = run(job, progress)
        finally:
            progress.clear()
    saved = save_traces(found.verdicts, traces)
    exit = worst(OF_OUTCOME[verdict.outcome] for verdict in found.verdicts)
    if interruption.came:
        exit = Exit.INTERRUPTED
    if as_json:
        say_json(
            {
                "command": job.engine.value,
                "machine": short_name(job.machine),
                "scope": dict(job.scope),
                "without": list(job.without),
                "verdicts": [verdict_data(verdict, saved.get(verdict.property)) for verdict in found.verdicts],
                "statistics": statistics_data(found.statistics),
                "exit": int(exit),
            }
        )
        return exit
    page = sheet()
    group = Group(title(job), tuple(line_of(verdict) for verdict in found.verdicts), taken(found))
    exhausted = found.statistics is not None and found.statistics.exhausted
    say(group_lines(group, page, told=not exhausted))
    if found.statistics is not None:
        say(statistics_lines(found.statistics, page))
    say(tell_traces(found.verdicts, saved, page, look))
    if interruption.came:
        say([page.tone("interrupted: this is what was known by then", "odd")])
    return exit


def title(job: Job) -> str:
    """``echo_loop  sessions=3, threshold=2, without BRK-7``."""
    given = [f"{name}={shown(value)}" for name, value in job.scope.items()]
    given += [f"without {', '.join(job.without)}"] * bool(job.without)
    return f"{short_name(job.machine)}  {', '.join(given)}".rstrip()


def taken(found: Answer) -> float:
    return max((verdict.seconds for verdict in found.verdicts), default=0.0)
