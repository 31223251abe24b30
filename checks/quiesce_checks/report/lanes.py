"""Who takes part in a trace: the indexes of one of the machine's ``each`` fields, which the actions name by a
parameter. ``commit(s=1)`` is a step of ``session[1]``, since ``s`` ranges over the sessions and there is one
``session`` for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from quiesce_model.language.fields import EachOf, Part, Spec, size_at
from quiesce_model.language.machine import ActionInfo, Choices, Machine, all_marked

from ..problems import Problem
from .shape import NOTHING, Atom, Fields, Items, Node

Path = tuple[str, ...]
"""The names on the way to a field; on the way there is one index at most of each."""


@dataclass(frozen=True)
class Lanes:
    """Lane ``k`` has the values at index ``k`` of each field in ``fields``; ``parameter`` (or nothing) is how actions
    name it. ``name`` is what to call one: ``session``."""

    name: str
    fields: tuple[Path, ...]
    parameter: str
    size: int


@dataclass(frozen=True)
class Range:
    """A field with one value for each index, as the machine declares it."""

    path: Path
    declared: Any
    size: int


def lanes_of(machine: Machine, wanted: str = "") -> Lanes | None:
    """The lanes of a machine: those that most of its actions name, rather with two indexes or more than with one.

    ``wanted`` names the field to use. Raises :class:`Problem` if the machine has no such field.
    """
    declared = list(ranges_of(type(machine), machine, ()))
    ranges = [found for found in declared if wanted in ("", found.path[-1])]
    if wanted and not ranges:
        raise no_such(wanted, [found.path[-1] for found in declared])
    domains = [
        domain
        for _, info in all_marked(type(machine))
        if isinstance(info, ActionInfo)
        for domain in info.domains
        if is_index(domain[1])
    ]
    best: tuple[tuple[bool, int, bool], Range, str] | None = None
    for parameter, taken in Counter(name for name, _ in domains).items():
        for found in ranges:
            if any(
                name == parameter and same(domain, found, machine, by_number=bool(wanted)) for name, domain in domains
            ):
                score = (found.size > 1, taken, found.path[-1].startswith(parameter))
                if best is None or score > best[0]:
                    best = score, found, parameter
    if best is None:
        return Lanes(wanted, (ranges[0].path,), "", ranges[0].size) if wanted else None
    _, chosen, parameter = best
    beside = [
        found.path for found in declared if found.path[:-1] == chosen.path[:-1] and found.declared == chosen.declared
    ]
    single = len(beside) == 1 or not isinstance(chosen.declared, str)
    name = chosen.path[-1] if single else chosen.declared.removesuffix("s")
    return Lanes(name, tuple(beside), parameter, chosen.size)


def ranges_of(record: type[Any], constants: Machine, path: Path) -> Iterator[Range]:
    """The fields with an index, also those within parts and within fields of one index."""
    for field in record.__fields__:
        spec: Spec = field.spec
        if isinstance(spec, EachOf):
            size = size_at(spec.size, constants)
            yield Range((*path, field.name), spec.size, size)
            if size != 1:
                continue
            spec = spec.item
        if isinstance(spec, Part):
            yield from ranges_of(spec.record, constants, (*path, field.name))


def is_index(domain: Choices) -> bool:
    return not isinstance(domain, tuple) and domain is not bool and not isinstance(domain, type(Enum))


def same(domain: Any, found: Range, constants: Machine, *, by_number: bool) -> bool:
    """Whether a parameter ranges over the indexes of a field. Where one is declared by a constant's name, so has the
    other to be: that the numbers are equal may be chance, unless the field was asked for (``by_number``)."""
    named = isinstance(domain, str), isinstance(found.declared, str)
    if all(named):
        return domain == found.declared
    return (by_number or not any(named)) and size_at(domain, constants) == found.size


def lanes_in(start: Node, steps: Sequence[Mapping[str, Any]], wanted: str = "") -> Lanes | None:
    """The lanes of a trace whose machine cannot be had: a field of several values, and the argument of its steps
    that could name one and is called as the field is, or begins as it does."""
    fields = start.items if isinstance(start, Fields) else ()
    lists = [(name, len(items.items)) for name, items in fields if isinstance(items, Items) and items.items]
    if wanted:
        lists = [(name, size) for name, size in lists if name == wanted]
        if not lists:
            raise no_such(wanted, [name for name, items in fields if isinstance(items, Items)])
    names = list(dict.fromkeys(name for arguments in steps for name in arguments))
    for field, size in lists:
        for name in names:
            given = [arguments[name] for arguments in steps if name in arguments]
            if field.startswith(name) and all(type(value) is int and 0 <= value < size for value in given):
                return Lanes(field, ((field,),), name, size)
    return Lanes(wanted, ((wanted,),), "", lists[0][1]) if wanted else None


def no_such(wanted: str, there: Sequence[str]) -> Problem:
    listed = ", ".join(there)
    has = f"the fields that have one are: {listed}" if listed else "no field has one"
    return Problem(f"{wanted} is no field with a value for each index: {has}")


def parted(node: Node, lanes: Lanes) -> tuple[Node, tuple[Node, ...]]:
    """What all lanes share, and what each has: the fields of :class:`Lanes` at its index, by their names."""
    shared = node
    for path in lanes.fields:
        shared = without(shared, path)
    columns = [(path[-1], value_at(node, path)) for path in lanes.fields]
    own = [
        Fields(
            tuple(
                (name, items.items[index])
                for name, items in columns
                if isinstance(items, Items) and items.items[index] != NOTHING
            )
        )
        for index in range(lanes.size)
    ]
    return shared, tuple(own)


def value_at(node: Node, path: Path) -> Node:
    for name in path:
        if isinstance(node, Items):
            node = node.items[0]
        node = dict(node.items).get(name, NOTHING) if isinstance(node, Fields) else NOTHING
    return node


def without(node: Node, path: Path) -> Node:
    """The tree without the field at the path; what is empty then is left out."""
    if isinstance(node, Items):
        left = tuple(without(item, path) for item in node.items)
        return Items(left) if any(item != NOTHING for item in left) else NOTHING
    if isinstance(node, Atom):
        return node
    first, *rest = path
    kept = ((name, without(item, tuple(rest)) if rest and name == first else item) for name, item in node.items)
    return Fields(tuple((name, item) for name, item in kept if item != NOTHING and (rest or name != first)))
