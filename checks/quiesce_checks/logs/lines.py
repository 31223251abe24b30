"""The lines of a log: from a file, a compressed file or standard input, one at a time."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ..problems import Problem

LONGEST = 16 * 1024 * 1024
"""Bytes of one line; a longer one is no line of a log."""

REMEDY = "one JSON object a line; a line in the middle that a crash has cut off has to be taken out by hand"

SHOWN = 240
"""How much of a line is shown."""


@dataclass(frozen=True)
class Line:
    """One line: its number (the first is 1), its text, and the object that it holds."""

    number: int
    text: str
    fields: dict[str, Any]

    @property
    def short(self) -> str:
        return self.text if len(self.text) <= SHOWN else self.text[: SHOWN - 1] + "…"


class Log:
    """Iterates over the lines of a stream of NDJSON. Empty lines are passed over.

    ``torn`` is the number of a last line that was cut off (a crash, a full disk), and 0 if there is none: what was
    written before it stands. Any other line that is no object raises :class:`Problem`.
    """

    def __init__(self, name: str, stream: IO[bytes], longest: int = LONGEST) -> None:
        self.name = name
        self.torn = 0
        self.lines = 0
        self.cut_short = False
        self._stream = stream
        self._longest = longest

    def __iter__(self) -> Iterator[Line]:
        while True:
            raw = self._next()
            if not raw:
                return
            self.lines += 1
            ended = raw.endswith(b"\n")
            if len(raw) > self._longest:
                raise self.problem(
                    f"a line of more than {self._longest // (1024 * 1024)} MB is no line of a log",
                    remedy="one JSON object a line (NDJSON), each ended by a line feed",
                )
            if not raw.strip():
                continue
            try:
                text = raw.decode("utf-8").strip()
                found: Any = json.loads(text)
            except (UnicodeDecodeError, ValueError, RecursionError) as error:
                if not ended:
                    self.torn = self.lines
                    return
                raise self.garbage(error) from None
            if not isinstance(found, dict):
                if not ended:
                    self.torn = self.lines
                    return
                raise self.problem("this line is no JSON object", remedy='{"at": 1200, "event": "sold", …}')
            yield Line(self.lines, text, cast("dict[str, Any]", found))

    def _next(self) -> bytes:
        try:
            return self._stream.readline(self._longest + 1)
        except (EOFError, zlib.error):  # a compressed log that was cut
            self.torn = self.lines + 1
            return b""
        except OSError as error:
            raise self.problem(f"{self.name} cannot be read: {error}") from None

    def garbage(self, error: Exception) -> Problem:
        if isinstance(error, json.JSONDecodeError):
            return self.problem(f"this line is not JSON: {error.msg}", column=error.colno, remedy=REMEDY)
        said = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else "it is nested too deeply"
        return self.problem(f"this line is not JSON: {said}", remedy=REMEDY)

    def problem(self, text: str, *, column: int | None = None, remedy: str | None = None) -> Problem:
        place = self.name if self.name != "-" else "standard input"
        return Problem(text, file=place, line=self.lines or None, column=column, remedy=remedy)


@contextmanager
def opened(name: str) -> Generator[Log]:
    """The log called ``name``; ``-`` is standard input, and what ends with .gz is unpacked. Raises
    :class:`Problem`."""
    if name == "-":
        yield Log(name, sys.stdin.buffer)
        return
    path = Path(name)
    if not path.exists():
        raise Problem(f"there is no file {name}")
    if path.is_dir():
        raise Problem(f"{name} is a folder: name the logs in it")
    try:
        raw = path.open("rb")
    except OSError as error:
        raise Problem(f"{name} cannot be read: {error.strerror}") from None
    with raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield Log(name, cast("IO[bytes]", unpacked))
        else:
            yield Log(name, raw)
