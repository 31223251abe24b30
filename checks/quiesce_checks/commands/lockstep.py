"""``quiesce lockstep``: an implementation beside its model, step for step."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from random import randrange
from typing import Any

import click

from ..exits import OF_OUTCOME, Exit
from ..job import engine
from ..lockstep.drive import Divergence
from ..lockstep.find import Source, find_pairing
from ..lockstep.keep import keep, kept
from ..machines import shown
from ..problems import MissingExtra, Problem
from ..report.data import Data, verdict_data
from ..report.divergence import divergence_data, divergence_lines
from ..report.verdicts import Group, group_lines, line_of
from ..verdict import Verdict
from .options import json_option, merged, parse_scope
from .screen import MINUTE, Progress, interruptible, say, say_json, sheet

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

USUAL = 10.0
"""Seconds of walks at random, if nothing is said."""


def duration(text: str) -> float:
    """``90``, ``500ms``, ``90s``, ``10m``, ``2h`` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?", text.strip())
    if found is None or not float(found[1]):
        raise Problem(f"a time is given as 90s, 10m or 2h, not '{text}'")
    return float(found[1]) * UNITS[found[2] or ""]


@click.command()
@click.argument("pairing", metavar="PAIRING")
@click.option(
    "--adapter",
    metavar="COMMAND",
    help="Walk the implementation that this command drives, in any language; PAIRING is then a machine.",
)
@click.option(
    "-s",
    "--scope",
    "scopes",
    type=parse_scope,
    metavar="NAME=VALUE,…",
    multiple=True,
    help="Arguments of the pairing, constants of the machine: threshold=2,clear_when_settled.",
)
@click.option("--tick", type=click.IntRange(1), metavar="MS", help="How many ms one unit of the model's time is.")
@click.option(
    "--walks",
    type=click.Choice(["all", "production"]),
    help="all: every transition of the graph [the default]; production: at random, at constants as large as in use.",
)
@click.option("--for", "lasting", type=duration, metavar="TIME", help="Walk at random for so long: 90s, 10m, 2h [10s].")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Which walks at random [another each time].")
@click.option("--timeout", type=duration, metavar="TIME", help="What an adapter has for one answer: 500ms, 5s [5s].")
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep a divergence as a test in this folder.",
)
@json_option
def lockstep(
    pairing: str,
    adapter: str | None,
    scopes: tuple[dict[str, int | bool], ...],
    tick: int | None,
    walks: str | None,
    lasting: float | None,
    seed: int | None,
    timeout: float | None,
    folder: Path | None,
    as_json: bool,
) -> Exit:
    """Walk an implementation beside its model, and compare them after every step.

    PAIRING is one of ours (breaker, table, classifier, one_node, one_session, echo_loop), package.module:function or
    path/to/file.py:function. With --adapter it is a machine, and the command drives the implementation: quiesce
    lockstep gate.py:Gate --adapter "node gate_adapter.js". A divergence is made short, shown with both answers, and
    kept as a test if you say where."""
    at_random = walks == "production" or (walks is None and (lasting is not None or seed is not None))
    if walks == "all" and (lasting is not None or seed is not None):
        raise Problem(
            "--for and --seed are for walks at random: all transitions take as long as they take", remedy=WALK
        )
    if timeout is not None and adapter is None:
        raise Problem("--timeout is what an adapter has for an answer, and there is no --adapter")
    source = source_of(pairing, adapter, timeout)
    scope = merged(scopes)
    if at_random and adapter is None:
        scope = production(source.name) | scope
        tick = 1 if tick is None and in_milliseconds(source) else tick
    module = question()
    made = source.at(scope, tick)
    seed = randrange(1_000_000) if seed is None else seed
    progress = Progress(beat=MINUTE)
    with interruptible() as interruption:
        try:
            if at_random:
                found = module.at_random(made, lasting or USUAL, progress, seed)
            else:
                found = module.toured(made, None, progress)
        finally:
            progress.clear()
    verdict: Verdict = found.verdict
    exit = Exit.INTERRUPTED if interruption.came else OF_OUTCOME[verdict.outcome]
    file: Path | None = None
    if folder is not None and verdict.divergence is not None:
        file = keep(kept(source, scope, tick, verdict.divergence, not at_random), verdict.divergence, folder)
    if as_json:
        say_json(
            {
                "command": "lockstep",
                "pairing": source.name,
                "adapter": adapter,
                "implementation": made.implementation,
                "scope": scope,
                "tick": made.tick,
                "walks": "production" if at_random else "all",
                "seed": seed if at_random else None,
                "verdict": verdict_data(verdict),
                "toured": toured_data(found.toured),
                "walked": walked_data(found.walked),
                "divergence": divergence_data(verdict.divergence, made, str(file) if file else None)
                if verdict.divergence
                else None,
                "exit": int(exit),
            }
        )
        return exit
    page = sheet()
    given = ", ".join(f"{name}={shown(value)}" for name, value in scope.items())
    group = Group(f"{source.name}  {given}".rstrip(), (line_of(verdict),), verdict.seconds)
    say(group_lines(group, page))
    if verdict.divergence is not None:
        say(["", *divergence_lines(verdict.divergence, made, page, see=see(verdict.divergence, file))])
    if interruption.came:
        say([page.tone("interrupted: this is what was known by then", "odd")])
    return exit


WALK = "quiesce lockstep PAIRING --for 10m"


def source_of(pairing: str, adapter: str | None, timeout: float | None) -> Source:
    if adapter is None:
        return find_pairing(pairing, (Path.cwd(),))
    from ..lockstep.adapter import adapter_source

    return adapter_source(pairing, adapter, (Path.cwd(),), timeout)


def production(name: str) -> dict[str, int | bool]:
    from ..subjects import PRODUCTION

    return dict(PRODUCTION.get(name, {}))


def in_milliseconds(source: Source) -> bool:
    """Whether it is one of our pairings that has to do with time: production constants are in ms."""
    from ..subjects import PRODUCTION

    return source.name in PRODUCTION and "tick" in signature(source.make).parameters


def question() -> Any:
    """The module that asks, or one sentence about what is not installed."""
    from importlib import import_module

    engine("explore", "lockstep", "llvmlite")
    try:
        return import_module("quiesce_checks.lockstep.question")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("quiesce"):
            raise
        raise MissingExtra("lockstep", str(error.name)) from None


def see(found: Divergence, file: Path | None) -> list[tuple[str, str]]:
    if file is None:
        return [("keep it", "the same command with --keep tests")]
    return [("kept as", str(file)), ("run it", f"pytest {file}")]


def toured_data(found: Any) -> Data | None:
    if found is None:
        return None
    names = ("states", "transitions", "walks", "steps", "bound", "refusals", "exhausted", "finished")
    return {name: getattr(found, name) for name in names} | {
        "seconds": round(found.seconds, 3),
        "explore_seconds": round(found.explore_seconds, 3),
        "rate": round(found.rate),
    }


def walked_data(found: Any) -> Data | None:
    if found is None:
        return None
    return {
        "walks": found.walks,
        "steps": found.steps,
        "actions": dict(found.actions),
        "edges": {str(side): count for side, count in found.edges},
        "seconds": round(found.seconds, 3),
    }
