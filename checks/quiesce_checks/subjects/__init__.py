"""Our own runtime behind the subject protocol, and the observation relations under which it is walked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..lockstep.pairing import Pairing
from .breaker import breaker_pairing
from .classifier import classifier_pairing
from .table import table_pairing

PAIRINGS: Mapping[str, Callable[..., Pairing]] = {
    "breaker": breaker_pairing,
    "table": table_pairing,
    "classifier": classifier_pairing,
}
"""Our pairings by name; each takes constants of its model and, if it has to do with time, ``tick``."""

BREAKER = {"threshold": 12, "window": 60_000, "base": 500, "cap": 30_000, "quiet": 120_000}

PRODUCTION: Mapping[str, Mapping[str, int | bool]] = {
    "breaker": BREAKER,
    "table": BREAKER | {"actions": 2, "documents": 3, "capacity": 4},
    "classifier": {},
}
"""The constants of walks at production scale, in ms where they are durations."""
