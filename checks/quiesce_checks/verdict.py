"""What every engine answers with."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from enum import StrEnum

from .trace import Trace


class Outcome(StrEnum):
    """``holds``: in every state of an exhausted finite scope. ``proved``: without bound on time and symbolic constants.

    ``violated`` carries a trace. ``inconclusive``: a bound, a time-out, the memory limit or the solver's ``unknown``;
    never a pass. ``vacuous``: nothing was violated because nothing was tried (a ``reachable`` never found, an action
    that never ran).
    """

    HOLDS = "holds"
    PROVED = "proved"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    VACUOUS = "vacuous"


@dataclass(frozen=True)
class ActionCount:
    """How often an action was taken, and the first level (the initial state is level 1) that it was taken from."""

    action: str
    taken: int
    first_level: int | None


@dataclass(frozen=True)
class Statistics:
    """``distinct`` states, ``generated`` transitions plus initial states, ``depth`` in levels (initial state: 1).

    ``bytes`` is what the search holds at its end, ``queue`` the states not yet expanded.
    """

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    queue: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    bytes: int = 0
    exhausted: bool = False
    actions: tuple[ActionCount, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """One property's answer from one engine. ``how`` is the assurance in words: what was done, exactly."""

    machine: str
    property: str
    outcome: Outcome
    engine: str
    how: str
    seconds: float = 0.0
    trace: Trace | None = None
    statistics: Statistics | None = None
    notes: tuple[str, ...] = field(default=())

    @builtins.property
    def violated(self) -> bool:
        return self.outcome is Outcome.VIOLATED
