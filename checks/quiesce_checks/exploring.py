"""An exploration in one of the ways that only the command ``explore`` offers: threads, files, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quiesce_model.language.outcome import Misuse

from .job import Answer, Job, Watcher, check_names, engine, run
from .machines import instance
from .problems import Problem, of_model
from .relation.errors import ModelError


@dataclass(frozen=True)
class Ways:
    """``threads`` is 1, 2 or ``auto``; ``spill`` is where to go on past the limit on memory; ``checkpoints`` where to
    save the search every so many seconds, and ``resume`` says to go on from there."""

    threads: int | str = 1
    spill: Path | None = None
    checkpoints: Path | None = None
    every: float = 60.0
    resume: bool = False


def runner(ways: Ways, usual: Callable[[Job, Watcher | None], Answer] = run) -> Callable[[Job, Watcher | None], Answer]:
    """What runs an exploration in these ways; ``usual`` does where they are the usual ones."""

    if ways.resume and ways.checkpoints is None:
        raise Problem("--resume needs --checkpoints DIR: the folder that the search was saved to")

    def explored(job: Job, watcher: Watcher | None) -> Answer:
        if ways == Ways():
            return usual(job, watcher)
        machine = instance(job.machine, job.scope, job.without)
        check_names(job)
        module = engine("explore", "exploring", "llvmlite")
        limits = module.Limits(states=job.limit.states, seconds=job.limit.seconds, memory=job.limit.bytes)
        given: dict[str, Any] = {"threads": ways.threads, "spill": ways.spill}
        if ways.checkpoints is not None:
            saving = engine("checkpoints", "saving a search", "llvmlite")
            given["checkpoints"] = saving.Checkpoints(ways.checkpoints, ways.every, ways.resume)
        try:
            found = module.explore(machine, job.properties, limits=limits, progress=watcher, **given)
        except ModelError as error:
            raise of_model(error) from None
        except (Misuse, ValueError) as error:  # what exploration does not decide, or numbers that are too wide
            raise Problem(str(error)) from None
        return Answer(tuple(found.verdicts), replace(found.statistics, actions=found.by_name))

    return explored
