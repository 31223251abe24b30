"""``quiesce graph``: a machine's states and steps, for tools that draw or measure graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from quiesce_model.language.machine import Machine
from quiesce_model.language.outcome import Misuse

from ..exits import Exit
from ..formats import graph as drawing
from ..formats.itf import read, trace_of
from ..job import Engine, Job, check_names, check_rules, engine
from ..machines import instance
from ..problems import Problem, of_model
from ..relation.build import relation
from ..relation.errors import ModelError
from .engines import question
from .options import flat, machine_argument, names, question_options
from .screen import Progress, interruptible

LIMIT = 200_000
"""States that are explored at most, if nothing else is said."""


@click.command()
@machine_argument
@question_options
@click.option("--by", type=names, multiple=True, metavar="FIELDS", help="States that agree on these are one node.")
@click.option(
    "--format", "form", type=click.Choice(("dot", "graphml")), default="dot", show_default=True, help="Of what."
)
@click.option(
    "--around",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="TRACE",
    help="Only what is near a saved trace.",
)
@click.option("--near", type=click.IntRange(0), default=1, show_default=True, help="How many steps from the trace.")
@click.option("--size", type=click.IntRange(1), default=drawing.SIZE, show_default=True, help="The most nodes.")
@click.option(
    "--limit-states", type=click.IntRange(1), default=LIMIT, show_default=True, help="The most states explored."
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write (standard output).")
def graph(
    machine: type[Machine],
    by: Any,
    form: str,
    around: Path | None,
    near: int,
    size: int,
    limit_states: int,
    out: Path | None,
    **asked: Any,
) -> Exit:
    """Write the states and steps of MACHINE as a graph.

    What was left out, since there were too many nodes or states, is said on standard error and in the file."""
    job = Job(machine, Engine.EXPLORE, **question(asked))
    made = instance(job.machine, job.scope, job.without)
    check_names(job)
    check_rules(job)
    module = engine("explore", "exploring", "llvmlite")
    progress = Progress()
    try:
        model = relation(made)
        with interruptible():
            limits = module.Limits(states=limit_states)
            found = module.explore(model, limits=limits, keep_graph=True, confirm=None, progress=progress)
        trace = trace_of(read(around), machine) if around is not None else None
        shown = drawing.picture(model, found.graph, by=flat(by), around=trace, near=near, size=size)
    except ModelError as error:
        raise of_model(error) from None
    except (Misuse, ValueError) as error:
        raise Problem(str(error)) from None
    finally:
        progress.clear()
    if not found.statistics.exhausted:
        click.echo(f"not all states were explored: {found.statistics.queue:,} have no steps", err=True)
    if shown.cut:
        click.echo(shown.cut, err=True)
    written = drawing.dot(shown) if form == "dot" else drawing.graphml(shown)
    if out is None:
        click.echo(written, nl=False)
    else:
        try:
            out.write_text(written, encoding="utf-8")
        except OSError as error:
            raise Problem(f"{out} cannot be written: {error.strerror}") from None
    return Exit.AS_EXPECTED
