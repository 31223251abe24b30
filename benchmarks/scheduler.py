"""What the scheduler costs, by size: graphs of 10² to 10⁵ actions over a replica whose server accepts at once.

    python benchmarks/scheduler.py [--largest 100000] [--shape grid] [--short] [--profile]

For each shape, in a process of its own: to build and settle it; one change that makes every action run (invalidate,
settle and commit, for each action), with Python's cyclic collector and without; one change that concerns one action;
and the memory that the process grew by. Beside it, as far as they can do the same, reaktiv and RxPY, if they are
installed. At last the breaker's own cost. Figures are CPU time of one core. ``--short`` takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import gc
import importlib
import io
import json
import math
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from statistics import median

from quiesce.address import Address, Entity, Identity
from quiesce.clock import ManualClock
from quiesce.commits import Document, Outcome, Verdict
from quiesce.counts import Counts
from quiesce.protocol import Window
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.echo import Cause, Origin
from quiesce.scheduler.node import Kind, Node, ReadSet
from quiesce.scheduler.run import NotYet, Run
from quiesce.scheduler.scheduler import Scheduler
from quiesce.storage.replica import Replica
from quiesce.storage.transaction import WriteDetail
from quiesce.values import ABSENT

IN, ALONE = Document("in"), Document("alone")


class Bench:
    """A scheduler over a replica, and a server that accepts whatever is sent."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.seq = 0
        self.replica = Replica("bench", lambda layer: self.sent.append(layer.local_seq))
        self.replica.welcome(Identity("bench", "one"), 0)
        self.scheduler = Scheduler(self.replica, ManualClock(), Counts(quiet=True))
        self.runs = 0

    def accept(self) -> None:
        if not self.sent:
            return
        before = self.seq
        for local in self.sent:
            self.seq += 1
            self.replica.judge(Verdict(local, Outcome.ACCEPTED, self.seq))
        self.replica.apply(Window(before, self.seq, caught_up=self.sent[-1]))
        self.sent.clear()

    def settle(self) -> None:
        while self.scheduler.step() is not None:
            if len(self.sent) >= 128:
                self.accept()
        self.accept()

    def put(self, document: Document, value: int) -> None:
        transaction = self.replica.begin()
        transaction.write(document, (), value)
        transaction.commit()

    def derive(self, name: str, *sources: Document) -> Document:
        out = Document(name)

        def body(run: Run) -> None:
            self.runs += 1
            total = 1
            for source in sources:
                found = run.read(source)
                if found is ABSENT:
                    raise NotYet  # as a derived value does that has never been derived
                total += found if isinstance(found, int) else 0
            run.write(out, (), total % 1_000_003)

        declared = (Address(Entity("bench", "space", name)),)
        self.scheduler.register(Node(name, Kind.COMPUTATION, body, declared_writes=declared))
        return out

    def show(self, *sources: Document) -> None:
        def body(run: Run) -> None:
            self.runs += 1
            for source in sources:
                run.read(source)

        self.scheduler.register(Node("show", Kind.EFFECT, body))


def chain(bench: Bench, size: int) -> None:
    last = bench.derive("c0", IN)
    for number in range(1, size - 1):
        last = bench.derive(f"c{number}", last, *((ALONE,) if number == size - 2 else ()))
    bench.show(last)


def fan_out(bench: Bench, size: int) -> None:
    for number in range(size):
        bench.show(IN, *((ALONE,) if number == 0 else ()))


def diamond(bench: Bench, size: int) -> None:
    bench.show(*[bench.derive(f"m{number}", IN) for number in range(size - 2)])
    bench.show(ALONE)


def grid(bench: Bench, size: int) -> None:
    side = math.isqrt(size)
    made: dict[tuple[int, int], Document] = {}
    for row in range(side):
        for column in range(side):
            above, left = made.get((row - 1, column)), made.get((row, column - 1))
            sources = [source for source in (above, left) if source is not None] or [IN]
            made[row, column] = bench.derive(f"g{row}-{column}", *sources)
    bench.show(made[side - 1, side - 1])
    bench.show(ALONE)


SHAPES: dict[str, Callable[[Bench, int], None]] = {
    "chain": chain,
    "fan-out": fan_out,
    "diamond": diamond,
    "grid": grid,
}


@dataclass(frozen=True)
class Figures:
    build_us: float
    change_us: float
    uncollected_us: float
    alone_us: float
    kib: float


def memory_kib() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def measure(shape: Callable[[Bench, int], None], size: int) -> Figures:
    gc.collect()
    before = memory_kib()
    bench = Bench()
    bench.put(IN, 1)
    bench.put(ALONE, 1)
    started = time.process_time()
    shape(bench, size)
    bench.settle()
    build = time.process_time() - started
    nodes = len(bench.scheduler.nodes)
    kib = (memory_kib() - before) / nodes
    kept: list[float] = []
    for collects in (True, False):
        changes: list[float] = []
        for value in (2, 3, 4) if size < 100_000 else (2,):
            bench.runs = 0
            if not collects:
                gc.disable()
            started = time.process_time()
            bench.put(IN, value + 10 * collects)
            bench.settle()
            changes.append((time.process_time() - started) / max(1, bench.runs))
            gc.enable()
        kept.append(median(changes) * 1e6)
    alone: list[float] = []
    for value in range(2, 22):
        started = time.process_time()
        bench.put(ALONE, value)
        bench.settle()
        alone.append(time.process_time() - started)
    return Figures(build / nodes * 1e6, *kept, median(alone) * 1e6, kib)


def measure_apart(shape: str, size: int) -> Figures:
    """In a process of its own, so that neither the memory nor the collector has anything else to look after."""
    command = [sys.executable, __file__, "--one", shape, str(size)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Figures(*json.loads(said))


# -- peers: the same shapes, in memory only, without documents, transactions, sessions or a bound on anything


def peer_reaktiv(size: int, shape: str) -> float | None:
    reaktiv = importlib.import_module("reaktiv")
    source = reaktiv.Signal(1)
    kept: list[object] = []
    if shape == "chain":
        last: Callable[[], int] = source
        for _ in range(size - 1):
            last = reaktiv.Computed(lambda last=last: last() + 1)
            kept.append(last)
        final = last
        kept.append(reaktiv.Effect(lambda: final() and None))
        final()  # raises if the chain is too long for it
    elif shape == "fan-out":
        kept.extend(reaktiv.Effect(lambda: source() and None) for _ in range(size))
    else:
        middle = [reaktiv.Computed(lambda: source() + 1) for _ in range(size - 2)]
        kept.append(reaktiv.Effect(lambda: sum(value() for value in middle) and None))
    return _timed(lambda value: source.set(value), size)


def peer_rx(size: int, shape: str) -> float | None:
    reactivex = importlib.import_module("reactivex")
    operators = importlib.import_module("reactivex.operators")
    subject = importlib.import_module("reactivex.subject").BehaviorSubject(1)
    if shape == "chain":
        last = subject
        for _ in range(size - 1):
            last = last.pipe(operators.map(lambda value: value + 1))
        last.subscribe(lambda value: None)
    elif shape == "fan-out":
        for _ in range(size):
            subject.subscribe(lambda value: None)
    else:
        # every input's change recomputes the whole: RxPY has no batches, so this is quadratic
        if size > 1_000:
            return None
        middle = [subject.pipe(operators.map(lambda value: value + 1)) for _ in range(size - 2)]
        reactivex.combine_latest(*middle).pipe(operators.map(sum)).subscribe(lambda value: None)
    return _timed(lambda value: subject.on_next(value), size)


def _timed(put: Callable[[int], None], size: int) -> float:
    found: list[float] = []
    for value in (2, 3, 4):
        started = time.process_time()
        put(value)
        found.append((time.process_time() - started) / size * 1e6)
    return median(found)


def peers(largest: int) -> None:
    print("\nThe same change in a library that keeps values in memory, µs for each action")
    for module, peer in (("reaktiv", peer_reaktiv), ("reactivex", peer_rx)):
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"  {module}: not installed, left out (pip install {module})")
            continue
        for shape in ("chain", "fan-out", "diamond"):
            line: list[str] = []
            for size in _sizes(largest):
                with contextlib.redirect_stderr(io.StringIO()):  # a peer prints what its own effects raised
                    try:
                        found = peer(size, shape)
                    except RecursionError:
                        line.append("recursion")
                        continue
                line.append("–" if found is None else f"{found:.2f}")
            print(f"  {module:<10} {shape:<8} " + " ".join(f"{cell:>10}" for cell in line))


# -- the breaker


def breaker(run_us: float) -> None:
    print("\nThe breaker's own cost, µs for each run (capture at kickoff, steps and observe at success)")
    print(f"  {'triggers':>8} {'writes':>7} {'reads':>6} {'untracked':>10} {'overwrites':>11} {'of a run':>9}")

    @dataclass
    class Action:
        label: str = "a"

    for triggers, writes, reads in ((1, 1, 1), (1, 1, 100), (10, 10, 10), (100, 10, 100), (10, 100, 100)):
        documents = [Entity("s", "space", f"d{number}") for number in range(max(triggers, writes, reads))]
        causes = [Cause(Address(document), Origin.REMOTE) for document in documents[:triggers]]
        log = ReadSet(tuple(Address(document) for document in documents[:reads]))
        other = [Entity("s", "space", f"o{number}") for number in range(writes)]
        costs: list[float] = []
        for written in (other, documents[:writes]):
            made = [WriteDetail(Address(document), 1, 2) for document in written]
            held, action, now = RemoteEchoBreaker(Counts(quiet=True).logger("b")), Action(), 0.0
            rounds = 300
            started = time.process_time()
            for _ in range(rounds):
                now += 90_000.0  # out of the window, so that nothing ever trips
                capture = held.capture(causes, made, now)
                steps = held.steps(action, capture, log)
                if steps:
                    held.observe(action, steps, now)
            costs.append((time.process_time() - started) / rounds * 1e6)
        share = f"{100 * costs[0] / run_us:.1f} %" if (triggers, writes, reads) == (1, 1, 1) else ""
        print(f"  {triggers:>8} {writes:>7} {reads:>6} {costs[0]:>10.2f} {costs[1]:>11.2f} {share:>9}")


def _sizes(largest: int) -> list[int]:
    return [size for size in (100, 1_000, 10_000, 100_000) if size <= largest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000, help="the largest graph, in actions")
    parser.add_argument("--shape", choices=list(SHAPES), help="only this one, and nothing else")
    parser.add_argument("--short", action="store_true", help="up to a thousand actions, and no peers")
    parser.add_argument("--profile", action="store_true", help="profile one grid of ten thousand instead")
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "SIZE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(astuple(measure(SHAPES[chosen.one[0]], int(chosen.one[1])))))
        return
    if chosen.short:
        chosen.largest = 1_000
    if chosen.profile:
        profile = cProfile.Profile()
        profile.enable()
        measure(grid, 10_000)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    print(f"{'shape':<9} {'actions':>8} {'build':>9} {'change':>9} {'no gc':>9} {'one alone':>10} {'memory':>9}")
    print(f"{'':<9} {'':>8} {'µs each':>9} {'µs each':>9} {'µs each':>9} {'µs':>10} {'KiB each':>9}")
    per_run = 0.0
    for name in SHAPES:
        if chosen.shape not in (None, name):
            continue
        for size in _sizes(chosen.largest):
            found = measure_apart(name, size)
            if name == "chain" and size == 1_000:
                per_run = found.change_us
            print(
                f"{name:<9} {size:>8} {found.build_us:>9.1f} {found.change_us:>9.1f} {found.uncollected_us:>9.1f} "
                f"{found.alone_us:>10.1f} {found.kib:>9.2f}",
                flush=True,
            )
    if chosen.shape is not None:
        return
    if not chosen.short:
        peers(chosen.largest)
    breaker(per_run or 100.0)


if __name__ == "__main__":
    main()
