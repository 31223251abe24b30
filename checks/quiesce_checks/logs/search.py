"""The search: the set of all states that the model can be in after each line of a log.

All states are kept, so that nothing has to be guessed and taken back. States that differ in ghosts alone are one,
since no guard reads a ghost. Each state knows one way that led to it, for the account that is given at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from quiesce_model.language.fields import size_at
from quiesce_model.language.machine import ActionInfo, Choices, Machine, Step, all_marked, choices, copy, leaves, state
from quiesce_model.language.outcome import Blocked, Fault

from ..problems import Problem, unknown
from ..report.figures import plural
from .flat import Flat
from .mapping import Did, Part
from .moments import Time
from .seen import Looking, State, View

MOST_ALIVE = 10_000
"""How many states may be alive at a time; with more, the question is given up as inconclusive."""

MOST_MOMENTS = 256
"""How many moments between two lines are tried for a hidden step of which each may make a difference."""


REMEMBERED = 20_000
"""Of how many states it is remembered what a step comes to."""

MOST_STEPS = 1_000
"""Of how many steps that is remembered: arguments may be as many as there are lines."""


class TooMany(Exception):
    """More states alive than the search may hold."""


@dataclass(frozen=True, slots=True)
class Way:
    """One step on the way to a state, and the way before it. ``rules`` are those that it asked for and found in
    force."""

    before: Way | None
    step: Step
    rules: frozenset[str]
    hidden: bool


Alive = dict[State, Way | None]
"""States without their ghosts, each with the way to it. The ghosts are kept aside (:attr:`Search.whole`)."""


@dataclass(frozen=True, slots=True)
class Came:
    """What a step comes to: the state, its key, and the rules that were asked for and in force."""

    whole: State
    key: State
    rules: frozenset[str]


@dataclass
class Coverage:
    """What the log exercised, along one way that explains it."""

    actions: Counter[str] = field(default_factory=Counter[str])
    rules: Counter[str] = field(default_factory=Counter[str])
    hidden: Counter[str] = field(default_factory=Counter[str])

    def add(self, way: Way | None) -> None:
        while way is not None:
            (self.hidden if way.hidden else self.actions)[way.step.action] += 1
            self.rules.update(way.rules)
            way = way.before

    def merge(self, other: Coverage) -> None:
        self.actions.update(other.actions)
        self.rules.update(other.rules)
        self.hidden.update(other.hidden)


class Search:
    """States of one machine, taken from line to line.

    ``cut`` is set when hidden steps were left untried because of a bound. A log that is explained is explained all
    the same; one that is not has then not been refused.
    """

    def __init__(
        self,
        machine: Machine,
        *,
        views: dict[str, View] | None = None,
        hidden: Iterable[str] = (),
        most_hidden: int = 4,
        most_alive: int = MOST_ALIVE,
        most_moments: int = MOST_MOMENTS,
        time: Time | None = None,
    ) -> None:
        self.machine = copy(machine)
        self.flat = Flat(self.machine)
        self.looking = Looking(copy(machine), views or {})
        self.time = time or Time(machine)
        self.visible = [n for n, leaf in enumerate(leaves(machine)) if not leaf.ghost]
        self.all_visible = len(self.visible) == len(leaves(machine))
        self.infos: dict[str, ActionInfo] = {
            name: info for name, info in all_marked(type(machine)) if isinstance(info, ActionInfo)
        }
        self.most_hidden = most_hidden
        self.most_alive = most_alive
        self.most_moments = most_moments
        self.hidden = [step for name in hidden for step in self.steps(Did(name))]
        self.coverage = Coverage()
        self.cut = ""
        self.most = 1
        self._steps: dict[tuple[str, tuple[tuple[str, Any], ...]], list[Step]] = {}
        self._known: dict[Step, dict[State, Came | None]] = {}
        self._asked: list[str] = []
        self._interned: dict[tuple[str, ...], frozenset[str]] = {}
        self._watch()
        first = state(machine)
        self.whole: dict[State, State] = {self.key(first): first}
        self.ways: Alive = {self.key(first): None}

    # -- states

    def key(self, whole: State) -> State:
        return whole if self.all_visible else tuple([whole[n] for n in self.visible])

    @property
    def alive(self) -> list[State]:
        """Every state that the model can be in, ghosts included."""
        return list(self.whole.values())

    # -- steps

    def steps(self, did: Did) -> list[Step]:
        """The steps that an action with these arguments can be: all values for what is not given. Raises
        :class:`Problem` for an action or an argument that the model does not have."""
        if did.action not in self.infos:
            raise Problem(unknown("action", did.action, type(self.machine).__name__, self.infos))
        domains = dict(self.infos[did.action].domains)
        given = dict(did.args)
        for name in given:
            if name not in domains:
                raise Problem(unknown("parameter", name, f"the action {did.action}", domains))
        found: list[tuple[tuple[str, Any], ...]] = [()]
        for name, domain in domains.items():
            allowed = meant(domain, self.machine, given[name]) if name in given else choices(domain, self.machine)
            found = [(*args, (name, value)) for args in found for value in allowed]
        return [Step(did.action, args) for args in found]

    def known_steps(self, did: Did) -> list[Step]:
        try:
            key = (did.action, did.args)
            found = self._steps.get(key)
            if found is None:
                if len(self._steps) >= MOST_STEPS:
                    self._steps.clear()
                found = self._steps[key] = self.steps(did)
            return found
        except TypeError:  # an argument that cannot be hashed is no value of a parameter
            return self.steps(did)

    def come(self, whole: State, step: Step) -> Came | None:
        """What a step comes to, None if there is none."""
        known = self._known.get(step)
        if known is None:
            if len(self._known) >= MOST_STEPS:
                self._known.clear()
            known = self._known[step] = {}
        elif whole in known:
            return known[whole]
        if len(known) >= REMEMBERED:
            known.clear()
        came = known[whole] = self.attempt(whole, step)
        return came

    def attempt(self, whole: State, step: Step) -> Came | None:
        self.flat.load(whole)
        self._asked = []
        try:
            getattr(self.machine, step.action)(**dict(step.args))
        except (Blocked, Fault):
            return None
        after = self.flat.state()
        return Came(after, self.key(after), self.rules_asked())

    def _watch(self) -> None:
        """Have the machine say which rules it asks for."""
        without = self.machine.without_

        def require(condition: bool, rule: str | None = None) -> None:
            if not condition and (rule is None or rule not in without):
                raise Blocked(rule)
            if rule is not None:
                self._asked.append(rule)

        def rule(name: str) -> bool:
            if name in without:
                return False
            self._asked.append(name)
            return True

        vars(self.machine)["require"] = require
        vars(self.machine)["rule"] = rule

    def rules_asked(self) -> frozenset[str]:
        key = tuple(self._asked)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = frozenset(key)
        return found

    # -- from line to line

    def take(self, options: Iterable[tuple[Part, ...]]) -> bool:
        """One line, by any of its meanings. False if no state is left; then nothing is changed."""
        found: dict[State, State] = {}
        ways: Alive = {}
        for parts in options:
            whole, there = self.whole, self.ways
            for part in parts:
                whole, there = self.after(whole, there, part)
            for key, one in whole.items():
                if key not in found:
                    found[key], ways[key] = one, there[key]
        if not found:
            return False
        self.hold(found, ways)
        return True

    def after(self, whole: dict[State, State], ways: Alive, part: Part) -> tuple[dict[State, State], Alive]:
        seen = part.seen
        agrees = self.looking.agrees
        found: dict[State, State] = {}
        there: Alive = {}
        if not isinstance(part, Did):
            for key, one in whole.items():
                if agrees(one, seen):
                    found[key], there[key] = one, ways[key]
            return found, there
        steps = self.known_steps(part)
        for key, one in whole.items():
            for step in steps:
                came = self.come(one, step)
                if came is None or (seen and not agrees(came.whole, seen)):
                    continue
                new = came.key
                if new not in found:
                    found[new] = came.whole
                    there[new] = Way(ways[key], step, came.rules, hidden=False)
        return found, there

    def hold(self, whole: dict[State, State], ways: Alive) -> None:
        if len(whole) > self.most_alive:
            raise TooMany
        self.whole, self.ways = whole, ways
        self.most = max(self.most, len(whole))
        if len(ways) == 1:  # there is one way to here, whatever comes: it can be counted and forgotten
            key, way = next(iter(ways.items()))
            if way is not None:
                self.coverage.add(way)
                ways[key] = None

    def pass_time(self, d: int) -> None:
        """Let ``d`` units pass, with hidden steps at any moment of them, the last included."""
        if not self.hidden:
            if d:
                later = self.time.later
                moved = [(later(one, d), self.ways[key]) for key, one in self.whole.items()]
                self.hold({self.key(one): one for one, _ in moved}, {self.key(one): way for one, way in moved})
            return
        self.wander(d)

    def wander(self, d: int) -> None:
        """Hidden steps and time, in turn: at every moment at which something ends, and at each single one where it
        makes a difference for a hidden step when it is taken."""
        waiting: dict[int, tuple[dict[State, State], Alive, dict[State, int]]] = {}
        waiting[0] = dict(self.whole), dict(self.ways), dict.fromkeys(self.whole, 0)
        moments = 0
        while True:
            at = min(waiting)
            whole, ways, used = waiting.pop(at)
            self.close(whole, ways, used)
            if len(whole) > self.most_alive:
                raise TooMany
            if at == d:
                break
            moments += 1
            for key, one in whole.items():
                step = self.stretch(one, d - at, moments)
                there, ways_there, used_there = waiting.setdefault(at + step, ({}, {}, {}))
                after = self.time.later(one, step)
                new = self.key(after)
                if new not in there or used[key] < used_there[new]:
                    there[new], ways_there[new], used_there[new] = after, ways[key], used[key]
        self.hold(whole, ways)

    def close(self, whole: dict[State, State], ways: Alive, used: dict[State, int]) -> None:
        """Add what hidden steps lead to at one moment."""
        queue = list(whole)
        for key in queue:
            for step in self.hidden:
                came = self.come(whole[key], step)
                if came is None:
                    continue
                new = came.key
                if new in whole and used[new] <= used[key] + 1:
                    continue
                if used[key] >= self.most_hidden:
                    if new not in whole:
                        self.cut = self.cut or f"more than {plural(self.most_hidden, 'hidden step')} between two lines"
                    continue
                whole[new] = came.whole
                ways[new] = Way(ways[key], step, came.rules, hidden=True)
                used[new] = used[key] + 1
                queue.append(new)
                if len(whole) > self.most_alive:
                    raise TooMany

    def stretch(self, one: State, left: int, moments: int) -> int:
        """How far time may go from a state without leaving out a moment that matters, ``left`` at most."""
        edge = self.time.next_edge(one)
        far = left if edge is None else min(left, edge)
        last = far - 1 if far > 1 else 0
        if last == 0 or all(self.same_at_both_ends(one, last, step) for step in self.hidden):
            return far
        if moments > self.most_moments:
            self.cut = self.cut or f"more than {self.most_moments} moments at which a hidden step may have been taken"
            return far
        return 1

    def same_at_both_ends(self, one: State, last: int, step: Step) -> bool:
        """Whether it makes no difference when in a stretch of time a hidden step is taken."""
        first = self.come(one, step)
        second = self.come(self.time.later(one, last), step)
        if first is None or second is None:
            return first is None and second is None
        return self.key(self.time.later(first.whole, last)) == second.key

    def end(self) -> Coverage:
        """The account, along one way to one of the states that are left."""
        way = next(iter(self.ways.values()), None)
        self.coverage.add(way)
        return self.coverage


def meant(domain: Choices, machine: Machine, given: Any) -> list[Any]:
    """The values of a domain that are the given one. A range of numbers may be long, and is not gone through."""
    if isinstance(domain, str) or (callable(domain) and not isinstance(domain, type)) or isinstance(domain, int):
        whole = isinstance(given, int) and not isinstance(given, bool)
        return [given] if whole and 0 <= given < size_at(domain, machine) else []
    return [value for value in choices(domain, machine) if is_meant(value, given)]


def is_meant(value: Any, given: Any) -> bool:
    """Whether a parameter's value is the one given: members of an enum may be named."""
    if isinstance(value, Enum) and isinstance(given, str):
        return value.name == given
    return value == given and isinstance(value, bool) == isinstance(given, bool)
