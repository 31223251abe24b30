"""Where owners are, and how what one finds comes to another: the interface between a search and its owners.

A search is the same over threads, processes and machines. It goes level by level, so that an order to all owners is a
barrier, traces are shortest, a search is at its end when a level adds nothing, and the beginning of a level is where a
checkpoint stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .blueprint import Blueprint
from .control import Answer
from .search import Stop


@dataclass(frozen=True)
class Plan:
    """What an owner is told at first: nothing in it says what states mean.

    ``module`` is the kernel's text. ``memory`` is in bytes, for all owners of one machine together; None is most of
    what is free there. ``box`` is how many states an owner puts into boxes before they are exchanged, ``batches`` how
    many batches of successors it generates before, and 2 to the power of ``sent_bits`` how many of the states that it
    sent it keeps, so as not to send them again.
    """

    module: str
    blueprint: Blueprint
    owners: int
    memory: int | None
    states: int | None
    box: int = 1 << 17
    batches: int = 1 << 12
    sent_bits: int = 14


@dataclass(frozen=True)
class Report:
    """What an owner says after each order: its part of all numbers. ``strikes`` has for each watch the level and the
    index of the first state where it struck. ``stop`` is why it cannot go on. ``sent`` counts the states that it put
    into boxes in all, ``spent`` is processor's seconds in all."""

    answer: Answer
    stop: Stop | None
    count: int
    next: int
    generated: int
    memory: int
    sent: int
    spent: float
    strikes: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Tally:
    """How often an owner made each move, and from which level first (0: never)."""

    taken: tuple[int, ...]
    first_level: tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """One state: its words, and its parent's owner and index there."""

    words: tuple[int, ...]
    origin: int
    parent: int


class Lost(Exception):
    """An owner has ended, or cannot be reached: the text says which and why."""


class Transport(Protocol):
    """Owners 0..n-1 somewhere. All methods but ``stop`` raise :class:`Lost`; after it, ``revive`` comes next.

    KeyboardInterrupt is raised when all have answered what they were asked.
    """

    owners: int
    """How many there are."""

    near: bool
    """Whether boxes are read where they are, in one process."""

    name: str
    """Where the owners are, as it stands after a verdict: ``two threads``."""

    def start(self, plan: Plan) -> float:
        """Make the owners; gives the seconds that compiling took."""
        ...

    def ask(self, order: str, *given: Any) -> list[Any]:
        """Have each owner do one thing, all at once; their answers, by owner. Orders are the methods of
        :class:`~.owner.Owner`."""
        ...

    def ask_one(self, owner: int, order: str, *given: Any) -> Any: ...

    def exchange(self, level: int) -> list[Report]:
        """One round of a level: each owner expands; what is in boxes goes to its owners, and they look it up. The
        answer in a report is that of expanding."""
        ...

    def revive(self) -> None:
        """New owners in place of those that were lost; they know nothing."""
        ...

    def stop(self) -> None:
        """The owners are not needed any more."""
        ...
