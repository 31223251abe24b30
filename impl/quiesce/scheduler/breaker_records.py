"""What the breaker tells others: the gate that an action has now, trips and clears, and the counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, Protocol

from quiesce.address import Entity


class Action(Protocol):
    """A registered action. What identifies it is the object; two may share a label, which is for people."""

    @property
    def label(self) -> str: ...


class CountedLog(Protocol):
    """A log whose lines are counted by event, whatever level is shown."""

    def error(self, event: str, message: str) -> None: ...


class Move(StrEnum):
    """What happened to an action's echo gate. After ``EARLIER`` and ``LIFTED`` the wake must be
    recomputed."""

    KEPT = "kept"
    LATER = "later"
    EARLIER = "earlier"
    LIFTED = "lifted"


@dataclass(frozen=True, slots=True)
class Gate:
    """An action's echo gate: closed before ``until`` (milliseconds), open at it; ``None`` is open."""

    until: float | None
    move: Move


class ClearReason(StrEnum):
    """How a tripped pair ended (seed §2, *Reset*, and §3)."""

    CONVERGENCE = "convergence"
    QUIET = "quiet"
    RETIRED = "retired"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Tripped:
    """A pair tripped. ``action`` is the label; ``at`` is in milliseconds of the breaker's clock."""

    kind: ClassVar[Literal["tripped"]] = "tripped"
    action: str
    document: Entity
    at: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """A tripped pair ended, ``held_ms`` after its trip and after ``renewals`` further echo steps."""

    kind: ClassVar[Literal["cleared"]] = "cleared"
    action: str
    document: Entity
    at: float
    reason: ClearReason
    renewals: int
    held_ms: float


BreakerEvent = Tripped | Cleared


@dataclass(frozen=True, slots=True)
class BreakerStats:
    """``active``: backoffs in force at the moment asked about, those that an evicted pair left included;
    ``trips`` and ``cycles_observed`` (echo steps counted): since the breaker was made (seed §3)."""

    active: int
    trips: int
    cycles_observed: int


@dataclass(frozen=True, slots=True)
class PairState:
    """One pair as it stands, for diagnosis and for comparing the breaker with its rules.

    ``window_opened``, ``last_echo``, ``deadline`` and ``settles_after`` are instants in milliseconds;
    ``step_ms`` is the last backoff given, 0 before the trip."""

    action: str
    document: Entity
    echoes: int
    window_opened: float
    last_echo: float
    tripped: bool
    step_ms: int
    renewals: int
    deadline: float | None
    settles_after: float | None
