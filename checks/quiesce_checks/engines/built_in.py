"""The properties that every machine has without stating them."""

from __future__ import annotations

from quiesce_model.language.types import STOPPED

from ..relation.relation import Property, Relation
from ..relation.terms import BOOL, TRUE, Term, and_, const, eq, lt, not_, or_

NO_FAULT = "no_fault"
"""The property that every machine has: no attempt of an action leaves a domain or uses what is absent."""

ABSENT = "absent_at_start"
"""The lemma that every machine with optional values has: absence is one state."""

NO_DEADLOCK = "no_deadlock"
"""The property that something can happen in every state that is not declared terminal."""


def no_fault(relation: Relation) -> Property:
    """No fault in any reachable state, as a property like others.

    The domains of the variables hold in every state because a step that would leave them is a fault and no
    step; this property says that no such step is ever attempted.
    """
    faults = [exit for action in relation.actions for exit in action.exits if exit.kind != "blocked"]
    return Property(
        NO_FAULT,
        "invariant",
        (),
        "no action leaves a domain, uses an absent value or an index out of range",
        relation.actions[0].site,
        not_(or_(*(fault.condition for fault in faults))) if faults else TRUE,
    )


def absent_at_start(relation: Relation) -> Property | None:
    """That what lies in an absent value is at its start; None if the machine has no optional values.

    The language sees to it, so this is a lemma that every proof may try.
    """
    parts: list[Term] = []
    for present in relation.variables:
        if not present.name.endswith("?"):
            continue
        whole = present.name[:-1]
        inside = [v for v in relation.variables if v.name == whole or v.name.startswith((f"{whole}.", f"{whole}["))]
        starts = (eq(v.term, const(bool(v.leaf.start) if v.term.sort is BOOL else v.leaf.start)) for v in inside)
        parts.append(or_(present.term, and_(*starts)))
    if not parts:
        return None
    text = "what lies in an absent value is at its start"
    return Property(ABSENT, "invariant", (), text, relation.actions[0].site, and_(*parts))


def no_deadlock(relation: Relation) -> Property:
    """Some action is possible, or time changes something that anyone can tell, or stopping here is right."""
    limits = {clock.variable: clock.saturation for clock in relation.clocks}
    going: list[Term] = [p.holds for p in relation.properties if p.kind == "terminal" and p.holds is not None]
    for action in relation.actions:
        if action.step.action != "elapse":
            going.append(action.enabled)
            continue
        for position, variable in enumerate(relation.variables):
            if variable.leaf.kind == "left":
                going.append(lt(const(0), variable.term))
            elif variable.leaf.kind == "age":
                going.append(and_(not_(eq(variable.term, const(STOPPED))), lt(variable.term, limits[position])))
    text = "nothing can happen here, and the machine does not call it terminal"
    return Property(NO_DEADLOCK, "invariant", (), text, relation.actions[0].site, or_(*going))
