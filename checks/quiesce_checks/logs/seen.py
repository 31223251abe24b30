"""What a line observed of the state, checked against states of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quiesce_model.language.machine import Machine, leaves, load
from quiesce_model.language.types import STOPPED, Leaf

from ..problems import Problem, unknown

State = tuple[int, ...]

View = Callable[[Any], Any]


@dataclass(frozen=True)
class Differs:
    """A place of which the log says something else than the model. ``wanted`` is what the log says."""

    place: str
    wanted: Any
    model: Any


class Looking:
    """Looks at the leaves of a machine, and at the views that a mapping adds, by their names."""

    def __init__(self, machine: Machine, views: dict[str, View]) -> None:
        self.machine = machine
        self.views = views
        self.leaves = leaves(machine)
        self.places = {leaf.name: n for n, leaf in enumerate(self.leaves)}
        self.ghosts = {leaf.name for leaf in self.leaves if leaf.ghost}
        self._readers: dict[str, Callable[[State], Any]] = {}

    def differences(self, state: State, seen: dict[str, Any]) -> list[Differs]:
        """Where the state is not what was seen."""
        found: list[Differs] = []
        for name, wanted in seen.items():
            value = self.value(state, name)
            if not fits(value, wanted):
                found.append(Differs(name, wanted, value))
        return found

    def agrees(self, state: State, seen: dict[str, Any]) -> bool:
        return all(fits(self.value(state, name), wanted) for name, wanted in seen.items())

    def value(self, state: State, name: str) -> Any:
        """What a place or a view is in a state. Raises :class:`Problem` for a name that the model does not have."""
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = self.reader(name)
        return reader(state)

    def reader(self, name: str) -> Callable[[State], Any]:
        view = self.views.get(name)
        if view is not None:
            return lambda state: self.viewed(view, state)
        if name in self.ghosts:
            raise Problem(f"'{name}' is a ghost of the model: no log can have seen it")
        if name not in self.places:
            presence = self.places.get(f"{name}?")
            if presence is not None:  # an optional record: whether it is there
                return lambda state: bool(state[presence]) or None
            known = [leaf.name for leaf in self.leaves if not leaf.ghost]
            raise Problem(unknown("field", name, type(self.machine).__name__, [*known, *self.views]))
        at = self.places[name]
        leaf = self.leaves[at]
        present = self.places.get(f"{name}?")
        if present is not None:
            return lambda state: of_leaf(leaf, state[at]) if state[present] else None
        return lambda state: of_leaf(leaf, state[at])

    def viewed(self, view: View, state: State) -> Any:
        load(self.machine, state)
        return view(self.machine)


def of_leaf(leaf: Leaf, number: int) -> Any:
    """A leaf's number as a log has it."""
    if leaf.kind == "flag":
        return bool(number)
    if leaf.choices:
        return leaf.choices[number]
    return None if leaf.kind == "age" and number == STOPPED else number


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value of the model is what a log says, or passes the test that the mapping makes of it."""
    if callable(wanted):
        return bool(wanted(value))
    return value == wanted and (value is None) == (wanted is None)
