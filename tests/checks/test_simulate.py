"""Simulation: the same walks in native code and in plain Python; what it finds, and what it never says."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from explored_at_random import at_random
from explored_machines import Cells, Counter, Idle, Lamps, Nothing, Overflow, Signs, Stuck, Trap
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import simulate as simulating
from quiesce_checks.engines import swarm, walk_kernel
from quiesce_checks.engines.explore import explore
from quiesce_checks.engines.interpreted import readable
from quiesce_checks.engines.program import program
from quiesce_checks.engines.search import Progress
from quiesce_checks.engines.shorten import Shortener
from quiesce_checks.engines.simulate import simulate
from quiesce_checks.engines.simulation import Simulation
from quiesce_checks.engines.swarm import Swarm
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.trace import Disagreement
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine

sys.path.insert(0, str(Path(__file__).parent))

import random_machines

ZOO = (Nothing(), Idle(), Stuck(), Counter(), Trap(), Overflow(), Signs(), Lamps(), Cells(), Cells(size=60))
BUG = yardstick(SCOPES["large"], bug=True)


def both(read: Relation, **how: Any) -> tuple[Simulation, Simulation]:
    native, plain = (simulate(read, engine=e, confirm=None, **how) for e in ("native", "interpreted"))  # type: ignore[arg-type]
    return native, plain


def alike(read: Relation, **how: Any) -> bool:
    one, other = both(read, **how)
    mine, its = ([(v.property, v.outcome, v.how) for v in found.verdicts] for found in (one, other))
    return one.strikes == other.strikes and one.coverage == other.coverage and mine == its


@pytest.mark.parametrize("machine", ZOO, ids=lambda m: type(m).__name__)
def test_native_and_plain_walks_are_the_same(machine: Machine) -> None:
    assert alike(relation(machine), runs=60, depth=30, seed=3, deadlock=True)


@pytest.mark.parametrize("seed", range(3))
def test_walks_of_random_relations_are_the_same(seed: int) -> None:
    assert alike(at_random(seed), runs=20, depth=20, seed=seed, deadlock=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 100))
def test_walks_of_many_more_random_relations_are_the_same(seed: int) -> None:
    test_walks_of_random_relations_are_the_same(seed)


def test_walks_choose_by_other_numbers_if_a_constant_of_theirs_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_kernel, "SECOND", swarm.SECOND + 2)
    assert not alike(relation(Signs()), runs=40, depth=25, seed=1)


def test_states_that_are_not_looked_at_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_kernel.WalkKernel, "look", lambda *_: None)  # type: ignore[misc]
    assert not alike(relation(Counter()), runs=40, depth=25, seed=1)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_walk_finds_exploration_finds_no_farther_away(seed: int) -> None:
    source, _ = random_machines.machine_source(seed)
    machine = random_machines.load(source, f"simulated_{seed}")()
    walked = simulate(machine, runs=200, depth=40, seed=seed, engine="native")
    whole = explore(machine, limits=simulating.Limits(states=20_000))
    for verdict in walked.verdicts:
        if verdict.trace is None:
            continue
        found = whole.verdict(verdict.property)
        assert found.outcome is verdict.outcome
        assert found.trace is not None
        assert found.trace.length <= verdict.trace.length


def test_violations_and_goals_of_the_zoo_are_found_and_nothing_else_is_said() -> None:
    found = simulate(Counter(), runs=300)
    outcomes = {v.property: v.outcome for v in found.verdicts}
    assert outcomes == {
        "below_nine": Outcome.VIOLATED,
        "below_four": Outcome.VIOLATED,
        "in_range": Outcome.INCONCLUSIVE,
        "jumps_low": Outcome.VIOLATED,
        "full": Outcome.HOLDS,
        "beyond": Outcome.INCONCLUSIVE,
        "no_deadlock": Outcome.INCONCLUSIVE,
        "no_fault": Outcome.INCONCLUSIVE,
    }
    assert {name: trace.length for name, trace in found.traces.items()} == {
        "below_four": 2,
        "below_nine": 4,
        "jumps_low": 4,
    }
    assert found.verdict("in_range").how.startswith("300 random runs, ")
    assert found.verdict("in_range").how.endswith("inconclusive: a walk does not see everything")


@pytest.mark.parametrize("machine", [Trap(), Overflow(), Lamps()], ids=lambda m: type(m).__name__)
def test_deadlocks_faults_and_rests_are_found_as_by_exploration(machine: Machine) -> None:
    found, whole = simulate(machine, runs=300, deadlock=True), explore(machine, deadlock=True)
    for name, trace in whole.traces.items():
        assert found.traces[name].length >= trace.length


def test_the_planted_bug_is_found_within_a_few_thousand_steps() -> None:
    found = [simulate(BUG, stop="first", seed=seed, confirm=None, engine="native") for seed in range(9)]
    steps = [one.strikes[0].steps for one in found]
    assert max(steps) < 10_000
    assert median(steps) < 2_500
    assert all(28 <= one.verdicts[0].trace.length <= 30 for one in found if one.verdicts[0].trace)
    assert all(len(one.strikes[0].moves) > 28 for one in found)


def test_walks_that_weigh_all_alike_never_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = np.full((256, len(BUG.actions)), swarm.LIKELY, dtype=np.uint32)
    monkeypatch.setattr(Swarm, "weights", lambda self, first, runs: alike[:runs])  # type: ignore[misc]
    found = simulate(BUG, stop="first", runs=3_000, confirm=None, engine="native")
    assert not found.strikes
    assert found.coverage.steps == 300_000


@pytest.mark.parametrize("engine", ["native", "interpreted"])
def test_the_seed_alone_decides_whatever_threads_and_blocks_there_are(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = simulate(Lamps(), runs=300, seed=5, engine=engine)
    two = simulate(Lamps(), runs=300, seed=5, engine=engine, threads=2)
    monkeypatch.setattr(simulating, "STEPS", 700)
    three = simulate(Lamps(), runs=300, seed=5, engine=engine, threads=3)
    assert one.strikes == two.strikes == three.strikes
    assert one.coverage == two.coverage == three.coverage
    assert simulate(Lamps(), runs=300, seed=6, engine=engine).coverage != one.coverage


def test_coverage_counts_walks_steps_and_actions() -> None:
    coverage = simulate(Counter(), ["in_range"], runs=50, depth=20).coverage
    assert coverage.runs == 50
    assert 4 <= coverage.shortest <= coverage.median <= coverage.longest <= 12
    assert sum(action.taken for action in coverage.actions) == coverage.steps
    assert {action.action: action.first_level for action in coverage.by_name} == {"up": 1, "jump": 2}
    assert simulate(Stuck(), runs=3).coverage.never_taken == ("never",)


def test_stop_first_ends_at_a_violation_and_not_at_a_goal() -> None:
    found = simulate(Counter(), stop="first", runs=500)
    assert found.ended == "decided"
    assert found.traces
    assert simulate(Counter(), ["full"], runs=500).ended == "decided"


def test_a_limit_on_time_and_an_interrupt_are_inconclusive() -> None:
    found = simulate(Counter(), seconds=0.0)
    assert found.ended == "seconds"
    assert found.coverage.runs == 0
    assert "the limit on time" in found.verdict("in_range").how

    def interrupt(beat: Progress) -> None:
        raise KeyboardInterrupt

    found = simulate(Counter(), progress=interrupt)
    assert found.ended == "interrupted"
    assert found.verdict("below_four").outcome is Outcome.VIOLATED
    assert found.verdict("in_range").outcome is Outcome.INCONCLUSIVE


def test_a_walk_that_plain_python_does_not_confirm_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    read = relation(Lamps())
    monkeypatch.setattr(Lamps, "one_rests", lambda self: True)
    with pytest.raises(Disagreement):
        simulate(read, ["one_rests"])


def test_shortening_keeps_what_is_needed_and_nothing_else() -> None:
    problem = program(relation(Lamps()), ["bright"])
    walk = simulate(Lamps(), ["bright"], runs=3_000, depth=400).strikes[0].moves
    states = Shortener(problem, readable(problem), 0).shorten(walk)
    assert len(states) - 1 < len(walk)
    assert len(set(states)) == len(states)
    trace = simulate(Lamps(), ["bright"], runs=3_000, depth=400).verdict("bright").trace
    assert trace is not None
    assert trace.states == states


def test_a_walk_on_which_nothing_strikes_is_not_shortened() -> None:
    problem = program(relation(Counter()), ["beyond"])
    with pytest.raises(ValueError, match="does not strike"):
        Shortener(problem, readable(problem), 0).shorten([0, 0, 0])


@pytest.mark.parametrize("how", [{"runs": 0}, {"depth": 0}, {"threads": 0}])
def test_nothing_to_walk_is_refused(how: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        simulate(Counter(), **how)  # type: ignore[arg-type]
