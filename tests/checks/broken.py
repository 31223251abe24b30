"""Machines that are wrong somewhere, and the property that sees it."""

from __future__ import annotations

from collections.abc import Iterable

from quiesce_checks.engines.explore import explore
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine


def violated(machine: Machine, broken: str) -> bool:
    """Whether the property is broken in a state that the machine reaches."""
    return explore(machine, [broken], stop="first").verdict(broken).outcome is Outcome.VIOLATED


def named(pairs: Iterable[tuple[str, Machine]]) -> list[str]:
    """What the tests of such pairs are called."""
    return [f"{type(machine).__name__}-{broken}" for broken, machine in pairs]
