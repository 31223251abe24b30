"""One question to one engine: what the command line and the suites have in common.

The engines are imported when they are asked, so that everything else works in a bare install.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import import_module
from typing import Any

from quiesce_model.language.machine import Machine, PropertyInfo, all_marked
from quiesce_model.language.outcome import Misuse

from .exploring import Ways, exploration
from .lockstep.find import Source
from .machines import Scope, instance
from .problems import MissingExtra, Problem, of_model, unknown
from .relation.errors import ModelError
from .sites import rule_sites
from .verdict import Statistics, Verdict


class Engine(StrEnum):
    """What a question can be put to."""

    EXPLORE = "explore"
    PROVE = "prove"
    BMC = "bmc"
    BRIDGE = "bridge"
    ABLATE = "ablate"
    LOCKSTEP = "lockstep"


@dataclass(frozen=True)
class Limit:
    """Where a run gives up: ``states`` kept, ``seconds`` in all for an exploration and per question for a
    solver, ``bytes`` of memory. None is the engine's own default.
    """

    states: int | None = None
    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Job:
    """``properties`` None means all that the engine can judge. ``k`` None lets induction try upward. ``rules`` are
    those that an ablation switches off, one at a time: all of the machine's, if none are given. ``pairing`` and
    ``tick`` (in ms) are what lockstep walks; ``scope`` is then the pairing's. ``ways`` are of an exploration."""

    machine: type[Machine]
    engine: Engine
    scope: Scope = field(default_factory=dict[str, "int | bool"])
    properties: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    symbolic: tuple[str, ...] = ()
    k: int | None = None
    lemmas: tuple[str, ...] | None = None
    without_assumptions: tuple[str, ...] = ()
    depth: int | None = None
    rules: tuple[str, ...] = ()
    limit: Limit = field(default_factory=Limit)
    pairing: Source | None = None
    tick: int | None = None
    ways: Ways = field(default_factory=Ways)


@dataclass(frozen=True)
class Answer:
    """What came of a job; ``statistics`` of an exploration."""

    verdicts: tuple[Verdict, ...]
    statistics: Statistics | None = None


Watcher = Callable[[Any], None]
"""Is told what an engine says of its progress; see :func:`~.report.progress.beat_of`."""

Runner = Callable[[Job, Watcher | None], Answer]
"""What runs a job: :func:`run`, or a stand-in."""

DEPTH = 20
"""How many steps a bounded search looks ahead if it is not told."""

JUDGED = {
    Engine.EXPLORE: ("invariant", "step", "reachable"),
    Engine.BMC: ("invariant", "step", "reachable"),
    Engine.PROVE: ("invariant", "step"),
}
"""The kinds of properties that an engine decides."""

BUILT_IN = ("no_fault", "no_deadlock")
"""Properties that every machine has: no attempt goes wrong; something is possible in every state."""


def engine(name: str, what: str, package: str) -> Any:
    """An engine's module, or one sentence about what is not installed."""
    try:
        return import_module(f".engines.{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("quiesce"):
            raise
        raise MissingExtra(what, error.name or package) from None


def run(job: Job, watcher: Watcher | None = None) -> Answer:
    """Put the question. Raises :class:`Problem` for what the machine has not, and for what cannot be read in it."""
    try:
        return asked(job, watcher)
    except ModelError as error:
        raise of_model(error) from None
    except Misuse as error:
        raise Problem(str(error)) from None


def asked(job: Job, watcher: Watcher | None) -> Answer:
    if job.engine is Engine.LOCKSTEP:
        return walked(job, watcher)
    machine = instance(job.machine, job.scope, job.without)
    check_names(job)
    match job.engine:
        case Engine.EXPLORE:
            return explored(job, machine, watcher)
        case Engine.PROVE:
            return proved(job, machine, watcher)
        case Engine.BMC:
            return bounded(job, machine, watcher)
        case Engine.BRIDGE:
            with_z3("bridging")
            module = engine("bridge", "bridging", "z3")
            return Answer(tuple(module.bridge(machine, symbolic=job.symbolic, **timeout(job.limit))))
        case _:
            raise ValueError("an ablation is many questions: see quiesce_checks.ablate")


def walked(job: Job, watcher: Watcher | None) -> Answer:
    assert job.pairing is not None
    engine("explore", "lockstep", "llvmlite")
    module = import_module(".lockstep.question", __package__)
    limits = import_module(".engines.search", __package__).Limits(job.limit.states, job.limit.seconds, job.limit.bytes)
    return Answer((module.toured(job.pairing.at(job.scope, job.tick), limits, watcher).verdict,))


def explored(job: Job, machine: Machine, watcher: Watcher | None) -> Answer:
    module = engine("explore", "exploring", "llvmlite")
    limit = job.limit
    limits = module.Limits(states=limit.states, seconds=limit.seconds, memory=limit.bytes)
    found = exploration(machine, job.properties, job.ways, limits=limits, progress=watcher)
    statistics = replace(found.statistics, actions=found.by_name)
    return Answer(tuple(found.verdicts), statistics)


def proved(job: Job, machine: Machine, watcher: Watcher | None) -> Answer:
    with_z3("proving")
    module = engine("proof", "proving", "z3")
    verdicts = module.prove(
        machine,
        job.properties,
        symbolic=job.symbolic,
        k=job.k,
        lemmas=job.lemmas,
        without_assumptions=job.without_assumptions,
        progress=watcher,
        **timeout(job.limit),
    )
    return Answer(tuple(verdicts))


def bounded(job: Job, machine: Machine, watcher: Watcher | None) -> Answer:
    with_z3("bounded search")
    module = engine("bounded", "bounded search", "z3")
    verdicts = module.bounded(
        machine,
        job.properties,
        depth=DEPTH if job.depth is None else job.depth,
        symbolic=job.symbolic,
        without_assumptions=job.without_assumptions,
        progress=watcher,
        **timeout(job.limit),
    )
    return Answer(tuple(verdicts))


def with_z3(what: str) -> None:
    try:
        import_module("z3")
    except ModuleNotFoundError:
        raise MissingExtra(what, "z3-solver") from None


def timeout(limit: Limit) -> dict[str, int]:
    """A solver's time-out is for one question, in milliseconds."""
    return {} if limit.seconds is None else {"timeout": round(limit.seconds * 1000)}


def check_names(job: Job) -> None:
    """Every name of the job is one that the machine has."""
    owner = job.machine.__name__
    constants = [constant.name for constant in job.machine.__constants__]
    check("constant", job.symbolic, owner, constants)
    check("property", job.properties or (), owner, properties_of(job.machine))
    check("property", job.lemmas or (), owner, properties_of(job.machine))
    for name in (*(job.properties or ()), *(job.lemmas or ())):
        check_kind(job, name)
    assumptions = [name for name, info in all_marked(job.machine) if kind_of(info) == "assumption"]
    check("assumption", job.without_assumptions, owner, assumptions)


def check_rules(job: Job) -> None:
    """Every rule that the job switches off is one that the machine's source names. Reads the whole source."""
    asked = (*job.without, *job.rules)
    if asked:
        check("rule", asked, job.machine.__name__, tuple(rule_sites(instance(job.machine, job.scope))))


def check_kind(job: Job, name: str) -> None:
    """The engine judges properties of this kind."""
    judged = JUDGED.get(job.engine, ())
    kind = kind_of(dict(all_marked(job.machine)).get(name))
    if judged and name not in BUILT_IN and kind not in judged:
        text = f"{name} is of the kind {kind}, and {job.engine} judges {' and '.join(judged)} properties only"
        raise Problem(text)


def kind_of(info: Any) -> str:
    return info.kind if isinstance(info, PropertyInfo) else ""


def properties_of(machine: type[Machine]) -> list[str]:
    """What a check of the machine can be asked for."""
    asked = {"invariant", "step", "reachable", "eventually", "leads_to"}
    return [*(name for name, info in all_marked(machine) if kind_of(info) in asked), *BUILT_IN]


def check(kind: str, names: Sequence[str], owner: str, known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise Problem(unknown(kind, name, owner, known))
