"""The searches agree: native code, plain Python from terms, and the Machine itself under CPython."""

from __future__ import annotations

import pytest
from explored_at_random import at_random, reachable_states
from explored_machines import Cells, Counter, Idle, Lamps, Nothing, Overflow, Signs, Stuck, Trap
from explored_plainly import plainly
from random_terms import tiny_relation

from quiesce_checks.engines.explore import Engine, Exploration, explore
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_model import Machine
from quiesce_model.breaker import Breaker
from quiesce_model.echo_loop import EchoLoop

ZOO = (
    Nothing(),
    Idle(),
    Stuck(),
    Counter(),
    Trap(),
    Overflow(),
    Signs(),
    Lamps(),
    Cells(),
    Cells(size=13),
    Cells(size=60),
    Cells(size=100, moving=2),
)
ENGINES: tuple[Engine, ...] = ("native", "interpreted")


def states_of(found: Exploration) -> list[tuple[int, ...]]:
    assert found.searched is not None
    return [found.searched.states.leaves(i) for i in range(found.statistics.distinct)]


def named(machine: Machine) -> str:
    values = ",".join(f"{name}={value}" for name, value in machine.constants_.items())
    return f"{type(machine).__name__}({values})"


@pytest.mark.parametrize("machine", ZOO, ids=named)
def test_both_searches_find_what_the_machine_itself_does(machine: Machine) -> None:
    read = relation(machine)
    expected = plainly(read)
    for engine in ENGINES:
        found = explore(read, engine=engine, deadlock=True)
        assert set(states_of(found)) == set(expected.levels)
        assert found.statistics.generated == expected.generated
        assert found.statistics.depth == expected.depth
        nearest = {v.property: v.trace.length for v in found.verdicts if v.trace is not None}
        assert nearest == expected.nearest


@pytest.mark.parametrize("machine", [Breaker(), EchoLoop()], ids=named)
def test_shipped_models_are_searched_alike(machine: Machine) -> None:
    read = relation(machine)
    expected = plainly(read)
    for engine in ENGINES:
        found = explore(read, engine=engine)
        assert set(states_of(found)) == set(expected.levels)
        assert (found.statistics.generated, found.statistics.depth) == (expected.generated, expected.depth)
        nearest = {v.property: v.trace.length for v in found.verdicts if v.trace is not None}
        assert nearest == {name: length for name, length in expected.nearest.items() if name != "no_deadlock"}


def assert_same_search(read: Relation) -> None:
    """State by state, number by number: both searches are one search."""
    one, other = (explore(read, engine=e, keep_graph=True, deadlock=True, confirm=None) for e in ENGINES)
    assert one.searched is not None
    assert other.searched is not None
    assert states_of(one) == states_of(other)
    parents = [[found.states.parent(i) for i in range(found.distinct)] for found in (one.searched, other.searched)]
    assert parents[0] == parents[1]
    assert one.searched.found == other.searched.found
    assert (one.searched.taken, one.searched.first_level) == (other.searched.taken, other.searched.first_level)
    assert (one.statistics.generated, one.statistics.depth) == (other.statistics.generated, other.statistics.depth)
    assert one.graph is not None
    assert other.graph is not None
    for rows in ("offsets", "targets", "actions"):
        assert getattr(one.graph, rows).tolist() == getattr(other.graph, rows).tolist()
    assert [v.trace for v in one.verdicts] == [v.trace for v in other.verdicts]


@pytest.mark.parametrize("seed", range(24))
def test_random_relations_are_searched_alike(seed: int) -> None:
    read = at_random(seed)
    assert_same_search(read)
    found = explore(read, engine="interpreted", confirm=None)
    levels = reachable_states(read)
    assert set(states_of(found)) == set(levels)
    assert found.statistics.depth == max(levels.values())


@pytest.mark.parametrize("seed", range(4))
def test_tiny_relations_are_searched_alike(seed: int) -> None:
    assert_same_search(tiny_relation(seed))


def test_random_relations_cover_one_word_and_several() -> None:
    from quiesce_checks.engines.packing import layout

    words = {layout(at_random(seed)).words for seed in range(24)}
    assert {1, 2} <= words
    moves = {len(at_random(seed).actions) for seed in range(24)}
    assert moves == {1, 3, 5, 24, 70}
