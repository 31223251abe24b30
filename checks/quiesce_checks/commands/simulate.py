"""``quiesce simulate``: random walks through a machine that is too large to explore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from quiesce_model.language.machine import Machine
from quiesce_model.language.outcome import Misuse

from ..engines.simulation import DEPTH, RUNS
from ..exits import OF_OUTCOME, Exit, worst
from ..job import Engine, Job, check_names, check_rules, engine
from ..machines import instance, short_name
from ..problems import Problem, of_model
from ..relation.errors import ModelError
from ..report.data import verdict_data
from ..report.simulation import coverage_data, coverage_lines
from ..report.verdicts import Group, group_lines, line_of
from .engines import question, title, view
from .options import json_option, machine_argument, question_options, save_option, trace_options
from .screen import Progress, interruptible, say, say_json, sheet
from .traces import save_traces, tell_traces


@click.command()
@machine_argument
@question_options
@click.option("--runs", type=click.IntRange(1), default=RUNS, show_default=True, help="How many walks.")
@click.option("--depth", type=click.IntRange(1), default=DEPTH, show_default=True, help="The most steps of a walk.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after so many seconds.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed takes the same walks.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Walks taken side by side.")
@trace_options
@save_option
@json_option
def simulate(
    machine: type[Machine], runs: int, depth: int, seconds: float | None, seed: int, threads: int, **asked: Any
) -> Exit:
    """Walk through MACHINE at random, for scopes with too many states to visit.

    Each walk switches actions off or weighs them in its own way. A violated property comes with a shortened
    trace; what is not found stays inconclusive."""
    job = Job(machine, Engine.EXPLORE, **question(asked))
    made = instance(job.machine, job.scope, job.without)
    check_names(job)
    check_rules(job)
    module = engine("simulate", "simulating", "llvmlite")
    progress = Progress()
    with interruptible() as interruption:
        try:
            found = module.simulate(
                made,
                job.properties,
                runs=runs,
                depth=depth,
                seconds=seconds,
                seed=seed,
                threads=threads,
                progress=progress,
            )
        except ModelError as error:
            raise of_model(error) from None
        except (Misuse, ValueError) as error:
            raise Problem(str(error)) from None
        finally:
            progress.clear()
    look = view(asked)
    folder: Path = look["traces"]
    saved = save_traces(found.verdicts, folder)
    exit = worst(OF_OUTCOME[verdict.outcome] for verdict in found.verdicts)
    if interruption.came:
        exit = Exit.INTERRUPTED
    if look["as_json"]:
        say_json(
            {
                "command": "simulate",
                "machine": short_name(machine),
                "scope": dict(job.scope),
                "without": list(job.without),
                "seed": seed,
                "verdicts": [verdict_data(verdict, saved.get(verdict.property)) for verdict in found.verdicts],
                "coverage": coverage_data(found.coverage),
                "exit": int(exit),
            }
        )
        return exit
    page = sheet()
    say(group_lines(Group(title(job), tuple(line_of(v) for v in found.verdicts), found.seconds), page, told=False))
    say(coverage_lines(found.coverage, found.seconds, page))
    say(tell_traces(found.verdicts, saved, page, look["look"]))
    if interruption.came:
        say([page.tone("interrupted: this is what was known by then", "odd")])
    return exit
