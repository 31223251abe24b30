"""A relation without its history: ghosts decide nothing, so those who look at no property can leave them out."""

from __future__ import annotations

from dataclasses import replace

from .relation import GroundAction, Relation
from .terms import Term, not_, or_, variables


def without_ghosts(relation: Relation) -> Relation:
    """The same steps over the same variables, with each ghost staying what it is at the start, and no properties.

    States that differ in nothing but what happened before are then one state. That no guard and no other field reads a
    ghost was checked as the relation was built.
    """
    ghosts = {n for n, variable in enumerate(relation.variables) if variable.leaf.ghost}
    if not ghosts:
        return replace(relation, properties=())
    terms = {relation.variables[n].term.number for n in ghosts}

    def of_history(condition: Term) -> bool:
        return any(used.number in terms for used in variables([condition]))

    def plain(action: GroundAction) -> GroundAction:
        exits = tuple(exit for exit in action.exits if not of_history(exit.condition))
        assert all(exit in exits or exit.kind != "blocked" for exit in action.exits), "no guard comes after a ghost"
        enabled = action.enabled
        if of_history(enabled):  # a ghost that leaves its domain is a mistake of the model, and ends nothing here
            enabled = not_(or_(*[exit.condition for exit in exits]))
        updates = {n: new for n, new in action.updates.items() if n not in ghosts}
        return replace(action, exits=exits, enabled=enabled, updates=updates)

    actions = tuple(plain(action) for action in relation.actions)
    clocks = tuple(clock for clock in relation.clocks if clock.variable not in ghosts)
    return replace(relation, actions=actions, properties=(), clocks=clocks)
