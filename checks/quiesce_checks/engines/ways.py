"""The ways to search, what goes together, and which of them a search takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from .checkpoints import Checkpoints
from .interpreted import Interpreted
from .program import Program
from .search import Searched, Watchman
from .shares import OWNERS
from .transport import Transport

WITHOUT_COMPILER = 0.2
"""Seconds that ``auto`` searches in plain Python before it has the kernel compiled: about as long as that takes."""

Engine = Literal["auto", "native", "interpreted"]


@dataclass(frozen=True)
class Ways:
    """How to search: whether to keep the graph, on how many threads or processes or on which cluster, and whether and
    where to go on in files.

    Raises ValueError for what does not go together.
    """

    keep_graph: bool = False
    threads: int | Literal["auto"] = 1
    processes: int | None = None
    cluster: str | None = None
    spill: Path | bool | None = None
    checkpoints: Checkpoints | None = None

    def __post_init__(self) -> None:
        counted("threads", 1 if self.threads == "auto" else self.threads)
        counted("processes", 1 if self.processes is None else self.processes)
        if self.cluster is not None and find_spec("ray") is None:
            text = "a search on a cluster needs ray, which is not installed: pip install 'quiesce[cluster]'"
            raise ModuleNotFoundError(text, name="ray")
        chosen = [name for name, value in self.owners.items() if value]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are different ways to part a search: choose one of them")
        if self.spill and chosen:
            raise ValueError(f"a search goes on in files on one thread only: leave out one of spill and {chosen[0]}")
        if self.keep_graph and chosen:
            raise ValueError(f"a graph is kept on one thread only: leave out one of keep_graph and {chosen[0]}")
        if self.checkpoints is not None and self.keep_graph:
            raise ValueError("checkpoints do not hold a graph: leave out one of checkpoints and keep_graph")
        if self.spill and self.keep_graph:
            raise ValueError("a search that goes on in files keeps no graph: leave out one of spill and keep_graph")

    @property
    def owners(self) -> dict[str, bool]:
        """The ways in which states are parted between owners, and which was asked for; ``auto`` gives way."""
        return {
            "threads": self.threads not in (1, "auto"),
            "processes": self.processes is not None,
            "cluster": self.cluster is not None,
        }

    @property
    def native(self) -> bool:
        """Whether this is only done in native code."""
        return bool(self.spill) or self.checkpoints is not None

    def transport(self) -> Transport | None:
        """Where the owners are; None if all states are one's."""
        if self.cluster is not None:
            from .cluster import Cluster

            return Cluster(self.cluster)
        if self.processes is not None:
            from .processes import Processes

            return Processes(self.processes)
        alone = self.keep_graph or bool(self.spill)
        threads = threads_for(self.threads) if not (alone and self.threads == "auto") else 1
        if threads == 1:
            return None
        from .threads import Threads

        return Threads(threads)


def counted(what: str, number: int) -> None:
    if not 1 <= number <= OWNERS:
        raise ValueError(f"{what} is a whole number from 1 to {OWNERS}, not {number}")


def threads_for(asked: int | Literal["auto"]) -> int:
    """How many threads to use; ``auto`` is one for each processor that this process may run on."""
    if asked != "auto":
        return asked
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(OWNERS, allowed)


def search(problem: Program, watchman: Watchman, engine: Engine, ways: Ways) -> Searched:
    """Search in the way that was asked for; ``auto`` begins in plain Python, which answers what is small."""
    if engine == "interpreted" and ways.native:
        raise ValueError(
            "plain Python does not work with files: leave out engine='interpreted' or spill and checkpoints"
        )
    if engine != "native" and not ways.native:
        give_up = WITHOUT_COMPILER if engine == "auto" and find_spec("llvmlite") is not None else None
        done = Interpreted(problem, watchman, keep_graph=ways.keep_graph, give_up=give_up).run()
        if done is not None:
            return done
    transport = ways.transport()
    if transport is not None:
        from .levels import Levels

        return Levels(problem, watchman, transport, ways.checkpoints).run()
    from .native import Native

    return Native(problem, watchman, keep_graph=ways.keep_graph, spill=ways.spill, checkpoints=ways.checkpoints).run()
