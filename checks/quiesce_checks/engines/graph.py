"""An explored graph: states by index, and each one's edges in compressed rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiesce_model.language.machine import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .search import States


@dataclass(frozen=True)
class Edge:
    """One transition: state ``source`` goes by action number ``action`` to state ``target``."""

    source: int
    action: int
    target: int


@dataclass(frozen=True)
class Graph:
    """All states and all transitions, self-loops too. State 0 is the initial one.

    ``offsets`` has one entry more than there are states: the edges of state i are ``offsets[i]`` to
    ``offsets[i + 1] - 1`` of ``targets`` (states) and ``actions`` (positions in ``steps``).
    """

    states: States
    steps: tuple[Step, ...]
    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    actions: NDArray[np.uint16]

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        return len(self.targets)

    @property
    def sources(self) -> NDArray[Any]:
        """The source of each edge."""
        import numpy as np

        return np.repeat(np.arange(self.size, dtype=np.uint32), np.diff(self.offsets))

    def leaves(self, state: int) -> tuple[int, ...]:
        """A state as leaves, see ``quiesce_model.language.types``."""
        return self.states.leaves(state)

    def leaving(self, state: int) -> Iterator[Edge]:
        """The edges that leave a state."""
        for edge in range(int(self.offsets[state]), int(self.offsets[state + 1])):
            yield Edge(state, int(self.actions[edge]), int(self.targets[edge]))
