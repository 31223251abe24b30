"""A model and an adapter, paired by what the adapter says of itself.

    gate = adapter_pairing(Gate(debounce=2), "node gate_adapter.js")
    TestGate = state_machine(gate).TestCase

What is compared, what is hidden and why, and which refusals are the implementation's own, all stand in the adapter's
answer to ``describe``; so one file holds the whole observation relation.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from quiesce_model.language.machine import ActionInfo, Machine, all_marked, leaves

from ..exits import Exit
from ..machines import find_machine, instance
from ..problems import Problem, unknown
from .adapter_values import Fields
from .described import Described
from .find import Source
from .pairing import Mismatch, Pairing
from .stdio import TIMEOUT, StdioSubject
from .stdio_child import CannotStart
from .subject import SubjectFailed


def adapter_pairing(
    machine: Machine,
    command: str | Sequence[str],
    *,
    tick: int = 1,
    timeout: float = TIMEOUT,
    folder: Path | None = None,
) -> Pairing:
    """The pairing of a machine with an adapter, which is started once to describe itself.

    ``command`` is run without a shell, in ``folder``. ``tick`` is how many ms one unit of the model's time is,
    ``timeout`` how many seconds the adapter has for an answer. Raises Mismatch where it names what the model has not,
    SubjectFailed where it does not answer, CannotStart where there is no such program.
    """

    def subject() -> StdioSubject:
        return StdioSubject(command, machine, tick=tick, timeout=timeout, folder=folder)

    first = subject()
    try:
        said = first.described()
    finally:
        first.close()
    shows = Fields(machine, said.fields)
    hides = Fields(machine, said.hidden)
    name = said.name or Path(first.command[-1]).name
    compare(name, machine, said, shows, hides)
    shown = set(shows.leaves)
    order = [leaf.name for leaf in leaves(machine) if leaf.name in shown]
    reasons = {leaf: reason for field, reason in said.hidden.items() for leaf in Fields(machine, [field]).leaves}
    pairing = Pairing(
        name=type(machine).__name__,
        machine=lambda: machine,
        subject=subject,
        seen=shows.leaves,
        hidden={leaf: reason for leaf, reason in reasons.items() if leaf not in shown},
        refusable=frozenset(said.refuses),
        tick=tick,
        implementation=name,
    )
    return pairing if len(order) == len(shows.leaves) else replace(pairing, seen=tuple(order))


def compare(name: str, machine: Machine, said: Described, shows: Fields, hides: Fields) -> None:
    """Raise Mismatch where the adapter speaks of what the model has not, or is silent about what it has."""
    from ..sites import rule_sites

    known = {leaf.name: leaf for leaf in leaves(machine)}
    actions = {
        action: sorted(parameter for parameter, _ in info.domains)
        for action, info in all_marked(type(machine))
        if isinstance(info, ActionInfo)
    }
    model = type(machine).__name__

    def none_unknown(kind: str, names: Iterable[str], of: Iterable[str]) -> None:
        listed = list(of)
        for each in names:
            if each not in listed:
                raise Mismatch(f"{name} names what the model has not: {unknown(kind, each, model, listed)}")

    none_unknown("field", (*shows.unknown, *hides.unknown), [leaf for leaf in known if not known[leaf].ghost])
    ghosts = [leaf for leaf in shows.leaves if known[leaf].ghost]
    if ghosts:
        raise Mismatch(f"{name} shows {ghosts[0]}, a ghost of {model}, which no implementation has")
    twice = [leaf for n, leaf in enumerate(shows.leaves) if leaf in shows.leaves[:n]]
    if twice:
        raise Mismatch(f"{name} shows {twice[0]} twice")
    none_unknown("action", said.actions, actions)
    missing = [action for action in actions if action not in said.actions]
    if missing:
        raise Mismatch(f"{name} does not describe the action {', '.join(missing)}, which {model} has")
    for action, parameters in said.actions.items():
        if sorted(parameters) != actions[action]:
            told = f"({', '.join(parameters)})", f"({', '.join(actions[action])})"
            raise Mismatch(f"{name} takes {action}{told[0]}, and {model} {action}{told[1]}")
    none_unknown("rule", said.refuses, rule_sites(machine))
    silent = [leaf for leaf in known if not known[leaf].ghost and leaf not in {*shows.leaves, *hides.leaves}]
    if silent:
        raise Mismatch(
            f"{name} neither shows {', '.join(silent)} of {model} nor says why not: "
            'describe names each in "fields" or, with the reason, in "hidden"'
        )


def adapter_source(machine: str, command: str, roots: Sequence[Path] = (), timeout: float | None = None) -> Source:
    """From what a person calls a machine, and an adapter's command line, to what makes their pairing. The adapter is
    started when that is done, and not before. ``roots`` are where the machine is looked for, and where the command is
    run: in the first of them that has a file which it names.

    Raises :class:`Problem`, here and where the pairing is made, with the exit code that says who is wrong: the call,
    the adapter (5), or both, as they do not describe the same thing (4).
    """
    found = find_machine(machine, roots)
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise Problem(f"the adapter is given as a command line: {error}") from None
    if not parts:
        raise Problem("the adapter is given as a command line, and this one is empty")
    folder = folder_of(parts, roots)

    def make(tick: int = 1, **scope: int | bool) -> Pairing:
        made = instance(found, scope)
        try:
            return adapter_pairing(made, parts, tick=tick, timeout=timeout or TIMEOUT, folder=folder)
        except CannotStart as error:
            raise Problem(
                str(error), remedy="an adapter is a program with its arguments: node gate_adapter.js"
            ) from None
        except Mismatch as error:
            raise Problem(str(error), exit=Exit.VACUOUS) from None
        except SubjectFailed as error:
            wrote = f" (it wrote: {' / '.join(error.wrote)})" if error.wrote else ""
            raise Problem(f"the adapter {error}{wrote}", remedy=CHECK, exit=Exit.SUBJECT) from None

    return Source(machine, make, command, timeout)


CHECK = "quiesce adapter check MACHINE COMMAND, which asks it one thing at a time"


def folder_of(parts: Sequence[str], roots: Sequence[Path]) -> Path | None:
    named = [part for part in parts if not Path(part).is_absolute()]
    return next((root for root in roots if any((root / part).is_file() for part in named)), None)
