"""Our own runtime behind the subject protocol, and the observation relations under which it is walked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..lockstep.pairing import Pairing
from .breaker import breaker_pairing
from .classifier import classifier_pairing
from .echo_sessions import echo_loop_pairing
from .one_node import one_node_pairing
from .one_session import one_session_pairing
from .table import table_pairing

PAIRINGS: Mapping[str, Callable[..., Pairing]] = {
    "breaker": breaker_pairing,
    "table": table_pairing,
    "classifier": classifier_pairing,
    "one_node": one_node_pairing,
    "one_session": one_session_pairing,
    "echo_loop": echo_loop_pairing,
}
"""Our pairings by name; each takes constants of its model and, if it has to do with time, ``tick``."""

BREAKER = {"threshold": 12, "window": 60_000, "base": 500, "cap": 30_000, "quiet": 120_000}

GATES = {"debounce": 100, "throttle": 40, "base": 250, "cap": 2_000, "hold_passes": 3, "budget": 10, "longest_echo": 3}
"""An author's debounce and throttle, what a pass allows, and a breaker that backs off for a moment: its own durations
are compared where it is."""

PASSES = {name: GATES[name] for name in ("base", "cap", "hold_passes", "budget")}

PRODUCTION: Mapping[str, Mapping[str, int | bool]] = {
    "breaker": BREAKER,
    "table": BREAKER | {"actions": 2, "documents": 3, "capacity": 4},
    "classifier": {},
    "one_node": GATES | {"conflicts": True, "may_retire": True},
    "one_session": PASSES | {"cycle": True, "restless": True, "may_unwatch": True},
    "echo_loop": BREAKER | {"sessions": 3, "may_agree": True, "may_leave": True, "may_type": True},
}
"""The constants of walks at production scale, in ms where they are durations."""
