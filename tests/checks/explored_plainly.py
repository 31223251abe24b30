"""A breadth-first search that asks the Machine itself, step by step: what every engine is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from quiesce_checks.relation.build import saturation_limits
from quiesce_checks.relation.relation import Relation
from quiesce_checks.trace import saturate
from quiesce_model.language.machine import Machine, Step, apply, copy, is_timed, judge, load, state, steps
from quiesce_model.language.outcome import Blocked, Fault

State = tuple[int, ...]


@dataclass
class Plainly:
    """All states with their levels (the initial state is 1), and each property's nearest strike in steps."""

    levels: dict[State, int] = field(default_factory=dict[State, int])
    generated: int = 1
    nearest: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def depth(self) -> int:
        return max(self.levels.values())


class Search:
    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.limits = saturation_limits(relation)
        self.machine: Machine = copy(relation.machine)
        self.before: Machine = copy(relation.machine)
        self.steps = [*steps(self.machine), *([Step("elapse", (("d", 1),))] if is_timed(self.machine) else [])]
        self.found = Plainly()

    def run(self) -> Plainly:
        """States in order of their distance; a property strikes where it is violated, or reached if it is to be."""
        start = saturate(state(type(self.machine)(**self.machine.constants_)), self.limits)
        self.found.levels[start] = 1
        queue = [start]
        for now in queue:
            level = self.found.levels[now]
            self.judge_state(now, level)
            for after in self.successors(now, level):
                self.found.generated += 1
                if after not in self.found.levels:
                    self.found.levels[after] = level + 1
                    queue.append(after)
        return self.found

    def strike(self, name: str, distance: int) -> None:
        self.found.nearest.setdefault(name, distance)

    def judge_state(self, now: State, level: int) -> None:
        for found in self.relation.properties:
            if found.kind in ("invariant", "reachable"):
                load(self.machine, now)
                try:
                    holds = judge(self.machine, found.name)
                except Fault:
                    holds = False
                if holds == (found.kind == "reachable"):
                    self.strike(found.name, level - 1)

    def successors(self, now: State, level: int) -> Iterator[State]:
        going = False
        for step in self.steps:
            load(self.machine, now)
            try:
                apply(self.machine, step)
            except Blocked:
                continue
            except Fault:
                self.strike("no_fault", level - 1)
                continue
            self.judge_step(now, step, level)
            after = saturate(state(self.machine), self.limits)
            going = going or step.action != "elapse" or after != now
            yield after
        if not going and not self.terminal(now):
            self.strike("no_deadlock", level - 1)

    def terminal(self, now: State) -> bool:
        load(self.machine, now)
        return any(judge(self.machine, p.name) for p in self.relation.properties if p.kind == "terminal")

    def judge_step(self, now: State, step: Step, level: int) -> None:
        for found in self.relation.properties:
            judged = found.steps is not None and any(self.relation.actions[a].step == step for a in found.steps)
            if judged:
                load(self.before, now)
                try:
                    holds = judge(self.machine, found.name, self.before, step)
                except Fault:
                    holds = False
                if not holds:
                    self.strike(found.name, level)


def plainly(relation: Relation) -> Plainly:
    return Search(relation).run()
