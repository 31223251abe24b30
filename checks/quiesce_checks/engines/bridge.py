"""The bridge between what is explored and what is proved: one question for each clock, and two about all of
them.
 Exploration lets an age stop at its saturation; a proof lets it grow for ever. Both speak of one model if
nothing can tell the difference: for each clock, with every other field at any value of its domain, saturating
the age before a step and after it give the same state, every exit of every action answers the same, and so
does every property. Clocks can then be saturated one after the other. Exploration also lets time go in single
ticks where a proof lets it leap: passing two stretches of time has to be the same as passing their sum. Last,
the relation that is explored has to be the one that is proved, saturated, with a tick for the time: that is
asked of the two relations themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from quiesce_model.language.machine import Machine

from ..relation.build import proof_relation, relation
from ..relation.relation import Clock, GroundAction, Relation
from ..relation.terms import Term, const, is_const, show, substitute
from ..verdict import Outcome, Verdict
from .assurance import scope
from .bounded import TIMEOUT
from .smt import Answer, Formula, Session, version
from .unrolling import Unrolling

ENGINE = "bridge"


@dataclass(frozen=True)
class Claim:
    """Two formulas that are to be equal, and what they are, in words."""

    what: str
    one: Formula
    other: Formula


def bridge(machine: Machine, *, symbolic: Sequence[str] = (), timeout: int | None = TIMEOUT) -> list[Verdict]:
    """Show that exploration and proof are about one model, for a machine with time; one verdict for each
    question.

    The properties are named ``clock <field>``, ``time adds up`` and ``explored is proved, saturated``. With
    ``symbolic`` constants, the first two kinds are shown for any values that the assumptions allow; the last
    is always about the machine's own numbers. A difference is ``violated``, and ``how`` says where and at
    what values.
    """
    proved = proof_relation(machine, symbolic=tuple(symbolic))
    verdicts = [clock_verdict(proved, clock, timeout) for clock in proved.clocks]
    if any(action.inputs for action in proved.actions):
        verdicts.append(time_adds_up(proved, timeout))
    own = proof_relation(machine) if symbolic else proved
    return [*verdicts, same_relation(own, relation(machine), timeout)]


def clock_verdict(proved: Relation, clock: Clock, timeout: int | None = TIMEOUT) -> Verdict:
    """Whether nothing can tell a saturated age from an older one."""
    begun = perf_counter()
    session = Session()
    unrolling = Unrolling(proved, session)
    age = unrolling.frame(0)[clock.variable]
    capped = saturation(unrolling, [*proved.clocks, clock])
    older = [(age, capped(clock.variable, age))]
    name = proved.variables[clock.variable].name

    def both(what: str, formula: Formula) -> Claim:
        return Claim(what, formula, session.replace(formula, older))

    claims: list[Claim] = []
    for action in proved.actions:
        possible = unrolling.at(action.enabled, 0)
        claims.append(both(f"whether {action.step} is possible", possible))
        for exit in action.exits:
            where = f"the exit {exit.kind} {exit.place} of {action.step} at {exit.site}"
            claims.append(both(where, unrolling.at(exit.condition, 0)))
        for variable, update in action.updates.items():
            after = capped(variable, unrolling.at(update, 0))
            claim = both(f"{proved.variables[variable].name} after {action.step}", after)
            claims.append(where_possible(session, possible, claim))
    for judged in proved.properties:
        if judged.holds is not None:
            claims.append(both(f"the property {judged.name}", unrolling.at(judged.holds, 0)))
        for position, term in (judged.steps or {}).items():
            possible = unrolling.at(proved.actions[position].enabled, 0)
            claim = both(f"the property {judged.name} of {proved.actions[position].step}", unrolling.at(term, 0))
            claims.append(where_possible(session, possible, claim))
    given = [*unrolling.assumptions(), unrolling.domain(0), *positive(unrolling, proved, 0)]
    answer = ask(session, given, claims, timeout)
    limit = show(clock.saturation) if is_const(clock.saturation) else "one past all that it is compared with"
    how = f"saturated at {limit}, before a step or after it, {scope(proved)}"
    return told(proved, f"clock {name}", answer, claims, how, begun, unrolling)


def time_adds_up(proved: Relation, timeout: int | None = TIMEOUT) -> Verdict:
    """Whether passing two stretches of time is passing their sum, so that ticks can stand for any time."""
    begun = perf_counter()
    session = Session()
    unrolling = Unrolling(proved, session)
    elapse = next(action for action in proved.actions if action.inputs)
    name = elapse.inputs[0].data
    between = unrolling.frame(1)
    unrolling.choice(1)
    first, second = unrolling.given[0][name], unrolling.given[1][name]
    claims: list[Claim] = []
    links: list[Formula] = []
    for n, variable in enumerate(proved.variables):
        update = elapse.updates.get(n, variable.term)
        links.append(session.same(between[n], unrolling.at(update, 0)))
        at_once = session.replace(unrolling.at(update, 0), [(first, first + second)])
        claims.append(Claim(f"{variable.name} after {elapse.step}", unrolling.at(update, 1), at_once))
    possible = [unrolling.at(elapse.enabled, at) for at in (0, 1)]
    claims.append(Claim("whether time can pass", possible[0], session.true))
    claims.append(Claim("whether time can pass again", possible[1], session.true))
    given = [
        *unrolling.assumptions(),
        unrolling.domain(0),
        *links,
        *positive(unrolling, proved, 0),
        *positive(unrolling, proved, 1),
    ]
    answer = ask(session, given, claims, timeout)
    how = f"two stretches of time are their sum, {scope(proved)}"
    return told(proved, "time adds up", answer, claims, how, begun, unrolling)


def same_relation(proved: Relation, explored: Relation, timeout: int | None = TIMEOUT) -> Verdict:
    """Whether the explored relation is the proved one, saturated, with one tick for the time that passes."""
    begun = perf_counter()
    session = Session()
    unrolling = Unrolling(explored, session)
    capped = saturation(unrolling, explored.clocks)
    place = {variable.name: variable.term for variable in explored.variables}
    place |= {term.data: const(1) for action in proved.actions for term in action.inputs}

    def saturated(term: Term) -> Formula:
        """A term of the proved relation over the explored relation's variables, a tick passing."""
        (found,) = substitute([term], lambda v: place.get(v.data))
        return unrolling.at(found, 0)

    claims: list[Claim] = []
    for n, (ours, theirs) in enumerate(zip(proved.initial, explored.initial, strict=True)):
        claims.append(
            Claim(
                f"{explored.variables[n].name} at the start",
                capped(n, session.number(saturated(ours))),
                session.number(unrolling.at(theirs, 0)),
            )
        )
    for ours, theirs in zip(proved.actions, explored.actions, strict=True):
        step = theirs.step
        possible = unrolling.at(theirs.enabled, 0)
        claims.append(Claim(f"whether {step} is possible", saturated(ours.enabled), possible))
        claims.extend(exits_agree(session, unrolling, saturated, ours, theirs))
        for n, variable in enumerate(explored.variables):
            if n in ours.updates or n in theirs.updates:
                proved_value = saturated(ours.updates.get(n, proved.variables[n].term))
                value = unrolling.at(theirs.updates.get(n, variable.term), 0)
                claim = Claim(
                    f"{variable.name} after {step}",
                    capped(n, session.number(proved_value)),
                    session.number(value),
                )
                claims.append(where_possible(session, possible, claim))
    for ours, theirs in zip(proved.properties, explored.properties, strict=True):
        if ours.holds is not None and theirs.holds is not None:
            claims.append(Claim(f"the property {ours.name}", saturated(ours.holds), unrolling.at(theirs.holds, 0)))
        for position, term in (ours.steps or {}).items():
            other = (theirs.steps or {})[position]
            possible = unrolling.at(explored.actions[position].enabled, 0)
            claim = Claim(f"the property {ours.name} of a step", saturated(term), unrolling.at(other, 0))
            claims.append(where_possible(session, possible, claim))
    answer = ask(session, [unrolling.domain(0)], claims, timeout)
    how = f"the relation that is explored is the one that is proved, {scope(explored)}"
    return told(explored, "explored is proved, saturated", answer, claims, how, begun, unrolling)


def exits_agree(
    session: Session,
    unrolling: Unrolling,
    saturated: Callable[[Term], Formula],
    ours: GroundAction,
    theirs: GroundAction,
) -> list[Claim]:
    """For each kind and place of an exit, that both relations take it in the same states."""
    places = dict.fromkeys((exit.kind, exit.place, exit.site) for exit in (*ours.exits, *theirs.exits))
    claims: list[Claim] = []
    for place in places:
        one = [saturated(e.condition) for e in ours.exits if (e.kind, e.place, e.site) == place]
        other = [unrolling.at(e.condition, 0) for e in theirs.exits if (e.kind, e.place, e.site) == place]
        what = f"the exit {place[0]} {place[1]} of {theirs.step} at {place[2]}"
        claims.append(Claim(what, session.any(one), session.any(other)))
    return claims


def saturation(unrolling: Unrolling, clocks: Sequence[Clock]) -> Callable[[int, Formula], Formula]:
    """Caps a clock's value at its saturation; leaves every other variable's value as it is."""
    limits = {clock.variable: unrolling.at(clock.saturation, 0) for clock in clocks}

    def capped(variable: int, value: Formula) -> Formula:
        limit = limits.get(variable)
        return value if limit is None else unrolling.session.z3.If(value <= limit, value, limit)

    return capped


def positive(unrolling: Unrolling, made: Relation, at: int) -> list[Formula]:
    """The bounds of the durations that a step may take."""
    unrolling.choice(at)
    return [unrolling.within(term, unrolling.given[at][term.data]) for action in made.actions for term in action.inputs]


def where_possible(session: Session, possible: Formula, claim: Claim) -> Claim:
    """The claim made only of states in which a step is possible."""
    return Claim(claim.what, session.z3.If(possible, claim.one, claim.other), claim.other)


def ask(session: Session, given: Sequence[Formula], claims: Sequence[Claim], timeout: int | None) -> Answer:
    solver = session.solver(timeout)
    solver.add(*given, session.any(session.no(session.same(claim.one, claim.other)) for claim in claims))
    return solver.check()


def told(
    made: Relation,
    name: str,
    answer: Answer,
    claims: Sequence[Claim],
    how: str,
    begun: float,
    unrolling: Unrolling,
) -> Verdict:
    """The verdict, with the claims that fail and the state in which they do."""
    seconds = perf_counter() - begun
    if answer.unsat:
        return Verdict(made.name, name, Outcome.PROVED, ENGINE, how, seconds, notes=(version(),))
    if answer.outcome == "unknown":
        how = f"{answer.reason}; {how}"
        return Verdict(made.name, name, Outcome.INCONCLUSIVE, ENGINE, how, seconds, notes=(version(),))
    differs = [claim.what for claim in claims if answer.value(claim.one) != answer.value(claim.other)]
    values = [
        f"{variable.name}={answer.value(value)}"
        for variable, value in zip(made.variables, unrolling.frame(0), strict=True)
    ]
    values += [f"{constant}={answer.value(value)}" for constant, value in unrolling.constants.items()]
    values += [f"{given}={answer.value(value)}" for at in unrolling.given for given, value in at.items()]
    how = f"differs: {'; '.join(differs)}; at {', '.join(values)}"
    return Verdict(made.name, name, Outcome.VIOLATED, ENGINE, how, seconds, notes=(version(),))
