"""The search by two owners on two threads, level by level.

All that an owner writes to is its own; between the two phases of a round (expand, receive) both wait for each other.
Which states are found in which level does not depend on timing, nor does their order, so two runs are the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from .control import Answer, Slot
from .jit import Compiled, Loaded, loaded
from .native import CALL, LANES, Native, PackedStates
from .owner_kernel import OwnerKernel
from .program import Program
from .search import Searched, Stop, Watchman

ENGINE = "explore (two threads)"

BOX = 1 << 17
"""States that an owner collects for the other before they are exchanged: some megabytes, which stay in the cache."""

FEW = 4096
"""States of a level up to which the owners take turns on one thread: handing over would take longer."""

INDEXES = 1 << 31
"""States that one owner can number: a parent's 32 bits hold its owner, too."""


@dataclass(frozen=True)
class OwnedStates:
    """States of two owners: state i of owner o has the number 2·i + o. The numbers are not consecutive."""

    views: tuple[PackedStates, PackedStates]

    def leaves(self, index: int) -> tuple[int, ...]:
        return self.views[index & 1].leaves(index >> 1)

    def parent(self, index: int) -> int:
        return self.views[index & 1].parent(index >> 1)


class Owner(Native):
    """One owner's memory. What it was asked to do it does until it is done, or ``Owners.why`` says to stop."""

    def __init__(self, program: Program, watchman: Watchman, kernel: OwnerKernel, number: int, owners: Owners) -> None:
        super().__init__(program, watchman, kernel=kernel, share=0.5)
        self.possible = min(self.possible, INDEXES - kernel.successors.capacity)
        self.number = number
        self.owners = owners
        self.halvings = 1
        words, room = program.layout.words, BOX + kernel.successors.capacity
        self.box: NDArray[np.uint64] = np.zeros((room + 1) * words, dtype=np.uint64)
        self.parents_of_box: NDArray[np.uint32] = np.zeros(room + 1, dtype=np.uint32)
        self.set(Slot.OWNER, number)
        self.set(Slot.OUT_WORDS_AT, int(self.box.ctypes.data))
        self.set(Slot.OUT_SOURCES_AT, int(self.parents_of_box.ctypes.data))
        self.set(Slot.OUT_ROOM, room)
        self.starts: list[int] = [0]
        self.budget = 16

    def load(self, code: Loaded) -> None:
        self.code = Compiled(code.answering("expand"), code.doing("insert"), code.doing("judge"), code.seconds, code)
        self.expand = code.answering("expand")
        self.receive = code.answering("receive")
        self.first_hash = code.answering("first_hash")

    def work(self, call: Callable[[int], int]) -> Answer:
        """Call until it has come to its end or all is stopped, making room where that is needed."""
        while True:
            self.set(Slot.BUDGET, self.budget)
            before = perf_counter()
            answer = Answer(call(self.address))
            spent = perf_counter() - before
            if answer is Answer.BUDGET:
                self.budget = max(16, min(self.budget * 4, int(self.budget * CALL / max(spent, 1e-6))))
            if answer not in (Answer.BUDGET, Answer.ROOM) or self.owners.why is not None:
                return answer
            stop = self.owners.look(self)
            if stop is None and answer is Answer.ROOM:
                stop = self.make_room()
            if stop is not None:
                self.owners.why = self.owners.why or stop

    def beat(self) -> None:
        if self.number == 0:
            self.owners.beat()

    @property
    def packed(self) -> PackedStates:
        return PackedStates(self.program.layout, self.states, self.parents)

    def take_over(self, other: Owner) -> None:
        """What the other has put into its box is to be received."""
        self.set(Slot.IN_WORDS_AT, int(other.box.ctypes.data))
        self.set(Slot.IN_SOURCES_AT, int(other.parents_of_box.ctypes.data))
        self.set(Slot.IN_COUNT, other.get(Slot.OUT_COUNT))
        self.set(Slot.IN_NEXT, 0)

    def level_of(self, index: int) -> int:
        return bisect_right(self.starts, index)


class Owners:
    """One search by two owners. ``run`` may be called once."""

    def __init__(self, program: Program, watchman: Watchman) -> None:
        self.program = program
        self.watchman = watchman
        self.kernel = OwnerKernel(program, lanes=LANES)
        self.why: Stop | None = None
        self.level = 1
        self.both = (Owner(program, watchman, self.kernel, 0, self), Owner(program, watchman, self.kernel, 1, self))
        self.compile_seconds = 0.0

    def run(self) -> Searched:
        """KeyboardInterrupt ends it with what it has."""
        begun = perf_counter()
        with ThreadPoolExecutor(1) as other_thread:
            try:
                self.prepare()
                stop = self.search(other_thread)
            except KeyboardInterrupt:
                stop = Stop.INTERRUPTED
            except (MemoryError, OSError):  # the system refuses, before our own limit did
                stop = Stop.MEMORY
        return self.result(stop, perf_counter() - begun)

    def prepare(self) -> None:
        """Compile the kernel."""
        code = loaded(self.kernel.module())
        self.compile_seconds = code.seconds
        for owner in self.both:
            owner.load(code)

    def search(self, thread: ThreadPoolExecutor) -> Stop:
        first, second = self.both
        words = self.program.layout.words
        first.states.words(np.uint64, words)[:] = self.program.layout.pack(self.program.initial)
        bit = first.first_hash(first.address) & 1
        for owner in self.both:
            owner.set(Slot.OWNED_BIT, bit ^ owner.number)
            owner.place_table()
        for slot in (Slot.COUNT, Slot.LEVEL_END):
            second.set(slot, 0)
        insert, judge = first.code.insert, first.code.judge  # type: ignore[union-attr]
        insert(first.address, 0, 1)
        judge(first.address, 0, 1)
        while True:
            stop = self.between_levels() or self.expand_level(thread)
            if stop is not None:
                return stop

    def between_levels(self) -> Stop | None:
        """Whether the search ends before it expands this level."""
        limits = self.watchman.limits
        if self.watchman.decided(self.found()):
            return Stop.DECIDED
        if limits.depth is not None and self.level >= limits.depth:
            return Stop.DEPTH
        if limits.states is not None and self.total(Slot.COUNT) > limits.states:
            return Stop.STATES
        return None

    def expand_level(self, thread: ThreadPoolExecutor) -> Stop | None:
        """One level, round by round."""
        ends = [owner.get(Slot.COUNT) for owner in self.both]
        for owner, end in zip(self.both, ends, strict=True):
            owner.set(Slot.LEVEL_END, end)
            owner.starts.append(end)
        alone = self.total(Slot.COUNT) - self.total(Slot.NEXT) <= FEW
        while True:
            for owner in self.both:
                owner.set(Slot.OUT_COUNT, 0)
            answers = self.phase(lambda owner: owner.expand, thread, alone)
            first, second = self.both
            first.take_over(second)
            second.take_over(first)
            if self.why is None:
                self.phase(lambda owner: owner.receive, thread, alone)
            if self.why is not None:
                return self.why
            if all(answer is Answer.LEVEL for answer in answers):
                break
        for owner in self.both:
            owner.first_level[(owner.first_level == 0) & (owner.taken > 0)] = self.level
        if self.total(Slot.COUNT) == sum(ends):
            return Stop.EXHAUSTED
        self.level += 1
        return None

    def phase(
        self, what: Callable[[Owner], Callable[[int], int]], thread: ThreadPoolExecutor, alone: bool
    ) -> list[Answer]:
        """Both owners do one thing, and wait for each other."""
        first, second = self.both
        if alone:
            return [owner.work(what(owner)) for owner in self.both]
        other = thread.submit(second.work, what(second))
        try:
            mine = first.work(what(first))
        except BaseException:
            self.why = Stop.INTERRUPTED  # the other one must come to its end, too
            raise
        return [mine, other.result()]

    def look(self, owner: Owner) -> Stop | None:
        """Between two calls of an owner's: whether to go on."""
        owner.beat()
        limits = self.watchman.limits
        if self.watchman.overdue():
            return Stop.SECONDS
        if limits.states is not None and self.total(Slot.COUNT) > limits.states:
            return Stop.STATES
        return Stop.MEMORY if owner.memory() > owner.memory_limit else None

    def beat(self) -> None:
        count = self.total(Slot.COUNT)
        self.watchman.report(
            ENGINE, self.found(), depth=self.level, states=count,
            queue=count - self.total(Slot.NEXT), memory=self.memory(),
        )  # fmt: skip

    def total(self, slot: Slot) -> int:
        return sum(owner.get(slot) for owner in self.both)

    def memory(self) -> int:
        """Bytes that the search holds, boxes included."""
        return sum(owner.memory() + owner.box.nbytes + owner.parents_of_box.nbytes for owner in self.both)

    def found(self) -> tuple[int | None, ...]:
        """For each watch the nearest state where it struck."""
        out: list[int | None] = []
        for strikes in zip(*(owner.strikes() for owner in self.both), strict=True):
            places = [
                (owner.level_of(at), 2 * at + owner.number)
                for owner, at in zip(self.both, strikes, strict=True)
                if at is not None
            ]
            out.append(min(places)[1] if places else None)
        return tuple(out)

    def result(self, stop: Stop, seconds: float) -> Searched:
        count = self.total(Slot.COUNT)
        moves = len(self.program.moves)
        taken = [sum(int(owner.taken[m]) for owner in self.both) for m in range(moves)]
        firsts = [[int(owner.first_level[m]) for owner in self.both if owner.first_level[m]] for m in range(moves)]
        return Searched(
            engine=ENGINE,
            stop=stop,
            distinct=count,
            generated=self.total(Slot.GENERATED) + 1,
            depth=self.level,
            queue=count - self.total(Slot.NEXT),
            seconds=seconds,
            compile_seconds=self.compile_seconds,
            bytes=self.memory(),
            bytes_per_state=self.memory() / count,
            found=self.found(),
            taken=tuple(taken),
            first_level=tuple(min(f, default=self.level if n else 0) for f, n in zip(firsts, taken, strict=True)),
            states=OwnedStates((self.both[0].packed, self.both[1].packed)),
            counts=tuple(owner.get(Slot.COUNT) for owner in self.both),
        )
