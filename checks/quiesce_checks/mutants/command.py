"""``quiesce mutants``: does lockstep notice when the runtime is broken?"""

from __future__ import annotations

import click

from ..commands.options import json_option
from ..commands.screen import Progress, say, say_json, sheet
from ..exits import Exit
from ..problems import Problem
from .catalogue import CATALOGUE, matching
from .mutant import Mutant
from .outcome import Outcome, Ready
from .report import list_lines, mutant_data, table_data, table_lines
from .run import JOBS, PATIENCE, put_all


@click.command("mutants")
@click.option("-k", "pattern", metavar="PATTERN", help="Only those whose name, rule or group this is, or is part of.")
@click.option("--list", "only_list", is_flag=True, help="Say which there are, and run none.")
@click.option("--jobs", type=click.IntRange(min=1), default=JOBS, show_default=True, help="Mutants at a time.")
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    default=PATIENCE,
    show_default=True,
    help="Seconds of CPU that a mutant may take for one run.",
)
@json_option
def mutants(pattern: str | None, only_list: bool, jobs: int, patience: int, as_json: bool) -> Exit:
    """Break the runtime's breaker and its scheduler on purpose: which lockstep run sees it?

    Each mutant is one change to one source file, served to a process of its own in place of the file, which is not
    touched. It has to be killed by a run, or said to be equivalent and survive them all.
    """
    chosen = chosen_by(pattern)
    if only_list:
        if as_json:
            say_json({"command": "mutants", "mutants": [mutant_data(mutant) for mutant in chosen], "exit": 0})
        else:
            say(list_lines(chosen, sheet()))
        return Exit.AS_EXPECTED
    progress = Progress()
    try:
        found = put_all(chosen, jobs=jobs, patience=patience, listen=Counted(progress, len(chosen)))
    finally:
        progress.clear()
    if as_json:
        say_json(table_data(found))
    else:
        say(table_lines(found, sheet()))
    return found.exit


def chosen_by(pattern: str | None) -> tuple[Mutant, ...]:
    chosen = matching(pattern)
    if not chosen:
        raise Problem(
            f"no mutant of {len(CATALOGUE)} is named like '{pattern}'",
            remedy="quiesce mutants --list says what there is",
        )
    return chosen


class Counted:
    """The progress line: which run, and how many have been killed."""

    def __init__(self, progress: Progress, mutants: int) -> None:
        self.progress = progress
        self.mutants = mutants
        self.killed = 0
        self.run = ""

    def __call__(self, answer: Outcome | Ready) -> None:
        if isinstance(answer, Ready):
            self.run = answer.run
        elif answer.killed:
            self.killed += 1
        self.progress.note(f"{self.killed} of {self.mutants} killed · {self.run}")
