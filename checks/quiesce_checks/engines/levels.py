"""The search by several owners, level by level, wherever they are: limits, progress, checkpoints, and what is found.

All that an owner writes to is its own; between the two parts of a round (expand, receive) all wait for each other.
Which states are found in which level does not depend on timing, nor does their order, so two runs are the same. If an
owner is lost, all go back to the last checkpoint, or to the beginning, and do again what came after.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from time import perf_counter

from ..trace import Disagreement
from .blueprint import blueprint
from .checkpoints import Checkpoints, Unusable, owners_of
from .control import Answer, Slot
from .identity import digest
from .native import LANES
from .owner_kernel import OwnerKernel, PairKernel
from .packing import Layout
from .program import Program
from .search import Searched, Stop, Watchman
from .transport import Lost, Plan, Report, Seen, Tally, Transport

LOSSES = 3
"""Owners that may be lost before a level is done."""

FEW_STATES = 1 << 12
"""Up to so many states are all there when the owners have gone; of more, those of traces."""


class OwnedStates:
    """States of several owners: state i of owner o of n has the number n·i + o. The numbers are not consecutive."""

    def __init__(self, layout: Layout, owners: int, look: Callable[[int, int], Seen]) -> None:
        self.layout = layout
        self.owners = owners
        self.look = look
        self.seen: dict[int, Seen] = {}

    def at(self, number: int) -> Seen:
        if number not in self.seen:
            index, owner = divmod(number, self.owners)
            self.seen[number] = self.look(owner, index)
        return self.seen[number]

    def leaves(self, index: int) -> tuple[int, ...]:
        return self.layout.unpack(self.at(index).words)

    def parent(self, index: int) -> int:
        found = self.at(index)
        return found.parent * self.owners + found.origin


def gone(owner: int, index: int) -> Seen:
    raise LookupError(f"state {index} of owner {owner} went with its owner: only those of traces were kept")


class Levels:
    """One search. ``run`` may be called once."""

    def __init__(
        self,
        program: Program,
        watchman: Watchman,
        transport: Transport,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.program = program
        self.watchman = watchman
        self.transport = transport
        self.checkpoints = checkpoints
        self.owners = 0
        self.saved: tuple[Path, int, list[str]] | None = None
        self.level = 1
        self.reports: list[Report] = []
        self.losses = 0
        self.lost: list[str] = []
        self.interrupted = False
        self.deepest_lost = 0
        self.compile_seconds = 0.0

    def plan(self) -> Plan:
        near = self.transport.near
        kind = PairKernel if near and self.owners == 2 else OwnerKernel
        kernel = kind(self.program, lanes=LANES, near=near)
        limits = self.watchman.limits
        return Plan(kernel.module(), blueprint(self.program, kernel), self.owners, limits.memory, limits.states)

    def run(self) -> Searched:
        """KeyboardInterrupt ends it with what it has."""
        begun = perf_counter()
        try:
            self.prepare()
            while True:
                try:
                    stop = self.search()
                    return self.result(stop, perf_counter() - begun)
                except Lost as lost:
                    self.recover(lost)
        finally:
            self.transport.stop()

    def prepare(self) -> None:
        """Make the owners. Raises :class:`Lost` if the system does not let them be made."""
        self.owners = self.transport.owners
        try:
            self.compile_seconds = self.transport.start(self.plan())
        except (MemoryError, OSError) as error:
            raise Lost(f"{self.transport.name} cannot be started: {error or 'no memory'}") from None

    def search(self) -> Stop:
        """From where the owners are to an end."""
        try:
            if not self.reports:
                self.set_out()
            while not self.interrupted:
                stop = self.between_levels() or self.expand_level()
                if stop is not None:
                    return stop
        except KeyboardInterrupt:
            self.interrupted = True
        except (MemoryError, OSError):  # the system refuses, before our own limit did
            return Stop.MEMORY
        return Stop.INTERRUPTED

    def set_out(self) -> None:
        """From the last checkpoint, or from the initial state."""
        if self.saved is not None and not self.take_up(*self.saved):
            return
        if self.saved is None and self.checkpoints is not None and self.checkpoints.resume:
            self.resume(self.checkpoints)
            return
        self.level = 1
        self.reports = self.transport.ask("begin")

    def resume(self, checkpoints: Checkpoints) -> None:
        """From the newest checkpoint in a folder. Raises :class:`Unusable`."""
        reasons: list[str] = []
        found = checkpoints.usable(self.digest)
        while True:
            try:
                path, saved = next(found)
            except Unusable as error:
                raise Unusable("; ".join([*reasons, str(error)])) from None
            owners_of(saved, self.owners)
            refused = self.take_up(path.resolve(), int(saved.numbers["level"]), list(saved.numbers["sums"]))
            if not refused:
                return
            reasons += refused

    def take_up(self, path: Path, level: int, sums: list[str]) -> list[str]:
        """Have all owners go on from a checkpoint; gives why some cannot."""
        refused = [text for text in self.transport.ask("restore", path, sums) if text]
        if not refused:
            self.saved, self.level = (path, level, sums), level
            self.reports = self.transport.ask("report")
        return refused

    def recover(self, lost: Lost) -> None:
        """Put a new owner in the place of the one that was lost, and send all back. Raises :class:`Lost` if that
        happens again and again."""
        self.losses = 1 if self.level > self.deepest_lost else self.losses + 1
        self.deepest_lost = max(self.level, self.deepest_lost)
        self.lost.append(str(lost))
        if self.losses > LOSSES:
            raise Lost(f"owners were lost again and again before a level was done: {lost}")
        self.reports = []
        self.transport.revive()

    def between_levels(self) -> Stop | None:
        """Whether the search ends before it expands this level."""
        limits = self.watchman.limits
        if self.watchman.decided(self.found()):
            return Stop.DECIDED
        if limits.depth is not None and self.level >= limits.depth:
            return Stop.DEPTH
        if limits.states is not None and self.count > limits.states:
            return Stop.STATES
        if self.checkpoints is not None and self.level > 1 and self.checkpoints.due:
            return self.save(self.checkpoints)
        return None

    def save(self, checkpoints: Checkpoints) -> Stop | None:
        path = checkpoints.folder.resolve() / f"{checkpoints.next():06d}.checkpoint"
        sums = self.transport.ask("save", self.level, path, self.digest)
        if any(text.startswith(" ") for text in sums):
            return Stop.DISK
        try:
            checkpoints.save(self.digest, {"owners": self.owners, "level": self.level, "sums": sums}, ())
        except OSError:
            return Stop.DISK
        self.saved = path, self.level, sums
        return None

    @cached_property
    def digest(self) -> str:
        return digest(self.program, self.watchman.stop_at_first, tuple(self.watchman.required), len(Slot))

    def expand_level(self) -> Stop | None:
        """One level, round by round."""
        before = self.count
        while True:
            self.reports = self.transport.exchange(self.level)
            stop = self.after_round()
            if stop is not None:
                return stop
            if all(report.answer is Answer.LEVEL for report in self.reports):
                break
        if self.count == before:
            return Stop.EXHAUSTED
        self.level += 1
        return None

    def after_round(self) -> Stop | None:
        self.beat()
        limits = self.watchman.limits
        for report in self.reports:
            if report.stop is not None:
                return report.stop
        if limits.states is not None and self.count > limits.states:
            return Stop.STATES
        return Stop.SECONDS if self.watchman.overdue() else None

    def beat(self) -> None:
        self.watchman.report(
            self.engine, self.found(), depth=self.level, states=self.count, queue=self.queue, memory=self.memory
        )

    @property
    def engine(self) -> str:
        return f"explore ({self.transport.name})"

    @property
    def count(self) -> int:
        return sum(report.count for report in self.reports)

    @property
    def queue(self) -> int:
        return sum(report.count - report.next for report in self.reports)

    @property
    def memory(self) -> int:
        return sum(report.memory for report in self.reports)

    def found(self) -> tuple[int | None, ...]:
        """For each watch the nearest state where it struck."""
        out: list[int | None] = []
        for strikes in zip(*(report.strikes for report in self.reports), strict=True):
            places = [(first[0], first[1] * self.owners + o) for o, first in enumerate(strikes) if first is not None]
            out.append(min(places)[1] if places else None)
        return tuple(out)

    def result(self, stop: Stop, seconds: float) -> Searched:
        """What was found; raises :class:`Lost` if an owner is lost before it has told."""
        self.reports = self.transport.ask("report")
        tallies: list[Tally] = self.transport.ask("tally")
        firsts = zip(*(tally.first_level for tally in tallies), strict=True)
        found = self.found()
        return Searched(
            engine=self.engine,
            stop=stop,
            distinct=self.count,
            generated=sum(report.generated for report in self.reports) + 1,
            depth=self.level,
            queue=self.queue,
            seconds=seconds,
            compile_seconds=self.compile_seconds,
            bytes=self.memory,
            bytes_per_state=self.memory / max(self.count, 1),
            found=found,
            taken=tuple(sum(taken) for taken in zip(*(tally.taken for tally in tallies), strict=True)),
            first_level=tuple(min((n for n in levels if n), default=0) for levels in firsts),
            states=self.gathered(found),
            counts=tuple(report.count for report in self.reports),
            remark=self.remark(),
        )

    def remark(self) -> str:
        times = {1: "once", 2: "twice"}.get(len(self.lost), f"{len(self.lost)} times")
        return f"an owner was lost {times}, and its work done again" if self.lost else ""

    def look(self, owner: int, index: int) -> Seen:
        return self.transport.ask_one(owner, "look", index)

    def gathered(self, found: tuple[int | None, ...]) -> OwnedStates:
        """States, also when the owners are gone: then all, if they are few, or those of traces."""
        states = OwnedStates(self.program.layout, self.owners, self.look)
        if self.count <= FEW_STATES and not self.transport.near:
            for owner, seen in enumerate(self.transport.ask("all_seen")):
                states.seen.update((at * self.owners + owner, state) for at, state in enumerate(seen))
        for number in found:
            for _ in range(self.level):
                number = states.parent(number) if number else number
            if number:
                raise Disagreement(f"{self.program.relation.name}: parents lead from a state to itself")
            states.at(0)
        if not self.transport.near:
            states.look = gone
        return states
