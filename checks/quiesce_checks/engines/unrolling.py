"""A relation laid out along a run: a frame of variables for each state, a choice of action for each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..relation.relation import Property, Relation
from ..relation.terms import BOOL, INT, Term
from .smt import Answer, Formula, Placement, Session, Translation


@dataclass(frozen=True)
class Run:
    """A stretch of states and steps as the solver found it.

    ``constants`` are the values of symbolic constants, ``states`` leaf tuples, ``actions`` positions in the
    relation, and ``inputs`` the free numbers of each step (the duration of an ``elapse``).
    """

    constants: tuple[tuple[str, int], ...]
    states: tuple[tuple[int, ...], ...]
    actions: tuple[int, ...]
    inputs: tuple[tuple[tuple[str, int], ...], ...]


class Unrolling:
    """The frames of one run in one session. Frames and steps are made when they are first asked for."""

    def __init__(self, relation: Relation, session: Session) -> None:
        self.relation = relation
        self.session = session
        self.constants = {
            term.data: session.variable(term.data, term.sort) for term in relation.constants if term.op == "var"
        }
        self.inputs = {term.data: term for action in relation.actions for term in action.inputs if term.op == "var"}
        slots = {v.term.data: v.term.sort for v in relation.variables if v.term.op == "var"}
        slots |= {name: term.sort for name, term in self.inputs.items()}
        self.slots = {name: session.variable(f"?{name}", sort) for name, sort in slots.items()}
        self.translation = Translation(session, self.slot)
        self.placements: list[Placement] = []
        self.placed: dict[tuple[int, int], Formula] = {}
        self.frames: list[tuple[Formula, ...]] = []
        self.choices: list[tuple[Formula, ...]] = []
        self.given: list[dict[str, Formula]] = []

    def slot(self, term: Term) -> Formula:
        """What stands for a variable in a translated term, before it is placed in a frame."""
        if term.data in self.constants:
            return self.constants[term.data]
        if term.data in self.slots:
            return self.slots[term.data]
        raise KeyError(f"{self.relation.name} has no variable {term.data!r}: state the property over its own terms")

    def frame(self, position: int) -> tuple[Formula, ...]:
        while len(self.frames) <= position:
            at = len(self.frames)
            self.frames.append(
                tuple(self.session.variable(f"{v.name}@{at}", v.term.sort) for v in self.relation.variables)
            )
        return self.frames[position]

    def choice(self, position: int) -> tuple[Formula, ...]:
        """For each action, whether it is the one taken in a step."""
        while len(self.choices) <= position:
            at = len(self.choices)
            self.choices.append(
                tuple(
                    self.session.variable(f"{action.step}!{n}@{at}", BOOL)
                    for n, action in enumerate(self.relation.actions)
                )
            )
            self.given.append({name: self.session.variable(f"{name}!@{at}", INT) for name in self.inputs})
        return self.choices[position]

    def at(self, term: Term, position: int) -> Formula:
        """A term over the state at a position (and over the inputs of the step from there)."""
        found = self.placed.get((term.number, position))
        if found is None:
            found = self.placement(position).of(self.translation.of(term))
            self.placed[term.number, position] = found
        return found

    def placement(self, position: int) -> Placement:
        """What puts a translated term into a frame."""
        while len(self.placements) <= position:
            at = len(self.placements)
            self.choice(at)
            values = dict(zip((v.term.data for v in self.relation.variables), self.frame(at), strict=True))
            values |= self.given[at]
            self.placements.append(Placement(self.session, [(slot, values[name]) for name, slot in self.slots.items()]))
        return self.placements[position]

    def initial(self) -> Formula:
        frame = self.frame(0)
        return self.session.all(
            self.session.same(frame[n], self.at(term, 0)) for n, term in enumerate(self.relation.initial)
        )

    def domain(self, position: int) -> Formula:
        """Every variable within its bounds, at one state."""
        parts: list[Formula] = []
        for variable, value in zip(self.relation.variables, self.frame(position), strict=True):
            if variable.term.op == "const":  # a domain of one value
                parts.append(self.session.same(value, self.session.constant(variable.term.data)))
                continue
            if variable.term.sort is not INT:
                continue
            value = self.session.number(value)
            parts.append(self.session.number(self.at(variable.low, position)) <= value)
            if variable.high is not None:
                parts.append(value <= self.session.number(self.at(variable.high, position)))
        return self.session.all(parts)

    def assumptions(self, dropped: Sequence[str] = ()) -> list[Formula]:
        """What the machine assumes of its symbolic constants, and the bounds that their terms promise."""
        parts = [self.within(term, self.constants[term.data]) for term in self.relation.constants]
        for assumed in self.relation.assumptions:
            if assumed.name not in dropped and assumed.holds is not None:
                parts.append(self.at(assumed.holds, 0))
        return parts

    def within(self, term: Term, value: Formula) -> Formula:
        """The bounds that a constant's or an input's own term promises."""
        return self.session.within(value, term.low, term.high) if term.sort is INT else self.session.true

    def step(self, position: int) -> list[Formula]:
        """The step from a state: exactly one action, its guard, its updates, all else kept."""
        session = self.session
        taken = self.choice(position)
        before, after = self.frame(position), self.frame(position + 1)
        parts = [session.exactly_one(taken)]
        changing: dict[int, list[Formula]] = {}
        for chosen, action in zip(taken, self.relation.actions, strict=True):
            parts.append(session.implies(chosen, self.at(action.enabled, position)))
            for term in action.inputs:
                parts.append(session.implies(chosen, self.within(term, self.given[position][term.data])))
            for variable, update in action.updates.items():
                new = self.at(update, position)
                parts.append(session.implies(chosen, session.same(after[variable], new)))
                changing.setdefault(variable, []).append(chosen)
        for n in range(len(self.relation.variables)):
            kept = after[n] == before[n]
            parts.append(session.any([*changing.get(n, ()), kept]))
        return parts

    def holds(self, judged: Property, position: int) -> Formula:
        """A state property at a state, or a step property of the step from there."""
        if judged.holds is not None:
            return self.at(judged.holds, position)
        taken = self.choice(position)
        return self.session.all(
            self.session.implies(taken[action], self.at(term, position))
            for action, term in (judged.steps or {}).items()
        )

    def distinct(self, one: int, other: int) -> Formula:
        a, b = self.frame(one), self.frame(other)
        return self.session.any(self.session.no(x == y) for x, y in zip(a, b, strict=True))

    def literal(self, name: str) -> Formula:
        return self.session.variable(name, BOOL)

    def read(self, answer: Answer, steps: int) -> Run:
        """The run of so many steps that a model describes."""
        states = tuple(tuple(answer.value(value) for value in self.frame(at)) for at in range(steps + 1))
        actions = tuple(
            next(n for n, chosen in enumerate(self.choice(at)) if answer.value(chosen)) for at in range(steps)
        )
        inputs = tuple(
            tuple((term.data, answer.value(self.given[at][term.data])) for term in self.relation.actions[action].inputs)
            for at, action in enumerate(actions)
        )
        constants = tuple((name, answer.value(value)) for name, value in self.constants.items())
        return Run(constants, states, actions, inputs)
