"""A search saved between two levels, so that another process can go on with it.

A file is written beside its name, flushed to the disk, and then takes its name at once: whenever the process ends,
there is the checkpoint before or the one after, and never a part of one. Its end is a checksum of all before it, and it
says which search it is of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

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
    search goes on from the newest. ``written`` counts those of this run.

    A checkpoint of several owners is a file that names them, and a part of each, written before it.
    """

    folder: Path
    every: float = 60.0
    resume: bool = False
    written: int = 0
    last: float = field(default_factory=monotonic)

    @property
    def due(self) -> bool:
        return monotonic() - self.last >= self.every

    def next(self) -> int:
        """The number of the next checkpoint."""
        files = self.files()
        return 1 + (number_of(files[0]) if files else 0)

    def save(self, search: str, numbers: Mapping[str, Any], blocks: Sequence[memoryview]) -> Path:
        """Write the next checkpoint, and remove old ones. Raises OSError if that cannot be done."""
        path = self.folder / f"{self.next():06d}.checkpoint"
        put(path, search, numbers, blocks)
        for old in self.files()[KEPT:]:
            old.unlink(missing_ok=True)
        kept = {file.stem for file in self.files()}
        for part in self.folder.glob("*.owner-*"):
            if part.stem not in kept:
                part.unlink(missing_ok=True)
        self.written += 1
        self.last = monotonic()
        return path

    def clear(self) -> None:
        """Remove all checkpoints, and the folder if nothing else is in it."""
        for path in (*self.files(), *self.folder.glob("*.owner-*"), *self.folder.glob("*.part")):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def files(self) -> list[Path]:
        """The newest first."""
        return sorted(self.folder.glob("*.checkpoint"), key=number_of, reverse=True)

    def newest(self, search: str) -> Saved:
        """The newest checkpoint that is whole. Raises :class:`Unusable` if there is none, or it is another search's."""
        return next(self.usable(search))[1]

    def usable(self, search: str) -> Iterator[tuple[Path, Saved]]:
        """Checkpoints of this search that are whole, the newest first; at their end :class:`Unusable` is raised."""
        files = self.files()
        if not files:
            raise Unusable(f"there is no checkpoint in {self.folder}: leave out resume to begin anew")
        for path in files:
            saved = got(path)
            if saved is None:
                continue
            if saved.numbers["search"] != search:
                raise Unusable(
                    f"{path} is of another search (the model, its scope, what is asked or how states are laid out has "
                    "changed): leave out resume to begin anew"
                )
            yield path, saved
        raise Unusable(f"{files[0]} is damaged, and so is every older one: leave out resume to begin anew")


def owners_of(saved: Saved, expected: int) -> None:
    """Raises :class:`Unusable` if a checkpoint is of another number of owners than the search has."""
    found = int(saved.numbers.get("owners", 1))
    if found != expected:
        ways = "one thread" if found == 1 else f"{found} owners (threads {found}, or processes {found})"
        raise Unusable(f"the checkpoint is of a search by {ways}: resume it with as many, or leave out resume")


def part_of(path: Path, owner: int) -> Path:
    """Where one owner's part of a checkpoint is."""
    return path.with_suffix(f".owner-{owner}")


def put(path: Path, search: str, numbers: Mapping[str, Any], blocks: Sequence[memoryview]) -> str:
    """Write a file at once or not at all; gives its checksum. Raises OSError if that cannot be done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f"{path.suffix}.part")
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
    flush_folder(path.parent)
    return total.hexdigest()


def got(path: Path) -> Saved | None:
    """What a file holds; None if it is not what was written. Raises :class:`Unusable` if it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from None
    return whole(content)


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
    return Saved({"search": head["search"], "sum": sum_.hex(), **head["numbers"]}, tuple(blocks))


def number_of(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def flush_folder(folder: Path) -> None:
    """See to it that a file's new name is on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
