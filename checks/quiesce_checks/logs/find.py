"""From what a person calls a machine and a mapping to what a log is held against."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from pathlib import Path
from types import ModuleType

from quiesce_model.language.machine import Machine

from ..machines import instance, load_file, load_module
from ..problems import Problem, unknown
from .mapping import Mapping
from .nodes import Nodes
from .pairs import IN_FLIGHT, Pairs
from .search import MOST_ALIVE
from .target import Mapped, Target

OURS = ("pair", "node")
"""Mappings of the logs that the runtime writes: to each action and document, to each action's gates."""


def find_target(
    mapping: str, machine: type[Machine] | None, scope: Dict[str, int | bool], most_alive: int = MOST_ALIVE
) -> Target:
    """What to hold a log against. Raises :class:`Problem` for what cannot be found or does not go together."""
    module_name, _, name = mapping.partition(":")
    if module_name.endswith(".py"):
        found = load_file(module_name, (Path.cwd(),))
    elif "." in module_name:
        found = load_module(module_name, (Path.cwd(),), "mapping")
    else:
        return ours(mapping, machine, scope, most_alive)
    made = mapping_in(found, name, module_name)
    if machine is None:
        raise Problem(
            "a mapping of your own needs a machine", remedy="--machine package.module:Class or path/to/file.py:Class"
        )
    return Mapped(instance(machine, scope), made, mapping, most_alive)


def mapping_in(module: ModuleType, name: str, where: str) -> Mapping:
    mappings: dict[str, Mapping] = {}
    for key, value in vars(module).items():
        if isinstance(value, Mapping):
            mappings[key] = value
    if name in mappings:
        return mappings[name]
    if name:
        raise Problem(unknown("mapping", name, where, mappings))
    if len(mappings) == 1:
        return next(iter(mappings.values()))
    if mappings:
        raise Problem(f"{where} has several mappings, so say which: {', '.join(f'{where}:{n}' for n in mappings)}")
    raise Problem(f"{where} has no mapping", remedy="mapping = quiesce_checks.logs.Mapping(events={…})")


def ours(name: str, machine: type[Machine] | None, scope: Dict[str, int | bool], most_alive: int) -> Target:
    if name not in OURS:
        raise Problem(
            unknown("mapping", name, "quiesce", OURS),
            remedy="for one of your own: path/to/file.py or package.module:name",
        )
    if machine is not None:
        raise Problem(f"the mapping {name} knows its machine: leave --machine out")
    if name == "node":
        if scope:
            raise Problem("the mapping node takes its constants from the log: leave --scope out")
        return Nodes(most_alive)
    given = dict(scope)
    in_flight = int(given.pop("in_flight", IN_FLIGHT))
    if given or in_flight < 1:
        raise Problem(
            f"the mapping {name} takes its constants from the log; of the scope only in_flight is yours to say"
        )
    return Pairs(in_flight, most_alive)
