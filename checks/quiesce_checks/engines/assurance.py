"""What a proof was made under, in words, and how far one has got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..relation.relation import Relation


@dataclass(frozen=True)
class Progress:
    """Where an engine is: what it asks about, how deep, and for how many seconds it has been at work."""

    engine: str
    machine: str
    properties: tuple[str, ...]
    depth: int
    seconds: float


Watcher = Callable[[Progress], None]


def scope(relation: Relation, dropped: tuple[str, ...] = ()) -> str:
    """The constants and assumptions of a proof: ``any window, cap at threshold=3 with cap_below_quiet``."""
    symbolic = [str(term.data) for term in relation.constants]
    fixed = [f"{name}={value}" for name, value in relation.machine.constants_.items() if name not in symbolic]
    assumed = [a.name for a in relation.assumptions if a.name not in dropped] if symbolic else []
    parts: list[str] = []
    if symbolic:
        parts.append("any " + ", ".join(symbolic))
    if fixed:
        parts.append("at " + ", ".join(fixed))
    if assumed:
        parts.append("with " + ", ".join(assumed))
    if dropped:
        parts.append("without " + ", ".join(dropped))
    return " ".join(parts)


def unknown_assumption(relation: Relation, dropped: tuple[str, ...]) -> None:
    """Raises :class:`KeyError` for a name that is no assumption of the machine."""
    known = [a.name for a in relation.assumptions]
    for name in dropped:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise KeyError(f"{relation.name} has no assumption {name!r}; it has: {listed}")
