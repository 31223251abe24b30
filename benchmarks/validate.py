"""How many lines of a log a second are judged: the example's log, and logs that the runtime writes of a storm.

    .venv/bin/python benchmarks/validate.py [--lines 100000] [--rounds 3]

*best* and *median* count reading, searching and judging, not the start of the program. CPU seconds of one core.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.tracing import VARIABLE
from quiesce.simulate import Storm, simulate_storm
from quiesce_checks.logs.find import find_target
from quiesce_checks.logs.lines import Log
from quiesce_checks.logs.target import Target
from quiesce_checks.logs.validation import validate
from quiesce_checks.machines import find_machine

EXAMPLE = Path(__file__).parents[1] / "examples" / "logs"
MAPPING = EXAMPLE / "tickets_mapping.py"


def tickets(lines: int) -> bytes:
    """Rolls of three tickets: how many are sold at once is told of every other roll, that one is opened of none."""
    found: list[str] = []
    at = 0
    while len(found) < lines:
        told = {"total": 3} if len(found) % 4 else {}
        for wait, more in ((100, {}), (10, told)):
            at += wait
            found.append(json.dumps({"at": at, "event": "sold", **more}))
        at += 2_100
    return ("\n".join(found[:lines]) + "\n").encode()


def storm(lines: int) -> bytes:
    """Two sessions a side that never agree, with a breaker that trips soon and waits no longer than a second."""
    policy = BreakerPolicy(echo_trip_threshold=4, echo_backoff_max_ms=1_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.ndjson")
        os.environ[VARIABLE] = str(path)
        try:
            minutes = 1
            while True:
                simulate_storm(Storm((2, 2)), policy, minutes * 60_000)
                written = path.read_bytes().splitlines(keepends=True)
                path.unlink()
                if len(written) >= lines:
                    return b"".join(written[:lines])
                minutes *= 2
        finally:
            del os.environ[VARIABLE]


def measure(log: bytes, target: Callable[[], Target], rounds: int) -> tuple[int, int, list[float]]:
    """Lines, how many were matched, CPU seconds of each round."""
    times: list[float] = []
    lines = matched = 0
    for _ in range(rounds):
        made = target()
        started = process_time()
        found = validate(Log("log", io.BytesIO(log)), made)
        times.append(process_time() - started)
        assert found.outcome == "holds", found.outcome
        lines, matched = found.lines, found.matched
    return lines, matched, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    machine = find_machine(str(EXAMPLE / "tickets.py"))
    storms = storm(chosen.lines)
    rows: list[tuple[str, bytes, Callable[[], Target]]] = [
        ("tickets, a hidden step", tickets(chosen.lines), lambda: find_target(str(MAPPING), machine, {})),
        ("storm, each pair", storms, lambda: find_target("pair", None, {})),
        ("storm, each node", storms, lambda: find_target("node", None, {})),
    ]
    print(f"{'log':24} {'lines':>9} {'matched':>9} {'best s':>8} {'median s':>9} {'lines/s':>9}")
    for name, log, target in rows:
        lines, matched, times = measure(log, target, chosen.rounds)
        best, middle = min(times), median(times)
        print(f"{name:24} {lines:9,} {matched:9,} {best:8.1f} {middle:9.1f} {lines / middle:9,.0f}")


if __name__ == "__main__":
    main()
