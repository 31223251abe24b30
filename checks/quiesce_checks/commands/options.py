"""What several commands take."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from quiesce_model.language.machine import Machine

from ..machines import find_machine
from ..problems import Problem

F = TypeVar("F", bound=Callable[..., Any])

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def machine_of(text: str) -> type[Machine]:
    return find_machine(text, (Path.cwd(),))


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name for name in re.split(r"[,\s]+", text) if name)


def parse_scope(text: str) -> dict[str, int | bool]:
    """``sessions=3,threshold=3,may_agree``: a flag's bare name switches it on."""
    scope: dict[str, int | bool] = {}
    for part in filter(None, re.split(r"[,\s]+", text)):
        name, equals, value = part.partition("=")
        if not equals:
            scope[name] = True
        elif value.lower() in WORDS:
            scope[name] = WORDS[value.lower()]
        elif re.fullmatch(r"[+-]?\d+(_\d+)*", value):
            scope[name] = int(value)
        else:
            raise Problem(f"{name} is given as a whole number or as true or false, not '{value}'")
    return scope


def merged(scopes: Sequence[dict[str, int | bool]]) -> dict[str, int | bool]:
    return {name: value for scope in scopes for name, value in scope.items()}


def flat(names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(name for group in names for name in group)


def threads(text: str) -> int | str:
    """A number from 1, or ``auto``."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text == "auto":
        return text
    raise Problem(f"--threads is a whole number from 1, or auto, not '{text}'")


folder = click.Path(path_type=Path, file_okay=False, exists=True)
new_folder = click.Path(path_type=Path, file_okay=False)
machine_argument = click.argument("machine", type=machine_of)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def question_options(command: F) -> F:
    """What is asked of an engine."""
    for option in (
        click.option("--without", type=names, multiple=True, help="Rules to switch off, such as BRK-7."),
        click.option(
            "-p",
            "--property",
            "properties",
            type=names,
            metavar="NAMES",
            multiple=True,
            help="The properties to check (all, if not given).",
        ),
        click.option(
            "-s",
            "--scope",
            "scopes",
            type=parse_scope,
            metavar="NAME=VALUE,…",
            multiple=True,
            help="Constants of the machine: sessions=3,threshold=3.",
        ),
    ):
        command = option(command)
    return command


def field_options(command: F) -> F:
    """Which fields of a trace are shown."""
    for option in (
        click.option("--hide", type=names, multiple=True, help="Leave these fields out."),
        click.option(
            "--show",
            type=names,
            metavar="NAMES",
            multiple=True,
            help="Only these fields: document,session.pair,session[1].*",
        ),
    ):
        command = option(command)
    return command


def trace_options(command: F) -> F:
    """How a trace is shown."""
    full = click.option("--full", is_flag=True, help="Every state whole, not only what changed.")
    return full(field_options(command))


save_option = click.option(
    "--traces",
    type=new_folder,
    default=Path("traces"),
    show_default=True,
    help="The folder that traces are saved to.",
)
