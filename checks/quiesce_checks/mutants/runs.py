"""The lockstep runs that mutants are put to, the smallest first.

A run is a pairing at a scope. Its graph is explored once, before any mutant is there, and its walks are planned then;
each mutant is walked over the same ones. A model's unit of time is one millisecond here, so that a millisecond is as
large an error as can be hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter
from typing import Any

from ..engines.explore import explore
from ..engines.graph import Graph
from ..lockstep.drive import Divergence
from ..lockstep.pairing import Pairing
from ..lockstep.tour import Runner, Tour, confirmed, plan
from .outcome import Ready

BREAKER = frozenset(
    {"scheduler/breaker.py", "scheduler/breaker_pairs.py", "scheduler/breaker_policy.py", "address.py"}
)
ECHO = frozenset({"scheduler/echo.py"})


@dataclass(frozen=True)
class Run:
    """A tour of a pairing at a scope; ``pairing`` names the function that makes it, as ``module:name``.

    ``exercises`` are the files of the runtime that the subject goes through; a mutant of another file is not put to it.
    """

    name: str
    pairing: str
    exercises: frozenset[str]
    scope: Mapping[str, int | bool]
    more: Mapping[str, int | bool | str] = field(default_factory=dict[str, int | bool | str])

    def make_pairing(self) -> Pairing:
        """The pairing with the runtime as it is imported here."""
        made: Pairing = named(self.pairing)(**self.scope, **self.more)
        return made


@dataclass(frozen=True)
class Fall:
    """How a subject fell: the transitions of the walk, the last of them fatal, and the difference."""

    way: tuple[int, ...]
    divergence: Divergence


@dataclass(frozen=True)
class Prepared:
    """A run with its graph, its walks, and what the model shows in each state; ``ready`` says how large it is."""

    run: Run
    plain: Pairing
    runner: Runner
    plan: Tour
    ready: Ready

    @property
    def graph(self) -> Graph:
        return self.runner.graph

    def pairing_now(self) -> Pairing:
        """The pairing with the runtime as this process imports it now. The model's side is taken over.

        Raises Mismatch if the subject no longer describes itself as the model does.
        """
        pairing = self.run.make_pairing()
        vars(pairing).update({name: vars(self.plain)[name] for name in ("model", "relation", "limits", "row")})
        pairing.check()
        return pairing

    def tour(self, pairing: Pairing) -> Fall | None:
        """Walk a subject up to the first difference, once in a process. Raises Flaky if it does not repeat it."""
        runner = self.runner
        runner.pairing, runner.subject = pairing, pairing.subject()
        for way in self.plan.walks:
            failed = runner.run(way)
            if failed is not None:
                return Fall(way[:failed], confirmed(pairing, self.graph, way[:failed], runner.refused))
        return None


def prepare(run: Run) -> Prepared:
    """Explore a run's graph, plan its walks, and have the model say what it shows on them."""
    started = perf_counter()
    pairing = run.make_pairing()
    graph = explore(pairing.relation, properties=(), keep_graph=True).graph
    assert graph is not None  # keep_graph
    runner, planned = Runner(pairing, graph), plan(graph)
    ready = Ready(run.name, graph.size, graph.edges, planned.steps, perf_counter() - started)
    return Prepared(run, pairing, runner, planned, ready)


def named(path: str) -> Any:
    """What ``module:name`` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


PAIRING = "quiesce_checks.subjects.breaker:breaker_pairing"
TABLE = "quiesce_checks.subjects.table:table_pairing"
CLASSIFIER = "quiesce_checks.subjects.classifier:classifier_pairing"

SMALL = {"threshold": 2, "window": 2, "base": 1, "cap": 2, "quiet": 3}
DOUBLING = {"threshold": 2, "window": 1, "base": 1, "cap": 4, "quiet": 5}
TINY = {"threshold": 1, "window": 1, "base": 1, "cap": 1, "quiet": 2}
MS = {"tick": 1}

RUNS: tuple[Run, ...] = (
    Run("breaker", PAIRING, BREAKER | ECHO, {**SMALL, "in_flight": 1}, MS),
    Run("breaker, doubling", PAIRING, BREAKER, {**DOUBLING, "in_flight": 1}, MS),
    Run("table of one", TABLE, BREAKER, {**TINY, "documents": 2, "capacity": 1}, MS),
    Run("classifier", CLASSIFIER, ECHO, {"causes": 1, "writes": 1}),
    Run("table", TABLE, BREAKER, {**SMALL, "threshold": 1, "window": 1, "documents": 2, "capacity": 2}, MS),
    Run("table of two kinds", TABLE, BREAKER, {**TINY, "threshold": 2, "documents": 3, "capacity": 2}, MS),
    Run("table of two actions", TABLE, BREAKER, {**TINY, "cap": 2, "quiet": 3, "actions": 2, "documents": 1, "capacity": 1}, MS),
    Run("breaker, two in flight", PAIRING, BREAKER, {**SMALL, "in_flight": 2}, MS),
    Run("breaker, clear_when_settled", PAIRING, BREAKER, {**SMALL, "in_flight": 1, "clear_when_settled": True}, MS),
    Run("breaker, kickoff_order", PAIRING, BREAKER, {**SMALL, "in_flight": 2, "kickoff_order": True}, MS),
    Run("table, evict_untripped_first", TABLE, BREAKER, {**TINY, "threshold": 2, "documents": 3, "capacity": 2, "evict_untripped_first": True}, MS),
    Run("classifier, two causes", CLASSIFIER, ECHO, {"causes": 2, "writes": 1}),
)
