"""Exhaustive exploration: every reachable state of a machine at one scope, breadth first, every property on each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
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
from .interpreted import Interpreted
from .program import ELAPSE, Program, Watch, program
from .search import WHY_STOPPED, Limits, Progress, Searched, Stop, Watchman
from .symmetry import declared, groups
from .witness import Confirm, Witnesses, by_machine

Threads = Literal[1, 2, "auto"]

WITHOUT_COMPILER = 0.2
"""Seconds that ``auto`` searches in plain Python before it has the kernel compiled: about as long as that takes."""

Engine = Literal["auto", "native", "interpreted"]


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
    threads: Threads = 1,
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

    With two ``threads`` the search is parted between two owners, see :mod:`.owners`: the same states, counts, verdicts
    and lengths of traces; which of several shortest traces is shown may differ, and a level is finished before the
    search ends at a violation. ``auto`` is two where two processors are allowed. A graph is kept on one thread only.

    With ``spill`` the limit on memory is where the search goes on in files, in a folder given or the system's own for
    temporary files, see :mod:`.disk`; that is done on one thread, and keeps no graph.

    With ``checkpoints`` the search is saved between levels, and may go on from where another process was; that is done
    on one thread, as long as it is in memory, and keeps no graph. Raises :class:`~.checkpoints.Unusable` where it
    cannot go on.

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
    searched = search(problem, watchman, engine, Ways(keep_graph, threads_for(threads), spill, checkpoints))
    return exploration(problem, named, searched, confirm, started)


def read(machine: Machine) -> Relation:
    from ..relation.build import relation

    return relation(machine)


def threads_for(asked: Threads) -> int:
    """How many threads to use; ``auto`` is two where this process may run on two processors.

    Raises ValueError for more than two: states are parted by one bit.
    """
    if asked not in (1, 2, "auto"):
        raise ValueError(f"threads is 1, 2 or 'auto', not {asked!r}: states are parted between two owners at most")
    if asked != "auto":
        return asked
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(2, allowed)


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


@dataclass(frozen=True)
class Ways:
    """How to search: whether to keep the graph, on how many threads, and whether and where to go on in files.

    Raises ValueError for what does not go together.
    """

    keep_graph: bool = False
    threads: int = 1
    spill: Path | bool | None = None
    checkpoints: Checkpoints | None = None

    @property
    def files(self) -> bool:
        """Whether files are written, which only one native search does."""
        return bool(self.spill) or self.checkpoints is not None

    def __post_init__(self) -> None:
        if self.checkpoints is not None and self.keep_graph:
            raise ValueError("checkpoints do not hold a graph: leave out one of checkpoints and keep_graph")
        if self.spill and self.keep_graph:
            raise ValueError("a search that goes on in files keeps no graph: leave out one of spill and keep_graph")


def search(problem: Program, watchman: Watchman, engine: Engine, ways: Ways) -> Searched:
    if engine == "interpreted" and ways.files:
        raise ValueError(
            "plain Python does not work with files: leave out engine='interpreted' or spill and checkpoints"
        )
    if engine != "native" and not ways.files:
        give_up = WITHOUT_COMPILER if engine == "auto" and find_spec("llvmlite") is not None else None
        done = Interpreted(problem, watchman, keep_graph=ways.keep_graph, give_up=give_up).run()
        if done is not None:
            return done
    if ways.threads == 2 and not ways.keep_graph and not ways.files:
        from .owners import Owners

        return Owners(problem, watchman).run()
    from .native import Native

    native = Native(problem, watchman, keep_graph=ways.keep_graph, spill=ways.spill, checkpoints=ways.checkpoints)
    return native.run()


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


__all__ = ["NO_DEADLOCK", "NO_FAULT", "Exploration", "Limits", "Progress", "Stop", "by_name", "explore"]
