"""The search in native code: memory, limits and progress around calls of the kernel."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checkpoints import Checkpoints, Unusable, digest
from .control import Answer, Slot
from .disk import ENGINE as DISK
from .disk import DiskStates, OnDisk
from .graph import Graph
from .jit import Compiled, compiled
from .kernel import Kernel
from .memory import Reserve, available
from .packing import Layout
from .program import Program
from .search import Searched, Stop, Watchman

ENGINE = "explore"
LANES = 4
"""States that successors are generated of at a time: what two 256-bit registers take two of without spilling."""

CALL = 0.08
"""Seconds that one call of the kernel shall take."""

FIRST_TABLE = 15
"""The table starts with 2**15 slots, which stay in the second-level cache."""

COARSE = 24
"""Up to 2**24 slots (64 MiB) the table grows eightfold at a time, since refilling costs more than the memory; then
twofold."""

LOAD = 0.7
"""The part of the table's slots that is filled before it grows; with twofold growth 5.7 to 11.4 bytes a state."""

TIGHT = 0.85
"""The part that is filled where there is no memory to grow: slower, but better than to end."""

INDEXES = 1 << 32
REFILL = 1 << 19
"""States entered into a new table between two heartbeats."""


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


def reserved(width: int, possible: int, slack: int) -> tuple[Reserve, Reserve, int]:
    """Room for states of ``width`` bytes, for their parents, and how many: what the system lets us reserve at all.

    Raises OSError if that is next to nothing.
    """
    while True:
        try:
            return Reserve(width * (possible + slack)), Reserve(4 * (possible + slack)), possible
        except (OSError, OverflowError):
            if possible <= 1 << 16:
                raise
            possible //= 2


class Native:
    """One search. ``run`` may be called once. It takes ``share`` of the memory that the limits allow.

    With ``spill`` it goes on in files where that is used up: in a folder given, or the system's own for temporary ones.
    """

    def __init__(
        self,
        program: Program,
        watchman: Watchman,
        *,
        keep_graph: bool = False,
        kernel: Kernel | None = None,
        share: float = 1.0,
        spill: Spill = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.program = program
        self.watchman = watchman
        self.spill = spill
        self.checkpoints = checkpoints
        self.disk: OnDisk | None = None
        self.kernel = kernel or Kernel(program, lanes=LANES, graph=keep_graph)
        self.width = 8 * program.layout.words + 4
        self.edge_width = (4 + 2) * keep_graph
        limits = watchman.limits
        self.memory_limit = int(share * (limits.memory if limits.memory is not None else available() * 9 // 10))
        slack = self.kernel.successors.capacity + 64
        possible = min(int(INDEXES * TIGHT), max(1, self.memory_limit // self.width)) + slack
        if limits.states is not None:
            possible = min(possible, limits.states + 2 * slack)
        self.states, self.parents, self.possible = reserved(8 * program.layout.words, possible, slack)
        self.bits = FIRST_TABLE
        self.halvings = 0
        self.table = Reserve(4 << self.bits)
        self.view: PackedStates | DiskStates = PackedStates(program.layout, self.states, self.parents)
        self.control: NDArray[np.int64] = np.zeros(len(Slot), dtype=np.int64)
        self.address = int(self.control.ctypes.data)
        self.kept: list[object] = []
        self.code: Compiled | None = None
        self.set_up(slack)

    def set_up(self, slack: int) -> None:
        kernel, words, moves = self.kernel, self.program.layout.words, len(self.program.moves)
        sets = len(kernel.shape.watch_sets)
        self.taken = self.array(Slot.TAKEN_AT, np.zeros(moves + 1, dtype=np.int64))
        self.first_level = self.array(Slot.FIRST_LEVEL_AT, np.zeros(moves + 1, dtype=np.int64))
        self.found = self.array(Slot.FOUND_AT, np.full(64 * sets, -1, dtype=np.int64))
        self.active = self.array(Slot.ACTIVE_AT, np.full(sets, -1, dtype=np.int64))
        self.array(Slot.WORDS_AT, np.zeros((kernel.successors.capacity + slack) * words, dtype=np.int64))
        for slot in (Slot.SOURCES_AT, Slot.HASHES_AT, Slot.PLACES_AT):
            self.array(slot, np.zeros(kernel.successors.capacity + slack, dtype=np.int64))
        self.array(Slot.SCRATCH_AT, np.zeros(kernel.successors.scratch, dtype=np.int64))
        self.array(Slot.MOVES_AT, np.array([number for number, _ in kernel.successors.moves], dtype=np.int64))
        for slot, memory in ((Slot.STATES_AT, self.states), (Slot.PARENTS_AT, self.parents)):
            self.set(slot, memory.address)
        if kernel.graph:
            edges = max(self.memory_limit // 8, 1 << 16)
            self.offsets = Reserve(8 * (self.possible + slack))
            self.targets = Reserve(4 * edges)
            self.labels = Reserve(2 * edges)
            self.set(Slot.OFFSETS_AT, self.offsets.address)
            self.set(Slot.TARGETS_AT, self.targets.address)
            self.set(Slot.LABELS_AT, self.labels.address)
            self.set(Slot.EDGE_ROOM, edges)
        depth = self.watchman.limits.depth
        self.last_level = 1 << 62 if depth is None else depth
        self.set(Slot.LAST_LEVEL, self.last_level)
        for slot in (Slot.COUNT, Slot.LEVEL, Slot.LEVEL_END):
            self.set(slot, 1)

    def array(self, slot: Slot, made: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep an array and tell the kernel where it is."""
        self.kept.append(made)
        self.set(slot, int(made.ctypes.data))
        return made

    def get(self, slot: Slot) -> int:
        return int(self.control[slot])

    def set(self, slot: Slot, value: int) -> None:
        self.control[slot] = value

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
        checkpoints.save(self.digest(), numbers, [array.data for array in self.arrays()])

    def restore(self, checkpoints: Checkpoints) -> None:
        """Go on from the newest checkpoint. Raises :class:`Unusable`."""
        saved = checkpoints.newest(self.digest())
        count = int(saved.numbers[Slot.COUNT.name])
        if count + self.kernel.successors.capacity > self.possible:
            raise Unusable(f"the checkpoint in {checkpoints.folder} has {count:,} states, more than the limits allow")
        for slot in PROGRESS:
            self.set(slot, int(saved.numbers[slot.name]))
        for array, block in zip(self.arrays(), saved.blocks, strict=True):
            array[:] = np.frombuffer(block, dtype=array.dtype)
        while int(LOAD * (1 << self.bits)) < count and self.bits < 32:
            self.bits += 1
        self.table = Reserve(4 << self.bits)
        self.place_table()
        code = self.code
        assert code is not None, "prepare comes first"
        for first in range(0, count, REFILL):
            code.insert(self.address, first, min(count, first + REFILL))

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

    def make_room(self) -> Stop | None:
        """Grow the table, fill it more densely, or end."""
        count = self.get(Slot.COUNT)
        limit = self.watchman.limits.states
        if limit is not None and count > limit:
            return Stop.STATES
        if self.kernel.graph and self.get(Slot.GENERATED) + self.kernel.successors.capacity > self.get(Slot.EDGE_ROOM):
            return Stop.MEMORY
        if count + self.kernel.successors.capacity > self.possible:
            return Stop.INDEXES if self.possible >= INDEXES * TIGHT else Stop.MEMORY
        if self.bits < 32 and self.grow():
            return None
        if self.get(Slot.ROOM) < self.room(TIGHT):
            self.set(Slot.ROOM, self.room(TIGHT))
            return None
        return Stop.MEMORY if self.bits < 32 else Stop.INDEXES

    def grow(self) -> bool:
        """A larger table, if there is memory for it beside the one that it replaces."""
        code, count = self.code, self.get(Slot.COUNT)
        assert code is not None
        coarse = COARSE - self.halvings
        bits = min(self.bits + 3, coarse) if self.bits < coarse else self.bits + 1
        while bits > self.bits and self.memory() + (4 << bits) > self.memory_limit:
            bits -= 1
        if bits == self.bits:
            return False
        self.bits = bits
        self.table = Reserve(4 << bits)
        self.place_table()
        for first in range(0, count, REFILL):
            code.insert(self.address, first, min(count, first + REFILL))
            self.beat()
        return True

    def beat(self) -> None:
        """Tell how far it has come."""
        count = self.get(Slot.COUNT)
        self.watchman.report(
            ENGINE, self.strikes(), depth=self.get(Slot.LEVEL), states=count,
            queue=count - self.get(Slot.NEXT), memory=self.memory(),
        )  # fmt: skip

    def place_table(self) -> None:
        self.set(Slot.TABLE_AT, self.table.address)
        self.set(Slot.SHIFT, 64 - self.bits)
        self.set(Slot.INDEX_MASK, (1 << self.bits) - 1)
        self.set(Slot.ROOM, self.room(LOAD))

    def room(self, load: float) -> int:
        """How many states there may be before something has to be done."""
        room = min(int(load * (1 << self.bits)), self.possible)
        limit = self.watchman.limits.states
        return room if limit is None else min(room, limit + self.kernel.successors.capacity)

    def give_table_back(self) -> None:
        """The search goes on without a table."""
        self.table = Reserve(1)

    def give_states_back(self, view: DiskStates) -> None:
        """The states are elsewhere now."""
        self.view = view
        self.states, self.parents = Reserve(1), Reserve(1)

    def memory(self) -> int:
        """Bytes that the search holds in memory: states, parents, table, edges."""
        if self.disk is not None:
            return self.disk.memory()
        edges = self.get(Slot.GENERATED) * self.edge_width + self.get(Slot.COUNT) * 8 * self.kernel.graph
        return self.get(Slot.COUNT) * self.width + (4 << self.bits) + edges

    def strikes(self) -> tuple[int | None, ...]:
        """For each watch the first state where it struck."""
        out: list[int | None] = [None] * len(self.program.watches)
        for number, positions in enumerate(self.kernel.shape.watch_sets):
            for bit, position in enumerate(positions):
                at = int(self.found[64 * number + bit])
                out[position] = None if at < 0 else at
        return tuple(out)

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
