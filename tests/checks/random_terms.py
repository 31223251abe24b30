"""Random terms and random tiny relations, and what plain evaluation says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from by_hand import Counter, act, state_property, step_judged

from quiesce_checks.relation import terms as t
from quiesce_checks.relation.relation import GroundAction, Property, Relation, Variable
from quiesce_checks.relation.terms import BOOL, INT, Term, const, evaluate, var
from quiesce_model.language.types import Leaf

State = tuple[int, ...]


def number(random: Random, numbers: list[Term], flags: list[Term], depth: int) -> Term:
    """A term of sort INT."""
    if depth == 0 or random.random() < 0.15:
        return random.choice([*numbers, const(random.randint(-4, 4))])

    def some() -> Term:
        return number(random, numbers, flags, depth - 1)

    match random.choice(("add", "sub", "mul", "div", "mod", "ite", "min", "max")):
        case "add":
            return some() + some()
        case "sub":
            return some() - some()
        case "mul":
            return some() * some()
        case "div":
            return t.div(some(), some())
        case "mod":
            return t.mod(some(), some())
        case "min":
            return t.min_(some(), some())
        case "max":
            return t.max_(some(), some())
        case _:
            return t.ite(condition(random, numbers, flags, depth - 1), some(), some())


def condition(random: Random, numbers: list[Term], flags: list[Term], depth: int) -> Term:
    """A term of sort BOOL."""
    if depth == 0:
        return random.choice(flags)

    def some() -> Term:
        return condition(random, numbers, flags, depth - 1)

    def value() -> Term:
        return number(random, numbers, flags, depth - 1)

    match random.choice(("not", "and", "or", "eq", "le", "lt", "same", "ite")):
        case "not":
            return t.not_(some())
        case "and":
            return t.and_(some(), some(), some())
        case "or":
            return t.or_(some(), some(), some())
        case "eq":
            return t.eq(value(), value())
        case "le":
            return t.le(value(), value())
        case "lt":
            return t.lt(value(), value())
        case "same":
            return t.eq(some(), some())
        case _:
            return t.ite(some(), some(), some())


def tiny_relation(seed: int) -> Relation:
    """Up to 24 states, four actions that stay in the domains, four state properties and a step property."""
    random = Random(seed)
    sizes = (4, 3)
    leaves = [Leaf(name, "int", 0, size - 1, 0, False) for name, size in zip("ab", sizes, strict=True)]
    leaves.append(Leaf("p", "flag", 0, 1, 0, False))
    numbers = [var(leaf.name, INT, 0, leaf.high) for leaf in leaves[:2]]
    flags = [var("p", BOOL)]
    found = tuple(
        Variable(leaf, term, const(leaf.low), const(leaf.high))
        for leaf, term in zip(leaves, [*numbers, *flags], strict=True)
    )
    actions: list[GroundAction] = []
    for n in range(4):
        updates: dict[int, Term] = {}
        for position in range(3):
            if random.random() < 0.6:
                updates[position] = (
                    condition(random, numbers, flags, 2)
                    if position == 2
                    else t.mod(number(random, numbers, flags, 2), const(sizes[position]))
                )
        guard = t.and_(condition(random, numbers, flags, 2), t.le(const(n % 3), numbers[0]))
        actions.append(act(f"act{n}", guard if n else t.TRUE, updates))
    properties = [
        state_property(f"state{n}", t.or_(*(condition(random, numbers, flags, 2) for _ in range(n + 1))))
        for n in range(4)
    ]
    judged = {n: condition(random, numbers, flags, 3) for n in range(0, 4, 2)}
    return Relation(
        Counter(),
        "explored",
        found,
        (const(random.randrange(4)), const(0), t.FALSE),
        tuple(actions),
        (*properties, step_judged("steps", judged)),
    )


def reader(relation: Relation, state: State) -> Callable[[str], int | bool]:
    values = {
        v.name: bool(leaf) if v.term.sort is BOOL else leaf for v, leaf in zip(relation.variables, state, strict=True)
    }
    return values.__getitem__


def successors(relation: Relation, state: State) -> Iterator[tuple[int, State]]:
    read = reader(relation, state)
    for position, action in enumerate(relation.actions):
        if evaluate(action.enabled, read):
            after = list(state)
            for variable, update in action.updates.items():
                after[variable] = int(evaluate(update, read))
            yield position, tuple(after)


def levels(relation: Relation) -> list[list[State]]:
    """All reachable states by the number of steps that it takes to get there."""
    start = tuple(int(evaluate(term, reader(relation, (0,) * len(relation.variables)))) for term in relation.initial)
    found = [[start]]
    seen = {start}
    while found[-1]:
        new = dict.fromkeys(after for state in found[-1] for _, after in successors(relation, state))
        found.append([state for state in new if state not in seen])
        seen.update(new)
    return found[:-1]


def shortest_violation(relation: Relation, judged: Property) -> int | None:
    """The number of steps of a shortest run that breaks a property, by naive breadth-first search."""
    for depth, level in enumerate(levels(relation)):
        for state in level:
            read = reader(relation, state)
            if judged.holds is not None and not evaluate(judged.holds, read):
                return depth
        if judged.steps is not None:
            for state in level:
                read = reader(relation, state)
                for position, _ in successors(relation, state):
                    if position in judged.steps and not evaluate(judged.steps[position], read):
                        return depth + 1
    return None
