"""How many lockstep steps a second with an implementation in another process, beside one in ours.

    .venv/bin/python benchmarks/adapters.py [--rounds 5]

The gate of ``examples/adapters`` is toured whole: as a Python object in this process, behind its adapters in Python
and (where there is a ``node``) in JavaScript. *one by one* asks nothing ahead; *no seen* is the Python adapter asked
for what is seen by a question of its own after each step, as adapters may have it. The programs take turns in each
round. ``cpu`` is ours and theirs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from quiesce_checks.engines.explore import explore
from quiesce_checks.lockstep import Description, Observation, Refused
from quiesce_checks.lockstep.adapter import adapter_pairing
from quiesce_checks.lockstep.pairing import Pairing
from quiesce_checks.lockstep.plan import plan
from quiesce_checks.lockstep.stdio import StdioSubject
from quiesce_checks.lockstep.tour import Runner
from quiesce_checks.machines import find_machine
from quiesce_model.language.machine import Machine, Step

EXAMPLES = Path(__file__).parents[1] / "examples" / "adapters"
SCOPE = {"debounce": 6, "throttle": 10, "base": 1, "cap": 16}


class InProcess:
    """The adapter's own object, called as a subject."""

    def __init__(self, described: Description) -> None:
        sys.path.insert(0, str(EXAMPLES))
        import gate_adapter

        self.adapter: Any = gate_adapter.Adapter(gate_adapter.Gate)
        self.description = described

    def describe(self) -> Description:
        return self.description

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        self.adapter.reset(constants=constants, tick=1)

    def step(self, step: Step, at: int) -> None:
        args = {name: value.name for name, value in step.args}
        result = self.adapter.step(action=step.action, args=args, at=at)
        if "refused" in result:
            raise Refused(result["refused"])

    def observe(self, at: int) -> Observation:
        return tuple(self.adapter.seen(at).values())


class Asking(StdioSubject):
    """Asks for what is seen, though the step's answer has it."""

    def keep(self, at: int, result: dict[str, Any], kind: str) -> None:
        pass


class OneByOne(StdioSubject):
    """Asks nothing ahead."""

    def ahead(self, turns: Sequence[tuple[Step | None, int]], *, refusals: bool) -> None:
        pass


def pairings(machine: Machine) -> dict[str, Pairing]:
    python = [sys.executable, "-S", "gate_adapter.py"]
    piped = adapter_pairing(machine, python, folder=EXAMPLES)
    found = {
        "in process": replace(piped, subject=lambda: InProcess(piped.described())),
        "python": piped,
        "python, one by one": replace(piped, subject=lambda: OneByOne(python, machine, folder=EXAMPLES)),
        "python, no seen": replace(piped, subject=lambda: Asking(python, machine, folder=EXAMPLES)),
    }
    if shutil.which("node"):
        found["node"] = adapter_pairing(machine, "node gate_adapter.js", folder=EXAMPLES)
    return found


def cpu() -> float:
    """Seconds of this process, and of children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    machine = find_machine("gate_model.py:Gate", (EXAMPLES,))(**SCOPE)
    made = pairings(machine)
    graph = explore(next(iter(made.values())).relation, properties=(), keep_graph=True).graph
    assert graph is not None
    planned = plan(graph)
    walls: dict[str, list[float]] = {name: [] for name in made}
    cpus: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, pairing in made.items():
            runner, begun, started = Runner(pairing, graph), cpu(), perf_counter()
            for way in planned.walks:
                assert runner.run(way) is None, runner.failure
            walls[name].append(perf_counter() - started)
            del runner  # a child's time counts once it has ended
            cpus[name].append(cpu() - begun)
    print(f"{graph.edges:,} transitions, {planned.steps:,} steps, load {os.getloadavg()[0]:.1f}\n")
    print(f"{'':18} {'steps/s':>9} {'best':>9} {'cpu µs/step':>12}")
    for name in made:
        wall, best = median(walls[name]), min(walls[name])
        each = median(cpus[name]) / planned.steps * 1e6
        print(f"{name:18} {planned.steps / wall:9,.0f} {planned.steps / best:9,.0f} {each:12.0f}")


if __name__ == "__main__":
    main()
