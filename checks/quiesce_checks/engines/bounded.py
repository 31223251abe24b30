"""Bounded search: is there a run of so many steps that breaks a property? The shortest is found first.
 The relation is unrolled one step at a time into one solver, which keeps what it has learned. At each depth
it is asked about all properties together; only if it gives no answer are they asked about one by one, each by
a solver that starts afresh. What cannot be broken at a depth is asserted there before the search goes deeper.

After A. Biere, A. Cimatti, E. Clarke, Y. Zhu, *Symbolic model checking without BDDs*, TACAS 1999, and N. Eén,
N. Sörensson, *Temporal induction by incremental SAT solving*, 2003.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from quiesce_model.language.machine import Machine

from ..relation.relation import Property, Relation
from ..verdict import Outcome, Verdict
from .assurance import Progress, Watcher, scope, unknown_assumption
from .built_in import NO_DEADLOCK, NO_FAULT, no_deadlock, no_fault
from .counterexample import violation, witness
from .smt import Answer, Formula, Session, Solver, version
from .unrolling import Run, Unrolling

ENGINE = "bounded"
JUDGED = ("invariant", "step", "reachable")
TIMEOUT = 60_000
SMALL = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 1024)


@dataclass(frozen=True)
class Found:
    """A run that breaks a property, or reaches what was to be reached."""

    judged: Property
    run: Run


@dataclass(frozen=True)
class Undecided:
    """A property that the solver gave no answer about, at some depth."""

    judged: Property
    depth: int
    reason: str


class Search:
    """A bounded search that goes one step deeper each time it is asked to.

    ``depth`` is the number of steps of the runs that are searched next: all shorter ones are done, for the
    properties that are still ``pending``. ``dropped`` names assumptions that are not made.
    """

    def __init__(
        self,
        relation: Relation,
        judged: Iterable[Property],
        *,
        dropped: Sequence[str] = (),
        timeout: int | None = TIMEOUT,
    ) -> None:
        self.pending: list[Property] = list(judged)
        self.found: list[Found] = []
        self.undecided: list[Undecided] = []
        self.depth = 0
        self.timeout = timeout
        self.session = Session()
        self.unrolling = Unrolling(relation, self.session)
        self.asserted: list[Formula] = []
        self.solver = self.session.solver(timeout)
        self.add(*self.unrolling.assumptions(dropped), self.unrolling.initial())

    def add(self, *formulas: Formula) -> None:
        self.asserted.extend(formulas)
        self.solver.add(*formulas)

    def possible(self) -> Answer:
        """Whether there is an initial state: constants that the assumptions allow, a start within bounds."""
        return self.fresh(self.unrolling.domain(0)).check()

    def fresh(self, *more: Formula) -> Solver:
        solver = self.session.solver(self.timeout)
        solver.add(*self.asserted, *more)
        return solver

    def target(self, judged: Property) -> Formula:
        """What a run of ``depth`` steps has to show to decide a property."""
        session, unrolling, depth = self.session, self.unrolling, self.depth
        if judged.steps is not None:
            return session.no(unrolling.holds(judged, depth - 1)) if depth else session.no(session.true)
        holds = unrolling.holds(judged, depth)
        aim = holds if judged.kind == "reachable" else session.no(holds)
        if depth > 0:
            return aim
        if judged.name == NO_FAULT:
            return session.any([aim, session.no(unrolling.domain(0))])
        return session.all([aim, unrolling.domain(0)])

    def deepen(self) -> list[Found]:
        """Search the runs of ``depth`` steps, then add a step. Gives what was found."""
        new: list[Found] = []
        session = self.session
        while self.pending:
            targets = [self.target(judged) for judged in self.pending]
            any_target = self.unrolling.literal(f"target@{self.depth}.{len(self.pending)}")
            self.add(session.implies(any_target, session.any(targets)))
            answer = self.solver.check(any_target)
            if answer.unsat:
                break
            if answer.outcome == "unknown":
                new.extend(self.one_by_one())
                break
            run, shown = self.smallest(answer, any_target, targets)
            new.extend(Found(self.pending[n], run) for n in shown)
            self.pending = [judged for n, judged in enumerate(self.pending) if n not in shown]
        self.add(*(session.no(self.target(judged)) for judged in self.pending))
        if self.depth == 0:
            self.add(self.unrolling.domain(0))
        self.add(*self.unrolling.step(self.depth))
        self.depth += 1
        self.found.extend(new)
        return new

    def smallest(self, answer: Answer, asked: Formula, targets: list[Formula]) -> tuple[Run, list[int]]:
        """A run with small constants and durations, if there is one, and which targets it shows."""
        unrolling, session = self.unrolling, self.session
        unrolling.choice(self.depth)
        free = [*unrolling.constants.values()]
        free += [value for at in range(self.depth) for value in unrolling.given[at].values()]
        numbers = [value for value in free if session.numeric(value)]
        for limit in SMALL if numbers else ():
            small = unrolling.literal(f"small@{self.depth}.{len(targets)}.{limit}")
            bounds = session.all(session.within(value, 0, limit) for value in numbers)
            self.solver.add(session.implies(small, bounds))
            smaller = self.solver.check(asked, small)
            if smaller.sat:
                answer = smaller
                break
        shown = [n for n, target in enumerate(targets) if answer.value(target)]
        return unrolling.read(answer, self.depth), shown

    def one_by_one(self) -> list[Found]:
        """Each property by itself, asked of a solver that has no past."""
        new: list[Found] = []
        for judged in list(self.pending):
            answer = self.fresh(self.target(judged)).check()
            if answer.unsat:
                continue
            self.pending.remove(judged)
            if answer.sat:
                new.append(Found(judged, self.unrolling.read(answer, self.depth)))
            else:
                self.undecided.append(Undecided(judged, self.depth, answer.reason))
        return new


def bounded(
    machine: Machine | Relation,
    properties: Sequence[str] | None = None,
    *,
    depth: int,
    symbolic: Sequence[str] = (),
    without_assumptions: Sequence[str] = (),
    timeout: int | None = TIMEOUT,
    progress: Watcher | None = None,
) -> list[Verdict]:
    """Search all runs of at most ``depth`` steps. One verdict for each property, in the order asked for.

    A machine is searched in the proved reading, where one ``elapse`` passes any time, with the constants in
    ``symbolic`` free; a relation is searched as it is. ``properties`` names invariants, step properties,
    reachable states and ``no_fault``; None means all of them. ``timeout`` is for one question to the solver,
    in milliseconds.

    A trace is the shortest, and has been replayed by the Machine. Nothing found is ``inconclusive``, since
    longer runs were not looked at; ``how`` says how far the property holds. Ctrl-C ends with what is known.
    Raises KeyError for names that the machine has not.
    """
    relation = proved_reading(machine, symbolic)
    dropped = tuple(without_assumptions)
    unknown_assumption(relation, dropped)
    judged = chosen(relation, properties, JUDGED)
    begun = perf_counter()
    search = Search(relation, judged, dropped=dropped, timeout=timeout)
    verdicts: dict[str, Verdict] = {}
    where = scope(relation, dropped)

    def verdict(of: Property, outcome: Outcome, how: str, found: Run | None = None) -> Verdict:
        trace = None
        if found is not None:
            show = witness if of.kind == "reachable" else violation
            trace = show(relation, found, of, dropped)
        notes = (version(), *(trace.notes if trace is not None else ()))
        seconds = perf_counter() - begun
        return Verdict(relation.name, of.name, outcome, ENGINE, how, seconds, trace, notes=notes)

    stopped = ""
    try:
        if search.possible().unsat:
            how = f"no constants satisfy the assumptions: {where}"
            return [verdict(of, Outcome.VACUOUS, how) for of in judged]
        while search.depth <= depth and search.pending:
            if progress is not None:
                pending = tuple(of.name for of in search.pending)
                progress(Progress(ENGINE, relation.name, pending, search.depth, perf_counter() - begun))
            for found in search.deepen():
                of, steps = found.judged, len(found.run.actions)
                good = of.kind == "reachable"
                how = f"{'reached' if good else 'shortest'} in {counted(steps, 'step')}, {where}"
                outcome = Outcome.HOLDS if good else Outcome.VIOLATED
                verdicts[of.name] = verdict(of, outcome, how, found.run)
    except KeyboardInterrupt:
        stopped = "interrupted; "
    for lost in search.undecided:
        how = f"{lost.reason} at depth {lost.depth}; {reached(lost.judged, lost.depth - 1)}, {where}"
        verdicts[lost.judged.name] = verdict(lost.judged, Outcome.INCONCLUSIVE, how)
    for of in judged:
        if of.name not in verdicts:
            how = f"{stopped}{reached(of, search.depth - 1)}, {where}"
            verdicts[of.name] = verdict(of, Outcome.INCONCLUSIVE, how)
    return [verdicts[of.name] for of in judged]


def proved_reading(machine: Machine | Relation, symbolic: Sequence[str]) -> Relation:
    """The relation that is searched for a machine; a relation as it is."""
    if isinstance(machine, Relation):
        return machine
    from ..relation.build import proof_relation

    return proof_relation(machine, symbolic=tuple(symbolic))


def reached(judged: Property, depth: int) -> str:
    """How far the search got with a property: ``holds up to k = 17``."""
    if depth < 0:
        return "nothing checked"
    return f"{'not reached' if judged.kind == 'reachable' else 'holds'} up to k = {depth}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def chosen(relation: Relation, names: Sequence[str] | None, kinds: Sequence[str]) -> list[Property]:
    """The properties of those names, or all of those kinds with ``no_fault``, and with ``no_deadlock`` if
    the machine declares a terminal state.

    Raises KeyError for a name that the machine has not, or whose kind this engine does not judge.
    """
    if names is None:
        stops = any(p.kind == "terminal" for p in relation.properties)
        stated = [p for p in relation.properties if p.kind in kinds]
        return [*stated, no_fault(relation), *([no_deadlock(relation)] if stops else [])]
    built_in = {NO_FAULT: no_fault, NO_DEADLOCK: no_deadlock}
    found = [built_in[name](relation) if name in built_in else relation.property_named(name) for name in names]
    for judged in found:
        if judged.kind not in kinds:
            raise KeyError(
                f"{relation.name}.{judged.name} is of kind {judged.kind}, which this engine does not judge;"
                f" it judges: {', '.join(kinds)}"
            )
    return found
