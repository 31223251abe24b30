"""A disk under SQLite that forgets, tears, fills up and fails, as real ones do; all of it in memory, none by chance.

What was written is visible at once and durable only after a sync that succeeded. A crash keeps the durable bytes and,
of what was not synced, any subset of sectors. A sync that fails may drop what it was to write while reads still see
it, as page caches do. SQLite is apsw's build, whose file layer can be written in Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw

from quiesce.server.sqlite import SqliteOptions, Synchronous

SECTOR = 512


@dataclass
class _File:
    """``seen`` is what reads return; ``durable`` what survives; ``unsynced`` lies between, in order."""

    seen: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    exists: bool = False
    """Whether its name would survive a crash: after its first sync."""

    def write(self, offset: int, data: bytes) -> None:
        _put(self.seen, offset, data)
        self.unsynced.append((offset, data))

    def truncate(self, size: int) -> None:
        del self.seen[size:]
        self.unsynced.append((size, None))

    def sync(self) -> None:
        for offset, data in self.unsynced:
            _apply(self.durable, offset, data)
        self.unsynced.clear()
        self.exists = True


def _put(image: bytearray, offset: int, data: bytes) -> None:
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del image[offset:]
    else:
        _put(image, offset, data)


class Disk:
    """Files by name, and the faults that are due. ``plan`` makes the operation after ``count`` more of a kind fail."""

    def __init__(self, rng: random.Random) -> None:
        self.files: dict[str, _File] = {}
        self.rng = rng
        self.operations = 0
        self.faults = 0
        self._due: dict[str, tuple[int, type[Exception]]] = {}

    def plan(self, kind: str, count: int, error: type[Exception]) -> None:
        """After ``count`` more operations of ``kind`` (read, write or sync), one fails with ``error``."""
        self._due[kind] = (count, error)

    def operate(self, kind: str, name: str) -> None:
        """Count an operation, and fail it if it is due."""
        self.operations += 1
        if kind in self._due:
            count, error = self._due[kind]
            if count > 0:
                self._due[kind] = (count - 1, error)
                return
            del self._due[kind]
            self.faults += 1
            if kind == "sync" and self.rng.random() < 0.5:
                self.files[name].unsynced.clear()  # dropped, and never written by a later sync
            raise error(f"planned fault of {kind}")

    def crash(self) -> None:
        """The machine fails: unsynced sectors survive or not, each for itself. Open handles lead nowhere now."""
        survivors: dict[str, _File] = {}
        for name, file in self.files.items():
            image = bytearray(file.durable)
            kept = self.rng.choice((0.0, 0.5, 0.9))
            for offset, data in file.unsynced:
                if data is None:
                    if self.rng.random() < kept:
                        _apply(image, offset, None)
                    continue
                for start in range(0, len(data), SECTOR):
                    if self.rng.random() < kept:
                        _put(image, offset + start, data[start : start + SECTOR])
            if file.exists or (image and self.rng.random() < kept):
                survivors[name] = _File(bytearray(image), image, [], True)
        self.files = survivors
        self._due.clear()


class _Handle:
    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._name = name
        self._file = disk.files.setdefault(name, _File())

    def _operate(self, kind: str) -> None:
        if self._disk.files.get(self._name) is self._file:  # a handle of before the crash disturbs nothing
            self._disk.operate(kind, self._name)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._operate("read")
        return bytes(self._file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        self._operate("write")
        self._file.write(offset, bytes(data))

    def xTruncate(self, size: int) -> None:
        self._operate("write")
        self._file.truncate(size)

    def xSync(self, flags: int) -> None:
        self._operate("sync")
        self._file.sync()

    def xFileSize(self) -> int:
        return len(self._file.seen)

    def xLock(self, level: int) -> None: ...

    def xUnlock(self, level: int) -> None: ...

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xClose(self) -> None: ...


class _FileLayer(apsw.VFS):
    def __init__(self, name: str, disk: Callable[[], Disk]) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        flags[1] = flags[0]
        return _Handle(self._disk(), name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary")

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._disk().files.pop(filename, None)

    def xAccess(self, pathname: str, flags: int) -> bool:
        return pathname in self._disk().files

    def xFullPathname(self, name: str) -> str:
        return name


_ABANDONED: list[object] = []
"""Connections and file layers of machines that failed. Collecting one would close it, and write to its files."""


class DiskOptions:
    """SQLite options that put databases on a ``Disk``."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._layer = _FileLayer(name, lambda: self._disk)
        self._name = name
        _ABANDONED.append(self._layer)

    def _connect(self, path: str) -> Any:
        connection = apsw.Connection(path, vfs=self._name)
        _ABANDONED.append(connection)
        return connection

    def options(self, synchronous: Synchronous) -> SqliteOptions:
        """Options for ``SqliteEngine``."""
        return SqliteOptions(
            synchronous=synchronous,
            connect=self._connect,
            errors=(apsw.Error,),
        )
