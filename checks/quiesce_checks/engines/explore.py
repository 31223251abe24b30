"""Exhaustive exploration: every reachable state of a machine at one scope, breadth first, every property on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Literal

from quiesce_model.language.machine import Machine

from ..relation.relation import Relation
from ..trace import Trace
from ..verdict import ActionCount, Outcome, Statistics, Verdict
from .built_in import NO_DEADLOCK, NO_FAULT
from .checkpoints import Checkpoints
from .exchanges import check
from .graph import Graph
from .program import ELAPSE, Program, Watch, program
from .search import WHY_STOPPED, Limits, Progress, Searched, Stop, Watchman
from .symmetry import declared, groups
from .ways import Engine, Ways, search
from .witness import Confirm, Witnesses, by_machine


@dataclass(frozen=True)
class Exploration:
    """What one exploration found: a verdict for each property, in the order of the machine's declarations.

    ``stop`` says why it ended. ``graph`` is there if it was asked for.
    """

    verdicts: tuple[Verdict, ...]
    statistics: Statistics
    stop: Stop
    graph: Graph | None = None
    searched: Searched | None = field(default=None, repr=False)

    def verdict(self, name: str) -> Verdict:
        for found in self.verdicts:
            if found.property == name:
                return found
        listed = ", ".join(v.property for v in self.verdicts)
        raise KeyError(f"no verdict on {name!r}; there are: {listed}")

    @property
    def traces(self) -> dict[str, Trace]:
        """The shortest trace of each violated property."""
        return {v.property: v.trace for v in self.verdicts if v.outcome is Outcome.VIOLATED and v.trace is not None}

    @property
    def violated(self) -> bool:
        return any(v.outcome is Outcome.VIOLATED for v in self.verdicts)

    @property
    def by_name(self) -> tuple[ActionCount, ...]:
        """How often each action was taken, whatever its arguments."""
        return by_name(self.statistics.actions)

    @property
    def never_taken(self) -> tuple[str, ...]:
        """Actions that no argument made possible in any state visited; conclusive if the scope was exhausted."""
        return tuple(count.action for count in self.by_name if count.taken == 0 and count.action != ELAPSE)


def explore(
    model: Machine | Relation,
    properties: Iterable[str] | None = None,
    *,
    limits: Limits | None = None,
    stop: Literal["first", "all"] = "all",
    engine: Engine = "auto",
    keep_graph: bool = False,
    threads: int | Literal["auto"] = 1,
    processes: int | None = None,
    cluster: str | None = None,
    spill: Path | bool | None = None,
    symmetry: bool | Iterable[str] = True,
    checkpoints: Checkpoints | None = None,
    deadlock: bool | None = None,
    progress: Callable[[Progress], None] | None = None,
    confirm: Confirm | None = by_machine,
) -> Exploration:
    """Visit every reachable state of a machine (or of its relation) and decide its properties.

    ``properties`` are names; None is every invariant, step property and ``reachable`` of the machine. ``no_fault``
    (the model leaves no domain) is always watched, ``no_deadlock`` if the machine declares a ``terminal`` state, if it
    is named, or if ``deadlock`` says so. With ``stop="first"`` the search ends at the first violation, else it goes on
    until all that was asked is decided or every state was seen, so each violated property has a shortest trace of its
    own. A trace is replayed by the Machine before it is returned.

    With several ``threads`` the search is parted between as many owners, see :mod:`.levels`: the same states, counts,
    verdicts and lengths of traces; which of several shortest traces is shown may differ, and a level is finished before
    the search ends at a violation. ``auto`` is one for each processor allowed. With ``processes`` the owners are
    processes of this machine, with ``cluster`` actors on a Ray cluster: at an address, or with ``auto`` on the one that
    runs here, or is started here. If one is lost, the search goes back to the last checkpoint or begins anew.

    With ``spill`` the limit on memory is where the search goes on in files, in a folder given or the system's own for
    temporary files, see :mod:`.disk`. With ``checkpoints`` the search is saved between levels, and may go on from where
    another process was, with as many owners; raises :class:`~.checkpoints.Unusable` where it cannot. What does not go
    together raises ValueError: see :class:`~.ways.Ways`.

    Of states that differ by an exchange of indexes declared ``symmetric`` only one is visited, and the counts are of
    those; see :mod:`.symmetry`. With ``symmetry`` False, or if the graph is kept, all are; names are taken as if those
    fields were declared. Raises :class:`~.symmetry.Asymmetric` where trying exchanges shows indexes told apart.

    ``holds`` is said only of an exhausted scope; a limit or Ctrl-C makes what is undecided inconclusive. A
    ``reachable`` that is found holds and carries its witness; one that is not in the whole scope is vacuous.

    Raises KeyError for an unknown property, ValueError for one that exploration does not decide,
    :class:`~.packing.TooWide` for numbers beyond 64 bits, and :class:`~..trace.Disagreement` if plain Python does not
    confirm a trace.
    """
    started = perf_counter()
    ways = Ways(keep_graph, threads, processes, cluster, spill, checkpoints)
    relation = model if isinstance(model, Relation) else read(model)
    named = None if properties is None else tuple(properties)
    problem = program(relation, named, deadlock=deadlock)
    if symmetry and not keep_graph:
        problem = with_symmetry(problem, declared(relation.machine) if symmetry is True else tuple(symmetry))
    watchman = Watchman(
        problem,
        limits or Limits(),
        stop_at_first=stop == "first",
        required=required(problem, named),
        progress=progress,
        started=started,
    )
    searched = search(problem, watchman, engine, ways)
    return exploration(problem, named, searched, confirm, started)


def read(machine: Machine) -> Relation:
    from ..relation.build import relation

    return relation(machine)


def with_symmetry(problem: Program, names: tuple[str, ...]) -> Program:
    """The problem up to exchanges of the indexes of some fields, after trying them."""
    found = groups(problem.relation, names)
    if not found:
        return problem
    exchanged = replace(problem, symmetric=found)
    check(exchanged)
    return exchanged


def required(problem: Program, named: tuple[str, ...] | None) -> list[int]:
    """The watches whose answer the search goes on for; ``no_fault`` is only there by the way if others are named."""
    incidental = NO_FAULT if named is not None and NO_FAULT not in named else None
    return [i for i, watch in enumerate(problem.watches) if watch.name != incidental]


def exploration(
    problem: Program, named: tuple[str, ...] | None, searched: Searched, confirm: Confirm | None, started: float
) -> Exploration:
    witnesses = Witnesses(problem, searched.states, confirm)
    statistics = statistics_of(problem, searched, started)
    verdicts: list[Verdict] = []
    for position, (watch, at) in enumerate(zip(problem.watches, searched.found, strict=True)):
        if at is None and searched.stop is Stop.DECIDED and position not in required(problem, named):
            continue  # nobody asked, and nothing was found by the way
        verdicts.append(answer(problem, watch, at, searched, witnesses, statistics))
    return Exploration(tuple(verdicts), statistics, searched.stop, searched.graph, searched)


def answer(
    problem: Program, watch: Watch, at: int | None, searched: Searched, witnesses: Witnesses, statistics: Statistics
) -> Verdict:
    exhausted = searched.stop is Stop.EXHAUSTED
    trace = None if at is None else witnesses.trace(watch, at)
    how = f"{searched.distinct:,} states, {WHY_STOPPED[searched.stop]}, depth {searched.depth}"
    if problem.symmetric:
        how = f"{how}; up to exchanges of {', '.join(group.name for group in problem.symmetric)}"
    if searched.remark and trace is None:
        how = f"{how}; {searched.remark}"
    notes: tuple[str, ...] = ()
    if trace is not None:
        outcome = Outcome.VIOLATED if watch.violation else Outcome.HOLDS
        steps = "step" if trace.length == 1 else "steps"
        how = f"{'shortest trace' if watch.violation else 'reached in'} {trace.length} {steps}; {how}"
        if watch.violation:
            how = how.replace("shortest trace", "shortest trace has", 1)
    elif not exhausted:
        outcome = Outcome.INCONCLUSIVE
        if searched.stop is Stop.DECIDED:
            how = f"{searched.distinct:,} states, stopped at the first violation, depth {searched.depth}"
    elif watch.kind == "reachable":
        outcome = Outcome.VACUOUS
        notes = ("no state of the whole scope is one: check the guards on the way, or the scope's size",)
    else:
        outcome = Outcome.HOLDS
    return Verdict(
        problem.relation.name,
        watch.name,
        outcome,
        searched.engine,
        how,
        statistics.seconds,
        trace,
        statistics,
        notes,
    )


def statistics_of(problem: Program, searched: Searched, started: float) -> Statistics:
    counts = tuple(
        ActionCount(str(action.step), taken, first or None)
        for action, taken, first in zip(problem.relation.actions, searched.taken, searched.first_level, strict=True)
    )
    return Statistics(
        distinct=searched.distinct,
        generated=searched.generated,
        depth=searched.depth,
        queue=searched.queue,
        seconds=perf_counter() - started,
        compile_seconds=searched.compile_seconds,
        bytes=searched.bytes,
        exhausted=searched.stop is Stop.EXHAUSTED,
        actions=counts,
    )


def by_name(counts: Iterable[ActionCount]) -> tuple[ActionCount, ...]:
    """Counts of ground actions summed by the action's name."""
    found: dict[str, ActionCount] = {}
    for count in counts:
        name = count.action.partition("(")[0]
        old = found.get(name)
        levels = [c.first_level for c in (old, count) if c is not None and c.first_level is not None]
        taken = count.taken + (old.taken if old is not None else 0)
        found[name] = ActionCount(name, taken, min(levels, default=None))
    return tuple(found.values())


__all__ = ["NO_DEADLOCK", "NO_FAULT", "Engine", "Exploration", "Limits", "Progress", "Stop", "by_name", "explore"]
