"""The search in native code: memory, limits and progress around calls of the kernel."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blueprint import blueprint
from .checkpoints import Checkpoints, Unusable, owners_of
from .control import Answer, Slot
from .disk import ENGINE as DISK
from .disk import DiskStates, OnDisk
from .graph import Graph
from .identity import digest
from .jit import Compiled, compiled
from .kernel import Kernel
from .memory import Reserve, available
from .packing import Layout
from .program import Program
from .room import Room
from .search import Searched, Stop, Watchman

ENGINE = "explore"
LANES = 4
"""States that successors are generated of at a time: what two 256-bit registers take two of without spilling."""

CALL = 0.08
"""Seconds that one call of the kernel shall take."""

Spill = Path | bool | None

PROGRESS = (Slot.COUNT, Slot.NEXT, Slot.LEVEL, Slot.LEVEL_END, Slot.GENERATED, Slot.EVENTS)
"""How far a search has come."""


class PackedStates:
    """States of a native search, in place."""

    def __init__(self, layout: Layout, states: Reserve, parents: Reserve) -> None:
        self.layout = layout
        self.states = states.words(np.uint64, states.bytes // 8)
        self.parents = parents.words(np.uint32, parents.bytes // 4)

    def leaves(self, index: int) -> tuple[int, ...]:
        width = self.layout.words
        return self.layout.unpack([int(word) for word in self.states[index * width : (index + 1) * width]])

    def parent(self, index: int) -> int:
        return int(self.parents[index])


class Native(Room):
    """One search. ``run`` may be called once. It takes the memory that the limits allow.

    With ``spill`` it goes on in files where that is used up: in a folder given, or the system's own for temporary ones.
    """

    def __init__(
        self,
        program: Program,
        watchman: Watchman,
        *,
        keep_graph: bool = False,
        spill: Spill = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.program = program
        self.watchman = watchman
        self.spill = spill
        self.checkpoints = checkpoints
        self.disk: OnDisk | None = None
        self.code: Compiled | None = None
        self.kernel = Kernel(program, lanes=LANES, graph=keep_graph)
        limits = watchman.limits
        memory = limits.memory if limits.memory is not None else available() * 9 // 10
        super().__init__(blueprint(program, self.kernel), memory, limits.states)
        self.view: PackedStates | DiskStates = PackedStates(program.layout, self.states, self.parents)
        self.last_level = 1 << 62 if limits.depth is None else limits.depth
        self.set(Slot.LAST_LEVEL, self.last_level)
        for slot in (Slot.COUNT, Slot.LEVEL, Slot.LEVEL_END):
            self.set(slot, 1)

    def run(self) -> Searched:
        """KeyboardInterrupt ends it, between two calls of the kernel, with what it has."""
        begun = perf_counter()
        try:
            self.prepare()
            stop = self.search()
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        except (MemoryError, OSError):  # the system refuses, before our own limit did
            stop = Stop.MEMORY
        return self.result(stop, perf_counter() - begun)

    def prepare(self) -> None:
        """Compile the kernel. Apart, so that a benchmark can time the search alone."""
        self.code = compiled(self.kernel.module())
        self.kernel_insert = self.code.insert

    def search(self) -> Stop:
        code = self.code
        assert code is not None, "prepare comes first"
        words = self.program.layout.words
        if self.checkpoints is not None and self.checkpoints.resume:
            self.restore(self.checkpoints)
        else:
            self.states.words(np.uint64, words)[:] = self.program.layout.pack(self.program.initial)
            self.place_table()
            code.insert(self.address, 0, 1)
            code.judge(self.address, 0, 1)
        if self.watchman.decided(self.strikes()):
            return Stop.DECIDED
        budget = 16
        while True:
            self.set(Slot.BUDGET, budget)
            if self.checkpoints is not None and self.checkpoints.due:  # it ends with the level
                self.set(Slot.LAST_LEVEL, min(self.last_level, self.get(Slot.LEVEL) + 1))
            before = perf_counter()
            answer = Answer(code.search(self.address))
            spent = perf_counter() - before
            if answer is Answer.BUDGET:
                budget = max(16, min(budget * 4, int(budget * CALL / max(spent, 1e-6))))
            stop = self.after(answer)
            if stop is Stop.MEMORY and self.spill:
                stop = self.go_on_in_files()
            if stop is not None:
                return stop

    @cached_property
    def digest(self) -> str:
        return digest(self.program, self.watchman.stop_at_first, tuple(self.watchman.required), len(Slot))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that a search has learned, but for the numbers of :data:`PROGRESS`, as it is in memory."""
        count = self.get(Slot.COUNT)
        states = self.states.words(np.uint64, count * self.program.layout.words)
        return (
            self.taken,
            self.first_level,
            self.found,
            self.active,
            states,
            self.parents.words(np.uint32, count),
        )

    def save(self, checkpoints: Checkpoints) -> None:
        """Write a checkpoint. Raises OSError if that cannot be done."""
        numbers = {slot.name: self.get(slot) for slot in PROGRESS}
        checkpoints.save(self.digest, numbers, [array.data for array in self.arrays()])

    def restore(self, checkpoints: Checkpoints) -> None:
        """Go on from the newest checkpoint. Raises :class:`Unusable`."""
        saved = checkpoints.newest(self.digest)
        owners_of(saved, 1)
        count = int(saved.numbers[Slot.COUNT.name])
        if count + self.kernel.successors.capacity > self.possible:
            raise Unusable(f"the checkpoint in {checkpoints.folder} has {count:,} states, more than the limits allow")
        for slot in PROGRESS:
            self.set(slot, int(saved.numbers[slot.name]))
        for array, block in zip(self.arrays(), saved.blocks, strict=True):
            array[:] = np.frombuffer(block, dtype=array.dtype)
        self.table_for(count)
        self.fill_table()

    def go_on_in_files(self) -> Stop:
        try:
            self.disk = OnDisk(self, None if isinstance(self.spill, bool) else self.spill)
            return self.disk.run()
        except OSError:
            return Stop.DISK

    def after(self, answer: Answer) -> Stop | None:
        """What follows from the kernel's return; None is to go on."""
        if answer is Answer.EVENT and self.watchman.decided(self.strikes()):
            return Stop.DECIDED
        if answer is Answer.EXHAUSTED:
            return Stop.EXHAUSTED
        if answer is Answer.DEPTH:
            if self.checkpoints is None or self.get(Slot.LEVEL) >= self.last_level:
                return Stop.DEPTH
            try:
                self.save(self.checkpoints)
            except OSError:
                return Stop.DISK
            self.set(Slot.LAST_LEVEL, self.last_level)
        self.beat()
        if self.watchman.overdue():
            return Stop.SECONDS
        if answer is Answer.ROOM:
            return self.make_room()
        return Stop.MEMORY if self.memory() > self.memory_limit else None

    def beat(self) -> None:
        """Tell how far it has come."""
        count = self.get(Slot.COUNT)
        self.watchman.report(
            ENGINE, self.strikes(), depth=self.get(Slot.LEVEL), states=count,
            queue=count - self.get(Slot.NEXT), memory=self.memory(),
        )  # fmt: skip

    def give_table_back(self) -> None:
        """The search goes on without a table."""
        self.table = Reserve(1)

    def give_states_back(self, view: DiskStates) -> None:
        """The states are elsewhere now."""
        self.view = view
        self.states, self.parents = Reserve(1), Reserve(1)

    def memory(self) -> int:
        """Bytes that the search holds in memory."""
        return super().memory() if self.disk is None else self.disk.memory()

    def result(self, stop: Stop, seconds: float) -> Searched:
        count, level = self.get(Slot.COUNT), self.get(Slot.LEVEL)
        moves = len(self.program.moves)
        taken = tuple(int(n) for n in self.taken[:moves])
        first = tuple(int(f) or (level if n else 0) for f, n in zip(self.first_level[:moves], taken, strict=True))
        return Searched(
            engine=ENGINE if self.disk is None else DISK,
            stop=stop,
            distinct=count,
            generated=self.get(Slot.GENERATED) + 1,
            depth=level,
            queue=count - self.get(Slot.NEXT),
            seconds=seconds,
            compile_seconds=0.0 if self.code is None else self.code.seconds,
            bytes=self.memory(),
            bytes_per_state=self.memory() / count,
            found=self.strikes(),
            taken=taken,
            first_level=first,
            states=self.view,
            graph=self.graph(count),
            remark="" if self.disk is None else self.disk.remark(),
        )

    def graph(self, count: int) -> Graph | None:
        if not self.kernel.graph:
            return None
        edges, expanded = self.get(Slot.GENERATED), self.get(Slot.NEXT)
        offsets = self.offsets.words(np.uint64, count + 1).astype(np.int64)
        offsets[expanded:] = edges
        return Graph(
            self.view,
            tuple(action.step for action in self.program.relation.actions),
            offsets,
            self.targets.words(np.uint32, edges),
            self.labels.words(np.uint16, edges),
        )
