"""The search against plain enumeration of everything that a model can do, millisecond by millisecond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random

import pytest

from quiesce_checks.logs.flat import Flat
from quiesce_checks.logs.mapping import Did, Part, Saw
from quiesce_checks.logs.moments import Time
from quiesce_checks.logs.search import Search
from quiesce_checks.machines import shipped
from quiesce_model import Age, Left, Machine, action, age, constant, flag, left, upto
from quiesce_model.language.machine import Step, apply, copy, leaves, load, state, steps
from quiesce_model.language.outcome import Blocked, Fault

Row = tuple[int, ...]

Events = list[tuple[int, tuple[Part, ...]]]
"""Lines of a log: the time, and what stands in them."""


class Kettle(Machine):
    """Filled, switched on at a moment that nobody writes down, hot some time later, and empty in the end."""

    slow: int = constant(5)
    keeps: int = constant(4)

    cups: int = upto(3)
    on: bool = flag()
    since: Age = age()
    rest: Left = left(lambda c: c.keeps)
    lid: bool = flag()

    @action(n=(1, 2))
    def fill(self, n: int) -> None:
        self.require(not self.on)
        self.cups += n

    @action()
    def switch(self) -> None:
        """When matters: it starts a clock."""
        self.require(self.cups > 0)
        self.require(not self.on)
        self.on = True
        self.since.start()

    @action()
    def turn(self) -> None:
        """When does not matter, and it can be done again and again."""
        self.require(not self.on)
        self.lid = not self.lid

    @action()
    def whistle(self) -> None:
        self.require(self.since > self.slow - self.cups)
        self.on = False
        self.since.stop()
        self.rest.set(self.keeps)

    @action()
    def pour(self) -> None:
        self.require(not self.rest.over)
        self.cups -= 1

    @action()
    def cool(self) -> None:
        self.require(self.rest.over)
        self.require(not self.on)
        self.cups = 0


HIDDEN = ("switch", "turn", "cool")


class Plain:
    """Whether a log is a behaviour: every hidden step tried at every single millisecond."""

    def __init__(self, machine: Machine, hidden: tuple[str, ...], most: int) -> None:
        self.machine = machine
        self.runner = copy(machine)
        self.silent = [step for step in steps(machine) if step.action in hidden]
        self.most = most
        self.after = cache(self.taken)
        self.later = cache(self.elapsed)

    def taken(self, now: Row, step: Step) -> Row | None:
        load(self.runner, now)
        try:
            apply(self.runner, step)
        except (Blocked, Fault):
            return None
        return state(self.runner)

    def elapsed(self, now: Row) -> Row:
        load(self.runner, now)
        self.runner.elapse(1)
        return state(self.runner)

    def closed(self, found: dict[Row, int]) -> dict[Row, int]:
        queue = list(found)
        for now in queue:
            for step in self.silent:
                new = self.after(now, step)
                if new is not None and found[now] < self.most and found.get(new, self.most + 1) > found[now] + 1:
                    found[new] = found[now] + 1
                    queue.append(new)
        return found

    def explains(self, events: Events) -> bool:
        alive = {state(self.machine)}
        clock = events[0][0] if events else 0
        for at, parts in events:
            reached = self.closed(dict.fromkeys(alive, 0))
            while clock < at:
                moved: dict[Row, int] = {}
                for now, used in reached.items():
                    new = self.later(now)
                    moved[new] = min(used, moved.get(new, used))
                reached = self.closed(moved)
                clock += 1
            alive = set(reached)
            for part in parts:
                alive = moved_by(self.machine, alive, part, self.after)
            if not alive:
                return False
        return True


def moved_by(machine: Machine, alive: set[Row], part: Part, after: Callable[[Row, Step], Row | None]) -> set[Row]:
    """The states that one thing in a line leads to."""
    names = [leaf.name for leaf in leaves(machine)]
    taken = [
        step
        for step in steps(machine)
        if isinstance(part, Did) and step.action == part.action and set(part.args) <= set(step.args)
    ]
    news = {after(now, step) for now in alive for step in taken} if isinstance(part, Did) else set(alive)
    return {new for new in news if new and all(new[names.index(name)] == wanted for name, wanted in part.seen.items())}


def searched(
    machine: Machine, events: Events, hidden: tuple[str, ...], most: int, time: Time | None = None
) -> tuple[bool, Search]:
    search = Search(machine, hidden=hidden, most_hidden=most, time=time)
    clock = events[0][0] if events else 0
    for at, parts in events:
        search.pass_time(at - clock)
        clock = at
        if not search.take((parts,)):
            return False, search
    return True, search


def walked(machine: Machine, random: Random, length: int) -> Events:
    """A log of a random run, without its hidden steps, with some of what could be seen."""
    runner = copy(machine)
    clock, events = 0, list[tuple[int, tuple[Part, ...]]]()
    possible = steps(machine)
    while len(events) < length:
        if random.random() < 0.6:
            d = random.choice((1, 1, 2, 3, 7))
            runner.elapse(d)
            clock += d
        step = random.choice(possible)
        try:
            apply(runner, step)
        except (Blocked, Fault):
            continue
        if step.action in HIDDEN:
            continue
        args = {name: value for name, value in step.args if random.random() < 0.5}
        seen = {"cups": runner.cups} if random.random() < 0.5 else {"rest": runner.rest.remaining}
        events.append((clock, (Did(step.action, seen, **args),)))
        if random.random() < 0.2:
            events.append((clock, (Saw({"cups": runner.cups}),)))
    return events


def mutated(events: Events, random: Random) -> tuple[str, Events]:
    """One line dropped, doubled, later or earlier by 1 ms, or with another observation."""
    kind = random.choice(("dropped", "doubled", "delayed", "hurried", "seen otherwise"))
    n = random.randrange(len(events))
    at, parts = events[n]
    head, tail = events[:n], events[n + 1 :]
    if kind == "dropped":
        return kind, head + tail
    if kind == "doubled":
        return kind, [*head, (at, parts), (at, parts), *tail]
    if kind == "delayed":
        return kind, [*head, (at + 1, parts), *((max(t, at + 1), p) for t, p in tail)]
    if kind == "hurried":
        return kind, [*head, (max(at - 1, head[-1][0] if head else 0), parts), *tail]
    (part, *rest) = parts
    seen = {"cups": random.randrange(4)}
    other = Did(part.action, seen, **dict(part.args)) if isinstance(part, Did) else Saw(seen)
    return kind, [*head, (at, (other, *rest)), *tail]


def test_the_search_says_what_enumeration_says():
    came = Counter[tuple[str, bool]]()
    for slow in (3, 5):
        machine = Kettle(slow=slow)
        random = Random(slow)
        plain, time = Plain(machine, HIDDEN, 3), Time(machine)
        for _ in range(14):
            events = walked(machine, random, 6)
            for kind, tried in (("as it was", events), *(mutated(events, random) for _ in range(5))):
                explained, search = searched(machine, tried, HIDDEN, 3, time)
                assert not search.cut or explained, "no bound is reached at this size"
                assert explained == plain.explains(tried), (kind, tried)
                came[kind, explained] += 1
    assert not came["as it was", False]
    kinds = {kind for kind, _ in came} - {"as it was"}
    refused = {kind: came[kind, False] / (came[kind, False] + came[kind, True]) for kind in kinds}
    assert all(0 < share < 1 for share in refused.values()), refused


def test_a_hidden_step_whose_moment_matters_is_tried_at_every_moment():
    machine = Kettle()
    filled, whistled = (Did("fill", n=1),), (Did("whistle"),)
    seen = [(0, filled), (20, (Saw({"since": 3}),))]  # it was switched on at 17, where nothing ends
    assert searched(machine, seen, ("switch",), 1)[0]
    assert searched(machine, [(0, filled), (5, whistled)], ("switch",), 1)[0]
    assert not searched(machine, [(0, filled), (4, whistled)], ("switch",), 1)[0]


def test_too_many_moments_make_a_refusal_inconclusive():
    machine = Kettle()
    filled = (Did("fill", n=1),)
    for distance, cut in ((100, False), (100_000, True)):
        explained, search = searched(
            machine, [(0, filled), (distance, (Saw({"since": 3, "cups": 2}),))], ("switch",), 1
        )
        assert not explained
        assert bool(search.cut) == cut


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_state_in_one_row_is_the_state(name: str):
    machine = shipped()[name]()
    random = Random(name)
    flat_machine = copy(machine)
    flat = Flat(flat_machine)
    possible = steps(machine)
    for _ in range(200):
        try:
            apply(machine, random.choice(possible))
        except (Blocked, Fault):
            continue
        now = state(machine)
        flat.load(now)
        assert state(flat_machine) == now
        assert flat.state() == now
        assert all(type(number) is int for number in flat.state())


def test_a_long_log_is_held_in_little_memory_and_its_ways_are_let_go():
    machine = Kettle(keeps=4)
    search = Search(machine, hidden=("turn",), most_hidden=1)
    for _ in range(5_000):  # the lid may be either way all the time, so no way is ever the only one
        search.pass_time(1)
        assert search.take(((Did("fill", n=1),), (Did("cool"),), ()))
        search.take(((Did("cool"),),))
    assert search.most <= 4
    assert search.end().actions["cool"] >= 5_000
