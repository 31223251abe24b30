"""Random relations, from one variable to several words of them: every operation, odd domains, watches of every kind."""

from __future__ import annotations

from random import Random

from random_terms import condition, number

from quiesce_checks.relation import terms as t
from quiesce_checks.relation.relation import Exit, GroundAction, Property, Relation, Site, Variable
from quiesce_checks.relation.terms import BOOL, INT, Term, const, evaluate, var
from quiesce_model import Machine
from quiesce_model.language.machine import Step
from quiesce_model.language.types import Leaf

HERE = Site("explored_at_random.py", 1)
State = tuple[int, ...]


class Anything(Machine):
    """A name for the relation; nothing runs it."""


def at_random(seed: int) -> Relation:
    """Some hundreds of states at most. Widths go up to 40 bits, but few values of a wide variable are ever taken."""
    random = Random(seed)
    variables: list[Variable] = []
    sizes: list[int] = []
    numbers: list[Term] = []
    flags: list[Term] = []
    for n in range(random.randint(1, 5)):
        low, size = random.randint(-9, 9), random.randint(1, 5)
        high = low + max(size - 1, random.choice((0, 0, 6, 2**20, 2**40)))
        term = var(f"x{n}", INT, low, high)
        variables.append(Variable(Leaf(f"x{n}", "int", low, high, low, False), term, const(low), const(high)))
        sizes.append(size)
        numbers.append(term if high - low < 99 else t.mod(term, const(random.choice((3, 7, -5)))))
    for n in range(random.randint(1, 2)):
        term = var(f"p{n}", BOOL)
        variables.append(Variable(Leaf(f"p{n}", "flag", 0, 1, 0, False), term, const(0), const(1)))
        sizes.append(2)
        flags.append(term)
    order = list(range(len(variables)))
    random.shuffle(order)
    variables, sizes = [variables[i] for i in order], [sizes[i] for i in order]
    actions: list[GroundAction] = []
    for n in range(random.choice((1, 3, 5, 24, 70))):
        updates: dict[int, Term] = {}
        for position, variable in enumerate(variables):
            if random.random() < 0.4:
                updates[position] = new_value(random, variable, sizes[position], numbers, flags)
        guard = condition(random, numbers, flags, 2)
        exits = ()
        if random.random() < 0.1:
            fault = t.and_(guard, condition(random, numbers, flags, 1), condition(random, numbers, flags, 1))
            exits = (Exit("domain", fault, "x0", HERE),)
            guard = t.and_(guard, t.not_(fault))
        actions.append(GroundAction(Step(f"act{n}"), exits, guard, updates, HERE))
    properties = [
        Property(f"state{n}", random.choice(("invariant", "reachable")), (), "", HERE, judged(random, numbers, flags))
        for n in range(random.choice((1, 4, 70)))
    ]
    steps = {n: condition(random, numbers, flags, 2) for n in range(len(actions)) if random.random() < 0.5}
    properties.append(Property("steps", "step", (), "", HERE, None, steps))
    properties.append(Property("always", "invariant", (), "", HERE, t.TRUE))  # keeps a search from ending early
    initial = tuple(t.lift(v.term.sort is not BOOL and v.low.data) for v in variables)
    return Relation(Anything(), "explored", tuple(variables), initial, tuple(actions), tuple(properties))


def judged(random: Random, numbers: list[Term], flags: list[Term]) -> Term:
    return t.or_(*(condition(random, numbers, flags, 2) for _ in range(random.randint(1, 3))))


def new_value(random: Random, variable: Variable, size: int, numbers: list[Term], flags: list[Term]) -> Term:
    if variable.term.sort is BOOL:
        return condition(random, numbers, flags, 2)
    value = t.mod(number(random, numbers, flags, 2), const(size)) + variable.low
    return t.ite(condition(random, numbers, flags, 1), value, variable.term) if random.random() < 0.5 else value


def successors(relation: Relation, state: State) -> list[State]:
    """What each possible action leads to, by the plain meaning of terms."""
    values = {
        str(v.term.data): bool(leaf) if v.term.sort is BOOL else leaf
        for v, leaf in zip(relation.variables, state, strict=True)
    }
    found: list[State] = []
    for action in relation.actions:
        if evaluate(action.enabled, values.__getitem__):
            new = list(state)
            for position, term in action.updates.items():
                new[position] = int(evaluate(term, values.__getitem__))
            found.append(tuple(new))
    return found


def reachable_states(relation: Relation) -> dict[State, int]:
    """All states with their levels, the initial one 1."""
    start = tuple(int(term.data) for term in relation.initial)
    levels = {start: 1}
    queue = [start]
    for state in queue:
        for new in successors(relation, state):
            if new not in levels:
                levels[new] = levels[state] + 1
                queue.append(new)
    return levels
