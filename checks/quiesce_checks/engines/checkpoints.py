"""A search saved between two levels, so that another process can go on with it.

A file is written beside its name, flushed to the disk, and then takes its name at once: whenever the process ends,
there is the checkpoint before or the one after, and never a part of one. Its end is a checksum of all before it, and it
says which search it is of.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from inspect import getsource
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from quiesce_model.language.machine import Machine

from .exchanges import sample
from .interpreted import readable
from .program import Program

MAGIC = b"quiesce checkpoint 1\n"
SUM = 32
"""Bytes of the checksum."""

PIECE = 1 << 24
"""Bytes that are read and written at a time."""

KEPT = 2
"""Checkpoints that stay: the newest, and the one before."""


class Unusable(ValueError):
    """There is no checkpoint to go on from: the text says why."""


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds: numbers and lists by name, and blocks of bytes in order."""

    numbers: Mapping[str, Any]
    blocks: tuple[memoryview, ...]


@dataclass
class Checkpoints:
    """Checkpoints in a folder, at the first level that begins ``every`` seconds after the last. With ``resume`` the
    search goes on from the newest. ``written`` counts those of this run."""

    folder: Path
    every: float = 60.0
    resume: bool = False
    written: int = 0
    last: float = field(default_factory=monotonic)

    @property
    def due(self) -> bool:
        return monotonic() - self.last >= self.every

    def save(self, search: str, numbers: Mapping[str, Any], blocks: Sequence[memoryview]) -> None:
        """Write the next checkpoint, and remove old ones. Raises OSError if that cannot be done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files = self.files()
        number = 1 + (number_of(files[0]) if files else 0)
        path = self.folder / f"{number:06d}.checkpoint"
        beside = path.with_suffix(".part")
        head = json.dumps({"search": search, "numbers": numbers, "blocks": [block.nbytes for block in blocks]}).encode()
        total = blake2b(digest_size=SUM)
        with beside.open("wb") as out:
            for piece in (MAGIC, len(head).to_bytes(8, "little"), head, *blocks):
                bytes_ = memoryview(piece).cast("B")
                for start in range(0, len(bytes_), PIECE):
                    part = bytes_[start : start + PIECE]
                    total.update(part)
                    out.write(part)
            out.write(total.digest())
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
        flush_folder(self.folder)
        for old in files[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        self.written += 1
        self.last = monotonic()

    def files(self) -> list[Path]:
        """The newest first."""
        return sorted(self.folder.glob("*.checkpoint"), key=number_of, reverse=True)

    def newest(self, search: str) -> Saved:
        """The newest checkpoint that is whole. Raises :class:`Unusable` if there is none, or it is another search's."""
        files = self.files()
        if not files:
            raise Unusable(f"there is no checkpoint in {self.folder}: leave out resume to begin anew")
        for path in files:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise Unusable(f"{path} cannot be read: {error.strerror}") from None
            saved = whole(content)
            if saved is None:
                continue
            if saved.numbers["search"] != search:
                raise Unusable(
                    f"{path} is of another search (the model, its scope, what is asked or how states are laid out has "
                    "changed): leave out resume to begin anew"
                )
            return saved
        raise Unusable(f"{files[0]} is damaged, and so is every older one: leave out resume to begin anew")


def whole(content: bytes) -> Saved | None:
    """What a file holds; None if it is not what was written."""
    body, sum_ = content[:-SUM], content[-SUM:]
    if not body.startswith(MAGIC) or blake2b(body, digest_size=SUM).digest() != sum_:
        return None
    at = len(MAGIC) + 8
    end = at + int.from_bytes(body[len(MAGIC) : at], "little")
    head = json.loads(body[at:end])
    blocks: list[memoryview] = []
    for size in head["blocks"]:
        blocks.append(memoryview(body)[end : end + size])
        end += size
    return Saved({"search": head["search"], **head["numbers"]}, tuple(blocks))


def number_of(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def flush_folder(folder: Path) -> None:
    """See to it that a file's new name is on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(program: Program, *options: object) -> str:
    """What a search is of: the machine's text and what it means, its constants, how states are laid out, and
    ``options``."""
    machine = program.relation.machine
    what: list[object] = [
        program.relation.name,
        sorted(machine.constants_.items()),
        sorted(machine.without_),
        program.initial,
        [(f.low, f.width, f.word, f.shift) for f in program.layout.fields],
        [str(action.step) for action in program.relation.actions],
        [(watch.name, watch.kind) for watch in program.watches],
        [(group.fields, group.elements) for group in program.symmetric],
        options,
        texts(machine),
        meaning(program),
    ]
    return blake2b(repr(what).encode(), digest_size=SUM).hexdigest()


def texts(machine: Machine) -> list[str]:
    """The source of the modules that the machine's classes are written in; what cannot be read is left out."""
    modules = dict.fromkeys(cls.__module__ for cls in type(machine).__mro__ if issubclass(cls, Machine))
    found: list[str] = []
    for name in modules:
        with suppress(OSError, TypeError):
            found.append(getsource(sys.modules[name]))
    return found


def meaning(program: Program) -> list[object]:
    """What some hundred states lead to, and what is said of them: the same in every process, however the terms of the
    relation were put together, and another one as soon as a step or a property means something else there."""
    functions = readable(program)
    states = sample(program, functions, Random(0))
    return [
        (state, functions.expand(state), functions.judge_state(state), functions.judge_expanded(state))
        for state in states
    ]
