"""How many lockstep steps a second: model and runtime compared after every one.

    .venv/bin/python benchmarks/lockstep.py [--rounds 5]

Each pairing is toured whole: every transition of its explored graph. *best* and *median* count the walking alone (the
subject's step, its observation, the comparison); *all in* counts exploration, planning and what the model shows in each
state as well. CPU seconds of one core.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import process_time

from quiesce_checks.engines.explore import explore
from quiesce_checks.lockstep.pairing import Pairing
from quiesce_checks.lockstep.plan import plan
from quiesce_checks.lockstep.tour import Runner
from quiesce_checks.subjects.breaker import breaker_pairing
from quiesce_checks.subjects.classifier import classifier_pairing
from quiesce_checks.subjects.echo_sessions import echo_loop_pairing
from quiesce_checks.subjects.one_node import one_node_pairing
from quiesce_checks.subjects.one_session import one_session_pairing
from quiesce_checks.subjects.table import table_pairing

SMALL = {"threshold": 2, "window": 2, "cap": 2, "quiet": 3}


def pairings() -> list[Pairing]:
    return [
        breaker_pairing(),
        breaker_pairing(**SMALL),
        classifier_pairing(),
        table_pairing(documents=2, **SMALL),
        one_node_pairing(effect=True, longest_echo=1, cap=1, budget=1, hold_passes=1),
        one_session_pairing(cycle=True, restless=True, budget=2, cap=2),
        echo_loop_pairing(threshold=2, window=1, base=1, cap=2, quiet=3),
    ]


def measure(pairing: Pairing, rounds: int) -> tuple[int, int, list[float], float]:
    """Transitions, steps, CPU seconds of each round of walking, CPU seconds of everything for one tour."""
    started = process_time()
    graph = explore(pairing.walked, properties=(), keep_graph=True).graph
    assert graph is not None
    planned = plan(graph)
    runner = Runner(pairing, graph)
    prepared = process_time() - started
    times: list[float] = []
    for _ in range(rounds):
        started = process_time()
        for way in planned.walks:
            assert runner.run(way) is None
        times.append(process_time() - started)
    return graph.edges, planned.steps, times, prepared + times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'pairing':12} {'transitions':>12} {'steps':>9} {'best/s':>9} {'median/s':>9} {'all in/s':>9}")
    for pairing in pairings():
        edges, steps, times, whole = measure(pairing, rounds)
        print(
            f"{pairing.name:12} {edges:12,} {steps:9,} {steps / min(times):9,.0f} {steps / median(times):9,.0f} "
            f"{steps / whole:9,.0f}"
        )


if __name__ == "__main__":
    main()
