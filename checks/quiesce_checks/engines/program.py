"""What a search runs: the steps of a relation, and the conditions to watch for, all as terms over one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..relation.relation import Exit, GroundAction, Property, Relation
from ..relation.terms import Term, and_, eq, not_, or_
from .built_in import NO_DEADLOCK, NO_FAULT
from .packing import Layout, layout
from .ranges import check_ranges
from .symmetry import Group

ELAPSE = "elapse"
JUDGED = ("invariant", "step", "reachable")
"""The kinds of property that a search over states and steps decides."""


@dataclass(frozen=True)
class Watch:
    """A condition whose first state is noted: the violation of a property, or for ``reachable`` its witness.

    ``at`` says when it is evaluated: on every new ``state``, or on every state as it is ``expanded`` (steps, faults,
    deadlock). In breadth-first order the first is a nearest one.
    """

    name: str
    kind: Literal["invariant", "step", "reachable", "fault", "deadlock"]
    at: Literal["state", "expanded"]
    condition: Term
    declared: Property | None = None

    @property
    def violation(self) -> bool:
        return self.kind != "reachable"


@dataclass(frozen=True)
class Move:
    """One ground action: the new state has ``updates`` (by variable) where ``enabled`` holds."""

    enabled: Term
    updates: Mapping[int, Term]


@dataclass(frozen=True)
class Program:
    """A search problem: ``initial`` is one state as leaves, ``moves`` are in the order of the relation's actions.

    States that differ only by an exchange of indexes of ``symmetric`` groups count as one.
    """

    relation: Relation
    layout: Layout
    initial: tuple[int, ...]
    moves: tuple[Move, ...]
    watches: tuple[Watch, ...]
    symmetric: tuple[Group, ...] = ()

    def at(self, when: Literal["state", "expanded"]) -> tuple[int, ...]:
        """Positions of the watches of one time."""
        return tuple(i for i, watch in enumerate(self.watches) if watch.at == when)


def faults(action: GroundAction) -> tuple[Exit, ...]:
    return tuple(leave for leave in action.exits if leave.kind != "blocked")


def program(relation: Relation, properties: Iterable[str] | None = None, *, deadlock: bool | None = None) -> Program:
    """Everything that is decided by visiting every state, or only the properties named.

    ``no_fault`` is always watched. ``no_deadlock`` is watched if the machine declares a ``terminal`` state, if it is
    named, or if ``deadlock`` says so. Raises KeyError for an unknown property, ValueError for one of another engine.
    """
    if relation.reading != "explored":
        raise ValueError(f"{relation.name} was read to be {relation.reading}; exploration needs the reading 'explored'")
    places = layout(relation)
    check_ranges(relation, (*JUDGED, "terminal"))
    named = None if properties is None else list(properties)
    watches = [watch(relation, found) for found in chosen(relation, named)]
    declares_terminal = any(found.kind == "terminal" for found in relation.properties)
    wanted = (declares_terminal and named is None) or NO_DEADLOCK in (named or ()) or "terminal" in (named or ())
    if wanted if deadlock is None else deadlock:
        watches.append(Watch(NO_DEADLOCK, "deadlock", "expanded", stuck(relation)))
    broken = or_(*(leave.condition for action in relation.actions for leave in faults(action)))
    watches.append(Watch(NO_FAULT, "fault", "expanded", broken))
    return Program(
        relation,
        places,
        tuple(int(value.data) for value in relation.initial),
        tuple(Move(action.enabled, action.updates) for action in relation.actions),
        tuple(watches),
    )


def chosen(relation: Relation, named: list[str] | None) -> list[Property]:
    if named is None:
        return [found for found in relation.properties if found.kind in JUDGED]
    found: list[Property] = []
    for name in named:
        if name in (NO_FAULT, NO_DEADLOCK):
            continue
        one = relation.property_named(name)
        if one.kind == "terminal":
            continue
        if one.kind not in JUDGED:
            raise ValueError(f"{relation.name}.{name} is of kind {one.kind}, which exploration does not decide")
        found.append(one)
    return found


def watch(relation: Relation, found: Property) -> Watch:
    if found.steps is not None:
        broken = or_(*(and_(relation.actions[a].enabled, not_(holds)) for a, holds in found.steps.items()))
        return Watch(found.name, "step", "expanded", broken, found)
    if found.holds is None:
        raise ValueError(f"{relation.name}.{found.name} has no condition on states")
    if found.kind == "reachable":
        return Watch(found.name, "reachable", "state", found.holds, found)
    return Watch(found.name, "invariant", "state", not_(found.holds), found)


def stuck(relation: Relation) -> Term:
    """No action is possible but time that changes nothing, and stopping here was not declared right."""
    right = or_(*(p.holds for p in relation.properties if p.kind == "terminal" and p.holds is not None))
    going: list[Term] = []
    for action in relation.actions:
        if action.step.action == ELAPSE:
            moved = [not_(eq(new, relation.variables[v].term)) for v, new in action.updates.items()]
            going.append(and_(action.enabled, or_(*moved)))
        else:
            going.append(action.enabled)
    return and_(not_(or_(*going)), not_(right))
