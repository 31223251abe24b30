"""What all projections of the runtime's own logs share: sessions and their policies, times, names of nodes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from quiesce_model.language.machine import Machine
from quiesce_model.language.outcome import Misuse

from ..problems import Problem
from .lines import Line
from .moments import Time

T = TypeVar("T")

UNITS_PER_MS = 1_000
"""The models' unit of time is a microsecond here: a clock of a process does not tick in whole milliseconds."""

FORMAT = 1

REMEDY = "QUIESCE_TRACE=trace.ndjson writes such a log; for another, --mapping path/to/file.py"

HANDLER = "handler"

AFTER = {
    "run-started": "",
    "run-ended": "run-started",
    "kicked-off": "run-ended",
    "not-kicked-off": "run-ended",
    "committed": "kicked-off",
    "not-committed": "kicked-off",
}
"""What is said of a run, and what has to have been said of it right before."""

BEFORE = {
    "run-started": "its body is at work",
    "run-ended": "its body has only ended",
    "kicked-off": "its commit is on its way",
}


@dataclass(frozen=True)
class Session:
    """One scheduler that wrote to the log: the policies that it works by."""

    name: str
    breaker: dict[str, Any]
    convergence: dict[str, Any]
    attempts: int


@dataclass(frozen=True)
class Kind:
    """A machine at a scope, and what is worked out of it once for all that share it."""

    machine: Machine
    time: Time


class Runtime:
    """The sessions of a log. Raises :class:`Problem` for a log that the runtime did not write."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.runs: dict[tuple[str, int], str] = {}

    def session(self, line: Line) -> Session:
        """The session that wrote a line; the first line that it writes says how it works."""
        name = text(line, "session")
        if text(line, "event") == "opened":
            given = line.fields.get("format")
            if given != FORMAT:
                raise Problem(f"this log is of format {given}; known is {FORMAT}: use the quiesce that wrote it")
            self.sessions[name] = Session(
                name, mapping(line, "breaker"), mapping(line, "convergence"), number(line, "attempts")
            )
        if name not in self.sessions:
            raise Problem(
                f"the first lines of session {name} are missing, and with them its policy",
                remedy="hold whole logs against the model: a session begins with its line 'opened'",
            )
        self.follow(line, name)
        return self.sessions[name]

    def follow(self, line: Line, session: str) -> None:
        """Keep account of the runs that are under way: a log that has lost or doubled a line is no log."""
        event = text(line, "event")
        if event not in AFTER:
            return
        run = session, number(line, "run")
        before = self.runs.pop(run, "")
        if before != AFTER[event]:
            said = f"and {BEFORE[before]}" if before else "and before that nothing is said of it"
            raise Problem(
                f"run {run[1]} of session {session} is '{event}' here, {said}: a line is missing, or there twice",
                remedy="hold whole logs against the model, as they were written",
            )
        ended = event in ("committed", "not-committed", "not-kicked-off")
        if not ended and line.fields.get("outcome") not in ("again", "retired"):
            self.runs[run] = event


def whole_line(line: Line, read: Callable[[Line], Iterable[T]]) -> list[T]:
    """What a line says. Raises :class:`Problem` where it lacks something that the runtime writes."""
    with as_written():
        return list(read(line))


@contextmanager
def as_written() -> Generator[None]:
    """What the runtime does not write becomes a problem with the line."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, Misuse) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise Problem(f"this line is not as the runtime writes it: {said}", remedy=REMEDY) from None


def text(line: Line, name: str) -> str:
    found = line.fields.get(name)
    if not isinstance(found, str):
        raise foreign(line, name)
    return found


def number(line: Line, name: str) -> int:
    found = line.fields.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise foreign(line, name)
    return found


def mapping(line: Line, name: str) -> dict[str, Any]:
    found: Any = line.fields.get(name)
    if not isinstance(found, dict):
        raise foreign(line, name)
    return found  # pyright: ignore[reportUnknownVariableType]


def foreign(line: Line, name: str) -> Problem:
    return Problem(
        f"this line has no '{name}' as the runtime writes it",
        remedy=REMEDY,
    )


def units(ms: float | int | None) -> int:
    """A moment or a duration in units of the models; what is absent is 0."""
    return round((ms or 0) * UNITS_PER_MS)


def moment(line: Line) -> int:
    found = line.fields.get("at")
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise foreign(line, "at")
    return units(found)


def left(deadline: float | None, at: int) -> int:
    """How long until a deadline, 0 if it is past or there is none."""
    return max(0, units(deadline) - at)
