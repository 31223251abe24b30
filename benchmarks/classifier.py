"""What the echo classifier costs a run: microseconds against triggers, writes and reads.

    python benchmarks/classifier.py

An action of which the breaker holds no pair pays for its writes against its triggers and for nothing
else, however much it read. Each figure is the best of several rounds, for a run that overwrote no
trigger unless it says so."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from timeit import Timer

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.echo import Cause, Origin, Step, StepKind

SIZES = (1, 10, 100, 1_000)
READS = (1, 100, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Write:
    address: Address
    previous: int
    value: int


@dataclass(frozen=True, slots=True)
class Reads:
    deep: Sequence[Address]
    shallow: Sequence[Address] = ()


@dataclass(eq=False, slots=True)
class Node:
    label: str = "benchmark"


class Quiet:
    def error(self, event: str, message: str) -> None:
        """A trip is not what is measured."""


def document(number: int) -> Entity:
    return Entity("home", "space", f"document-{number}")


def microseconds(run: Callable[[], object]) -> float:
    timer = Timer(run, timer=process_time)  # a busy machine does not count
    rounds, taken = timer.autorange()
    rounds = max(1, int(rounds * 0.02 / taken)) if taken else rounds
    return min(timer.repeat(repeat=15, number=rounds)) / rounds * 1e6


def whole_run(
    breaker: RemoteEchoBreaker, node: Node, causes: Sequence[Cause], writes: Sequence[Write], reads: Reads
) -> Callable[[], object]:
    def run() -> object:
        return breaker.observe(node, breaker.steps(node, breaker.capture(causes, writes, 0), reads), 0)

    return run


def causes_of(count: int, *, one_document: bool) -> list[Cause]:
    return [
        Cause(Address(document(0 if one_document else number), ("value", f"field-{number}")), Origin.REMOTE)
        for number in range(count)
    ]


def writes_of(count: int, *, one_document: bool) -> list[Write]:
    """Beside every trigger: a document's other fields."""
    return [
        Write(Address(document(0 if one_document else number), ("value", f"output-{number}")), 1, 2)
        for number in range(count)
    ]


def growth(title: str, *, one_document: bool) -> None:
    print(f"\n{title}, in µs\n{'triggers':>10}" + "".join(f"{f'{count:,} writes':>14}" for count in SIZES))
    for triggers in SIZES:
        causes = causes_of(triggers, one_document=one_document)
        figures = [
            microseconds(
                whole_run(
                    RemoteEchoBreaker(Quiet()),
                    Node(),
                    causes,
                    writes_of(count, one_document=one_document),
                    Reads(()),
                )
            )
            for count in SIZES
        ]
        print(f"{triggers:>10,}" + "".join(f"{figure:>14,.1f}" for figure in figures))


def against_reads() -> None:
    print(f"\nagainst reads, 3 triggers and 3 writes, in µs\n{'reads':>10}{'untracked':>14}{'tracked':>14}")
    causes, writes = causes_of(3, one_document=False), writes_of(3, one_document=False)
    for count in READS:
        reads = Reads([Address(document(10 + number), ("value",)) for number in range(count)])
        figures: list[float] = []
        for tracked in (False, True):
            breaker, node = RemoteEchoBreaker(Quiet()), Node()
            if tracked:
                breaker.observe(node, [Step(document(9), StepKind.ECHO, 0)], 0)
            figures.append(microseconds(whole_run(breaker, node, causes, writes, reads)))
        print(f"{count:>10,}" + "".join(f"{figure:>14,.1f}" for figure in figures))


def against_pairs() -> None:
    print(f"\none echo step that renews a backoff, in µs\n{'pairs':>10}{'of others':>14}{'its own':>14}")
    for count in (1, 64, 4_096):
        figures: list[float] = []
        for own in (False, True):
            breaker, node = RemoteEchoBreaker(Quiet()), Node()
            for number in range(count - 1):
                breaker.observe(node if own else Node(), [Step(document(number), StepKind.ECHO, 0)], 0)
            step = [Step(document(count), StepKind.ECHO, 0)]

            def run(breaker: RemoteEchoBreaker = breaker, node: Node = node, step: list[Step] = step) -> object:
                return breaker.observe(node, step, 0)

            figures.append(microseconds(run))
        print(f"{count:>10,}" + "".join(f"{figure:>14,.1f}" for figure in figures))


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}")
    growth("every trigger and write a document of its own", one_document=False)
    growth("all of one document: every write against every trigger", one_document=True)
    against_reads()
    against_pairs()


if __name__ == "__main__":
    main()
