"""Putting mutants to the lockstep runs: starts the child, listens to it, and gathers what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from time import perf_counter
from typing import Literal, TypeAlias

from ..exits import Exit, worst
from ..problems import Problem
from .child import Request
from .mutant import Mutant
from .outcome import BASELINE, Outcome, Ready, from_data

JOBS = 2
"""Mutants at a time."""

PATIENCE = 30
"""Seconds of CPU that a mutant may take for one run."""

Verdict: TypeAlias = Literal["killed", "equivalent", "survived", "not equivalent"]


@dataclass(frozen=True)
class Finding:
    """A mutant and what became of it."""

    mutant: Mutant
    outcome: Outcome

    @property
    def verdict(self) -> Verdict:
        """A mutant that is said to be equivalent has to survive, every other one to be killed."""
        if self.mutant.equivalent is None:
            return "killed" if self.outcome.killed else "survived"
        return "not equivalent" if self.outcome.killed else "equivalent"

    @property
    def expected(self) -> bool:
        return self.verdict in ("killed", "equivalent")


@dataclass(frozen=True)
class Findings:
    """All findings, in the order of the catalogue. ``baseline`` is the code as it is, put to every run that was
    used.
    """

    findings: tuple[Finding, ...]
    runs: tuple[Ready, ...]
    baseline: Outcome
    seconds: float

    @property
    def exit(self) -> Exit:
        """The code as it is has to pass, and each finding to be as expected."""
        codes = [Exit.SUBJECT] if self.baseline.killed else []
        return worst([*codes, *(Exit.VIOLATED for finding in self.findings if not finding.expected)])


def put_all(
    mutants: Sequence[Mutant],
    *,
    jobs: int = JOBS,
    patience: int = PATIENCE,
    runs: Sequence[str] = (),
    listen: Callable[[Outcome | Ready], None] | None = None,
) -> Findings:
    """Put mutants to the runs, and the code as it is before them.

    ``jobs`` processes work at a time, and one that takes more than ``patience`` seconds of CPU for a run is killed by
    that.
    ``runs`` are the names of those that count; without, all. ``listen`` is told each answer as it comes.

    Raises Problem if a mutant does not apply, before anything runs, or if the child ends early.
    """
    for mutant in mutants:
        mutant.source()
    started = perf_counter()
    outcomes: dict[str, Outcome] = {}
    ready: list[Ready] = []
    for answer in listened(Request(tuple(mutants), jobs, patience, tuple(runs))):
        if isinstance(answer, Ready):
            ready.append(answer)
        else:
            outcomes[answer.mutant] = answer
        if listen is not None:
            listen(answer)
    findings = tuple(Finding(mutant, outcomes[mutant.name]) for mutant in mutants)
    return Findings(findings, tuple(ready), outcomes[BASELINE], perf_counter() - started)


def listened(request: Request) -> Iterator[Outcome | Ready]:
    """The answers of a child to a request. Ends the child, and with it its forks, if it is not heard to the end."""
    command = [sys.executable, "-m", "quiesce_checks.mutants.child"]
    with TemporaryFile("w+") as said:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        )
        assert child.stdin is not None  # as asked for
        assert child.stdout is not None
        try:
            child.stdin.write(request.text())
            child.stdin.close()
            for line in child.stdout:
                yield from_data(json.loads(line))
            child.wait()
        finally:
            if child.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, 9)
                child.wait()
            child.stdout.close()
        if child.returncode:
            said.seek(0)
            last = (said.read().strip().splitlines() or ["it said nothing"])[-1]
            raise Problem(f"the process that mutants run in ended with code {child.returncode}: {last}", exit=Exit.BUG)
