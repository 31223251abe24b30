"""An owner on a Ray cluster. What is in its boxes is given to Ray, which moves it between machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .control import Answer
from .jit import loaded
from .memory import available
from .owner import Owner, Parcel, parcel
from .transport import Plan, Report

Sent = tuple[NDArray[np.uint64], NDArray[np.uint32]]
"""What is in one box: words of states, and their parents' indexes."""


class Actor:
    """Owner ``number`` of a plan; one of ``here`` on this machine."""

    def __init__(self, plan: Plan, number: int, here: int) -> None:
        self.plan = plan
        memory = (plan.memory if plan.memory is not None else available() * 9 // 10) // here
        code = loaded(plan.module)
        self.compile_seconds = code.seconds
        self.owner = Owner(plan, number, code, memory)

    def ready(self) -> float:
        """The seconds that compiling took."""
        return self.compile_seconds

    def do(self, order: str, given: tuple[Any, ...]) -> Any:
        return getattr(self.owner, order)(*given)

    def expand(self, level: int) -> Any:
        """What ended it, and then for each owner what is in its box."""
        answer, counts = self.owner.expand(level)
        found: list[Any] = [answer, *(self.box(owner, count) for owner, count in enumerate(counts))]
        return tuple(found)

    def box(self, owner: int, count: int) -> Sent:
        """A copy, since the box is filled again before all have read it."""
        found = parcel(self.plan, self.owner.boxes, self.owner.number, owner, count)
        return found.words.copy(), found.parents.copy()

    def receive(self, answer: Answer, *sent: Sent) -> Report:
        """Look up what each owner has sent; ``answer`` is that of expanding."""
        return self.owner.receive([Parcel(origin, *found) for origin, found in enumerate(sent)], answer)
