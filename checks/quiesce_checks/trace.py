"""A run of a machine, as every engine answers with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from quiesce_model.language.machine import Machine, Step, apply, copy, leaves, load, state
from quiesce_model.language.outcome import Blocked, Fault

from .relation.relation import Site


@dataclass(frozen=True)
class Failure:
    """How a trace ends: the property that its last state or step breaks, or the fault of its last attempt."""

    property: str
    text: str
    site: Site | None = None
    attempted: Step | None = None


@dataclass(frozen=True)
class Trace:
    """States as leaf tuples (see ``quiesce_model.language.types``), one more than steps.

    ``machine`` gives class and constants; its own state is not used. ``loop`` is the position of the state that the
    last one goes back to, for a run that goes on for ever.
    """

    machine: Machine
    states: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    failure: Failure | None = None
    loop: int | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def length(self) -> int:
        return len(self.steps)


class Disagreement(AssertionError):
    """Two readings of one model differ: a bug of this tool, never of the model."""


def saturate(values: tuple[int, ...], limits: tuple[int | None, ...]) -> tuple[int, ...]:
    """Ages past their limit at it, all else as it is."""
    return tuple(v if m is None or v <= m else m for v, m in zip(values, limits, strict=True))


def replay(machine: Machine, steps: tuple[Step, ...], limits: tuple[int | None, ...] | None = None) -> Trace:
    """Let the Machine itself take the steps from its initial state.

    ``limits`` are the leaves' saturation points (None: none). Raises :class:`Disagreement` if a step is not
    possible, since a trace comes from an engine that says that it is.
    """
    runner = type(machine)(without=machine.without_, unchecked=machine.unchecked_, **machine.constants_)
    limits = limits or (None,) * len(leaves(runner))
    states = [saturate(state(runner), limits)]
    for position, step in enumerate(steps):
        try:
            apply(runner, step)
        except (Blocked, Fault) as outcome:
            raise Disagreement(f"step {position + 1}, {step}, is not possible under plain Python: {outcome}") from None
        load(runner, saturate(state(runner), limits))
        states.append(state(runner))
    return Trace(copy(runner), tuple(states), steps)
