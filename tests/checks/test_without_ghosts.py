"""What a tour walks has no history: the explored graph, with states that only ghosts tell apart made one."""

from __future__ import annotations

from quiesce_checks.engines.explore import explore
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.plain import without_ghosts
from quiesce_model.breaker import Breaker
from quiesce_model.language import Machine, action, flag, ghost, upto
from quiesce_model.language.machine import leaves
from quiesce_model.one_session import OneSession


class Counted(Machine):
    """A switch, and how often it was turned on, up to what its ghost can hold."""

    on: bool = flag()
    times: int = ghost(upto(2))

    @action()
    def turn(self) -> None:
        self.on = not self.on
        if self.on:
            self.times += 1


def edges(machine: Machine, plain: bool) -> set[tuple[tuple[int, ...], str, tuple[int, ...]]]:
    made = relation(machine)
    graph = explore(without_ghosts(made) if plain else made, properties=(), keep_graph=True).graph
    assert graph is not None
    kept = [n for n, leaf in enumerate(leaves(machine)) if not leaf.ghost]

    def shown(state: int) -> tuple[int, ...]:
        row = graph.leaves(state)
        return tuple(row[n] for n in kept)

    ends = zip(graph.sources.tolist(), graph.actions.tolist(), graph.targets.tolist(), strict=True)
    return {(shown(source), str(graph.steps[number]), shown(target)) for source, number, target in ends}


def test_the_graph_without_ghosts_is_the_graph_projected():
    small = {"threshold": 2, "window": 1, "base": 1, "cap": 1, "quiet": 2, "in_flight": 1}
    for machine in (Breaker(**small), OneSession(budget=1, cap=1, cycle=True, backlog=1)):
        assert edges(machine, plain=True) == edges(machine, plain=False)


def test_a_ghost_that_leaves_its_domain_ends_no_walk():
    assert len(edges(Counted(), plain=True)) == 2
