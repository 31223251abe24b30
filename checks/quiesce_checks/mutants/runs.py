"""The lockstep runs that mutants are put to, the smallest first: those of the breaker, and those of the scheduler.

One is a single walk at the constants that the breaker ships with.
"""

from __future__ import annotations

from .node_runs import NODE_RUNS, SESSION_RUNS
from .runs_of import Run
from .shipped import SHIPPED_WALK

BREAKER = frozenset({"scheduler/breaker.py", "scheduler/breaker_pairs.py", "scheduler/breaker_policy.py"})
NAMES = frozenset({"address.py"})
ECHO = frozenset({"scheduler/echo.py"})
POLICY = frozenset({"scheduler/breaker.py", "scheduler/breaker_policy.py"})

ONE = "quiesce_checks.subjects.told:telling_pairing"
SHIPPED = "quiesce_checks.subjects.told:shipped_pairing"
TABLE = "quiesce_checks.subjects.table_told:telling_table_pairing"
CLASSIFIER = "quiesce_checks.subjects.classifier:classifier_pairing"
ORIGINS = "quiesce_checks.subjects.origins:origins_pairing"

TINY = {"threshold": 2, "window": 1, "base": 1, "cap": 1, "quiet": 2}
FIRST = {**TINY, "threshold": 1}  # the first echo step trips
LONGER = {**FIRST, "cap": 4, "quiet": 5}  # backoffs of 1, 2 and 4
SETTLED = {"clear_when_settled": True}
ORDERED = {"kickoff_order": True}
SPARING = {"evict_untripped_first": True}
MS = {"tick": 1}

BREAKER_RUNS: tuple[Run, ...] = (
    Run("breaker", ONE, BREAKER | NAMES | ECHO, {**TINY, "in_flight": 1}, MS),
    Run("table of one pair", TABLE, BREAKER | NAMES, {**FIRST, "documents": 2, "capacity": 1}, MS),
    Run("table, settled", TABLE, BREAKER, {**FIRST, "documents": 2, "capacity": 1, **SETTLED}, MS),
    Run("table of two actions", TABLE, BREAKER, {**FIRST, "actions": 2, "documents": 1, "capacity": 1}, MS),
    Run("classifier, remote", ORIGINS, ECHO | POLICY, {"causes": 1, "writes": 0},
        {"repair": "remote_causes_only"}),
    Run("classifier, own reverts", ORIGINS, ECHO | POLICY, {"causes": 1, "writes": 0},
        {"repair": "ignore_own_reverts"}),
    Run("table, longer backoffs", TABLE, BREAKER, {**LONGER, "documents": 1, "capacity": 1}, MS),
    Run("breaker, as shipped", SHIPPED, POLICY, {}, steps=SHIPPED_WALK),
    Run("breaker, three to trip", ONE, BREAKER, {**TINY, "threshold": 3, "in_flight": 1}, MS),
    Run("table of two pairs", TABLE, BREAKER, {**FIRST, "documents": 2, "capacity": 2}, MS),
    Run("breaker, settled", ONE, BREAKER, {**FIRST, "in_flight": 1, **SETTLED}, MS),
    Run("table of two, settled", TABLE, BREAKER, {**FIRST, "documents": 2, "capacity": 2, **SETTLED}, MS),
    Run("table, two lengths", TABLE, BREAKER, {**FIRST, "cap": 2, "quiet": 3, "documents": 2, "capacity": 2}, MS),
    Run("breaker, kickoff order", ONE, BREAKER, {**FIRST, "in_flight": 2, **ORDERED}, MS),
    Run("breaker, two in flight", ONE, BREAKER, {**TINY, "in_flight": 2}, MS),
    Run("breaker, both repairs", ONE, BREAKER, {**FIRST, "in_flight": 2, **SETTLED, **ORDERED}, MS),
    Run("table, sparing", TABLE, BREAKER, {**TINY, "documents": 3, "capacity": 2, **SPARING}, MS),
    Run("table of three", TABLE, BREAKER, {**TINY, "documents": 3, "capacity": 2}, MS),
    Run("classifier", ORIGINS, ECHO, {"causes": 1, "writes": 1}, {"repair": "none"}),
    Run("classifier, instances", CLASSIFIER, ECHO, {"causes": 1, "writes": 1}),
    Run("classifier, two causes", CLASSIFIER, ECHO, {"causes": 2, "writes": 1}),
)  # fmt: skip
"""Named by subject and scope. *Settled*, *kickoff order*, *sparing*, *remote* and *own reverts* have a repair on
(``clear_when_settled``, ``kickoff_order``, ``evict_untripped_first``, ``remote_causes_only``, ``ignore_own_reverts``);
the rest of a name says what there is room for."""

RUNS = (*BREAKER_RUNS, *NODE_RUNS, *SESSION_RUNS)

STAGES: tuple[tuple[Run, ...], ...] = (
    BREAKER_RUNS[:1],
    BREAKER_RUNS[1:12],
    BREAKER_RUNS[12:18],
    BREAKER_RUNS[18:],
    NODE_RUNS[:5],
    SESSION_RUNS,
    NODE_RUNS[5:],
)
"""Runs that are prepared together: a process takes its mutant through all of a stage, and few get to the last."""
