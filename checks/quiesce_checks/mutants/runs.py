"""The lockstep runs that mutants are put to, the smallest first.

Most are tours of a graph at a small scope, which is explored once, before any mutant is there; each mutant is walked
over the same walks. One is a single walk at the constants that the breaker ships with. A model's unit of time is one
millisecond here, so that nothing can be wrong by less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter
from typing import Any

from quiesce_model.language.machine import Step

from ..engines.explore import explore
from ..lockstep.drive import Divergence, walk
from ..lockstep.pairing import Pairing
from ..lockstep.plan import Tour, plan
from ..lockstep.tour import Runner
from .outcome import Ready
from .shipped import SHIPPED_WALK
from .short import fall_of, without_what_can_go

BREAKER = frozenset({"scheduler/breaker.py", "scheduler/breaker_pairs.py", "scheduler/breaker_policy.py"})
NAMES = frozenset({"address.py"})
ECHO = frozenset({"scheduler/echo.py"})
POLICY = frozenset({"scheduler/breaker.py", "scheduler/breaker_policy.py"})


@dataclass(frozen=True)
class Run:
    """A tour of a pairing at a scope, or with ``steps`` a walk; ``pairing`` names the function that makes it, as
    ``module:name``, and ``more`` what that takes besides the scope.

    ``exercises`` are the files of the runtime that the subject goes through; a mutant of another file is not put to it.
    """

    name: str
    pairing: str
    exercises: frozenset[str]
    scope: Mapping[str, int | bool]
    more: Mapping[str, int | str] = field(default_factory=dict[str, int | str])
    steps: tuple[Step, ...] = ()

    def make_pairing(self) -> Pairing:
        """The pairing with the runtime as it is imported here."""
        made: Pairing = named(self.pairing)(**self.scope, **self.more)
        return made


def named(path: str) -> Any:
    """What ``module:name`` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class Fall:
    """How a subject fell: after how many steps of a walk, the difference made short, and the seconds until it was
    seen.
    """

    found_after: int
    shortest: Divergence
    seconds: float


@dataclass(frozen=True)
class Prepared:
    """A run with all that the model has to say to it. Without ``planned`` it is a walk."""

    run: Run
    plain: Pairing
    ready: Ready
    runner: Runner | None = None
    planned: Tour | None = None

    def pairing_now(self) -> Pairing:
        """The pairing with the runtime as this process imports it now. The model's side is taken over.

        Raises Mismatch if the subject no longer describes itself as the model does.
        """
        pairing = self.run.make_pairing()
        vars(pairing).update({name: vars(self.plain)[name] for name in ("model", "relation", "limits")})
        pairing.check()
        return pairing

    def take(self, pairing: Pairing) -> Fall | None:
        """Walk a subject up to the first difference, once in a process. Raises Flaky if it does not repeat it."""
        started = perf_counter()
        if self.runner is None or self.planned is None:
            found, _ = walk(pairing, self.run.steps)
            seconds = perf_counter() - started
            if found is None:
                return None
            return Fall(len(found.turns), without_what_can_go(pairing, found, explored=False), seconds)
        runner = self.runner
        runner.pairing, runner.subject = pairing, pairing.subject()
        for way in self.planned.walks:
            failed = runner.run(way)
            if failed is not None:
                seconds = perf_counter() - started
                return Fall(failed + len(runner.refused), fall_of(runner, way[:failed]), seconds)
        return None


def prepare(run: Run) -> Prepared:
    """Explore a run's graph, plan its walks, and have the model say what it shows on them."""
    started = perf_counter()
    plain = run.make_pairing()
    plain.check()
    if run.steps:
        assert plain.limits  # read with the model, which forks take over
        return Prepared(run, plain, Ready(run.name, 0, 0, len(run.steps), perf_counter() - started))
    graph = explore(plain.walked, properties=(), keep_graph=True).graph
    assert graph is not None  # keep_graph
    runner, planned = Runner(plain, graph), plan(graph)
    ready = Ready(run.name, graph.size, graph.edges, planned.steps, perf_counter() - started)
    return Prepared(run, plain, ready, runner, planned)


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

RUNS: tuple[Run, ...] = (
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

STAGES: tuple[tuple[Run, ...], ...] = (RUNS[:1], RUNS[1:12], RUNS[12:18], RUNS[18:])
"""Runs that are prepared together: a process takes its mutant through all of a stage, and few get to the last."""
