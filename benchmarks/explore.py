"""Exhaustive exploration beside the checkers that one would otherwise pick, on one model.

    python benchmarks/explore.py                    the large scope, one core, three rounds
    python benchmarks/explore.py --scope mid        another scope: base, small, mid, large
    python benchmarks/explore.py --only quiesce,c   some of them
    python benchmarks/explore.py --words            wider states: the same search with 1 to 16 words a state

The model is the yardstick EchoLoop; its encodings for the peers are in ``peers/``. Every row must give the same number
of distinct states, or the run fails. In each round every checker runs once, one after the other. Times are of the
search alone: compilers, code generators and interpreters' starts are counted apart. ``cpu`` is user and system time,
which on a busy machine says more than the wall clock; compare ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from echoloop_yardstick import SCOPES, Scope

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"


@dataclass
class Sample:
    """One run: seconds of wall clock and processor in the search, bytes at most resident, states counted."""

    wall: float
    cpu: float
    resident: int
    distinct: int


@dataclass
class Row:
    """One checker. ``prepare`` compiles and gives the seconds that took; ``run`` searches. None: not installed."""

    name: str
    key: str
    prepare: Callable[[Path, Scope], float]
    run: Callable[[Path, Scope], Sample]
    needs: Callable[[], str | None]
    prepared: list[float] = field(default_factory=list[float])
    samples: list[Sample] = field(default_factory=list[Sample])


def timed(command: list[str], folder: Path, **environment: str) -> tuple[str, Sample]:
    """Run a program to its end; its output, and what it took."""
    before = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - before
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    return output, Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, 0)


def built(commands: list[list[str]], folder: Path) -> float:
    return sum(timed(command, folder)[1].wall for command in commands)


def counted(pattern: str, output: str) -> int:
    found = re.search(pattern, output)
    if found is None:
        raise SystemExit(f"no count of states in:\n{output}")
    return int(float(found[1].replace(",", "")))


def missing(*programs: str) -> Callable[[], str | None]:
    """Why a peer cannot run here, None if it can."""

    def check() -> str | None:
        absent = [program for program in programs if shutil.which(program) is None]
        return f"{', '.join(absent)} not installed" if absent else None

    return check


# quiesce


def quiesce_run(folder: Path, scope: Scope) -> Sample:
    del folder
    name = next(name for name, known in SCOPES.items() if known == scope)
    output, sample = timed([sys.executable, str(Path(__file__).resolve()), "--one", name], HERE)
    found = json.loads(output)
    QUIESCE_COMPILED.append(found["compile"])
    QUIESCE_BYTES.append(found["bytes"])
    if (found["generated"], found["depth"]) != (scope.generated, scope.depth):
        raise SystemExit(f"quiesce generated {found['generated']} in {found['depth']} levels")
    return Sample(found["wall"], found["cpu"], sample.resident, found["distinct"])


QUIESCE_COMPILED: list[float] = []
QUIESCE_BYTES: list[float] = []


def one(name: str, extra: int = 0) -> dict[str, float]:
    """One native exploration in this process: all properties, traces kept; the kernel's compilation apart.

    ``extra`` words of numbers that never change make the states wider.
    """
    from dataclasses import replace

    from quiesce_checks.engines.native import Native
    from quiesce_checks.engines.program import program
    from quiesce_checks.engines.search import Limits, Stop, Watchman
    from quiesce_checks.relation.build import relation
    from quiesce_checks.relation.relation import Variable
    from quiesce_checks.relation.terms import const, var
    from quiesce_model.language.types import Leaf

    scope = SCOPES[name]
    read = relation(scope.machine())
    high = 2**62
    pads = tuple(
        Variable(Leaf(f"pad[{n}]", "int", 0, high, 0, False), var(f"pad[{n}]", low=0, high=high), const(0), const(high))
        for n in range(extra)
    )
    read = replace(read, variables=read.variables + pads, initial=read.initial + (const(0),) * extra)
    problem = program(read)
    watchman = Watchman(problem, Limits(), stop_at_first=False, required=[0], progress=None, started=0.0)
    native = Native(problem, watchman, keep_graph=False)
    native.prepare()
    wall, cpu = time.perf_counter(), time.process_time()
    stop = native.search()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = native.result(stop, wall)
    if found.stop is not Stop.EXHAUSTED or any(at is not None for at in found.found):
        raise SystemExit(f"quiesce: {found.stop}, {found.found}")
    return {
        "wall": wall,
        "cpu": cpu,
        "compile": found.compile_seconds,
        "words": problem.layout.words,
        "bytes": found.bytes_per_state,
        "distinct": found.distinct,
        "generated": found.generated,
        "depth": found.depth,
    }


# The peers


def c_prepare(folder: Path, scope: Scope) -> float:
    sizes = f"-DS={scope.sessions} -DT={scope.threshold} -DW={scope.window} -DL={scope.top} -DQ={scope.quiet}".split()
    flags = ["-O3", "-march=native", "-pthread", *sizes]
    return built([["gcc", *flags, str(PEERS / "echoloop.c"), "-o", "echoloop"]], folder)


def c_run(folder: Path, scope: Scope) -> Sample:
    del scope
    output, sample = timed(["./echoloop", "1", "24"], folder)
    sample.distinct = counted(r"distinct=(\d+)", output)
    sample.wall = float(counted_text(r"time=([\d.]+)s", output))
    return sample


def counted_text(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    assert found is not None
    return found[1]


def spin_prepare(*flags: str) -> Callable[[Path, Scope], float]:
    def prepare(folder: Path, scope: Scope) -> float:
        sizes = [f"-DT={scope.threshold}", f"-DW={scope.window}", f"-DL={scope.top}", f"-DQ={scope.quiet}"]
        model = str(PEERS / "echoloop.pml")
        compile_ = ["gcc", "-O3", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE", *flags, "pan.c", "-o", "pan"]
        return built([["spin", *sizes, "-a", model], compile_], folder)

    return prepare


def spin_run(folder: Path, scope: Scope) -> Sample:
    output, sample = timed(["./pan", "-m200000", "-w24"], folder)
    if "errors: 0" not in output:
        raise SystemExit(output)
    sample.distinct = counted(r"([\d.e+]+) states, stored", output)
    if abs(sample.distinct - scope.distinct) <= scope.distinct // 10**5:  # SPIN rounds large counts
        sample.distinct = scope.distinct
    return sample


def rumur_prepare(folder: Path, scope: Scope) -> float:
    sizes = [str(n) for n in (scope.sessions, scope.threshold, scope.window, scope.top, scope.quiet)]
    model, generated = timed(["sh", str(PEERS / "echoloop-murphi.sh"), *sizes], folder)
    (folder / "echoloop.m").write_text(model)
    generate = ["rumur", "--threads", "1", "--deadlock-detection", "off", "--output", "rumur.c", "echoloop.m"]
    compile_ = ["gcc", "-std=c11", "-O3", "-march=native", "-mcx16", "-w", "rumur.c", "-o", "rumur", "-lpthread"]
    return generated.wall + built([generate, compile_], folder)


def rumur_run(folder: Path, scope: Scope) -> Sample:
    del scope
    output, sample = timed(["./rumur"], folder)
    sample.distinct = counted(r"State Space Explored:\s+(\d+) states", output)
    return sample


def tlc_missing() -> str | None:
    if shutil.which("java") is None:
        return "java not installed"
    jar = os.environ.get("TLA2TOOLS")
    return None if jar and Path(jar).exists() else "set TLA2TOOLS to the path of tla2tools.jar"


def tlc_prepare(folder: Path, scope: Scope) -> float:
    del scope
    shutil.copy(PEERS / "EchoLoop.tla", folder)
    return 0.0


def tlc_run(folder: Path, scope: Scope) -> Sample:
    sizes = f"S={scope.sessions} T={scope.threshold} W={scope.window} L={scope.top} Q={scope.quiet}"
    (folder / "run.cfg").write_text(f"CONSTANTS {sizes}\nINIT Init\nNEXT Next\nINVARIANT Inv\n")
    command = ["java", "-XX:+UseParallelGC", "-Xmx8g", "-cp", os.environ["TLA2TOOLS"], "tlc2.TLC"]
    options = ["-workers", "1", "-deadlock", "-config", "run.cfg", "EchoLoop.tla"]
    output, sample = timed([*command, *options], folder)
    sample.distinct = counted(r"generated, ([\d,]+) distinct", output)
    return sample


def stateright_missing() -> str | None:
    path = os.environ.get("STATERIGHT_ECHOLOOP")
    return None if path and Path(path).exists() else "set STATERIGHT_ECHOLOOP to the program built of peers/"


def nothing_to_prepare(folder: Path, scope: Scope) -> float:
    del folder, scope
    return 0.0


def stateright_run(folder: Path, scope: Scope) -> Sample:
    sizes = [str(n) for n in (scope.window, scope.top, scope.quiet)]
    output, sample = timed([os.environ["STATERIGHT_ECHOLOOP"], "1", "bfs", *sizes], folder)
    sample.distinct = counted(r"(?:unique|distinct)\D*(\d+)", output)
    return sample


def python_run(folder: Path, scope: Scope) -> Sample:
    sizes = [str(n) for n in (scope.sessions, scope.threshold, scope.window, scope.top, scope.quiet)]
    output, sample = timed([sys.executable, str(PEERS / "echoloop_reference.py"), *sizes], folder)
    sample.distinct = counted(r"distinct=(\d+)", output)
    return sample


def always() -> None:
    return None


def rows() -> list[Row]:
    return [
        Row("quiesce, native", "quiesce", nothing_to_prepare, quiesce_run, always),
        Row("C, written by hand", "c", c_prepare, c_run, missing("gcc")),
        Row("SPIN depth-first", "spin", spin_prepare(), spin_run, missing("spin", "gcc")),
        Row("SPIN breadth-first", "spin-bfs", spin_prepare("-DBFS"), spin_run, missing("spin", "gcc")),
        Row("rumur", "rumur", rumur_prepare, rumur_run, missing("rumur", "gcc")),
        Row("stateright", "stateright", nothing_to_prepare, stateright_run, stateright_missing),
        Row("TLC", "tlc", tlc_prepare, tlc_run, tlc_missing),
        Row("Python, packed by hand", "python", nothing_to_prepare, python_run, always),
    ]


def compare(scope: Scope, rounds: int, only: set[str]) -> None:
    chosen = [row for row in rows() if not only or row.key in only]
    with tempfile.TemporaryDirectory() as temporary:
        present: list[Row] = []
        for row in chosen:
            why = row.needs()
            if why is not None:
                print(f"skipped  {row.name}: {why}")
                continue
            folder = Path(temporary) / row.key
            folder.mkdir()
            row.prepared.append(row.prepare(folder, scope))
            present.append(row)
        for _ in range(rounds):
            for row in present:
                sample = row.run(Path(temporary) / row.key, scope)
                if sample.distinct != scope.distinct:
                    raise SystemExit(f"{row.name}: {sample.distinct} distinct states, not {scope.distinct}")
                row.samples.append(sample)
    table(present, scope)


def table(present: list[Row], scope: Scope) -> None:
    base = next((row for row in present if row.key == "quiesce"), present[0])
    print(f"{scope.distinct:,} states, {scope.generated:,} generated, depth {scope.depth}\n")
    print(f"{'':24}{'cpu s':>8}{'(best)':>8}{'wall s':>8}{'M st/s':>8}{'MB':>7}{'compile':>9}{'times ours':>12}")
    for row in present:
        cpus = [sample.cpu for sample in row.samples]
        walls = [sample.wall for sample in row.samples]
        ratios = [sample.cpu / ours.cpu for sample, ours in zip(row.samples, base.samples, strict=True)]
        prepared = QUIESCE_COMPILED if row.key == "quiesce" else row.prepared
        rate = scope.distinct / statistics.median(cpus) / 1e6
        memory = statistics.median(sample.resident for sample in row.samples) / 1e6
        print(
            f"{row.name:24}{statistics.median(cpus):8.2f}{min(cpus):8.2f}{statistics.median(walls):8.2f}"
            f"{rate:8.2f}{memory:7.0f}{statistics.median(prepared):9.2f}{statistics.median(ratios):12.2f}"
        )
    if QUIESCE_BYTES:
        print(f"\nquiesce holds {QUIESCE_BYTES[0]:.1f} bytes a state: the state, its parent and its share of the table")


def widths(name: str, rounds: int) -> None:
    """The same search with wider states."""
    print(f"{'words':>6}{'cpu s':>8}{'(best)':>8}{'M st/s':>8}{'bytes/state':>13}{'compile':>9}")
    found: dict[int, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for extra in (0, 1, 3, 7, 9, 15):
            command = [sys.executable, str(Path(__file__).resolve()), "--one", name, "--extra", str(extra)]
            output, _ = timed(command, HERE)
            found.setdefault(extra, []).append(json.loads(output))
    for samples in found.values():
        cpus = [sample["cpu"] for sample in samples]
        rate = samples[0]["distinct"] / statistics.median(cpus) / 1e6
        compiled = statistics.median(sample["compile"] for sample in samples)
        print(
            f"{samples[0]['words']:6.0f}{statistics.median(cpus):8.2f}{min(cpus):8.2f}{rate:8.2f}"
            f"{samples[0]['bytes']:13.1f}{compiled:9.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scope", choices=list(SCOPES), default="large")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="keys of rows: " + ", ".join(row.key for row in rows()))
    parser.add_argument("--words", action="store_true", help="wider states instead of peers")
    parser.add_argument("--one", choices=list(SCOPES), help=argparse.SUPPRESS)
    parser.add_argument("--extra", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.extra)))
    elif given.words:
        widths(given.scope, given.rounds)
    else:
        compare(SCOPES[given.scope], given.rounds, {key for key in given.only.split(",") if key})


if __name__ == "__main__":
    main()
