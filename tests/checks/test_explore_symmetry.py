"""Of states that differ by an exchange of indexes one is enough; and what tells indexes apart is found out."""

from __future__ import annotations

from typing import Any

import pytest
from explored_alike import random_machine, states_of
from explored_machines import Counter, Lamps

from quiesce_checks.engines import exchanges, keys
from quiesce_checks.engines import explore as exploring
from quiesce_checks.engines.explore import Exploration, Limits, Stop, explore
from quiesce_checks.engines.native import Native
from quiesce_checks.engines.packing import TooWide
from quiesce_checks.engines.symmetry import Asymmetric, groups, representative
from quiesce_checks.machines import shipped
from quiesce_checks.relation.build import relation
from quiesce_model import Machine, Record, action, constant, each, flag, invariant, reachable, upto
from quiesce_model.language.fields import EachOf


class Worker(Record):
    phase: int = upto(2)
    done: int = upto(lambda c: c.most)


class Crew(Machine):
    """Workers that are all alike and share one tool; two fields have their indexes."""

    workers: int = constant(3)
    most: int = constant(2)
    held: bool = flag()
    worker: list[Worker] = each("workers", Worker, symmetric=True)
    tired: list[bool] = each("workers", flag(), symmetric=True)

    @action(w="workers")
    def take(self, w: int) -> None:
        self.require(not self.held)
        self.require(not self.tired[w])
        self.held = True
        self.worker[w].phase = 1

    @action(w="workers")
    def use(self, w: int) -> None:
        me = self.worker[w]
        self.require(me.phase == 1)
        me.phase = 2
        me.done = min(self.most, me.done + 1)
        self.tired[w] = me.done == self.most

    @action(w="workers")
    def give(self, w: int) -> None:
        self.require(self.worker[w].phase == 2)
        self.worker[w].phase = 0
        self.held = False

    @action(w="workers")
    def rest(self, w: int) -> None:
        self.require(self.tired[w])
        self.tired[w] = False
        self.worker[w].done = 0

    @invariant()
    def one_works(self) -> bool:
        return sum(1 for x in self.worker if x.phase > 0) <= 1

    @invariant()
    def somebody_is_fresh(self) -> bool:
        return not all(self.tired[i] for i in range(self.workers))

    @reachable()
    def two_are_tired(self) -> bool:
        return sum(1 for x in self.tired if x) == 2


class Favourite(Crew):
    """The first worker may do what others may not."""

    @action()
    def jump_the_queue(self) -> None:
        self.worker[0].done = 1


class Watched(Crew):
    """A property of the last worker alone."""

    @invariant()
    def the_last_is_fresh(self) -> bool:
        return not self.tired[self.workers - 1]


def said(found: Exploration) -> list[tuple[str, Any, int | None]]:
    return [(v.property, v.outcome, v.trace and v.trace.length) for v in found.verdicts]


def representatives(machine: Machine, found: Exploration, names: tuple[str, ...]) -> set[tuple[int, ...]]:
    exchanged = groups(relation(machine), names)
    return {representative(state, exchanged) for state in states_of(found)}


WAYS: dict[str, dict[str, Any]] = {
    "plain": {"engine": "interpreted"},
    "native": {"engine": "native"},
    "two threads": {"engine": "native", "threads": 2},
    "disk": {"engine": "native", "spill": True, "limits": Limits(memory=1)},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    if request.param == "disk":
        monkeypatch.setattr(Native, "room", lambda self, load: 0)  # type: ignore[misc]
        monkeypatch.setattr(Native, "make_room", lambda self: Stop.MEMORY)
    return WAYS[request.param]


@pytest.mark.parametrize("workers", [1, 4])
def test_one_state_of_each_kind_is_visited(workers: int, way: dict[str, Any]) -> None:
    machine = Crew(workers=workers)
    found, whole = explore(machine, **way), explore(machine, symmetry=False, engine="interpreted")
    assert said(found) == said(whole)
    names = ("worker", "tired")
    assert representatives(machine, found, names) == representatives(machine, whole, names)
    assert found.statistics.distinct == len(representatives(machine, whole, names))
    assert found.statistics.depth == whole.statistics.depth
    if workers > 1:
        assert "; up to exchanges of worker and tired" in found.verdict("one_works").how
        assert found.statistics.distinct < whole.statistics.distinct


def test_states_of_several_words_are_known_by_their_kind(way: dict[str, Any]) -> None:
    machine = Crew(workers=4, most=2**40)
    limits = way.get("limits", Limits())
    how = {**way, "limits": Limits(memory=limits.memory, depth=12)}
    found = explore(machine, **how)
    whole = explore(machine, symmetry=False, engine="interpreted", limits=Limits(depth=12))
    assert said(found) == said(whole)
    names = ("worker", "tired")
    assert found.statistics.distinct == len(representatives(machine, whole, names))


def test_native_and_plain_search_number_states_alike() -> None:
    native, plain = (explore(Crew(workers=4), engine=engine) for engine in ("native", "interpreted"))  # type: ignore[arg-type]
    assert states_of(native) == states_of(plain)
    assert [v.trace for v in native.verdicts] == [v.trace for v in plain.verdicts]


def eaches(machine: type[Machine]) -> list[str]:
    return [field.name for field in machine.__fields__ if isinstance(field.spec, EachOf)]


SCOPES = {"breaker_table": {"documents": 2, "actions": 2, "threshold": 1, "window": 1, "capacity": 1}}


@pytest.mark.parametrize("name", [name for name, machine in shipped().items() if eaches(machine)])
def test_shipped_models_are_refused_or_judged_alike(name: str) -> None:
    machine = shipped()[name](**SCOPES.get(name, {}))
    read = relation(machine)
    whole = None
    for fields in [*((each_,) for each_ in eaches(type(machine))), tuple(eaches(type(machine)))]:
        try:
            found = explore(read, symmetry=fields, limits=Limits(states=12_000))
        except (Asymmetric, TooWide):
            continue
        whole = whole or explore(read, symmetry=False, limits=Limits(states=12_000))
        if found.stop is whole.stop:
            assert said(found) == said(whole)


@pytest.mark.parametrize("seed", range(5))
def test_random_machines_are_refused_or_judged_alike(seed: int) -> None:
    machine = random_machine(seed)
    for fields in (("level",), ("box",), ("level", "box")):
        try:
            found = explore(machine, symmetry=fields, limits=Limits(depth=5), engine="interpreted")
        except (Asymmetric, TooWide):
            continue
        assert said(found) == said(explore(machine, symmetry=False, limits=Limits(depth=5), engine="interpreted"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 300))
def test_many_more_random_machines_are_refused_or_judged_alike(seed: int) -> None:
    test_random_machines_are_refused_or_judged_alike(seed)


@pytest.mark.parametrize(
    ("machine", "names", "text"),
    [
        (Favourite(), True, "worker and tired is taken to be symmetric, but action jump_the_queue"),
        (Watched(), True, "but the_last_is_fresh holds in one of two states that differ by an exchange alone"),
        (Crew(), ("worker",), "Crew.worker is taken to be symmetric, but action use tells indexes apart"),
        (Lamps(lamps=3), ("lamp",), "Lamps.lamp is taken to be symmetric, but one_rests holds in one"),
        (Counter(), ("n",), "Counter.n has no indexes to exchange"),
        (Counter(), ("nothing",), "Counter.nothing has no indexes to exchange"),
    ],
    ids=["action", "property", "half of a group", "two of three", "no each", "no field"],
)
def test_what_is_not_symmetric_is_told(machine: Machine, names: Any, text: str) -> None:
    with pytest.raises(Asymmetric) as told:
        explore(machine, symmetry=names)
    assert text in str(told.value)


def test_a_kept_graph_has_all_states() -> None:
    found = explore(Crew(), keep_graph=True)
    assert found.graph is not None
    assert found.graph.size == explore(Crew(), symmetry=False).statistics.distinct


def test_an_element_wider_than_a_word_is_refused() -> None:
    with pytest.raises(TooWide, match="an element of worker and tired takes 66 bits"):
        explore(Crew(most=2**62), engine="native")


# Each part broken: a comparison has to see it.


def test_elements_that_are_not_sorted_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = explore(Crew(), engine="native").statistics.distinct
    monkeypatch.setattr(keys.Keys, "sorted", lambda self, out, values: values)  # type: ignore[misc]
    assert explore(Crew(), engine="native").statistics.distinct != right


def test_bits_left_out_of_the_key_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good, right = keys.pieces, explore(Crew(), engine="native").statistics.distinct
    monkeypatch.setattr(keys, "pieces", lambda layout, group: [made[1:] for made in good(layout, group)])  # type: ignore[misc]
    assert explore(Crew(), engine="native").statistics.distinct != right


def test_without_trying_exchanges_a_verdict_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "check", lambda problem: None)  # type: ignore[misc]
    wrong = explore(Watched(), stop="all")
    assert said(wrong) != said(explore(Watched(), symmetry=False))


def test_exchanges_are_tried_far_from_the_beginning_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "SAMPLED", 3)
    with pytest.raises(Asymmetric, match="the_last_is_fresh"):
        explore(Watched())
    monkeypatch.setattr(exchanges, "WALKS", 0)
    explore(Watched())
