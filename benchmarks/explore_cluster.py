"""What a state costs where states are parted between owners: processor's time, memory, and what is sent.

    python benchmarks/explore_cluster.py                 the large scope: one owner, two threads, processes, actors
    python benchmarks/explore_cluster.py --sent          how much is sent with 2 to 64 owners
    python benchmarks/explore_cluster.py --words 4       wider states
    python benchmarks/explore_cluster.py --parcels       what a round takes with 2 to 12 actors
    python benchmarks/explore_cluster.py --cost          what many states cost, by the formulae of docs/cluster.md

Processor's time is of all processes together: on a busy machine the wall clock says little. Actors are on a Ray cluster
of two nodes on this machine, so what is sent goes through memory and never through a network.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from echoloop_yardstick import SCOPES, Scope

from quiesce_checks.engines.levels import Levels
from quiesce_checks.engines.native import Native
from quiesce_checks.engines.processes import Processes
from quiesce_checks.engines.program import Program, program
from quiesce_checks.engines.search import Limits, Watchman
from quiesce_checks.engines.threads import Threads
from quiesce_checks.engines.transport import Plan, Report, Transport
from quiesce_checks.relation.build import relation


@dataclass(frozen=True)
class Row:
    """One search: seconds of processor and wall, distinct states, states sent, bytes held, rounds of exchange."""

    name: str
    cpu: float
    wall: float
    distinct: int
    sent: int
    held: int
    rounds: int


def watchman(problem: Program) -> Watchman:
    return Watchman(problem, Limits(), stop_at_first=False, required=[0], progress=None, started=perf_counter())


def widened(problem: Program, words: int) -> Program:
    """The same search with words added that never change."""
    return replace(problem, layout=replace(problem.layout, words=words))


def counted(made: Any, scope: Scope) -> None:
    if (made.distinct, made.generated, made.depth) != (scope.distinct, scope.generated, scope.depth):
        raise SystemExit(f"{made.distinct} distinct states, not {scope.distinct}")


def alone(problem: Program, scope: Scope) -> Row:
    search = Native(problem, watchman(problem))
    search.prepare()
    cpu, wall = process_time(), perf_counter()
    stop = search.search()
    cpu, wall = process_time() - cpu, perf_counter() - wall
    found = search.result(stop, wall)
    counted(found, scope)
    return Row("one thread", cpu, wall, found.distinct, 0, found.bytes, 0)


class Rounds:
    """A transport whose rounds are counted."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.rounds = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def exchange(self, level: int) -> list[Report]:
        self.rounds += 1
        return self.transport.exchange(level)


def parted(problem: Program, scope: Scope, transport: Transport, spent: Callable[[Any], float], **plan: Any) -> Row:
    """A search by owners; ``spent`` gives the processor's time of all that work for it so far."""
    counting: Any = Rounds(transport)
    search = Levels(problem, watchman(problem), counting)
    usual = search.plan

    def planned() -> Plan:
        return replace(usual(), **plan)

    search.plan = planned  # type: ignore[method-assign]
    search.prepare()
    cpu, wall = spent(transport), perf_counter()
    stop = search.search()
    cpu, wall = spent(transport) - cpu, perf_counter() - wall
    found = search.result(stop, wall)
    transport.stop()
    counted(found, scope)
    sent = sum(report.sent for report in search.reports)
    return Row(transport.name, cpu, wall, found.distinct, sent, found.bytes, counting.rounds)


def here(transport: Any) -> float:
    return process_time()


def here_and_there(transport: Any) -> float:
    return process_time() + sum(transport.ask("used"))


def with_ray(transport: Any) -> float:
    """Ours, and all processes of Ray: owners, and those that place them and move what they send."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            command = (status.parent / "cmdline").read_bytes()
            if b"ray" in command and int(status.parent.name) != os.getpid():
                ticks += sum(int(n) for n in status.read_text().rpartition(")")[2].split()[11:13])
        except (OSError, ValueError):  # it has ended
            continue
    return process_time() + ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def two_machines() -> Generator[str]:
    """A Ray cluster of two nodes on this machine, with a processor each; gives its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster as Machines

    size = {"num_cpus": 1, "object_store_memory": 1 << 30}
    made: Any = Machines(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    made.add_node(**size)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield made.address
    finally:
        ray.shutdown()
        made.shutdown()


def rows(problem: Program, scope: Scope) -> Generator[Row]:
    yield alone(problem, scope)
    yield parted(problem, scope, Threads(2), here)
    yield parted(problem, scope, Processes(2), here_and_there)
    if find_spec("ray") is None:
        print("no actors: ray is not installed (pip install 'quiesce[cluster]')", file=sys.stderr)
        return
    from quiesce_checks.engines.cluster import Cluster

    with two_machines() as address:
        yield parted(problem, scope, Cluster(address), with_ray)


def table(problem: Program, scope: Scope, rounds: int) -> None:
    words = problem.layout.words
    print(f"{scope.distinct:,} states of {words} words, {scope.generated:,} generated, {scope.depth} levels;", end=" ")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; the best of {rounds}\n")
    print(f"{'':26}{'cpu s':>8}{'wall s':>8}{'ns/state':>10}{'sent/state':>12}{'B sent':>8}{'B held':>8}{'rounds':>8}")
    best: dict[str, Row] = {}
    for _ in range(rounds):
        for row in rows(problem, scope):
            if row.name not in best or row.cpu < best[row.name].cpu:
                best[row.name] = row
    for row in best.values():
        sent = row.sent / row.distinct
        print(
            f"{row.name:26}{row.cpu:8.2f}{row.wall:8.2f}{1e9 * row.cpu / row.distinct:10.0f}{sent:12.2f}"
            f"{sent * (8 * words + 4):8.1f}{row.held / row.distinct:8.1f}{row.rounds:8d}"
        )


def traffic(problem: Program, scope: Scope) -> None:
    """How much is sent does not depend on where owners are, so threads that do as actors do tell it."""
    print(f"{scope.distinct:,} states, {(scope.generated - 1) / scope.distinct:.2f} successors each\n")
    print(f"{'owners':>8}" + "".join(f"{f'2^{bits} kept':>12}" for bits in (1, 14, 20)) + "   sent for each state")
    for owners in (2, 4, 8, 16, 32, 64):
        told = ""
        for bits in (1, 14, 20):
            transport = Threads(owners)
            transport.near = False
            row = parted(problem, scope, transport, here, sent_bits=bits, box=1 << 20, batches=1 << 14)
            told += f"{row.sent / row.distinct:12.2f}"
        print(f"{owners:8}{told}", flush=True)


def parcels(problem: Program, scope: Scope) -> None:
    """What a round takes by itself: the states of a small scope cost next to nothing."""
    from quiesce_checks.engines.cluster import Cluster

    print(f"{'actors':>8}{'parcels':>10}{'cpu ms/round':>15}{'wall ms/round':>15}")
    with two_machines() as address:
        for owners in (2, 4, 8, 12):
            row = parted(problem, scope, Cluster(address, owners), with_ray)
            cpu, wall = 1e3 * row.cpu / row.rounds, 1e3 * row.wall / row.rounds
            print(f"{owners:8}{owners * owners:10}{cpu:15.1f}{wall:15.1f}", flush=True)


@dataclass(frozen=True)
class Machine:
    """One machine of a cluster: processors, bytes of memory, bits a second of its network."""

    processors: int = 64
    memory: float = 512e9
    network: float = 25e9


@dataclass(frozen=True)
class State:
    """What one state costs. ``held`` are bytes, ``search`` and ``send`` seconds of one processor (for a state, and for
    one that is sent), ``sent`` how many are sent for it, ``bytes`` those of each; ``parcel`` are seconds for handing
    one on, ``full`` how many states are in it."""

    held: float = 29.0
    search: float = 0.2e-6
    sent: float = 3.1
    send: float = 0.8e-6
    bytes: float = 12.0
    parcel: float = 0.3e-3
    full: float = 1 << 16


def cost(states: float, state: State, machine: Machine) -> dict[str, float]:
    """The formulae of docs/cluster.md."""
    machines = ceil(states * state.held / (0.8 * machine.memory))
    owners = min(1024, machines * machine.processors)
    sent = states * state.sent
    apart = (machines - 1) / machines
    seconds = {
        "search": states * state.search / owners,
        "send": sent * state.send / owners * (machines > 1),
        "parcels": sent / state.full * state.parcel * (machines > 1),
        "network": sent * state.bytes * apart * 8 / (machines * machine.network),
    }
    return {
        "TB held": states * state.held / 1e12,
        "machines": machines,
        "owners": owners,
        "TB sent": sent * state.bytes * apart / 1e12,
        **seconds,
    }


def costs() -> None:
    for words, state in ((1, State()), (4, State(held=62.0, bytes=36.0))):
        print(f"states of {words} words")
        for states in (1e9, 1e10, 1e11, 1e12):
            found = cost(states, state, Machine())
            print(
                f"  10^{len(str(int(states))) - 1}  "
                + "  ".join(f"{name} {value:,.3g}" for name, value in found.items())
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scope", choices=list(SCOPES), default="large")
    parser.add_argument("--words", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sent", action="store_true")
    parser.add_argument("--parcels", action="store_true")
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    if given.cost:
        costs()
        return
    scope = SCOPES["base" if given.parcels else given.scope]
    problem = widened(program(relation(scope.machine())), given.words)
    if given.sent:
        traffic(problem, scope)
    elif given.parcels:
        parcels(problem, scope)
    else:
        table(problem, scope, given.rounds)


if __name__ == "__main__":
    main()
