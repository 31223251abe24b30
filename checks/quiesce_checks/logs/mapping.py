"""What the lines of a log mean in the words of a model: the mapping, written down by whoever knows both.

A mapping is a few lines of Python in a file of its own:

    from quiesce_checks.logs import Did, Mapping

    mapping = Mapping(
        events={
            "sold": lambda e: Did("sell", seen={"sold": e["total"]}),
            "opened": "open",  # the action of that name, with the line's own fields as arguments
            "audit": None,  # stands for nothing
        },
        hidden=("restock",),
    )
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]
"""One line of a log."""


@dataclass(frozen=True)
class Saw:
    """What was observed of the state, and nothing else happened.

    ``seen`` maps leaves of the model (``pair.echoes``, ``session[0].open``) or views of the mapping to values: flags,
    numbers, members of an enum by name, None for what is absent or does not run; or to a function that says whether a
    value will do. What is not named may be anything. ``label`` says why, for whoever reads a refusal.
    """

    seen: builtins.dict[str, Any]
    label: str = ""


@dataclass(frozen=True, init=False)
class Did:
    """A step of the model, and what was observed right after it (as for :class:`Saw`).

    An argument that is not given may be any that the action takes.
    """

    action: str
    args: tuple[tuple[str, Any], ...]
    seen: builtins.dict[str, Any]

    def __init__(self, action: str, seen: builtins.dict[str, Any] | None = None, **args: Any) -> None:
        object.__setattr__(self, "action", action)
        object.__setattr__(self, "args", tuple(args.items()))
        object.__setattr__(self, "seen", seen or {})


Part: TypeAlias = Did | Saw


@dataclass(frozen=True, init=False)
class Either:
    """One of several meanings, it is not known which. Each is a part, parts in a row, or None for nothing."""

    options: tuple[tuple[Part, ...], ...]

    def __init__(self, *options: Part | Sequence[Part] | None) -> None:
        object.__setattr__(self, "options", tuple(in_a_row(option) for option in options))


Meaning: TypeAlias = Part | Sequence[Part] | Either | None
"""What a line stands for: a part, parts that follow each other at its moment, one of several, or nothing."""

Reader: TypeAlias = Callable[[Fields], Meaning]


def in_a_row(meaning: Part | Sequence[Part] | None) -> tuple[Part, ...]:
    if meaning is None:
        return ()
    return (meaning,) if isinstance(meaning, Did | Saw) else tuple(meaning)


def options_of(meaning: Meaning) -> tuple[tuple[Part, ...], ...]:
    """The ways to read a line. Of a line that stands for nothing, there is one, and it is empty."""
    return meaning.options if isinstance(meaning, Either) else (in_a_row(meaning),)


@dataclass(frozen=True)
class Mapping:
    """How the lines of a log are read.

    ``events`` says for each kind of line what it stands for: a function of the line, the name of an action (whose
    arguments are then the line's fields of the same names), or None for nothing. ``event`` is the field that names the
    kind, ``time`` the one that holds the time in ms (None for a log without time). ``unit`` is how many ms a unit of
    the model's time is; a time that is no whole number of units is refused unless it may be ``rounded``.

    ``hidden`` are actions that the system may take between two lines without a word, at most ``most_hidden`` of them
    in a row. ``views`` are observations that are worked out of the machine, by name. ``key``, in a log of many things
    of one kind, is the field or function that says which one a line is about: each is held against a machine of its
    own.
    """

    events: builtins.dict[str, Reader | str | None]
    event: str = "event"
    time: str | None = "at"
    unit: float = 1
    rounded: bool = False
    hidden: Iterable[str] = ()
    most_hidden: int = 4
    views: builtins.dict[str, Callable[[Any], Any]] = field(default_factory=builtins.dict[str, Callable[[Any], Any]])
    key: str | Callable[[Fields], Any] | None = None
