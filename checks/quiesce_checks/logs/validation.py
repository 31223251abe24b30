"""One log against one target: read, searched, and judged, line by line, in memory that does not grow with the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from quiesce_model.language.machine import Machine

from ..problems import Problem
from ..report.figures import plural
from ..verdict import Outcome
from .lines import Line, Log
from .search import Coverage, Search, TooMany
from .seen import State
from .target import Reading, Target
from .why import Refusal, refusal

BEAT = 2_000
"""Lines between two words of progress."""


@dataclass(frozen=True)
class Failure:
    """The first line about a machine that no state survives. ``last`` is the last line before it that was matched,
    None if there is none; ``at`` is the time of the line in units since the first one."""

    line: Line
    last: Line | None
    at: int
    alive: tuple[State, ...]
    refusal: Refusal


@dataclass
class Judged:
    """One machine that the log is about: what became of its lines. ``most`` is how many states were alive at most;
    ``note`` says why it was judged up to line ``judged_to`` only, if it was."""

    key: str
    machine: Machine
    outcome: Outcome = Outcome.HOLDS
    matched: int = 0
    most: int = 1
    coverage: Coverage = field(default_factory=Coverage)
    failure: Failure | None = None
    why: str = ""
    note: str = ""
    judged_to: int = 0


@dataclass
class Validation:
    """What came of a log: ``lines`` read, of which ``torn`` (if not 0) was cut off, and each machine it was about.
    ``unit`` is how many ms a unit of the models' time is."""

    log: str
    unit: float
    lines: int = 0
    torn: int = 0
    judged: list[Judged] = field(default_factory=list[Judged])
    seconds: float = 0.0

    @property
    def matched(self) -> int:
        return sum(one.matched for one in self.judged)

    @property
    def outcome(self) -> Outcome:
        """The worst of all machines; vacuous where no step was ever taken."""
        outcomes = {one.outcome for one in self.judged}
        for worst in (Outcome.VIOLATED, Outcome.INCONCLUSIVE):
            if worst in outcomes:
                return worst
        return Outcome.HOLDS if any(one.coverage.actions for one in self.judged) else Outcome.VACUOUS

    @property
    def coverage(self) -> Coverage:
        total = Coverage()
        for one in self.judged:
            total.merge(one.coverage)
        return total


@dataclass
class Live:
    """A machine whose lines are still coming."""

    judged: Judged
    search: Search
    first: int
    at: int
    last: Line | None = None
    ended: bool = False


def validate(log: Log, target: Target, watcher: Callable[[int], None] | None = None) -> Validation:
    """Judge a log. Raises :class:`Problem`, with the line, for what cannot be read."""
    started = perf_counter()
    found = Validation(log.name, target.unit)
    live: dict[str, Live] = {}
    for line in log:
        try:
            for reading in target.read(line):
                one = live.get(reading.key)
                if one is None:
                    search = target.start(reading.key)
                    judged = Judged(reading.key, search.machine)
                    one = live[reading.key] = Live(judged, search, reading.at, reading.at)
                    found.judged.append(judged)
                step(one, line, reading)
        except Problem as problem:
            raise problem.at(log.name if log.name != "-" else "standard input", line.number) from None
        if watcher is not None and line.number % BEAT == 0:
            watcher(line.number)
    for one in live.values():
        close(one)
    found.lines, found.torn = log.lines, log.torn
    found.seconds = perf_counter() - started
    return found


def step(one: Live, line: Line, reading: Reading) -> None:
    judged, search = one.judged, one.search
    if one.ended or judged.outcome is not Outcome.HOLDS:
        return
    if reading.ends:
        one.ended = True
        judged.note, judged.judged_to = reading.ends, line.number
        if reading.undecided:
            judged.outcome, judged.why = Outcome.INCONCLUSIVE, reading.ends
        return
    if reading.at < one.at:
        raise Problem(
            f"the clock goes backwards: this line is at {reading.at - one.first:,}, "
            f"the one before it at {one.at - one.first:,} units of the model's time since the first",
            remedy="sort the log by time, or let the mapping name a field with a clock that is never set back",
        )
    if reading.options == ((),):
        return
    passed, one.at = reading.at - one.at, reading.at
    try:
        search.pass_time(passed)
        if search.take(reading.options):
            judged.matched += 1
            one.last = line
            return
    except TooMany:
        judged.outcome = Outcome.INCONCLUSIVE
        judged.why = (
            f"more than {plural(search.most_alive, 'state')} alive at line {line.number:,}: the log says too little"
        )
        return
    judged.failure = Failure(line, one.last, one.at - one.first, tuple(search.alive), refusal(search, reading.options))
    judged.outcome = Outcome.INCONCLUSIVE if search.cut else Outcome.VIOLATED
    judged.why = f"not everything was tried: {search.cut}" if search.cut else ""


def close(one: Live) -> None:
    one.judged.coverage = one.search.end()
    one.judged.most = one.search.most
