"""What every engine answers with."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from .trace import Trace

if TYPE_CHECKING:
    from .lockstep.drive import Divergence


class Outcome(StrEnum):
    """``holds``: in every state of an exhausted finite scope. ``proved``: without bound on time and symbolic constants.

    ``violated`` carries a trace. ``inconclusive``: a bound, a time-out, the memory limit or the solver's ``unknown``;
    never a pass. ``vacuous``: nothing was violated because nothing was tried (a ``reachable`` never found, an action
    that never ran), or model and implementation do not describe the same thing.

    Of a comparison: ``agrees`` (on all transitions of the scope), ``diverges`` with a divergence, ``failed`` if the
    implementation crashed or does not repeat what it did.
    """

    HOLDS = "holds"
    PROVED = "proved"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    VACUOUS = "vacuous"
    AGREES = "agrees"
    DIVERGES = "diverges"
    FAILED = "failed"


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
    """One property's answer from one engine. ``how`` is the assurance in words: what was done, exactly.

    ``divergence`` is the walk that a comparison ended with, made short.
    """

    machine: str
    property: str
    outcome: Outcome
    engine: str
    how: str
    seconds: float = 0.0
    trace: Trace | None = None
    statistics: Statistics | None = None
    notes: tuple[str, ...] = field(default=())
    divergence: Divergence | None = None

    @builtins.property
    def violated(self) -> bool:
        return self.outcome is Outcome.VIOLATED
