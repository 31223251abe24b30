"""A lockstep run that mutants are put to: what is walked, and what the model has to say to it.

Most are tours of a graph at a small scope, which is explored once, before any mutant is there; each mutant is walked
over the same walks. A model's unit of time is one millisecond here, so that nothing can be wrong by less.
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
from .short import fall_of, without_what_can_go


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
