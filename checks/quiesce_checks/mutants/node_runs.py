"""The lockstep runs that mutants of the scheduler are put to, the smallest first: one node, two, sessions in a loop."""

from __future__ import annotations

from quiesce_model.language.machine import Step

from .runs_of import Run

SESSION = "quiesce_checks.subjects.one_session:one_session_pairing"
LOOP = "quiesce_checks.subjects.echo_sessions:echo_loop_pairing"
NODE = "quiesce_checks.subjects.one_node:one_node_pairing"

FILES = frozenset(
    f"scheduler/{name}.py"
    for name in (
        "agenda", "convergence", "demand", "gates", "idle", "invalidation", "node", "order", "retry", "run", "runner",
        "scheduler", "settle", "topology", "triggers",
    )
)  # fmt: skip
"""What a walk of the scheduler goes through."""

BARE = {"debounce": 0, "throttle": 0, "longest_echo": 0, "cap": 1, "budget": 1, "hold_passes": 1}
MS = {"tick": 1}


def node(name: str, **scope: int | bool) -> Run:
    return Run(f"node, {name}", NODE, FILES, BARE | scope, MS)


NODE_RUNS: tuple[Run, ...] = (
    node("debounced effect", effect=True, debounce=1),
    node("throttled effect", effect=True, throttle=1),
    node("backoffs", effect=True, cap=4, hold_passes=2),
    node("computation", budget=2),
    node("debounced computation", debounce=1),
    node("echo", effect=True, longest_echo=2),
    node("resumed", effect=True, cap=2, resume=1),
    node("awaited", awaited=True, debounce=1),
    node("retired", effect=True, debounce=1, may_retire=True, longest_echo=1),
    node("owed, spaced out", effect=True, debounce=1, throttle=1, conflicts=True),
    node("owed, backed off", effect=True, longest_echo=1, conflicts=True),
    node("owed by a computation", conflicts=True),
    node("all gates", effect=True, debounce=1, throttle=1, longest_echo=1),
)
"""Named by what there is besides a bare node, which only a pass that does not converge puts off, for a moment."""

CYCLE = {"cycle": True, "restless": True, "cap": 2}
THREE = {"sessions": 3, "values": 3, "may_type": True, "may_agree": True}
IN_FLIGHT = (
    Step("type", (("s", 1), ("value", 2))),
    Step("run", (("s", 2),)),
    Step("agree"),
    Step("refuse", (("s", 2),)),
)
"""What one session's commit is late for, and an input that changes while it is on its way."""

TINY = {"threshold": 1, "window": 1, "base": 1, "cap": 1, "quiet": 2}

SESSION_RUNS: tuple[Run, ...] = (
    Run("session, cycle", SESSION, FILES, {**CYCLE, "budget": 2}, MS),
    Run("session, unwatched", SESSION, FILES, {**CYCLE, "budget": 1, "cap": 1, "may_unwatch": True}, MS),
    Run("loop of two", LOOP, FILES, {**TINY, "threshold": 2}, MS),
    Run("loop that agrees", LOOP, FILES, {**TINY, "may_agree": True, "may_leave": True}, MS),
    Run("loop, changed in flight", LOOP, FILES, {**TINY, **THREE}, MS, steps=IN_FLIGHT),
)
