"""The command ``quiesce``: which subcommands there are, and how a run ends."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from quiesce_model.language.outcome import Misuse

from .commands.screen import say_json, sheet
from .exits import Exit
from .problems import MissingExtra, Problem, of_model
from .relation.errors import ModelError
from .report.data import problem_data
from .report.problem import problem_lines

NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""A group that was called without a subcommand; its text is the help. Older versions of click have no such class."""

REPORT_TO = "the project's issue tracker"


@dataclass(frozen=True)
class Entry:
    """A subcommand: where it is, imported when it is used, and what the overview says of it."""

    module: str
    attribute: str
    summary: str
    group: str


MAIN, ONE, RULES, TRACES, RUNTIME = "The main job", "One question", "Rules", "Traces", "The runtime"

ENTRIES: dict[str, Entry] = {
    "check": Entry("quiesce_checks.commands.check", "check", "Run the suites of specs/: everything as expected?", MAIN),
    "explore": Entry("quiesce_checks.commands.engines", "explore", "Visit every reachable state of a machine.", ONE),
    "simulate": Entry("quiesce_checks.commands.simulate", "simulate", "Walk through a machine at random.", ONE),
    "prove": Entry("quiesce_checks.commands.engines", "prove", "Prove properties for runs of any length.", ONE),
    "bmc": Entry("quiesce_checks.commands.engines", "bmc", "Search all runs up to a depth with a solver.", ONE),
    "graph": Entry("quiesce_checks.commands.graph", "graph", "Draw a machine's states and steps.", ONE),
    "rules": Entry("quiesce_checks.commands.rules", "rules", "Print the rules and where they are checked.", RULES),
    "why": Entry("quiesce_checks.commands.rules", "why", "Show what fails without a rule.", RULES),
    "ablate": Entry("quiesce_checks.commands.rules", "ablate", "Switch each rule off: which property fails?", RULES),
    "trace": Entry("quiesce_checks.commands.traces", "trace", "Show and compare saved traces.", TRACES),
    "lockstep": Entry(
        "quiesce_checks.commands.lockstep", "lockstep", "Walk an implementation beside its model.", RUNTIME
    ),
    "validate": Entry("quiesce_checks.commands.validate", "validate", "Judge a recorded log by its model.", RUNTIME),
    "adapter": Entry(
        "quiesce_checks.commands.adapter", "adapter", "Check an adapter for an implementation in any language.", RUNTIME
    ),
    "mutants": Entry(
        "quiesce_checks.mutants.command",
        "mutants",
        "Break the runtime on purpose: which lockstep run sees it?",
        RUNTIME,
    ),
    "replay": Entry("quiesce_checks.traffic.command", "replay", "Run recorded traffic through the breaker.", RUNTIME),
    "serve": Entry("quiesce.cli", "serve", "Serve a store.", RUNTIME),
    "derive": Entry("quiesce.cli", "derive", "Serve an application's derivations.", RUNTIME),
    "token": Entry("quiesce.cli", "token", "Make a token for a session.", RUNTIME),
}


class Commands(click.Group):
    """A group whose subcommands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, entry in ENTRIES.items() if is_there(entry)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = ENTRIES.get(cmd_name)
        if entry is None or not is_there(entry):
            return None
        try:
            command: Any = getattr(import_module(entry.module), entry.attribute)
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("quiesce"):
                raise
            raise MissingExtra(f"quiesce {cmd_name}", str(error.name)) from None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            groups.setdefault(ENTRIES[name].group, []).append((name, ENTRIES[name].summary))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


def is_there(entry: Entry) -> bool:
    """Whether the module can be found, without importing it (its package is)."""
    try:
        return find_spec(entry.module) is not None
    except ModuleNotFoundError:
        return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quiesce", message="quiesce %(version)s")
@click.option("--traceback", is_flag=True, help="Show the traceback of a failure of quiesce itself.")
def cli(traceback: bool) -> None:
    """Will this loop go quiet? Check state machines, and the implementation against them.

    Exit codes: 0 as expected; 1 violated or diverged; 2 usage or model error; 3 inconclusive; 4 vacuous or
    not covered; 5 the subject failed; 130 interrupted."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code. A user's mistake is one sentence; a bug of ours says where to
    report.
    """
    given = [argument for argument in arguments if argument != "--traceback"]
    as_json = "--json" in given
    try:
        ended: Any = cli.main(args=given, prog_name="quiesce", standalone_mode=False)
        return int(ended) if isinstance(ended, int) else 0
    except BrokenPipeError:
        return closed_early()
    except click.UsageError as error:
        if isinstance(error, NO_ARGUMENTS):
            click.echo(error.format_message())
            return int(Exit.USAGE)
        return fail(usage_problem(error), as_json)
    except click.ClickException as error:
        return fail(Problem(error.format_message()), as_json)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except (KeyboardInterrupt, click.Abort):
        return fail(Problem("interrupted", exit=Exit.INTERRUPTED), as_json)
    except Problem as problem:
        return fail(problem, as_json)
    except ModelError as error:
        return fail(of_model(error), as_json)
    except Misuse as error:
        return fail(Problem(str(error)), as_json)
    except Exception as error:
        if "--traceback" in arguments:
            traceback.print_exc()
        return fail(bug(error), as_json)


def closed_early() -> int:
    """Whoever read the output has read enough: end like a program that the pipe's closing ended."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 128 + 13


def usage_problem(error: click.UsageError) -> Problem:
    said = error.format_message()
    path = error.ctx.command_path if error.ctx is not None else "quiesce"
    return Problem(said[0].lower() + said[1:].rstrip("."), remedy=f"{path} --help")


def bug(error: Exception) -> Problem:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Problem(
        f"this is a failure of quiesce itself, not of your model: {said}",
        remedy=f"run it again with --traceback, and report that to {REPORT_TO}",
        exit=Exit.BUG,
    )


def fail(problem: Problem, as_json: bool) -> int:
    if as_json:
        say_json({"error": problem_data(problem), "exit": int(problem.exit)})
    else:
        page = sheet()
        for line in problem_lines(problem, page):
            click.echo(line, err=True)
    return int(problem.exit)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
