"""Entries of suites run by several processes, each entry by one; results come in the order of the entries.

A process loads the suite itself and is told which entry; what comes back is the result without the entry. Comparisons
with an implementation run in the process that asked: what an implementation holds does not travel.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .exits import Exit
from .job import run
from .judge import Judged, Result, run_check
from .problems import Problem
from .suite import Check, Suite, load_suite
from .verdict import Statistics

FEW = 8
"""Entries that are not worth starting processes for."""


@dataclass(frozen=True)
class Sent:
    """A result on its way."""

    judged: tuple[Judged, ...]
    seconds: float
    statistics: Statistics | None
    problem: Problem | None


def processes_for(asked: int | None, entries: int) -> int:
    """How many processes to use: as asked, or one for each processor if there are more than a few entries."""
    if asked is not None:
        return min(asked, max(1, entries))
    return min(os.cpu_count() or 1, entries) if entries > FEW else 1


def results(
    checks: Sequence[Check], jobs: int, here: Callable[[Check], Result | None], update: bool
) -> Generator[Result]:
    """Each entry's result, in order. ``here`` runs an entry in this process, and is asked where there is but one job.

    What is left is given up when the caller stops asking.
    """
    if jobs <= 1:
        for check in checks:
            found = here(check)
            if found is None:
                return
            yield found
        return
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(jobs, context, initializer=at_home, initargs=(os.getcwd(), tuple(sys.path)))
    try:
        with uninterrupted():  # a process inherits what it does not hear
            waiting: list[Future[Sent] | None] = [
                None if check.job.pairing is not None else pool.submit(one, str(check.file), check.name, update)
                for check in checks
            ]
        for check, future in zip(checks, waiting, strict=True):
            if future is None:
                found = here(check)
                if found is None:
                    return
                yield found
            else:
                yield arrived(check, future)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        ours = [child for child in multiprocessing.active_children() if child not in others]
        for child in ours:
            child.terminate()
        for child in ours:
            child.join()


@contextmanager
def uninterrupted() -> Generator[None]:
    """Ctrl-C goes unheard, for as long as it takes to start processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def arrived(check: Check, future: Future[Sent]) -> Result:
    try:
        sent = future.result()
    except BrokenProcessPool:
        problem = Problem(
            "the process that ran this was killed, as a machine does that is out of memory",
            remedy="run fewer at once: --jobs 1",
            exit=Exit.INCONCLUSIVE,
        )
        return Result(check, (), 0.0, problem=problem.at(str(check.file), check.line))
    return Result(check, sent.judged, sent.seconds, sent.statistics, sent.problem)


# In the other process.

LOADED: dict[str, Suite] = {}


def at_home(folder: str, path: tuple[str, ...]) -> None:
    """Everything is found as whoever asked finds it."""
    os.chdir(folder)
    sys.path[:] = path


def one(file: str, name: str, update: bool) -> Sent:
    """Run an entry, named by its file and itself."""
    if file not in LOADED:
        LOADED[file] = load_suite(Path(file), (Path.cwd(),))
    check = next(check for check in LOADED[file].checks if check.name == name)
    found = run_check(check, run, None, update_witness=update)
    return Sent(found.judged, found.seconds, found.statistics, found.problem)
