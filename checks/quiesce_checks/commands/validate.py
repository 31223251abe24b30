"""``quiesce validate``: is a recorded log a behaviour of a model?"""

from __future__ import annotations

from pathlib import Path

import click

from quiesce_model.language.machine import Machine

from ..exits import OF_OUTCOME, Exit, worst
from ..logs.find import OURS, find_target
from ..logs.lines import opened
from ..logs.report import validation_data, validation_lines
from ..logs.search import MOST_ALIVE
from ..logs.validation import Validation
from ..logs.validation import validate as judge
from ..machines import shown
from ..problems import Problem
from ..rules import find_tables, read_rules
from .options import json_option, machine_of, merged, parse_scope
from .screen import Progress, interruptible, say, say_json, sheet


@click.command()
@click.argument("logs", metavar="LOG…", nargs=-1, required=True)
@click.option(
    "--machine", type=machine_of, help="The machine to hold the log against; a mapping of ours knows its own."
)
@click.option(
    "--mapping",
    required=True,
    metavar="MAPPING",
    help=f"How lines are read: path/to/file.py[:name], package.module:name, or one of ours ({', '.join(OURS)}).",
)
@click.option(
    "-s",
    "--scope",
    "scopes",
    type=parse_scope,
    metavar="NAME=VALUE,…",
    multiple=True,
    help="Constants of the machine: most=2,pause=2000.",
)
@click.option(
    "--limit-states",
    type=click.IntRange(1),
    default=MOST_ALIVE,
    show_default=True,
    help="Give up, inconclusive, when more states are alive.",
)
@json_option
def validate(
    logs: tuple[str, ...],
    machine: type[Machine] | None,
    mapping: str,
    scopes: tuple[dict[str, int | bool], ...],
    limit_states: int,
    as_json: bool,
) -> Exit:
    """Judge recorded logs: could the model have done this?

    LOG has one JSON object a line; '-' is standard input, and .gz is unpacked. Every state that the model can be in is
    kept from line to line. A log is refused at the first line that leaves none, with the guards and differences that
    are in the way."""
    if logs.count("-") > 1:
        raise Problem("standard input can be read once: name '-' once")
    scope = merged(scopes)
    progress = Progress()
    found: list[Validation] = []
    name = mapping
    with interruptible():
        for log in logs:
            target = find_target(mapping, machine, scope, limit_states)
            name = target.name
            try:
                with opened(log) as lines:
                    found.append(judge(lines, target, lambda number, log=log: progress.note(f"{log}  line {number:,}")))
            finally:
                progress.clear()
    exits = [OF_OUTCOME[one.outcome] for one in found]
    exit = worst(exits)
    if as_json:
        data = [validation_data(one, name, int(code)) for one, code in zip(found, exits, strict=True)]
        say_json({"command": "validate", "mapping": mapping, "scope": scope, "logs": data, "exit": int(exit)})
        return exit
    sentences = {rule.id: rule.sentence for rule in read_rules(find_tables(Path.cwd()))}
    given = ", ".join(f"{key}={shown(value)}" for key, value in scope.items())
    page = sheet()
    for number, one in enumerate(found):
        say([""] if number else [])
        say(validation_lines(one, page, f"{name}  {given}".rstrip(), sentences))
    return exit
