"""What a log is held against: which machine a line is about, when it was, and what it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, cast

from quiesce_model.language.machine import ActionInfo, Machine, all_marked, is_timed

from ..problems import Problem, unknown
from .lines import Line
from .mapping import Did, Either, Mapping, Meaning, Part, Saw, options_of
from .moments import Time
from .search import MOST_ALIVE, Search

NEAR = 1e-6
"""How far from a whole number of units a time may be for what computers do with fractions."""


@dataclass(frozen=True)
class Reading:
    """A line as it is read: the machine that it is about, the time in units of its model, and what it stands for.

    ``ends`` says why nothing about this machine is judged from here on; ``undecided``, that this leaves it open whether
    the log is a behaviour.
    """

    key: str
    at: int
    options: tuple[tuple[Part, ...], ...] = ((),)
    ends: str = ""
    undecided: bool = False


class Target(Protocol):
    """A machine and a mapping, or a projection that makes them from the log itself."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> float:
        """How many ms a unit of the model's time is."""
        ...

    def read(self, line: Line) -> Iterable[Reading]:
        """What a line says of each machine that it is about. Raises :class:`Problem` for a line that it does not
        understand."""
        ...

    def start(self, key: str) -> Search:
        """A search from the start of the machine that a key stands for."""
        ...


class Mapped:
    """A machine, and the mapping that somebody wrote for it."""

    def __init__(self, machine: Machine, mapping: Mapping, name: str, most_alive: int = MOST_ALIVE) -> None:
        self.machine = machine
        self.mapping = mapping
        self.name = name
        self.unit = mapping.unit
        self.most_alive = most_alive
        self.time_of = Time(machine)
        self.parameters = {
            action: tuple(parameter for parameter, _ in info.domains)
            for action, info in all_marked(type(machine))
            if isinstance(info, ActionInfo)
        }
        self.check()

    def check(self) -> None:
        """Raise :class:`Problem` where the mapping names what the model does not have."""
        owner = type(self.machine).__name__
        named = [action for action in self.mapping.events.values() if isinstance(action, str)]
        for action in (*named, *self.mapping.hidden):
            if action not in self.parameters:
                raise Problem(unknown("action", action, owner, self.parameters))
        if self.mapping.time is None and is_timed(self.machine):
            raise Problem(
                f"{owner} has time, and the mapping says that the log has none",
                remedy='time="at", where "at" is the field of a line that holds its time in ms',
            )
        if not self.mapping.unit > 0:
            raise Problem(f"a unit of the model's time is so many ms, not {self.mapping.unit}")

    def start(self, key: str) -> Search:
        return Search(
            self.machine,
            views=self.mapping.views,
            hidden=self.mapping.hidden,
            most_hidden=self.mapping.most_hidden,
            most_alive=self.most_alive,
            time=self.time_of,
        )

    def read(self, line: Line) -> Iterable[Reading]:
        event = line.fields.get(self.mapping.event)
        if event is None:
            raise Problem(
                f"this line has no field '{self.mapping.event}' that names its event",
                remedy="""Mapping(event="type", …) names another field""",
            )
        if not isinstance(event, str) or event not in self.mapping.events:
            raise Problem(
                unknown("event", str(event), "the mapping", self.mapping.events),
                remedy=f"events={{…, '{event}': None}} if it stands for nothing",
            )
        at = self.time(line)
        options = self.meaning(line, event)
        return (Reading(self.key(line), at, options),)

    def time(self, line: Line) -> int:
        name = self.mapping.time
        if name is None:
            return 0
        given: Any = line.fields.get(name)
        if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
            said = "no field" if name not in line.fields else "no number"
            raise Problem(f"this line has {said} '{name}' that holds its time in ms")
        return whole(given, self.mapping.unit, self.mapping.rounded)

    def key(self, line: Line) -> str:
        key = self.mapping.key
        if key is None:
            return ""
        if callable(key):
            return str(asked(key, line))
        if key not in line.fields:
            raise Problem(f"this line has no field '{key}' that says what it is about")
        return str(line.fields[key])

    def meaning(self, line: Line, event: str) -> tuple[tuple[Part, ...], ...]:
        reader = self.mapping.events[event]
        if reader is None:
            return ((),)
        if isinstance(reader, str):
            given = {name: line.fields[name] for name in self.parameters[reader] if name in line.fields}
            return ((Did(reader, **given),),)
        return checked(asked(reader, line))


def asked(reader: Any, line: Line) -> Any:
    """What a function of the mapping says of a line; its mistakes are told with the line."""
    try:
        return reader(dict(line.fields))
    except Problem:
        raise
    except Exception as error:
        raise Problem(f"the mapping cannot read this line: {type(error).__name__}: {error}") from None


def checked(meaning: Meaning | Any) -> tuple[tuple[Part, ...], ...]:
    if meaning is not None and not isinstance(meaning, Did | Saw | Either | list | tuple):
        raise Problem(
            f"the mapping reads this line as {meaning!r}", remedy="a Did, a Saw, a list of them, Either or None"
        )
    options = options_of(cast("Meaning", meaning))
    for part in (part for option in options for part in option):
        if not isinstance(part, Did | Saw):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Problem(f"the mapping reads this line as {part!r}", remedy="Did(…) for a step, Saw({…}) for a look")
    return options


def whole(given: float, unit: float, rounded: bool) -> int:
    """A time in units of the model. Raises :class:`Problem` if it is no whole number of them and may not be rounded."""
    units = given / unit
    nearest = round(units)
    if not rounded and abs(units - nearest) > NEAR:
        raise Problem(
            f"{given:,} ms is no whole number of units of {unit:g} ms",
            remedy="Mapping(unit=…) with a finer unit (and the model's constants in it), or rounded=True",
        )
    return nearest
