"""Exchanges of indexes tried out: does the machine tell them apart?"""

from __future__ import annotations

from collections import Counter
from random import Random

from .interpreted import Readable, readable
from .program import Program
from .symmetry import Asymmetric, Group, State

SAMPLED, WALKS, STEPS = 300, 40, 40
"""States nearest to the initial one, and walks and steps to farther ones, on which exchanges are tried."""


def check(program: Program) -> None:
    """Exchange indexes at random in some hundred reachable states, and compare all steps and properties.

    Raises :class:`Asymmetric`, naming the field, and the action or property that tells indexes apart. That nothing was
    found is no proof; but since states are kept as they are and only compared up to an exchange, whatever a search
    then finds is real.
    """
    functions = readable(program)
    random = Random(0)
    states = sample(program, functions, random)
    for group in program.symmetric:
        for state in states:
            order = list(range(len(group.elements)))
            random.shuffle(order)
            try_exchange(program, functions, group, state, order)


def sample(program: Program, functions: Readable, random: Random) -> list[State]:
    """Different reachable states: near ones, and some on walks on which a part of the actions is left out."""
    found = dict.fromkeys([program.initial])
    queue = [program.initial]
    for state in queue:
        if len(found) >= SAMPLED:
            break
        for _, new in functions.expand(state):
            if new not in found:
                found[new] = None
                queue.append(new)
    for _ in range(WALKS):
        state = program.initial
        on = {move for move in range(len(program.moves)) if random.random() < 0.6}
        for _ in range(STEPS):
            possible = functions.expand(state)
            chosen = [pair for pair in possible if pair[0] in on] or possible
            if not chosen:
                break
            _, state = random.choice(chosen)
            found[state] = None
    return list(found)


def try_exchange(program: Program, functions: Readable, group: Group, state: State, order: list[int]) -> None:
    moved = group.moved(state, order)
    for judge in (functions.judge_state, functions.judge_expanded):
        differ = sorted(set(judge(state)) ^ set(judge(moved)))
        if differ:
            told = f"{program.watches[differ[0]].name} holds in one of two states that differ by an exchange alone"
            raise Asymmetric(sentence(program, group, told))
    before = by_action(program, [(move, group.moved(new, order)) for move, new in functions.expand(state)])
    after = by_action(program, functions.expand(moved))
    for name in dict.fromkeys([*before, *after]):
        mine, its = before.get(name, Counter()), after.get(name, Counter())
        if mine != its:
            raise Asymmetric(sentence(program, group, f"action {name} {difference(program, mine - its, its - mine)}"))


def by_action(program: Program, successors: list[tuple[int, State]]) -> dict[str, Counter[State]]:
    found: dict[str, Counter[State]] = {}
    for move, new in successors:
        found.setdefault(program.relation.actions[move].step.action, Counter())[new] += 1
    return found


def difference(program: Program, mine: Counter[State], its: Counter[State]) -> str:
    """What an action does otherwise after an exchange."""
    if not mine or not its:
        return "is possible for one index where it is not for another"
    pairs = [([n for n, (a, b) in enumerate(zip(x, y, strict=True)) if a != b], x) for x in mine for y in its]
    differs, _ = min(pairs, key=lambda pair: len(pair[0]))
    names = ", ".join(program.relation.variables[n].name for n in differs[:3])
    return f"tells indexes apart by what it does to {names}"


def sentence(program: Program, group: Group, told: str) -> str:
    name = program.relation.name
    return f"{name}.{group.name} is taken to be symmetric, but {told}: leave symmetric=True out, or treat all alike"
