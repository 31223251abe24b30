"""Suites: TOML files that say what is checked, how, and what has to come out.

See ``docs/suites.md`` for the format. Everything in a file is known and of its type, or the file is refused
with the line and the names that would have been right."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

from quiesce_model.language.machine import Machine

from .exploring import Ways
from .job import Engine, Job, Limit, check_names, check_rules
from .lockstep.find import Source, find_pairing
from .machines import find_machine, instance
from .problems import Problem, unknown
from .verdict import Outcome

Tier = Literal["default", "full"]
TIERS: tuple[Tier, ...] = ("default", "full")


@dataclass(frozen=True)
class Check:
    """One entry of a suite. ``witness`` is where the trace of a known violation is kept."""

    name: str
    job: Job
    expect: Outcome
    tier: Tier
    witness: Path | None
    file: Path
    line: int | None

    @property
    def place(self) -> str:
        return f"{self.file}::{self.name}"


@dataclass(frozen=True)
class Suite:
    """The entries of a file."""

    file: Path
    checks: tuple[Check, ...]

    def of_tier(self, tier: Tier) -> tuple[Check, ...]:
        """The default tier is part of the full one."""
        return tuple(check for check in self.checks if tier == "full" or check.tier == "default")


EXPECTED = ("holds", "proved", "violated", "agrees", "diverges")

KEYS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a text", lambda value: isinstance(value, str) and value != ""),
    "machine": ("a text", lambda value: isinstance(value, str)),
    "tier": (f"one of {', '.join(TIERS)}", lambda value: value in TIERS),
    "engine": (f"one of {', '.join(Engine)}", lambda value: value in set(Engine)),
    "scope": (
        "a table of whole numbers and flags",
        lambda value: is_table(value) and all(isinstance(v, int) for v in value.values()),
    ),
    "properties": ("a list of names", lambda value: is_names(value) and value != []),
    "expect": (f"one of {', '.join(EXPECTED)}", lambda value: value in EXPECTED),
    "witness": ("a path", lambda value: isinstance(value, str)),
    "symbolic": ("a list of constants' names", lambda value: is_names(value)),
    "k": ("a whole number from 1", lambda value: is_count(value)),
    "lemmas": ("a list of properties' names", lambda value: is_names(value)),
    "rules": ("a list of rule ids", lambda value: is_names(value)),
    "without": ("a list of rule ids", lambda value: is_names(value)),
    "without_assumptions": ("a list of assumptions' names", lambda value: is_names(value)),
    "depth": ("a whole number from 1", lambda value: is_count(value)),
    "pairing": ("a text", lambda value: isinstance(value, str)),
    "adapter": ("a command line", lambda value: isinstance(value, str) and value.strip() != ""),
    "tick": ("a whole number from 1, in ms", lambda value: is_count(value)),
    "threads": ('a whole number from 1, or "auto"', lambda value: is_count(value) or value == "auto"),
    "processes": ("a whole number from 1", lambda value: is_count(value)),
    "spill": ("true, or a folder", lambda value: value is True or is_path(value)),
    "checkpoints": ("a folder", lambda value: is_path(value)),
    "limit": ("a table of states, seconds, memory", lambda value: is_table(value)),
}

OF_ENGINE: Mapping[Engine, tuple[str, ...]] = {
    Engine.EXPLORE: ("threads", "processes", "spill", "checkpoints"),
    Engine.PROVE: ("symbolic", "k", "lemmas", "without_assumptions"),
    Engine.BMC: ("symbolic", "depth", "without_assumptions"),
    Engine.BRIDGE: ("symbolic",),
    Engine.ABLATE: ("rules",),
    Engine.LOCKSTEP: ("pairing", "adapter", "tick"),
}
"""Keys that only some engines take."""

NOT_OF_LOCKSTEP = ("machine", "properties", "without")
"""Keys that all engines take but lockstep, whose pairing says what is compared."""


USUAL: Mapping[Engine, Outcome] = {
    Engine.PROVE: Outcome.PROVED,
    Engine.BRIDGE: Outcome.PROVED,
    Engine.LOCKSTEP: Outcome.AGREES,
}
"""What is expected if an entry does not say; of the other engines, that what is asked holds."""


def is_table(value: Any) -> bool:
    return isinstance(value, dict)


def is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast(list[Any], value))


def is_path(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def load_suite(file: Path, roots: Sequence[Path] = ()) -> Suite:
    """Read and check a suite. ``roots`` are where its machine is looked for, besides the file's own folder
    and the one above. Raises :class:`Problem` with file and line.
    """
    try:
        text = file.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        said, line = toml_place(str(error))
        raise Problem(f"this is not TOML: {said}", file=str(file), line=line) from None
    lines = Lines(file, text, data["machine"] if isinstance(data.get("machine"), str) else None)
    for key in data:
        if key not in ("machine", "check"):
            known = unknown("key", key, "a suite", ["machine", "check"])
            raise lines.problem(known, None, key)
    entries: Any = data.get("check", [])
    if not isinstance(data.get("machine"), str) and not only_lockstep(entries):
        raise lines.problem('a suite says which machine it checks: machine = "package.module:Class"', None, "machine")
    if not isinstance(entries, list) or not entries:
        raise lines.problem("a suite has at least one entry, under [[check]]", None, "check")
    places = (*roots, file.parent, file.parent.parent)
    machine: type[Machine] | None = None
    if "machine" in data:
        try:
            machine = find_machine(data["machine"], places)
        except Problem as problem:
            raise problem.at(str(file), lines.of(None, "machine")) from None
    checks: list[Check] = []
    for position, entry in enumerate(cast(list[Any], entries)):
        check = read_check(cast(dict[str, Any], entry), position, machine, places, lines)
        if any(check.name == other.name for other in checks):
            raise lines.problem(f"there is already an entry named '{check.name}'", position, "name")
        checks.append(check)
    return Suite(file, tuple(checks))


def only_lockstep(entries: Any) -> bool:
    """Whether there are entries, and none that would need a machine besides its pairing."""
    if not isinstance(entries, list) or not all(is_table(entry) for entry in cast(list[Any], entries)):
        return False
    engines = [entry.get("engine") for entry in cast(list[dict[str, Any]], entries)]
    return set(engines) == {"lockstep"}


def read_check(
    entry: dict[str, Any], position: int, machine: type[Machine] | None, places: Sequence[Path], lines: Lines
) -> Check:
    for key, value in entry.items():
        if key not in KEYS:
            raise lines.problem(unknown("key", key, "an entry", KEYS), position, key)
        kind, fits = KEYS[key]
        if not fits(value):
            raise lines.problem(f"{key} has to be {kind}, not {value!r}", position, key)
    if "name" not in entry:
        raise lines.problem("an entry needs a name", position, None)
    job_engine = Engine(entry.get("engine", "explore"))
    for owner in Engine:
        for key in OF_ENGINE[owner]:
            if key in entry and key not in OF_ENGINE[job_engine]:
                raise lines.problem(f"{key} means nothing to the engine {job_engine}", position, key)
    pairing: Source | None = None
    if job_engine is Engine.LOCKSTEP:
        if "adapter" in entry:
            pairing, machine = read_adapter(entry, position, places, lines)
        else:
            pairing, machine = read_pairing(entry, position, places, lines)
    elif "machine" in entry:
        try:
            machine = find_machine(entry["machine"], places)
        except Problem as problem:
            raise problem.at(str(lines.file), lines.of(position, "machine")) from None
    assert machine is not None
    job = Job(
        machine=machine,
        engine=job_engine,
        scope=entry.get("scope", {}),
        properties=tuple(entry["properties"]) if "properties" in entry else None,
        without=tuple(entry.get("without", ())),
        rules=tuple(entry.get("rules", ())),
        symbolic=tuple(entry.get("symbolic", ())),
        k=entry.get("k"),
        lemmas=tuple(entry["lemmas"]) if "lemmas" in entry else None,
        without_assumptions=tuple(entry.get("without_assumptions", ())),
        depth=entry.get("depth"),
        limit=read_limit(entry.get("limit", {}), position, lines),
        pairing=pairing,
        tick=entry.get("tick"),
        ways=read_ways(entry, lines.file),
    )
    if isinstance(job.ways.spill, Path) and not job.ways.spill.is_dir():
        raise lines.problem(f"spill has to be a folder that is there, not {entry['spill']!r}", position, "spill")
    expect = Outcome(entry.get("expect", USUAL.get(job_engine, Outcome.HOLDS)))
    check = Check(
        name=entry["name"],
        job=job,
        expect=expect,
        tier=entry.get("tier", "default"),
        witness=lines.file.parent / entry["witness"] if "witness" in entry else None,
        file=lines.file,
        line=lines.of(position, "name"),
    )
    validate(check, position, lines)
    return check


def read_pairing(
    entry: dict[str, Any], position: int, places: Sequence[Path], lines: Lines
) -> tuple[Source, type[Machine]]:
    """The pairing of an entry, made once at its scope to see that it can be, and the class of its model."""
    for key in NOT_OF_LOCKSTEP:
        if key in entry:
            text = f"{key} means nothing to the engine lockstep: its pairing says what is compared"
            raise lines.problem(text, position, key)
    if "pairing" not in entry:
        text = 'an entry with the engine lockstep names its pairing: pairing = "…", or an adapter: adapter = "…"'
        raise lines.problem(text, position, "engine")
    try:
        source = find_pairing(entry["pairing"], places)
    except Problem as problem:
        raise problem.at(str(lines.file), lines.of(position, "pairing")) from None
    try:
        return source, type(source.at(entry.get("scope", {}), entry.get("tick")).model)
    except Problem as problem:
        key = "tick" if "tick" in problem.text and "tick" in entry else "scope"
        raise lines.problem(problem.text, position, key) from None


def read_adapter(
    entry: dict[str, Any], position: int, places: Sequence[Path], lines: Lines
) -> tuple[Source, type[Machine]]:
    """The machine of an entry with the adapter that it is walked beside; the adapter is not started."""
    from .lockstep.adapter import adapter_source

    for key in ("pairing", "properties", "without"):
        if key in entry:
            text = f"{key} means nothing beside an adapter, which says itself what is compared"
            raise lines.problem(text, position, key)
    name = entry.get("machine") or lines.machine
    if name is None:
        raise lines.problem('an entry with an adapter says which machine it is for: machine = "…"', position, "adapter")
    key = "machine"
    try:
        machine = find_machine(name, places)
        key = "adapter"
        source = adapter_source(name, entry["adapter"], places)
        key = "scope"
        instance(machine, entry.get("scope", {}))
    except Problem as problem:
        raise problem.at(str(lines.file), lines.of(position, key)) from None
    return source, machine


def read_limit(data: dict[str, Any], position: int, lines: Lines) -> Limit:
    for key, value in data.items():
        if key not in ("states", "seconds", "memory"):
            text = unknown("key", key, "a limit", ["states", "seconds", "memory"])
            raise lines.problem(text, position, "limit")
        if key == "memory":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise lines.problem(f"limit.{key} has to be a number above 0, not {value!r}", position, "limit")
    try:
        memory = memory_size(str(data["memory"])) if "memory" in data else None
    except Problem as problem:
        raise problem.at(str(lines.file), lines.of(position, "limit")) from None
    return Limit(data.get("states"), data.get("seconds"), memory)


def read_ways(entry: dict[str, Any], file: Path) -> Ways:
    """Folders are beside the suite. What an entry saves has a folder of its own; it is gone on from where it can be."""
    spill: Any = entry.get("spill")
    saved = entry.get("checkpoints")
    return Ways(
        threads=entry.get("threads", 1),
        processes=entry.get("processes"),
        spill=file.parent / spill if isinstance(spill, str) else spill,
        checkpoints=None if saved is None else file.parent / saved / file.stem / entry["name"],
        resume=False if saved is None else "if there is",
    )


UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def memory_size(text: str) -> int:
    """``2G`` in bytes; powers of 1000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise Problem(f"memory is given as 500M or 2G, not '{text}'")
    return int(float(found[1]) * UNITS[found[2].upper()])


def validate(check: Check, position: int, lines: Lines) -> None:
    """Names and values that only the machine can tell right from wrong."""
    job = check.job
    compares = job.engine is Engine.LOCKSTEP
    if compares != (check.expect in (Outcome.AGREES, Outcome.DIVERGES)):
        known = "agrees or diverges" if compares else "holds, proved or violated"
        raise lines.problem(f"what the engine {job.engine} can find is {known}", position, "expect")
    if check.witness is not None and check.expect not in (Outcome.VIOLATED, Outcome.DIVERGES):
        expected = "diverges" if compares else "violated"
        raise lines.problem(f'a witness belongs to an entry with expect = "{expected}"', position, "witness")
    if compares:
        return
    try:
        instance(job.machine, job.scope, job.without)
    except Problem as problem:
        raise lines.problem(problem.text, position, "scope") from None
    try:
        check_names(job)
        check_rules(job)
    except Problem as problem:
        named = next(
            (
                key
                for key in ("properties", "lemmas", "symbolic", "without_assumptions", "without", "rules")
                if any(f"'{name}'" in problem.text for name in getattr(job, key) or ())
            ),
            None,
        )
        raise lines.problem(problem.text, position, named) from None
    if job.engine is Engine.ABLATE and "expect" in lines.keys_of(position):
        raise lines.problem("what an ablation has to find stands in the table of its rules", position, "expect")
    if check.witness is not None and len(job.properties or ()) != 1:
        text = 'a witness shows one property: give properties = ["…"] with its name'
        raise lines.problem(text, position, "witness")
    if check.expect is Outcome.VIOLATED and job.properties is None:
        raise lines.problem("an expected violation names the properties that fail", position, "expect")


class Lines:
    """Where in a suite's text its keys stand: the reader of TOML does not say."""

    def __init__(self, file: Path, text: str, machine: str | None = None) -> None:
        self.file = file
        self.machine: str | None = machine
        self.lines = text.splitlines()
        heads = [n for n, line in enumerate(self.lines) if re.match(r"\s*\[\[\s*check\s*\]\]", line)]
        self.blocks = list(pairwise([*heads, len(self.lines)]))

    def of(self, entry: int | None, key: str | None) -> int | None:
        """The line (from 1) of a key of an entry, or of the entry; of the file's head if ``entry`` is None."""
        if entry is not None and entry >= len(self.blocks):
            return None
        first, last = (0, len(self.lines)) if entry is None else self.blocks[entry]
        if key is not None:
            for number in range(first, last):
                if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", self.lines[number]):
                    return number + 1
                if re.match(rf"\s*\[\[?\s*(check\.)?{re.escape(key)}\s*\]", self.lines[number]):
                    return number + 1
        return None if entry is None else first + 1

    def keys_of(self, entry: int) -> set[str]:
        """The keys that an entry's own lines begin with."""
        first, last = self.blocks[entry] if entry < len(self.blocks) else (0, 0)
        found = (re.match(r"\s*(\w+)\s*=", line) for line in self.lines[first:last])
        return {match[1] for match in found if match}

    def problem(self, text: str, entry: int | None, key: str | None) -> Problem:
        return Problem(text, file=str(self.file), line=self.of(entry, key))


def toml_place(said: str) -> tuple[str, int | None]:
    """``Expected '=' after a key (at line 3, column 5)``."""
    found = re.search(r" \(at line (\d+), column \d+\)$", said)
    return (said[: found.start()], int(found[1])) if found else (said, None)


def find_suites(folder: Path) -> list[Path]:
    """The suites of a project: ``specs/*.toml``."""
    return sorted((folder / "specs").glob("*.toml"))
