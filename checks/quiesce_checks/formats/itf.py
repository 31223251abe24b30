"""The Informal Trace Format (Apalache's ADR 015), both ways. A file's name ends in ``.itf.json``.

===============  =====================================================================
of a model       in a file
===============  =====================================================================
flag             ``true``, ``false``
whole number     ``{"#bigint": "42"}``; a plain number is read too
choice (enum)    the member's name
age, rest        ``{"#bigint": …}``; a stopped age is -1, so that it keeps its kind
record           an object
each, queue, bag a list
subset           ``{"#set": …}``
optional         ``{"tag": "Some", "value": …}`` or ``{"tag": "None", "value": {"#tup": []}}``
===============  =====================================================================

Constants are ``params``, given in the first state. A state's ``#meta`` has its ``index`` and the ``action``
with its ``params`` that led to it; the trace's ``#meta`` says of which machine it is, at which constants,
and what it shows. Nothing in a file depends on when or where it was written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast

from quiesce_model.language.machine import ActionInfo, Machine, Step, all_marked, choices
from quiesce_model.language.types import (
    EachType,
    EnumType,
    FlagType,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

from ..machines import source_name
from ..problems import Problem
from ..trace import Failure, Trace

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
UNIT: dict[str, list[Any]] = {"#tup": []}


@dataclass(frozen=True)
class Document:
    """A trace as a file has it, before it is known whether its machine can be found.

    ``values`` has the variables of each state, as Python data: see :func:`value`. ``actions`` has the names
    and arguments of the steps, one fewer than states."""

    source: str
    constants: Mapping[str, int | bool]
    without: tuple[str, ...]
    unchecked: tuple[str, ...]
    property: str
    status: str
    description: str
    values: tuple[Mapping[str, Any], ...]
    actions: tuple[tuple[str, Mapping[str, Any]], ...]
    loop: int | None = None
    attempted: tuple[str, Mapping[str, Any]] | None = None
    notes: tuple[str, ...] = field(default=())


# Writing.


def dumps(trace: Trace, source: str | None = None) -> str:
    """The file's text, one state a line, so that a change of a kept trace reads well."""
    document = encode(trace, source)
    meta = listed("{", (f"{json.dumps(key)}: {compact(item)}" for key, item in document.pop("#meta").items()), "}")
    states = listed("[", (compact(state) for state in document.pop("states")), "]")
    rest = [f"{json.dumps(key)}: {compact(item)}" for key, item in document.items()]
    return (
        "{\n" + ",\n".join([f'  "#meta": {meta}', *(f"  {line}" for line in rest), f'  "states": {states}']) + "\n}\n"
    )


def listed(opening: str, items: Iterable[str], closing: str) -> str:
    return opening + ",".join(f"\n    {item}" for item in items) + f"\n  {closing}"


def compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def encode(trace: Trace, source: str | None = None) -> dict[str, Any]:
    """The trace as JSON data. ``source`` is where the machine is found, if it is not by its module's name."""
    machine, failure = trace.machine, trace.failure
    layout = machine.layout_
    meta: dict[str, Any] = {
        "format": "ITF",
        "format-description": DESCRIPTION,
        "source": source or source_name(type(machine)),
        "constants": {name: number(value) for name, value in machine.constants_.items()},
        "without": sorted(machine.without_),
        **({"unchecked": list(machine.unchecked_)} if machine.unchecked_ else {}),
        "status": "violation" if failure else "ok",
        "property": failure.property if failure else "",
        "description": failure.text if failure else "",
    }
    if failure and failure.attempted:
        meta["attempted"] = step_meta(failure.attempted)
    if trace.notes:
        meta["notes"] = list(trace.notes)
    states: list[dict[str, Any]] = []
    for index, leaves in enumerate(trace.states):
        about = {"index": index, **(step_meta(trace.steps[index - 1]) if index else {})}
        constants: dict[str, Any] = {} if index else meta["constants"]
        states.append({"#meta": about, **constants, **cast(dict[str, Any], encode_value(layout, iter(leaves)))})
    document: dict[str, Any] = {
        "#meta": meta,
        "params": list(machine.constants_),
        "vars": [member.name for member in layout.members],
        "states": states,
    }
    if trace.loop is not None:
        document["loop"] = trace.loop
    return document


def encode_value(type: Type, leaves: Iterator[int]) -> Any:
    if isinstance(type, RowType):
        length, items = next(leaves), [encode_value(type.item, leaves) for _ in range(type.size)]
        return items[:length]
    if isinstance(type, SubsetType):
        return {"#set": [number(index) for index in [n for n in range(type.size) if next(leaves)]]}
    if isinstance(type, RecordType):
        return {member.name: encode_value(member.type, leaves) for member in type.members}
    if isinstance(type, EachType):
        return [encode_value(type.item, leaves) for _ in range(type.size)]
    if isinstance(type, OptionalType):
        present = next(leaves)
        value = encode_value(type.item, leaves)
        return {"tag": "Some", "value": value} if present else {"tag": "None", "value": UNIT}
    leaf = next(leaves)
    if isinstance(type, FlagType):
        return bool(leaf)
    return type.members[leaf].name if isinstance(type, EnumType) else number(leaf)


def step_meta(step: Step) -> dict[str, Any]:
    return {"action": step.action, "params": {name: number(value) for name, value in step.args}}


def number(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    return {"#bigint": str(value)} if isinstance(value, int) and not isinstance(value, bool) else value


# Reading.


def read(path: Path) -> Document:
    """Raises :class:`Problem` for a file that is no trace."""
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise Problem(f"this is no trace in the Informal Trace Format: {said}", file=str(path)) from None


def loads(text: str) -> Document:
    data: dict[str, Any] = json.loads(text)
    meta: dict[str, Any] = data.get("#meta", {})
    names: list[str] = data["vars"]
    states: list[dict[str, Any]] = data["states"]
    if not states:
        raise ValueError("it has no states")
    first = states[0]
    constants = {name: value(first[name]) for name in data.get("params", ()) if name in first}
    constants |= {name: value(item) for name, item in meta.get("constants", {}).items()}
    attempted = meta.get("attempted")
    return Document(
        source=str(meta.get("source", "")),
        constants=constants,
        without=tuple(meta.get("without", ())),
        unchecked=tuple(meta.get("unchecked", ())),
        property=str(meta.get("property", "")),
        status=str(meta.get("status", "")),
        description=str(meta.get("description", "")),
        values=tuple({name: value(state[name]) for name in names} for state in states),
        actions=tuple(action_of(state) for state in states[1:]),
        loop=data.get("loop"),
        attempted=action_of({"#meta": attempted}) if attempted else None,
        notes=tuple(meta.get("notes", ())),
    )


def action_of(state: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    meta: dict[str, Any] = state.get("#meta", {})
    name = meta.get("action", state.get("mbt::actionTaken", "?"))
    return str(name), {key: value(item) for key, item in meta.get("params", {}).items()}


def value(data: Any) -> Any:
    """An ITF expression as Python data: an absent optional is None, a present one its value, a set is
    sorted.
    """
    if isinstance(data, list):
        return [value(item) for item in cast(list[Any], data)]
    if not isinstance(data, dict):
        return data
    record = cast(dict[str, Any], data)
    match record:
        case {"#bigint": digits}:
            return int(digits)
        case {"#tup": items}:
            return [value(item) for item in items]
        case {"#set": items}:
            return sorted((value(item) for item in items), key=repr)
        case {"#map": pairs}:
            return {str(value(key)): value(item) for key, item in pairs}
        case {"#unserializable": text}:
            return str(text)
        case {"tag": "None"}:
            return None
        case {"tag": "Some", "value": item}:
            return value(item)
        case _:
            return {key: value(item) for key, item in record.items()}


def trace_of(document: Document, machine: type[Machine]) -> Trace:
    """The trace with the machine's own states. Raises :class:`Problem` if the file's do not fit the
    machine.
    """
    constants: dict[str, Any] = dict(document.constants)
    runner = machine(without=document.without, unchecked=document.unchecked, **constants)
    layout = runner.layout_
    states: list[tuple[int, ...]] = []
    for index, values in enumerate(document.values):
        leaves: list[int] = []
        try:
            to_leaves(layout, values, leaves)
        except (KeyError, ValueError, TypeError) as error:
            raise Problem(f"state {index} of the trace is not one of {machine.__name__}: {error}") from None
        states.append(tuple(leaves))
    failure = None
    if document.status == "violation":
        attempted = step_of(machine, runner, *document.attempted) if document.attempted else None
        failure = Failure(document.property, document.description, attempted=attempted)
    steps = tuple(step_of(machine, runner, name, args) for name, args in document.actions)
    return Trace(runner, tuple(states), steps, failure, document.loop, document.notes)


def to_leaves(type: Type, data: Any, out: list[int]) -> None:
    if isinstance(type, RowType):
        if len(data) > type.size:
            raise ValueError(f"{len(data)} items where there is room for {type.size}")
        out.append(len(data))
        for item in data:
            to_leaves(type.item, item, out)
        out.extend(leaf.start for _ in range(type.size - len(data)) for leaf in type.item.leaves("", False))
        return
    if isinstance(type, SubsetType):
        if not set(data) <= set(range(type.size)):
            raise ValueError(f"{data} are not all in 0..{type.size - 1}")
        out.extend(int(index in data) for index in range(type.size))
        return
    if isinstance(type, RecordType):
        known = {member.name for member in type.members}
        if set(data) != known:
            raise ValueError(f"it has the fields {', '.join(data)}, not {', '.join(sorted(known))}")
        for member in type.members:
            to_leaves(member.type, data[member.name], out)
    elif isinstance(type, EachType):
        if len(data) != type.size:
            raise ValueError(f"{len(data)} values for {type.size} places")
        for item in data:
            to_leaves(type.item, item, out)
    elif isinstance(type, OptionalType):
        out.append(int(data is not None))
        if data is None:
            out.extend(leaf.start for leaf in type.item.leaves("", False))
        else:
            to_leaves(type.item, data, out)
    elif isinstance(type, EnumType):
        out.append([member.name for member in type.members].index(data))
    else:
        out.append(int(data))


def step_of(machine: type[Machine], runner: Machine, name: str, args: Mapping[str, Any]) -> Step:
    """The step with its arguments as the action takes them: members of an enum, not their names."""
    info = dict(all_marked(machine)).get(name)
    if not isinstance(info, ActionInfo):
        return Step(name, tuple(args.items()))
    found: list[tuple[str, Any]] = []
    for key, domain in info.domains:
        spelled = {item.name if isinstance(item, Enum) else item: item for item in choices(domain, runner)}
        if key not in args or args[key] not in spelled:
            raise Problem(f"{name} takes no {key} = {args.get(key)!r} in {machine.__name__}")
        found.append((key, spelled[args[key]]))
    return Step(name, tuple(found))
