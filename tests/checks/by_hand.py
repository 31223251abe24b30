"""Tiny machines with their relations written by hand, so that a test can break either of the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quiesce_checks.relation.relation import Clock, Exit, GroundAction, Property, Relation, Site, Variable
from quiesce_checks.relation.terms import (
    BOOL,
    INT,
    TRUE,
    Term,
    and_,
    const,
    eq,
    implies,
    ite,
    le,
    lift,
    lt,
    max_,
    min_,
    not_,
    or_,
    var,
)
from quiesce_model import (
    Age,
    Left,
    Machine,
    action,
    age,
    assumption,
    constant,
    flag,
    invariant,
    left,
    step_property,
    upto,
)
from quiesce_model.language.machine import Step, leaves

HERE = Site("by_hand.py", 1)


def state_property(name: str, holds: Term, kind: str = "invariant") -> Property:
    return Property(name, kind, (), name.replace("_", " "), HERE, holds)


def step_judged(name: str, steps: Mapping[int, Term]) -> Property:
    return Property(name, "step", (), name.replace("_", " "), HERE, None, steps)


def act(
    name: str,
    enabled: Term,
    updates: Mapping[int, Term],
    *,
    args: tuple[tuple[str, int], ...] = (),
    exits: Sequence[Exit] = (),
    inputs: tuple[Term, ...] = (),
) -> GroundAction:
    return GroundAction(Step(name, args), tuple(exits), enabled, updates, HERE, inputs)


def variables_of(machine: Machine, *bounds: tuple[Term | int, Term | int | None]) -> tuple[Variable, ...]:
    """The machine's leaves as variables with these bounds; bounds that are numbers are told to the term."""
    found: list[Variable] = []
    for leaf, (low, high) in zip(leaves(machine), bounds, strict=True):
        numbers = [b if isinstance(b, int) else None for b in (low, high)]
        term = var(leaf.name, BOOL if leaf.kind == "flag" else INT, *numbers)
        found.append(Variable(leaf, term, lift(low), None if high is None else lift(high)))
    return tuple(found)


class Counter(Machine):
    """Counts up by ``by``, but not past ``limit``; may start again."""

    limit: int = constant(3)
    by: int = constant(1)
    n: int = upto(lambda c: c.limit)

    @action()
    def up(self) -> None:
        self.require(self.n < self.limit)
        self.n = self.n + self.by

    @action()
    def again(self) -> None:
        self.require(self.n == self.limit)
        self.n = 0

    @invariant()
    def below_limit(self) -> bool:
        return self.n < self.limit

    @step_property(on="up")
    def up_grows(self, before: Counter) -> bool:
        return self.n > before.n


def counter(limit: int = 3, by: int = 1) -> Relation:
    machine = Counter(limit=limit, by=by)
    (n,) = variables_of(machine, (0, limit))
    grown = n.term + by
    fits = le(grown, const(limit))
    return Relation(
        machine,
        "explored",
        (n,),
        (const(0),),
        (
            act(
                "up",
                and_(lt(n.term, const(limit)), fits),
                {0: grown},
                exits=(
                    Exit("blocked", not_(lt(n.term, const(limit))), "", HERE),
                    Exit("domain", and_(lt(n.term, const(limit)), not_(fits)), "n", HERE),
                ),
            ),
            act(
                "again",
                eq(n.term, const(limit)),
                {0: const(0)},
                exits=(Exit("blocked", not_(eq(n.term, const(limit))), "", HERE),),
            ),
        ),
        (
            state_property("below_limit", lt(n.term, const(limit))),
            step_judged("up_grows", {0: lt(n.term, grown)}),
            state_property("seen_two", eq(n.term, const(2)), "reachable"),
        ),
    )


class Mutex(Machine):
    """Two processes and a turn. ``polite`` off: nobody looks at the other's wish."""

    polite: bool = constant(True)
    wants0: bool = flag()
    wants1: bool = flag()
    turn: int = upto(1)
    inside0: bool = flag()
    inside1: bool = flag()

    @action(p=2)
    def ask(self, p: int) -> None:
        if p == 0:
            self.require(not self.wants0)
            self.wants0 = True
        else:
            self.require(not self.wants1)
            self.wants1 = True
        self.turn = 1 - p

    @action(p=2)
    def enter(self, p: int) -> None:
        if p == 0:
            self.require(self.wants0 and not self.inside0)
            self.require(not self.polite or not self.wants1 or self.turn == 0)
            self.inside0 = True
        else:
            self.require(self.wants1 and not self.inside1)
            self.require(not self.polite or not self.wants0 or self.turn == 1)
            self.inside1 = True

    @action(p=2)
    def leave(self, p: int) -> None:
        if p == 0:
            self.require(self.inside0)
            self.inside0 = False
            self.wants0 = False
        else:
            self.require(self.inside1)
            self.inside1 = False
            self.wants1 = False

    @invariant()
    def exclusive(self) -> bool:
        return not (self.inside0 and self.inside1)

    @invariant()
    def inside_wants(self) -> bool:
        return (not self.inside0 or self.wants0) and (not self.inside1 or self.wants1)

    @invariant()
    def the_other_yields(self) -> bool:
        return (not self.inside0 or not self.wants1 or self.turn == 0) and (
            not self.inside1 or not self.wants0 or self.turn == 1
        )


def mutex(polite: bool = True) -> Relation:
    machine = Mutex(polite=polite)
    found = variables_of(machine, (0, 1), (0, 1), (0, 1), (0, 1), (0, 1))
    wants = (found[0].term, found[1].term)
    turn = found[2].term
    inside = (found[3].term, found[4].term)
    yields = [or_(not_(wants[1 - p]), eq(turn, const(p))) if polite else TRUE for p in (0, 1)]
    actions = [
        *(
            act("ask", not_(wants[p]), {p: TRUE, 2: const(1 - p)}, args=(("p", p),))
            for p in (0, 1)
        ),
        *(
            act("enter", and_(wants[p], not_(inside[p]), yields[p]), {3 + p: TRUE}, args=(("p", p),))
            for p in (0, 1)
        ),
        *(
            act("leave", inside[p], {3 + p: not_(TRUE), p: not_(TRUE)}, args=(("p", p),))
            for p in (0, 1)
        ),
    ]  # fmt: skip
    return Relation(
        machine,
        "explored",
        found,
        (not_(TRUE), not_(TRUE), const(0), not_(TRUE), not_(TRUE)),
        tuple(actions),
        (
            state_property("exclusive", not_(and_(*inside))),
            state_property("inside_wants", and_(*(implies(inside[p], wants[p]) for p in (0, 1)))),
            state_property(
                "the_other_yields",
                and_(*(implies(inside[p], or_(not_(wants[1 - p]), eq(turn, const(p)))) for p in (0, 1))),
            ),
        ),
    )


class Lease(Machine):
    """A lease of ``term`` units that is held, and renewed only while it is younger than ``term``.

    After it was given up there is a rest, of ``rest`` units, in which it is not taken again.
    """

    term: int = constant(3)
    pause: int = constant(2)
    held: Age = age()
    rest: Left = left(lambda c: c.pause)

    @assumption
    def pause_is_time(self) -> bool:
        return self.pause >= 1

    @assumption
    def term_outlasts_pause(self) -> bool:
        return self.term > self.pause

    @action()
    def take(self) -> None:
        self.require(not self.held.running)
        self.require(self.rest.over)
        self.held.start()

    @action()
    def give_up(self) -> None:
        self.require(self.held > self.term)
        self.held.stop()
        self.rest.set(self.pause)

    @invariant()
    def rests_only_when_free(self) -> bool:
        return self.rest.over or not self.held.running

    @invariant()
    def rest_is_shorter(self) -> bool:
        return self.rest < self.term

    @invariant()
    def always_young(self) -> bool:
        return self.held <= self.term


def lease(
    reading: str = "proved",
    *,
    term: int = 3,
    pause: int = 2,
    symbolic: bool = False,
    saturation: int | None = None,
    keeps_rest: bool = True,
) -> Relation:
    """``keeps_rest`` False: giving up forgets the rest. ``saturation`` None: where the model needs it."""
    machine = Lease(term=term, pause=pause)
    term_, pause_ = (var("term"), var("pause")) if symbolic else (const(term), const(pause))
    limit = term_ + 1 if saturation is None else const(saturation)
    explored = reading == "explored"
    held, rest = variables_of(
        machine,
        (-1, limit.data if explored else None),
        (0, pause_ if symbolic else pause),
    )
    running = not_(eq(held.term, const(-1)))
    d = var("elapse.d", INT, 1)
    by = const(1) if explored else d
    older = held.term + by
    elapse = act(
        "elapse",
        TRUE,
        {
            0: ite(running, min_(older, limit) if explored else older, held.term),
            1: max_(const(0), rest.term - by),
        },
        args=(("d", 1),) if explored else (),
        inputs=() if explored else (d,),
    )
    old = lt(term_, held.term)
    return Relation(
        machine,
        "explored" if explored else "proved",
        (held, rest),
        (const(-1), const(0)),
        (
            act("take", and_(not_(running), eq(rest.term, const(0))), {0: const(0)}),
            act("give_up", old, {0: const(-1), 1: pause_} if keeps_rest else {0: const(-1)}),
            elapse,
        ),
        (
            state_property("rests_only_when_free", or_(eq(rest.term, const(0)), not_(running))),
            state_property("rest_is_shorter", lt(rest.term, term_)),
            state_property("always_young", le(held.term, term_)),
        ),
        constants=(term_, pause_) if symbolic else (),
        assumptions=(
            state_property("pause_is_time", le(const(1), pause_), "assumption"),
            state_property("term_outlasts_pause", lt(pause_, term_), "assumption"),
        ),
        clocks=(Clock(0, limit, (HERE,)),),
    )
