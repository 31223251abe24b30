"""Proving properties of a machine: base cases by bounded search, steps by k-induction, one run for all.
 What is proved holds in every run of any length, for any time that passes, and for any values of the symbolic
constants that the assumptions allow. What is not proved comes with how far it is known to hold and a
counterexample to induction, to find the missing lemma by.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from time import perf_counter

from quiesce_model.language.machine import Machine

from ..relation.relation import Property, Relation
from ..trace import Disagreement, Trace, saturate
from ..verdict import Outcome, Verdict
from .assurance import Progress, Watcher, scope, unknown_assumption
from .bounded import TIMEOUT, Found, Search, chosen, counted, proved_reading, reached
from .built_in import NO_FAULT, absent_at_start, no_fault
from .counterexample import from_anywhere, violation
from .induction import Step, carry
from .smt import Session, version
from .unrolling import Unrolling

ENGINE = "induction"
JUDGED = ("invariant", "step")


@dataclass(frozen=True)
class Cti:
    """A counterexample to induction: k states in which all that is assumed holds, and steps to where it
    fails.

    ``trace`` starts in a state that may or may not be reachable; its machine has the constants of the
    solver's example, and took the steps itself. ``assumed`` names the hypotheses that hold in its states
    before the last.
    """

    property: str
    k: int
    trace: Trace
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Proof(Verdict):
    """A verdict of this engine. ``k`` is that of a proof, ``needs`` the properties that the proof rests on
    directly; ``cti`` is there where induction failed."""

    k: int | None = None
    needs: tuple[str, ...] = ()
    cti: Cti | None = None


@dataclass(frozen=True)
class Exploration:
    """All reachable states of a machine at one scope, as leaf tuples, and where its ages saturate."""

    machine: Machine
    states: Collection[tuple[int, ...]]
    limits: tuple[int | None, ...]


def classify_cti(cti: Cti, exploration: Exploration) -> str:
    """Whether a counterexample to induction starts in a state that can be reached.

    ``reachable``: then it is the end of a real run and the property is broken. ``not reachable at this
    scope``: a lemma is missing. ``outside the scope``: the example has other constants than the exploration.
    """
    there, here = cti.trace.machine, exploration.machine
    if type(there) is not type(here) or there.constants_ != here.constants_ or there.without_ != here.without_:
        return "outside the scope"
    first = saturate(cti.trace.states[0], exploration.limits)
    return "reachable" if first in exploration.states else "not reachable at this scope"


def closed(relation: Relation, dropped: Sequence[str], timeout: int | None) -> bool:
    """That a step cannot leave the domains, which every step case assumes. False where the solver gave no
    answer.

    Raises Disagreement if one can: such an attempt has to be a fault, so the relation is wrong.
    """
    session = Session()
    unrolling = Unrolling(relation, session)
    solver = session.solver(timeout)
    solver.add(*unrolling.assumptions(dropped), unrolling.domain(0), *unrolling.step(0))
    answer = solver.check(session.no(unrolling.domain(1)))
    if answer.sat:
        run = unrolling.read(answer, 1)
        raise Disagreement(
            f"{relation.name}: the relation lets {relation.actions[run.actions[0]].step} leave the domains,"
            f" from {run.states[0]} to {run.states[1]} with {run.constants}, where it should report a fault"
        )
    return answer.unsat


class Attempt:
    """How far a run of :func:`prove` is: what is proved, violated or given up, and the last failed steps."""

    def __init__(
        self,
        relation: Relation,
        candidates: Sequence[Property],
        dropped: tuple[str, ...],
        timeout: int | None,
    ) -> None:
        self.relation = relation
        self.dropped = dropped
        self.timeout = timeout
        self.search = Search(relation, candidates, dropped=dropped, timeout=timeout)
        self.proved: dict[str, Step] = {}
        self.violated: dict[str, Found] = {}
        self.failed: dict[str, Step] = {}
        self.given_up: set[str] = set()
        self.seconds: dict[str, float] = {}
        self.begun = perf_counter()
        self.interrupted = False

    def stamp(self, name: str) -> None:
        self.seconds.setdefault(name, perf_counter() - self.begun)

    def open(self) -> list[Property]:
        """The properties that no violation was found of, and that are neither proved nor given up."""
        return [of for of in self.search.pending if of.name not in self.proved and of.name not in self.given_up]

    def base(self, depth: int) -> None:
        """Search the runs of up to ``depth`` steps."""
        while self.search.depth <= depth and self.search.pending:
            for found in self.search.deepen():
                if found.judged.name in self.proved:
                    raise Disagreement(
                        f"{self.relation.name}: induction proves {found.judged.name},"
                        f" and a run of {len(found.run.actions)} steps breaks it"
                    )
                self.violated[found.judged.name] = found
                self.stamp(found.judged.name)

    def step(self, k: int, shown: Collection[str] = ()) -> None:
        """Everything that k-induction can carry at this k, each success a help to the others."""
        while self.open():
            known = [of for of in self.search.pending if of.name in self.proved]
            answers = carry(
                self.relation, k, self.open(), known, dropped=self.dropped, timeout=self.timeout, shown=shown
            )
            for step in answers.carried:
                self.proved[step.judged.name] = step
                self.stamp(step.judged.name)
            for step in answers.failed:
                self.failed[step.judged.name] = step
            if not answers.carried:
                break
        self.given_up |= {of.name for of in self.open() if self.failed[of.name].reason}


def prove(
    machine: Machine | Relation,
    properties: Sequence[str] | None = None,
    *,
    symbolic: Sequence[str] = (),
    k: int | None = None,
    max_k: int = 8,
    depth: int | None = None,
    lemmas: Sequence[str | Property] | None = None,
    without_assumptions: Sequence[str] = (),
    timeout: int | None = TIMEOUT,
    progress: Watcher | None = None,
) -> list[Proof]:
    """Prove invariants and step properties for runs of any length. One verdict for each, in the order asked
    for.

    ``symbolic`` names constants that are left free under the machine's assumptions; ``without_assumptions``
    drops some of those by name. ``k`` fixes the number of states that an induction step may look back on;
    without it 1 … ``max_k`` are tried. ``properties`` None means all, and ``no_fault``. ``lemmas`` are tried
    in the same run and used where they are proved: None means every other property of the machine, else names
    of its properties or properties of one's own; ``no_fault``, and that absent values are at their start, are
    always among them. Runs of up to ``depth`` steps (as many as k, if None) are searched for a violation before
    a property is given up. ``timeout`` is for one question to the solver, in milliseconds.

    Outcomes: ``proved``; ``violated``, with a shortest trace that the Machine itself has replayed;
    ``inconclusive`` with how far the property holds and, where induction failed, its counterexample;
    ``vacuous`` if no constants satisfy the assumptions. Ctrl-C ends with what is known. Raises KeyError for
    names that the machine has not, and :class:`~..trace.Disagreement` where the solver and plain Python
    differ.
    """
    relation = proved_reading(machine, symbolic)
    dropped = tuple(without_assumptions)
    unknown_assumption(relation, dropped)
    asked = chosen(relation, properties, JUDGED)
    helpers = tried(relation, lemmas)
    candidates = list({of.name: of for of in [*asked, *helpers]}.values())
    attempt = Attempt(relation, candidates, dropped, timeout)
    tries = range(1, max_k + 1) if k is None else range(k, k + 1)
    certain = True
    try:
        if attempt.search.possible().unsat:
            return [vacuous(relation, of, dropped) for of in asked]
        certain = closed(relation, dropped, timeout)
        names = {of.name for of in asked}
        for at in tries:
            waiting = tuple(of.name for of in attempt.open() if of.name in names)
            if not waiting:
                break
            if progress is not None:
                progress(Progress(ENGINE, relation.name, waiting, at, perf_counter() - attempt.begun))
            attempt.base(at - 1)
            attempt.step(at, names if at == tries[-1] else ())
        if any(of.name in names for of in attempt.search.pending if of.name not in attempt.proved):
            attempt.base(tries[-1] if depth is None else depth)
    except KeyboardInterrupt:
        attempt.interrupted = True
    return [answer(attempt, of, certain) for of in asked]


def tried(relation: Relation, lemmas: Sequence[str | Property] | None) -> list[Property]:
    """The lemmas of a run: all properties of the machine, or those given, and what every machine has."""
    if lemmas is None:
        named = [p for p in relation.properties if p.kind in JUDGED]
    else:
        named = [lemma if isinstance(lemma, Property) else chosen(relation, [lemma], JUDGED)[0] for lemma in lemmas]
    absent = absent_at_start(relation)
    return [*named, no_fault(relation), *([absent] if absent is not None else [])]


def answer(attempt: Attempt, of: Property, certain: bool) -> Proof:
    """The verdict on one property, from all that a run found out."""
    relation, dropped = attempt.relation, attempt.dropped
    where = scope(relation, dropped)
    seconds = attempt.seconds.get(of.name, perf_counter() - attempt.begun)
    notes = [version()]
    safe = NO_FAULT in attempt.proved
    if of.name != NO_FAULT and of.name not in attempt.violated:
        notes.append(f"{NO_FAULT} proved" if safe else f"{NO_FAULT} not proved: faults are only left out as steps")
    if not certain:
        notes.append("not shown that steps stay in the domains: the solver gave no answer")
    if of.name in attempt.proved:
        step = attempt.proved[of.name]
        timed = any(action.inputs for action in relation.actions)
        how = f"induction k={step.k}, {where}" if relation.constants else f"induction k={step.k} {where}"
        if not relation.constants and timed:
            how += "; time unbounded"
        if not safe:
            how += f"; {NO_FAULT} not proved"
        if step.needs:
            notes.append("rests on " + ", ".join(step.needs))
        sure = Outcome.PROVED if certain else Outcome.INCONCLUSIVE
        return Proof(relation.name, of.name, sure, ENGINE, how, seconds, notes=tuple(notes), k=step.k, needs=step.needs)
    if of.name in attempt.violated:
        run = attempt.violated[of.name].run
        trace = violation(relation, run, of, dropped)
        how = f"shortest in {counted(len(run.actions), 'step')}, {where}"
        return Proof(
            relation.name,
            of.name,
            Outcome.VIOLATED,
            ENGINE,
            how,
            seconds,
            trace,
            notes=(*notes, *trace.notes),
        )
    lost = [undecided for undecided in attempt.search.undecided if undecided.judged.name == of.name]
    step = attempt.failed.get(of.name)
    reasons: list[str] = ["interrupted"] if attempt.interrupted else []
    reasons += [f"{undecided.reason} at depth {undecided.depth}" for undecided in lost]
    cti: Cti | None = None
    if step is not None and step.reason:
        reasons.append(f"{step.reason} in the step at k={step.k}")
    if step is not None and step.run is not None:
        reasons.append(f"not inductive up to k={step.k}")
        cti = Cti(of.name, step.k, from_anywhere(relation, step.run, of, dropped), step.assumed)
    reasons.append(reached(of, lost[0].depth - 1 if lost else attempt.search.depth - 1))
    how = f"{'; '.join(reasons)}, {where}"
    return Proof(relation.name, of.name, Outcome.INCONCLUSIVE, ENGINE, how, seconds, notes=tuple(notes), cti=cti)


def vacuous(relation: Relation, of: Property, dropped: tuple[str, ...]) -> Proof:
    how = f"no constants satisfy the assumptions: {scope(relation, dropped)}"
    return Proof(relation.name, of.name, Outcome.VACUOUS, ENGINE, how, notes=(version(),))
