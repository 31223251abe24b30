"""Owners on threads of this process: what is in a box is read where it is, and nothing is copied.

The kernel runs without holding the interpreter, so as many owners as there are processors work at once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from .control import Answer, Slot
from .interrupts import held
from .jit import loaded
from .memory import available
from .owner import Owner, parcels_for
from .transport import Plan, Report

FEW = 4096
"""States of a level up to which the owners take turns on one thread: handing over would take longer."""


class Threads:
    """See :class:`~.transport.Transport`. None of its owners is ever lost."""

    near = True

    def __init__(self, owners: int) -> None:
        self.owners = owners
        self.name = "two threads" if owners == 2 else f"{owners} threads"
        self.all: list[Owner] = []
        self.pool = ThreadPoolExecutor(max(1, owners - 1))

    def start(self, plan: Plan) -> float:
        self.plan = plan
        code = loaded(plan.module)
        memory = (plan.memory if plan.memory is not None else available() * 9 // 10) // plan.owners
        self.all = [Owner(plan, number, code, memory) for number in range(plan.owners)]
        self.boxes = [owner.boxes for owner in self.all]
        return code.seconds

    def ask(self, order: str, *given: Any) -> list[Any]:
        with held():
            return self.together(lambda owner: getattr(owner, order)(*given))

    def ask_one(self, owner: int, order: str, *given: Any) -> Any:
        return getattr(self.all[owner], order)(*given)

    def exchange(self, level: int) -> list[Report]:
        alone = sum(owner.get(Slot.COUNT) - owner.get(Slot.NEXT) for owner in self.all) <= FEW
        with held():
            filled: list[tuple[Answer, list[int]]] = self.together(lambda owner: owner.expand(level), alone)
            return self.together(lambda owner: self.receive(owner, filled), alone)

    def receive(self, owner: Owner, filled: list[tuple[Answer, list[int]]]) -> Report:
        counts = [sent[owner.number] for _, sent in filled]
        return owner.receive(parcels_for(self.plan, owner.number, self.boxes, counts), filled[owner.number][0])

    def together(self, what: Callable[[Owner], Any], alone: bool = False) -> list[Any]:
        """All owners do one thing, and wait for each other."""
        first, *others = self.all
        if alone:
            return [what(owner) for owner in self.all]
        asked: list[Future[Any]] = [self.pool.submit(what, owner) for owner in others]
        try:
            mine = what(first)
        finally:
            wait(asked)
        return [mine, *(future.result() for future in asked)]

    def revive(self) -> None:
        """There is nothing to do."""

    def stop(self) -> None:
        self.pool.shutdown()
