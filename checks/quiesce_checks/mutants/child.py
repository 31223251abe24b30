"""The process in which mutants live and die.

It explores the runs' graphs once, with the runtime as it is, and forks for each mutant and run: the fork forgets the
runtime and its adapters, serves the mutated module, imports them anew, and walks. So a mutant costs an import and its
walk, and cannot be seen by the next one. Reads a request from standard input, prints one JSON line for each answer.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from tempfile import TemporaryFile
from time import perf_counter
from typing import IO, Any

from ..lockstep.drive import Divergence
from ..lockstep.pairing import Mismatch
from ..lockstep.tour import Flaky
from .hook import serve
from .mutant import PACKAGE, Mutant
from .outcome import BASELINE, Outcome, Ready, data_of, from_data
from .runs import STAGES
from .runs_of import Prepared, Run, prepare

ADAPTERS = "quiesce_checks.subjects"


@dataclass(frozen=True)
class Request:
    """Which mutants are put to the runs, how many at a time, and how many seconds of CPU one may take for one
    run. ``runs``
    are names; none means all. With ``baseline`` the code as it is comes first."""

    mutants: tuple[Mutant, ...]
    jobs: int = 2
    patience: int = 30
    runs: tuple[str, ...] = ()
    baseline: bool = True

    def text(self) -> str:
        return json.dumps(asdict(self))


def read(text: str) -> Request:
    """The reverse of ``Request.text``."""
    data: dict[str, Any] = json.loads(text)
    mutants = tuple(Mutant(**mutant) for mutant in data.pop("mutants"))
    data["runs"] = tuple(data["runs"])
    return Request(mutants, **data)


def answers(request: Request) -> Iterator[Outcome | Ready]:
    """Each run as it is ready, and each mutant as it is killed or has survived every run that it was put to."""
    alive = [Outcome(mutant.name, "survived") for mutant in request.mutants]
    if request.baseline:
        alive.insert(0, Outcome(BASELINE, "survived"))
    mutants: dict[str, Mutant] = {mutant.name: mutant for mutant in request.mutants}
    for stage in STAGES:
        prepared: list[Prepared] = []
        for run in stage:
            chosen = not request.runs or run.name in request.runs
            wanted = [outcome for outcome in alive if outcome.mutant != BASELINE or not request.mutants]
            if chosen and any(concerns(run, mutants.get(outcome.mutant)) for outcome in wanted):
                prepared.append(prepare(run))
                yield prepared[-1].ready
        if not prepared:
            continue
        living: list[Outcome] = []
        for before, after in walked(prepared, alive, mutants, request):
            outcome = replace(after, seconds=before.seconds + after.seconds, runs=before.runs + after.runs)
            if outcome.killed:
                yield outcome
            else:
                living.append(outcome)
        alive = living
    yield from alive


def concerns(run: Run, mutant: Mutant | None) -> bool:
    return mutant is None or mutant.file in run.exercises


@dataclass(frozen=True)
class Fork:
    """A process at work, and the file that it writes its answer to."""

    before: Outcome
    file: IO[bytes]
    started: float


def walked(
    prepared: Sequence[Prepared], alive: Sequence[Outcome], mutants: dict[str, Mutant], request: Request
) -> Iterator[tuple[Outcome, Outcome]]:
    """Fork for each of the living, ``jobs`` at a time. Yields each with what became of it in these runs."""
    gc.freeze()
    waiting = list(alive)
    busy: dict[int, Fork] = {}
    while waiting or busy:
        while waiting and len(busy) < request.jobs:
            before = waiting.pop(0)
            file = TemporaryFile()  # noqa: SIM115 - read after the fork has ended
            pid = os.fork()
            if pid == 0:
                live(prepared, before.mutant, mutants.get(before.mutant), file, request.patience)
            busy[pid] = Fork(before, file, perf_counter())
        pid, status = os.wait()
        fork = busy.pop(pid)
        yield fork.before, told(fork, status)


def told(fork: Fork, status: int) -> Outcome:
    """What a fork has written, or how it ended without."""
    with fork.file as file:
        file.seek(0)
        text = file.read()
    lines = text.decode().splitlines()
    run = lines[-1] if lines else None
    if os.waitstatus_to_exitcode(status) == 0:
        outcome = from_data(json.loads(lines[-1]))
        assert isinstance(outcome, Outcome)
        return outcome
    seconds = perf_counter() - fork.started
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return Outcome(fork.before.mutant, "endless", run, "no answer in time", seconds=seconds)
    return Outcome(fork.before.mutant, "crash", run, "the process died", seconds=seconds)


def live(prepared: Sequence[Prepared], name: str, mutant: Mutant | None, file: IO[bytes], patience: int) -> None:
    """The life of a fork. Does not return. Writes each run that it begins, and then what came of it all."""
    code = 1
    try:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        forget()
        if mutant is not None:
            serve(mutant)
        outcome = Outcome(name, "survived")
        for one in prepared:
            if concerns(one.run, mutant) and not outcome.killed:
                file.write(f"{one.run.name}\n".encode())
                file.flush()
                signal.setitimer(signal.ITIMER_PROF, patience)
                after = put_to(one, name)
                outcome = replace(after, seconds=outcome.seconds + after.seconds, runs=outcome.runs + 1)
        file.write(json.dumps(data_of(outcome)).encode())
        file.flush()
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def put_to(prepared: Prepared, name: str) -> Outcome:
    """Walk the runtime as this process imports it."""
    started = perf_counter()
    try:
        pairing = prepared.pairing_now()
    except Mismatch as mismatch:
        return Outcome(name, "differs", prepared.run.name, str(mismatch), seconds=perf_counter() - started)
    except Exception as error:  # whatever the mutant does as it is imported
        return Outcome(name, "crash", prepared.run.name, f"{type(error).__name__}: {error}")
    try:
        fall = prepared.take(pairing)
    except Flaky as flaky:
        return Outcome(name, "flaky", prepared.run.name, str(flaky), seconds=perf_counter() - started)
    if fall is None:
        return Outcome(name, "survived", seconds=perf_counter() - started)
    last = fall.shortest.turns[-1]
    return Outcome(
        name,
        "crash" if last.subject.kind == "crashed" else "differs",
        prepared.run.name,
        reason(fall.shortest),
        fall.found_after,
        tuple(str(turn.step) for turn in fall.shortest.turns),
        fall.seconds,
    )


def forget() -> None:
    """As if neither the runtime nor what adapts it had been imported."""
    for name in [*sys.modules]:
        if name == PACKAGE or name.startswith((f"{PACKAGE}.", ADAPTERS)):
            del sys.modules[name]


def reason(divergence: Divergence) -> str:
    """The fields that differ, or what a side said instead of showing them."""
    last = divergence.turns[-1]
    if last.subject.kind == "crashed":
        return last.subject.text
    if last.model.kind != last.subject.kind:
        return f"{last.step}: {last.model.kind} by the model, {last.subject.kind} by the runtime"
    return ", ".join(name for name, _, _ in divergence.differs)


def main() -> None:
    """Answer the request on standard input."""
    out: Any = sys.stdout
    for answer in answers(read(sys.stdin.read())):
        out.write(json.dumps(data_of(answer)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
