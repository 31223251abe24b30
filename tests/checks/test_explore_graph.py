"""The explored graph: every state, every transition, in compressed rows."""

from __future__ import annotations

import pytest
from explored_machines import Cells, Counter, Idle, Lamps

from quiesce_checks.engines.explore import Engine, Limits, explore
from quiesce_checks.engines.graph import Graph
from quiesce_checks.relation.build import relation
from quiesce_model.language.machine import apply, load, state

ENGINES: tuple[Engine, ...] = ("native", "interpreted")


def graph_of(machine: object, engine: Engine, limits: Limits | None = None) -> Graph:
    found = explore(machine, engine=engine, keep_graph=True, limits=limits).graph  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_every_edge_is_a_step_of_the_machine(engine: Engine) -> None:
    machine = Counter()
    graph = graph_of(machine, engine)
    assert (graph.size, graph.edges) == (13, 15)
    for source in range(graph.size):
        for edge in graph.leaving(source):
            load(machine, graph.leaves(source))
            apply(machine, graph.steps[edge.action])
            assert state(machine) == graph.leaves(edge.target)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_hold_all_transitions(engine: Engine) -> None:
    found = explore(relation(Lamps()), engine=engine, keep_graph=True)
    graph = found.graph
    assert graph is not None
    assert graph.edges == found.statistics.generated - 1
    assert graph.offsets[0] == 0
    assert graph.offsets[-1] == graph.edges
    assert (graph.offsets[1:] >= graph.offsets[:-1]).all()
    assert int(graph.targets.max()) == graph.size - 1
    assert len(graph.sources) == graph.edges
    assert graph.sources.tolist() == [s for s in range(graph.size) for _ in graph.leaving(s)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_self_loop_is_an_edge(engine: Engine) -> None:
    graph = graph_of(Idle(), engine)
    assert [(e.source, e.target) for e in graph.leaving(0)] == [(0, 0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_states_not_expanded_have_no_edges(engine: Engine) -> None:
    graph = graph_of(Lamps(), engine, Limits(depth=3))
    last = graph.size - 1
    assert list(graph.leaving(last)) == []
    assert graph.offsets[-1] == graph.edges


@pytest.mark.parametrize("engine", ENGINES)
def test_a_graph_of_many_actions_names_each(engine: Engine) -> None:
    machine = Cells(size=60)
    graph = graph_of(machine, engine)
    assert len(graph.steps) == 120
    assert {str(graph.steps[int(a)]) for a in set(graph.actions.tolist())} == {
        f"{name}(i={i})" for name in ("push", "drop") for i in (0, 1, 2, 59)
    }
