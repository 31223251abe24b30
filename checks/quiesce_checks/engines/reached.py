"""Whether one given state can be reached: what a counterexample to induction is worth."""

from __future__ import annotations

from dataclasses import replace

from quiesce_model.language.machine import Machine

from ..relation import terms as t
from ..relation.build import relation, saturation_limits
from ..relation.relation import Property, Site
from ..relation.terms import BOOL
from ..trace import saturate
from ..verdict import Outcome
from .explore import explore
from .search import Limits

NAME = "is_reached"
ENOUGH = Limits(states=2_000_000, seconds=10)


def reached(machine: Machine, state: tuple[int, ...], limits: Limits = ENOUGH) -> str:
    """Explore the machine's scope for a state, given as leaves (ages as old as they like).

    ``reachable in n steps``: a real run leads there. ``not reachable at this scope``: the scope was exhausted, and a
    lemma that excludes the state is missing. ``not known whether it is reachable``: ``limits`` ended the search.
    """
    made = relation(machine)
    now = saturate(state, saturation_limits(made))
    parts = [
        (v.term if value else t.not_(v.term)) if v.term.sort is BOOL else t.eq(t.to_int(v.term), t.const(value))
        for v, value in zip(made.variables, now, strict=True)
    ]
    wanted = Property(NAME, "reachable", (), "the state is reached", Site(__file__, 1), t.and_(*parts))
    found = explore(replace(made, properties=(wanted,)), (NAME,), limits=limits, confirm=None)
    verdict = found.verdict(NAME)
    if verdict.outcome is Outcome.HOLDS:
        length = verdict.trace.length if verdict.trace is not None else 0
        return f"reachable in {length} steps" if length != 1 else "reachable in 1 step"
    if verdict.outcome is Outcome.VACUOUS:
        return f"not reachable at this scope ({found.statistics.distinct:,} states, exhausted)"
    return f"not known whether it is reachable ({found.statistics.distinct:,} states looked at)"
