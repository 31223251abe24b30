"""Time that passes between two lines, and the moments in it at which a hidden step can matter."""

from __future__ import annotations

from quiesce_model.language.machine import Machine, leaves

from .seen import State


class Time:
    """Lets time pass over states of one machine, as the machine's own ``elapse`` does."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ages = [n for n, leaf in enumerate(leaves(machine)) if leaf.kind == "age"]
        self.rests = [n for n, leaf in enumerate(leaves(machine)) if leaf.kind == "left"]
        self.numbers = [n for n, leaf in enumerate(leaves(machine)) if leaf.kind in ("int", "counter")]
        self._compared: list[tuple[int, tuple[int, ...]]] | None = None

    def later(self, state: State, d: int) -> State:
        """The state ``d`` units later."""
        if d == 0:
            return state
        row = list(state)
        for n in self.ages:
            if row[n] >= 0:
                row[n] += d
        for n in self.rests:
            left = row[n] - d
            row[n] = left if left > 0 else 0
        return tuple(row)

    def next_edge(self, state: State) -> int | None:
        """How long until something ends: a rest is over, or an age reaches or passes what it is compared with: numbers
        of the constants, or ones that the state holds. None if nothing will."""
        nearest: int | None = None
        for n in self.rests:
            left = state[n]
            if left > 0 and (nearest is None or left < nearest):
                nearest = left
        held = [state[n] for n in self.numbers]
        for n, limits in self.compared():
            age = state[n]
            if age >= 0:
                for limit in (*limits, *held):
                    distance = limit - age if age < limit else 1 if age == limit else 0
                    if distance and (nearest is None or distance < nearest):
                        nearest = distance
        return nearest

    def compared(self) -> list[tuple[int, tuple[int, ...]]]:
        """For each age, what it is compared with at this scope."""
        if self._compared is None:
            from ..relation import terms as t
            from ..relation.build import proof_relation

            made = proof_relation(self.machine)
            values = {name: int(value) for name, value in self.machine.constants_.items()}
            self._compared = [
                (
                    clock.variable,
                    tuple(sorted({int(t.evaluate(term, values.__getitem__)) for term in clock.compared})),
                )
                for clock in made.clocks
            ]
        return self._compared
