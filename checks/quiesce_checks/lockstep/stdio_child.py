"""A child process that is asked in lines and answers in lines, and every way in which it may not.

No thread and no waiting without an end: what the child writes to its two outputs is read when an answer is awaited,
up to a time-out. Whatever goes wrong is a :class:`~.subject.SubjectFailed` that says what was seen.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, cast

from .subject import SubjectFailed

LONGEST = 1 << 20
"""Bytes of a line at most; whoever writes more than that writes no answer."""

GRACE = 2.0
"""Seconds that a child has to end by itself once its input has ended, before it is made to."""

KEPT, WIDTH = 6, 200
"""How many lines of what a child wrote to its standard error are kept, and how much of each."""

CHUNK = 1 << 16


class CannotStart(Exception):
    """There is no such program, or it may not be run; the text says which."""


class Child:
    """One run of an adapter. Its process group is its own, so that Ctrl-C does not reach it before us."""

    def __init__(self, command: Sequence[str], folder: Path | None = None) -> None:
        try:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotStart(f"{command[0]} cannot be started: {error.strerror}") from None
        self.input, self.output, self.errors = (stream.fileno() for stream in streams(self.process))
        os.set_blocking(self.input, False)
        self.poll = select.poll()
        self.poll.register(self.output, select.POLLIN)
        self.poll.register(self.errors, select.POLLIN)
        self.buffer = bytearray()
        self.log: deque[str] = deque(maxlen=KEPT)
        self.unended = bytearray()
        self.closed = self.silent = False
        self.end = weakref.finalize(self, end, self.process)

    def ask(self, line: bytes, what: str, timeout: float) -> bytes:
        """Send a line and wait for one line of answer, for so many seconds. ``what`` is asked, for people."""
        self.silence()
        deadline = monotonic() + timeout
        self.send(line, what, deadline, timeout)
        return self.line(what, deadline, timeout)

    def silence(self) -> None:
        """Raise the failure that it is to have written something when every question is answered."""
        if self.buffer:
            raise self.failed(f"wrote a line that nothing had asked for: {cut(bytes(self.buffer))}")

    def deliver(self, part: bytes, what: str, timeout: float) -> None:
        """Send some bytes: a part of a line, or several lines."""
        self.send(part, what, monotonic() + timeout, timeout)

    def await_line(self, what: str, timeout: float) -> bytes:
        """The next line of its output, whatever was asked."""
        return self.line(what, monotonic() + timeout, timeout)

    def send(self, line: bytes, what: str, deadline: float, timeout: float) -> None:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self.input, rest) :]
            except BlockingIOError:
                if monotonic() > deadline:
                    raise self.failed(f"did not read all of the request ({what}) within {lasting(timeout)}") from None
                self.read(0.01)
            except BrokenPipeError:
                self.drain()
                raise self.failed(f"{self.ended()} before it was asked ({what})") from None

    def line(self, what: str, deadline: float, timeout: float) -> bytes:
        """The next whole line of its output."""
        looked = 0
        while True:
            position = self.buffer.find(b"\n", looked)
            if position >= 0:
                found = bytes(self.buffer[:position])
                del self.buffer[: position + 1]
                return found
            looked = len(self.buffer)
            if looked > LONGEST:
                raise self.failed(
                    f"answered {what} with a line of more than {LONGEST:,} bytes, "
                    f"which begins {cut(bytes(self.buffer))}"
                )
            if self.closed:
                self.drain()
                if self.buffer:
                    part = cut(bytes(self.buffer))
                    raise self.failed(f"{self.ended()} in the middle of a line of its answer to {what}: {part}")
                raise self.failed(f"{self.ended()} without an answer to {what}")
            left = deadline - monotonic()
            if left <= 0:
                begun = f"; it wrote no more of the line than {cut(bytes(self.buffer))}" if self.buffer else ""
                raise self.failed(f"gave no answer to {what} within {lasting(timeout)}{begun}")
            self.read(left)

    def read(self, seconds: float) -> None:
        """Take what there is on both outputs, waiting for it up to so long."""
        for number, _ in self.poll.poll(max(1, seconds * 1000)):
            part = os.read(number, CHUNK)
            if not part:
                self.poll.unregister(number)
                self.closed |= number == self.output
                self.silent |= number == self.errors
            elif number == self.output:
                self.buffer += part
            else:
                self.note(part)

    def note(self, part: bytes) -> None:
        """Keep the last lines of what it writes to its standard error."""
        *whole, last = (bytes(self.unended) + part).split(b"\n")
        for line in whole:
            self.log.append(visible(line.decode("utf-8", "replace").rstrip())[:WIDTH])
        self.unended = bytearray(last[-4 * WIDTH :])

    def drain(self) -> None:
        """Read what is left on its standard error."""
        if not self.closed:
            self.poll.unregister(self.output)
            self.closed = True
        deadline = monotonic() + (0.01 if self.process.poll() is None else 0.2)
        while not self.silent and monotonic() < deadline:
            self.read(0.01)

    def wrote(self) -> tuple[str, ...]:
        last = visible(bytes(self.unended).decode("utf-8", "replace").rstrip())[:WIDTH]
        return tuple(line for line in [*self.log, last] if line)[-KEPT:]

    def ended(self) -> str:
        """How the process ended, as the beginning of a sentence about it."""
        try:
            code = self.process.wait(GRACE / 2)
        except subprocess.TimeoutExpired:
            return "closed its output, though it still runs,"
        if code < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended (exit code {code})"

    def failed(self, text: str) -> SubjectFailed:
        """The failure, with what the child wrote; it is ended."""
        self.drain()
        failure = SubjectFailed(visible(text), self.wrote())
        self.kill()
        return failure

    def finish(self, seconds: float = GRACE) -> int | None:
        """End its input and wait; its exit code, or None if it had to be killed."""
        with suppress(OSError):
            streams(self.process)[0].close()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and all that it started, at once."""
        kill(self.process)
        self.end()


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a child that is not needed any more end by itself, and see that it does."""
    for stream in streams(process):
        with suppress(OSError):
            stream.close()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        kill(process)


def streams(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    """Its input and its two outputs, which are all pipes."""
    found = process.stdin, process.stdout, process.stderr
    return cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", found)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def lasting(seconds: float) -> str:
    return f"{seconds:g} s"


def cut(part: bytes, most: int = 80) -> str:
    """The beginning of a line, as it can be shown."""
    text = visible(part[: 4 * most].split(b"\n")[0].decode("utf-8", "backslashreplace"))
    return f"{text[:most]}…" if len(text) > most or len(part) > 4 * most else text


def visible(text: str) -> str:
    """A text of someone else's with what does not show, or moves the cursor, written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
