"""Indexes that are interchangeable: which leaves they move, and whether the machine really does not tell them apart.

If exchanging indexes turns every step into a step and leaves every property as it is, it is enough to visit one of all
states that differ by an exchange (Ip and Dill, *Better verification through symmetry*, 1996). That the machine starts
in a state that is not symmetric itself does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quiesce_model.language.fields import EachOf
from quiesce_model.language.machine import Machine

from ..relation.relation import Relation

State = tuple[int, ...]


class Asymmetric(ValueError):
    """What is declared symmetric is not: the text says which field, and which action or property tells."""


@dataclass(frozen=True)
class Group:
    """Fields whose indexes are exchanged together. ``elements`` has for each index the positions of its leaves, in one
    order for all."""

    fields: tuple[str, ...]
    elements: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        return " and ".join(self.fields)

    def moved(self, state: State, order: Sequence[int]) -> State:
        """The state with element ``order[i]`` in the place of element i."""
        new = list(state)
        for place, source in zip(self.elements, order, strict=True):
            for at, from_ in zip(place, self.elements[source], strict=True):
                new[at] = state[from_]
        return tuple(new)

    def representative(self, state: State) -> State:
        """The same for all states that differ by an exchange: the elements in the order of their values."""
        order = sorted(range(len(self.elements)), key=lambda i: [state[at] for at in self.elements[i]])
        return self.moved(state, order)


def declared(machine: Machine) -> tuple[str, ...]:
    """The fields that the machine declares symmetric."""
    return tuple(f.name for f in type(machine).__fields__ if isinstance(f.spec, EachOf) and f.spec.symmetric)


def groups(relation: Relation, names: Iterable[str]) -> tuple[Group, ...]:
    """The groups of some fields. Fields of one size, named by the same constant, have the same indexes.

    Raises :class:`Asymmetric` for a field that has no indexes.
    """
    machine = type(relation.machine)
    specs = {field.name: field.spec for field in machine.__fields__}
    together: dict[object, list[str]] = {}
    for name in names:
        spec = specs.get(name)
        if not isinstance(spec, EachOf):
            raise Asymmetric(f"{relation.name}.{name} has no indexes to exchange: name fields that are each(…)")
        together.setdefault(spec.size if isinstance(spec.size, str) else name, []).append(name)
    found = [Group(tuple(fields), elements(relation, fields)) for fields in together.values()]
    return tuple(group for group in found if len(group.elements) > 1)


def elements(relation: Relation, fields: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    while True:
        index = len(found)
        starts = tuple(f"{field}[{index}]" for field in fields)
        members = tuple(n for n, variable in enumerate(relation.variables) if variable.name.startswith(starts))
        if not members:
            return tuple(found)
        found.append(members)


def representative(state: State, exchanged: Sequence[Group]) -> State:
    for group in exchanged:
        state = group.representative(state)
    return state
