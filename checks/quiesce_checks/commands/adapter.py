"""``quiesce adapter``: what helps to write one."""

from __future__ import annotations

import shlex
from pathlib import Path
from time import perf_counter

import click

from ..exits import Exit
from ..lockstep.adapter import folder_of
from ..lockstep.conformance import Exam, Point, examine
from ..lockstep.stdio import TIMEOUT
from ..lockstep.stdio_child import CannotStart
from ..machines import find_machine, instance
from ..problems import Problem
from ..report.figures import seconds
from ..report.page import Page, columns, pad, wide
from .lockstep import duration
from .options import json_option, merged, parse_scope
from .screen import Progress, say, say_json, sheet


@click.group()
def adapter() -> None:
    """Adapters: how an implementation in any language is walked beside its model (docs/adapters.md)."""


@adapter.command("check")
@click.argument("machine")
@click.argument("command", nargs=-1, required=True)
@click.option(
    "-s",
    "--scope",
    "scopes",
    type=parse_scope,
    metavar="NAME=VALUE,…",
    multiple=True,
    help="Constants of the machine: debounce=2,throttle=3.",
)
@click.option("--tick", type=click.IntRange(1), default=1, metavar="MS", help="How many ms a unit of its time is [1].")
@click.option("--timeout", type=duration, metavar="TIME", help="What the adapter has for one answer: 500ms, 5s [5s].")
@json_option
def check(
    machine: str,
    command: tuple[str, ...],
    scopes: tuple[dict[str, int | bool], ...],
    tick: int,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Ask an adapter one thing at a time, and say what it gets right and wrong.

    MACHINE is the model that it is written for, COMMAND what starts it: quiesce adapter check gate.py:Gate -- node
    gate_adapter.js. Whether the implementation does what the model says is another question: quiesce lockstep."""
    parts = shlex.split(command[0]) if len(command) == 1 else list(command)
    if not parts:
        raise Problem("the adapter is given as a command line, and this one is empty")
    roots = (Path.cwd(),)
    made = instance(find_machine(machine, roots), merged(scopes))
    exam = Exam(made, parts, tick=tick, timeout=timeout or TIMEOUT, folder=folder_of(parts, roots))
    progress = Progress()
    started = perf_counter()
    try:
        points = examine(exam, progress.note)
    except CannotStart as error:
        raise Problem(str(error)) from None
    finally:
        progress.clear()
    wrong = any(point.outcome == "wrong" for point in points)
    exit = Exit.SUBJECT if wrong else Exit.AS_EXPECTED
    if as_json:
        told = [{"name": point.name, "outcome": point.outcome, "text": point.text} for point in points]
        data = {"command": "adapter check", "machine": machine, "adapter": shlex.join(parts), "points": told}
        say_json(data | {"exit": int(exit)})
    else:
        say(lines(f"{machine}  {shlex.join(parts)}", points, perf_counter() - started, sheet()))
    return exit


def lines(title: str, points: list[Point], took: float, page: Page) -> list[str]:
    """One line for each point, and how many there are of each kind."""
    time = seconds(took)
    head = f"{pad(title, page.width - wide(time))}{time}" if wide(title) + wide(time) < page.width else title
    rows = [
        ("✗" if point.outcome == "wrong" else " ", point.outcome, point.name, point.text or "-") for point in points
    ]
    counts = [(kind, sum(point.outcome == kind for point in points)) for kind in ("right", "wrong", "not asked")]
    total = ", ".join(f"{number} {kind}" for kind, number in counts if number or kind == "wrong")
    return [head, *columns(rows, page), "", total]
