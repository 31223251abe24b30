"""A log channel that counts: every event is counted under its logger's name, whatever the level shows.

Counts outlive log levels and log shipping: a test, a health page or a person at a prompt asks how often
something happened and needs no log search. The channel is an object that is handed in; nothing here is
global.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Protocol

import structlog


class Sink(Protocol):
    """Where log lines go: the bound-logger methods that are used here."""

    def info(self, event: str, **fields: object) -> object:
        """Write an informational line."""
        ...

    def warning(self, event: str, **fields: object) -> object:
        """Write a warning."""
        ...

    def error(self, event: str, **fields: object) -> object:
        """Write an error."""
        ...


class Counts:
    """All counters of one process or one test, and the loggers that feed them.

    ``sink`` receives the lines (structlog's logger unless another is given); None writes nothing and still
    counts.
    """

    def __init__(self, sink: Sink | None = None, *, quiet: bool = False) -> None:
        self._sink: Sink | None = None if quiet else (sink or structlog.get_logger("quiesce"))
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def logger(self, name: str) -> CountedLog:
        """The channel that counts under ``name``; two channels of one name share their counters."""
        return CountedLog(name, self._counts[name], self._sink)

    def counts_breakdown(self) -> dict[str, dict[str, int]]:
        """``{logger: {event: count}}`` as it stands now; loggers without events are left out."""
        return {name: dict(events) for name, events in self._counts.items() if events}


class CountedLog:
    """One logger. ``event`` is a stable, dashed name (``remote-echo-breaker-tripped``); ``message`` is for
    people.
    """

    def __init__(self, name: str, counter: Counter[str], sink: Sink | None) -> None:
        self._name = name
        self._counter = counter
        self._sink = sink

    def info(self, event: str, message: str = "", **fields: object) -> None:
        """Count and log something worth knowing."""
        self._counter[event] += 1
        if self._sink is not None:
            self._sink.info(event, logger=self._name, message=message, **fields)

    def warn(self, event: str, message: str = "", **fields: object) -> None:
        """Count and log something that a person may have to look at."""
        self._counter[event] += 1
        if self._sink is not None:
            self._sink.warning(event, logger=self._name, message=message, **fields)

    def error(self, event: str, message: str = "", **fields: object) -> None:
        """Count and log something that went wrong."""
        self._counter[event] += 1
        if self._sink is not None:
            self._sink.error(event, logger=self._name, message=message, **fields)

    def count(self, event: str) -> int:
        """How often ``event`` was logged."""
        return self._counter[event]
