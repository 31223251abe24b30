"""Where the commands write: the sheet that the terminal gives, the answer on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any

import click
from rich.console import Console

from ..machines import short_name
from ..report.page import Page
from ..report.progress import Beat, progress_line

PIPED_WIDTH = 100
PERIOD = 0.1
"""Seconds between two showings of the progress line."""


def sheet() -> Page:
    """Width and colour of standard output. Piped: 100 columns (or COLUMNS), and colour only if FORCE_COLOR
    is set.
    """
    console = Console()
    plain = not console.is_terminal and "COLUMNS" not in os.environ
    width = PIPED_WIDTH if plain else max(40, console.width)
    return Page(width, console.color_system is not None and not console.no_color)


def say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def say_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


MINUTE = 60.0
"""Seconds between two lines of a long run whose standard error is no terminal."""


class Progress:
    """One line on standard error, rewritten as an engine reports. Where that is no terminal, silent; or, with
    ``beat``, a line every so many seconds, so that who waits for a long run sees it live."""

    def __init__(self, done: str = "", *, beat: float | None = None) -> None:
        self.done = done
        self.beat = beat
        self.shown = 0.0
        self.since = monotonic()
        self.dirty = False
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.lock = threading.Lock()

    def __call__(self, said: Any) -> None:
        now = monotonic()
        if self.live and now - self.shown >= PERIOD:
            self.shown = now
            self.write(progress_line(beat_of(said), self.width(), self.done))
        elif not self.live and self.beat is not None and now - self.since >= self.beat:
            self.since = now
            click.echo(progress_line(beat_of(said), PIPED_WIDTH, self.done), err=True)

    def note(self, text: str) -> None:
        """Show a line of one's own."""
        if self.live:
            self.write(text[: self.width()])

    def width(self) -> int:
        return Console(stderr=True).width - 1

    def write(self, text: str) -> None:
        with self.lock:
            click.echo(f"\r\x1b[2K{text}", nl=False, err=True)
            self.dirty = True

    def clear(self) -> None:
        with self.lock:
            if self.dirty:
                click.echo("\r\x1b[2K", nl=False, err=True)
                self.dirty = False


def beat_of(said: Any) -> Beat:
    """What an engine says of its progress; each says what it knows."""

    def known(*names: str) -> Any:
        return next((getattr(said, name) for name in names if getattr(said, name, None) is not None), None)

    return Beat(
        engine=str(known("engine") or ""),
        machine=short_name(str(known("machine") or "")),
        properties=tuple(known("properties") or ()),
        depth=known("depth", "level"),
        distinct=known("distinct", "states"),
        queue=known("queue"),
        bytes=known("bytes", "memory"),
        seconds=float(known("seconds") or 0.0),
        unit=str(known("unit") or "states"),
    )


class Interruption:
    """Whether Ctrl-C was pressed: an engine that is interrupted ends with what it knows, and does not say
    so.
    """

    def __init__(self) -> None:
        self.came = False


@contextmanager
def interruptible() -> Generator[Interruption]:
    """Note an interrupt and raise KeyboardInterrupt, as Python does by itself."""
    noted = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, frame: FrameType | None) -> None:
        noted.came = True
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
