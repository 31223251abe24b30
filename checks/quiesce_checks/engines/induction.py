"""k-induction: what holds in the first k states, and after any k states in which it holds, holds for ever.
 Several properties are proved together: each may assume that all the others held so far. Those whose step
fails are left out and the rest is asked again, until what remains carries itself; it is then assumed
everywhere, and what was left out gets another try, first at the same k, then at the next. The states of a
step are made to differ from each other, but only where a model has two that are equal: with that, k-induction
is complete for finite systems.
 After M. Sheeran, S. Singh, G. Stålmarck, *Checking safety properties using induction and a SAT-solver*,
FMCAD 2000; N. Eén, N. Sörensson, *Temporal induction by incremental SAT solving*, 2003; and, for the set that
carries itself, C. Flanagan, K. R. M. Leino, *Houdini, an annotation assistant for ESC/Java*, FME 2001.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..relation.relation import Property, Relation
from .bounded import SMALL, TIMEOUT
from .smt import Answer, Formula, Session, Solver
from .unrolling import Run, Unrolling


@dataclass(frozen=True)
class Step:
    """The induction step of one property: carried (``run`` and ``reason`` empty), or why not.

    ``needs`` names the hypotheses that the solver used, the property itself left out. ``run`` is the
    counterexample to induction: states in which every hypothesis holds, and a step to where the property
    fails. ``reason`` is the solver's, where it gave no answer. ``assumed`` names all hypotheses that were on
    offer.
    """

    judged: Property
    k: int
    needs: tuple[str, ...] = ()
    run: Run | None = None
    reason: str = ""
    assumed: tuple[str, ...] = ()

    @property
    def carried(self) -> bool:
        return self.run is None and not self.reason


class StepCase:
    """k steps from anywhere: the solver knows the relation, the domains and what is proved, and no initial
    state.

    The states are 0 … k; a state property is judged in state k, a step property on the step to it. The events
    of a run in their order are state 0, step 0, state 1, …: every candidate is assumed at the events before
    the one that is judged.
    """

    def __init__(
        self,
        relation: Relation,
        k: int,
        candidates: Sequence[Property],
        proved: Sequence[Property],
        *,
        dropped: Sequence[str],
        timeout: int | None,
    ) -> None:
        self.k = k
        self.session = Session()
        self.unrolling = Unrolling(relation, self.session)
        self.solver: Solver = self.session.solver(timeout)
        unrolling = self.unrolling
        self.solver.add(*unrolling.assumptions(dropped))
        for at in range(k + 1):
            self.solver.add(unrolling.domain(at))
        for at in range(k):
            self.solver.add(*unrolling.step(at))
        self.hypotheses = {of.name: self.literal("if", of, self.before(of)) for of in candidates}
        self.last_steps = {
            of.name: self.literal("last", of, [unrolling.holds(of, k - 1)]) for of in candidates if of.steps is not None
        }
        self.known = {of.name: self.literal("known", of, self.everywhere(of)) for of in proved}
        self.wrong = {
            of.name: self.literal("not", of, [self.session.no(unrolling.holds(of, k if of.steps is None else k - 1))])
            for of in candidates
        }
        self.names = {
            str(literal): name
            for named in (self.hypotheses, self.last_steps, self.known)
            for name, literal in named.items()
        }

    def literal(self, role: str, of: Property, meaning: Sequence[Formula]) -> Formula:
        """A switch that, when it is assumed, makes the solver assume ``meaning``."""
        switch = self.unrolling.literal(f"{role} {of.name}")
        self.solver.add(self.session.implies(switch, self.session.all(meaning)))
        return switch

    def before(self, of: Property) -> list[Formula]:
        count = self.k if of.steps is None else self.k - 1
        return [self.unrolling.holds(of, at) for at in range(count)]

    def everywhere(self, of: Property) -> list[Formula]:
        count = self.k + 1 if of.steps is None else self.k
        return [self.unrolling.holds(of, at) for at in range(count)]

    def ask(self, goal: Property, assumed: Sequence[Property], shown: bool) -> Step:
        """Whether the candidates in ``assumed`` and all that is proved carry the goal over k steps.

        A counterexample that is to be ``shown`` is made small.
        """
        switches = [*self.known.values(), *(self.hypotheses[of.name] for of in assumed)]
        if goal.steps is None:
            switches += [self.last_steps[of.name] for of in assumed if of.steps is not None]
        answer = self.distinct(goal, switches)
        names = tuple(of.name for of in assumed)
        if answer.unsat:
            used = {self.names[literal] for literal in answer.core if literal in self.names} - {goal.name}
            return Step(goal, self.k, needs=tuple(sorted(used)))
        if answer.sat:
            small = self.smallest(goal, switches) if shown else None
            return Step(goal, self.k, run=self.unrolling.read(small or answer, self.k), assumed=names)
        return Step(goal, self.k, reason=answer.reason)

    def distinct(self, goal: Property, switches: Sequence[Formula]) -> Answer:
        """Ask, and whenever two of the first k states come out equal, ask again for them to differ.

        The states of a shortest run to a violation differ from each other, so nothing is lost.
        """
        while True:
            answer = self.solver.check(*switches, self.wrong[goal.name])
            pair = self.equal_pair(answer) if answer.sat else None
            if pair is None:
                return answer
            self.solver.add(self.unrolling.distinct(*pair))

    def equal_pair(self, answer: Answer) -> tuple[int, int] | None:
        seen: dict[tuple[int, ...], int] = {}
        for at in range(self.k):
            leaves = tuple(answer.value(value) for value in self.unrolling.frame(at))
            if leaves in seen:
                return seen[leaves], at
            seen[leaves] = at
        return None

    def smallest(self, goal: Property, switches: Sequence[Formula]) -> Answer | None:
        """A counterexample to induction with small constants and durations, for people."""
        unrolling = self.unrolling
        free = [*unrolling.constants.values()]
        free += [value for at in range(self.k) for value in unrolling.given[at].values()]
        numbers = [value for value in free if self.session.numeric(value)]
        for limit in SMALL if numbers else ():
            small = unrolling.literal(f"small {limit}")
            bounds = self.session.all(self.session.within(value, 0, limit) for value in numbers)
            self.solver.add(self.session.implies(small, bounds))
            answer = self.distinct(goal, [*switches, small])
            if answer.sat:
                return answer
        return None


@dataclass(frozen=True)
class Round:
    """What a try at one k came to: the steps that are carried, and those that are not."""

    carried: tuple[Step, ...]
    failed: tuple[Step, ...]


def carry(
    relation: Relation,
    k: int,
    candidates: Sequence[Property],
    proved: Sequence[Property],
    *,
    dropped: Sequence[str] = (),
    timeout: int | None = TIMEOUT,
    shown: Collection[str] = (),
) -> Round:
    """The largest set of candidates that carries itself over k steps, given what is proved, and why the
    others fail.

    Says nothing of the base case. ``shown`` names properties whose counterexamples people will look at: those
    are made small.
    """
    case = StepCase(relation, k, candidates, proved, dropped=dropped, timeout=timeout)
    kept = list(candidates)
    failed: list[Step] = []
    while True:
        answers = [case.ask(goal, kept, goal.name in shown) for goal in kept]
        if all(answer.carried for answer in answers):
            return Round(tuple(answers), tuple(failed))
        failed += [answer for answer in answers if not answer.carried]
        kept = [answer.judged for answer in answers if answer.carried]
