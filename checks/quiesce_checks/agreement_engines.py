"""The two compiled readings of a model, asked what the other readings are asked: Python source and formulas.

Native code is compared elsewhere, on whole state graphs, since it answers with graphs; see ``engines/explore.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from quiesce_model.language.machine import Machine, Step

from .agreement import State, Terms
from .engines.interpreted import readable
from .engines.program import program
from .engines.smt import Answer, Formula, Session, Translation
from .relation.build import relation
from .relation.terms import BOOL, INT, Term


class Formulas(Terms):
    """The relation's terms as Z3 reads them: one question to the solver for each state, which fixes every variable."""

    name = "formulas"

    def __init__(self, machine: Machine) -> None:
        super().__init__(relation(machine))
        self.session = Session()
        self.variables: dict[str, Formula] = {
            v.name: self.session.variable(v.name, BOOL if v.term.sort is BOOL else INT) for v in self.made.variables
        }
        self.translation = Translation(self.session, lambda term: self.variables[term.data])
        self.fixed: tuple[State, Answer] | None = None

    def at(self, now: State) -> Answer:
        """A model in which the variables are the state's leaves."""
        if self.fixed is None or self.fixed[0] != now:
            solver = self.session.solver()
            for variable, leaf in zip(self.made.variables, now, strict=True):
                value = bool(leaf) if variable.term.sort is BOOL else leaf
                solver.add(self.variables[variable.name] == self.session.constant(value))
            self.fixed = now, solver.check()
        return self.fixed[1]

    def value(self, term: Term, now: State) -> int:
        return self.at(now).value(self.translation.of(term))

    def reader(self, position: int, now: State) -> Callable[[Term], int | bool]:
        return lambda term: self.value(term, now)


def successors(machine: Machine, states: list[State]) -> list[dict[Step, State]]:
    """For each state the steps that are possible and where they lead, by the terms as Python source."""
    made = relation(machine)
    expand = readable(program(made, ())).expand
    steps = [action.step for action in made.actions]
    return [{steps[number]: tuple(after) for number, after in expand(now)} for now in states]
