"""All mutants."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from .boundaries import BOUNDARIES
from .gate_edges import GATE_EDGES
from .gates import GATE_MUTANTS
from .mutant import Mutant
from .passes import PASS_MUTANTS
from .regressions import REGRESSIONS
from .repairs import REPAIRS
from .reports import REPORTS
from .rules import RULES
from .waking import WAKE_MUTANTS

BREAKER_MUTANTS: tuple[Mutant, ...] = (*RULES, *BOUNDARIES, *REPAIRS, *REGRESSIONS, *REPORTS)
SCHEDULER_MUTANTS: tuple[Mutant, ...] = (*GATE_MUTANTS, *WAKE_MUTANTS, *GATE_EDGES, *PASS_MUTANTS)
CATALOGUE: tuple[Mutant, ...] = (*BREAKER_MUTANTS, *SCHEDULER_MUTANTS)


def matching(pattern: str | None, mutants: Iterable[Mutant] = CATALOGUE) -> tuple[Mutant, ...]:
    """The mutants whose name, rule or group matches a pattern: a part of it, or with ``*`` and ``?`` the whole.

    Case makes no difference; without a pattern, all.
    """
    if pattern is None:
        return tuple(mutants)
    wanted = pattern.lower()
    glob = wanted if any(sign in wanted for sign in "*?[") else None

    def fits(text: str) -> bool:
        return fnmatchcase(text.lower(), glob) if glob is not None else wanted in text.lower()

    return tuple(m for m in mutants if fits(m.name) or m.rule.lower() == wanted or m.group == wanted)
