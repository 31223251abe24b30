"""The yardstick EchoLoop as a relation written by hand, from the words of the benchmark's description.

It does not go through the translation from source, so it holds the search alone to the published counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from quiesce_checks.relation.relation import GroundAction, Property, Relation, Site, Variable
from quiesce_checks.relation.terms import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Term,
    and_,
    const,
    eq,
    ite,
    le,
    min_,
    not_,
    or_,
    var,
)
from quiesce_model import Machine
from quiesce_model.language.machine import Step
from quiesce_model.language.types import Leaf

HERE = Site("explored_yardstick.py", 1)
ZERO = const(0)


class Yardstick(Machine):
    """A name for the relation; nothing runs it."""


@dataclass(frozen=True)
class Scope:
    """Sessions, threshold, window, top back-off level, quiet; and what a full search of it finds."""

    sessions: int
    threshold: int
    window: int
    top: int
    quiet: int
    distinct: int
    generated: int
    depth: int


SCOPES = {
    "base": Scope(2, 3, 4, 2, 6, 1_527, 3_474, 27),
    "small": Scope(3, 3, 4, 2, 6, 66_587, 194_185, 29),
    "mid": Scope(3, 3, 6, 3, 12, 602_960, 1_809_490, 42),
    "large": Scope(3, 3, 8, 4, 24, 5_772_337, 17_811_008, 65),
}


@dataclass(frozen=True)
class Session:
    dirty: Term
    count: Term
    window: Term
    tripped: Term
    level: Term
    wait: Term
    quiet: Term


class Fields:
    """Collects the variables as they are declared."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []

    def flag(self, name: str) -> Term:
        return self.add(name, "flag", var(name, BOOL), 1)

    def upto(self, name: str, high: int) -> Term:
        return self.add(name, "int", var(name, INT, 0, high), high)

    def add(self, name: str, kind: str, term: Term, high: int) -> Term:
        self.variables.append(Variable(Leaf(name, kind, 0, high, 0, False), term, ZERO, const(high)))
        return term


def power_of_two(exponent: Term, top: int) -> Term:
    found = const(2**top)
    for n in reversed(range(top)):
        found = ite(eq(exponent, const(n)), const(2**n), found)
    return found


def yardstick(scope: Scope, *, bug: bool = False) -> Relation:
    """``bug`` puts the false invariant ``level < top`` in place of the true one."""
    fields = Fields()
    document, agreed = fields.upto("document", scope.sessions - 1), fields.flag("agreed")
    sessions = [
        Session(
            fields.flag(f"session[{s}].dirty"),
            fields.upto(f"session[{s}].count", scope.threshold - 1),
            fields.upto(f"session[{s}].window", scope.window - 1),
            fields.flag(f"session[{s}].tripped"),
            fields.upto(f"session[{s}].level", scope.top),
            fields.upto(f"session[{s}].wait", 2**scope.top),
            fields.upto(f"session[{s}].quiet", scope.quiet - 1),
        )
        for s in range(scope.sessions)
    ]
    position = {variable.term.number: n for n, variable in enumerate(fields.variables)}
    actions: list[GroundAction] = []

    def act(step: Step, enabled: Term, changes: list[tuple[Term, Term]]) -> None:
        updates = {position[old.number]: new for old, new in changes if new is not old}
        actions.append(GroundAction(step, (), enabled, updates, HERE))

    ticks: list[tuple[Term, Term]] = []
    for x in sessions:
        lapses, closes = le(const(scope.quiet), x.quiet + 1), le(const(scope.window), x.window + 1)
        clears = and_(x.tripped, lapses)
        counts = and_(not_(x.tripped), not_(eq(x.count, ZERO)))
        ends = or_(clears, and_(counts, closes))
        waits = and_(x.tripped, not_(eq(x.wait, ZERO)))
        ticks += [
            (x.count, ite(ends, ZERO, x.count)),
            (x.window, ite(ends, ZERO, ite(counts, x.window + 1, x.window))),
            (x.tripped, and_(x.tripped, not_(lapses))),
            (x.level, ite(clears, ZERO, x.level)),
            (x.wait, ite(clears, ZERO, ite(waits, x.wait - 1, x.wait))),
            (x.quiet, ite(x.tripped, ite(lapses, ZERO, x.quiet + 1), x.quiet)),
        ]
    act(Step("elapse", (("d", 1),)), TRUE, ticks)
    act(Step("agree"), not_(agreed), [(agreed, TRUE)])
    for s, x in enumerate(sessions):
        wanted = ite(agreed, ZERO, const(s))
        echo = not_(eq(document, wanted))
        level = min_(x.level + 1, const(scope.top))
        count = x.count + 1
        trips = or_(x.tripped, le(const(scope.threshold), count))
        window = ite(eq(x.count, ZERO), ZERO, x.window)
        wait = ite(x.tripped, power_of_two(level, scope.top), ite(trips, const(1), ZERO))
        changes = [
            (document, wanted),
            (x.dirty, FALSE),
            *((other.dirty, or_(other.dirty, echo)) for other in sessions if other is not x),
            (x.count, ite(echo, ite(trips, ZERO, count), ZERO)),
            (x.window, ite(echo, ite(trips, ZERO, window), ZERO)),
            (x.tripped, and_(echo, trips)),
            (x.level, ite(and_(echo, x.tripped), level, ZERO)),
            (x.wait, ite(echo, wait, ZERO)),
            (x.quiet, ZERO),
        ]
        act(Step("run", (("s", s),)), and_(x.dirty, eq(x.wait, ZERO)), changes)
    true = and_(*(ite(x.tripped, le(x.wait, power_of_two(x.level, scope.top)), eq(x.wait, ZERO)) for x in sessions))
    false = and_(*(not_(eq(x.level, const(scope.top))) for x in sessions))
    holds = false if bug else true
    dirty = {x.dirty.number for x in sessions[1:]}
    initial = tuple(
        TRUE if v.term.number in dirty else FALSE if v.term.sort is BOOL else ZERO for v in fields.variables
    )
    judged = Property("waits_within_backoff", "invariant", (), "a wait is within its back-off", HERE, holds)
    return Relation(Yardstick(), "explored", tuple(fields.variables), initial, tuple(actions), (judged,))
