"""One search on one thread against the same on two: ``python benchmarks/explore_threads.py``.

On a machine that is busy with other work the wall time says little. So besides it stands the longest way: in each
phase of each round the processor's time of the owner that took longer, summed, and what the main thread does between
phases. That is what two idle processors would take if nothing else kept owners waiting: it is no speed-up by the clock.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from echoloop_yardstick import SCOPES, Scope

from quiesce_checks.engines.levels import Levels
from quiesce_checks.engines.native import Native
from quiesce_checks.engines.owner import Owner
from quiesce_checks.engines.program import Program, program
from quiesce_checks.engines.search import Limits, Watchman
from quiesce_checks.engines.threads import Threads
from quiesce_checks.relation.build import relation


class TimedThreads(Threads):
    """Sums what the phases take if all owners run at once."""

    def __init__(self, owners: int) -> None:
        super().__init__(owners)
        self.longest = 0.0
        self.in_phases = 0.0

    def together(self, what: Callable[[Owner], Any], alone: bool = False) -> list[Any]:
        spent: list[float] = []

        def timed(owner: Owner) -> Any:
            before = thread_time()
            answer = what(owner)
            spent.append(thread_time() - before)
            return answer

        answers = super().together(timed, alone)
        self.longest += sum(spent) if alone else max(spent)
        self.in_phases += sum(spent)
        return answers


def watchman(problem: Program) -> Watchman:
    return Watchman(problem, Limits(), stop_at_first=False, required=[0], progress=None, started=perf_counter())


def one_thread(problem: Program) -> tuple[float, float]:
    """Processor's time and wall time of the search alone."""
    search = Native(problem, watchman(problem))
    search.prepare()
    before = process_time(), perf_counter()
    search.search()
    return process_time() - before[0], perf_counter() - before[1]


def some_threads(problem: Program, scope: Scope, threads: int) -> tuple[float, float, float]:
    """Processor's time, wall time, and the longest way: of the phases, and all that is done between them."""
    transport = TimedThreads(threads)
    search = Levels(problem, watchman(problem), transport)
    search.prepare()
    before = process_time(), perf_counter()
    stop = search.search()
    cpu, wall = process_time() - before[0], perf_counter() - before[1]
    found = search.result(stop, wall)
    transport.stop()
    if (found.distinct, found.generated, found.depth) != (scope.distinct, scope.generated, scope.depth):
        raise SystemExit(f"{found.distinct} distinct states, not {scope.distinct}")
    return cpu, wall, transport.longest + (cpu - transport.in_phases)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scope", choices=list(SCOPES), default="large")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    scope = SCOPES[given.scope]
    problem = program(relation(scope.machine()))
    ones: list[tuple[float, float]] = []
    twos: list[tuple[float, float, float]] = []
    for _ in range(given.rounds):
        ones.append(one_thread(problem))
        twos.append(some_threads(problem, scope, given.threads))
    median = statistics.median
    several = f"{given.threads} threads"
    print(f"{scope.distinct:,} states; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print(f"{'':12}{'cpu s':>8}{'wall s':>8}{'longest way s':>15}")
    print(f"{'one thread':12}{median(c for c, _ in ones):8.2f}{median(w for _, w in ones):8.2f}")
    print(f"{several:12}" + "".join(f"{median(t[i] for t in twos):{n}.2f}" for i, n in ((0, 8), (1, 8), (2, 15))))
    ways = [one[0] / two[2] for one, two in zip(ones, twos, strict=True)]
    walls = [one[1] / two[1] for one, two in zip(ones, twos, strict=True)]
    between = f"({min(ways):.2f} to {max(ways):.2f})"
    print(f"\none thread takes {median(ways):.2f} times the longest way of {several} {between},")
    print(f"and {median(walls):.2f} times their wall time ({min(walls):.2f} to {max(walls):.2f})")


if __name__ == "__main__":
    main()
