"""The memory of a native search: states, parents, the visited set's table, and the arrays that the kernel works with.

Most of it is reserved up front and taken as it is used, so only the table ever moves: it is made anew, larger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .blueprint import Blueprint
from .control import Slot
from .memory import Reserve
from .search import Stop

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

Insert = Callable[[int, int, int], None]
"""The kernel's: enters states that are all new into the table."""


def reserved(widths: tuple[int, ...], possible: int, slack: int) -> tuple[tuple[Reserve, ...], int]:
    """Room for so many bytes of each state, in an array each, and for how many: what the system lets us reserve at all.

    Raises OSError if that is next to nothing.
    """
    while True:
        try:
            return tuple(Reserve(width * (possible + slack)) for width in widths), possible
        except (OSError, OverflowError):
            if possible <= 1 << 16:
                raise
            possible //= 2


class Room:
    """Takes at most ``memory`` bytes. ``states`` is a limit on states, if there is one; ``extra`` are bytes of each
    state beside its words and its parent's index."""

    kernel_insert: Insert
    """Is there before a table is filled: from when the kernel is."""

    def __init__(self, plan: Blueprint, memory: int, states: int | None, extra: int = 0) -> None:
        self.plan = plan
        self.width = 8 * plan.words + 4 + extra
        self.edge_width = (4 + 2) * plan.graph
        self.memory_limit = memory
        self.states_limit = states
        self.slack = plan.capacity + 64
        possible = min(int(INDEXES * TIGHT), max(1, memory // self.width)) + self.slack
        if states is not None:
            possible = min(possible, states + 2 * self.slack)
        arrays, self.possible = reserved((8 * plan.words, 4, *([extra] * (extra > 0))), possible, self.slack)
        self.states, self.parents, *self.beside = arrays
        self.bits = FIRST_TABLE
        self.halvings = 0
        self.table = Reserve(4 << self.bits)
        self.control: NDArray[np.int64] = np.zeros(len(Slot), dtype=np.int64)
        self.address = int(self.control.ctypes.data)
        self.kept: list[object] = []
        self.set_up()

    def set_up(self) -> None:
        plan, slack = self.plan, self.slack
        sets = len(plan.watch_sets)
        self.taken = self.array(Slot.TAKEN_AT, np.zeros(plan.moves + 1, dtype=np.int64))
        self.first_level = self.array(Slot.FIRST_LEVEL_AT, np.zeros(plan.moves + 1, dtype=np.int64))
        self.found = self.array(Slot.FOUND_AT, np.full(64 * sets, -1, dtype=np.int64))
        self.active = self.array(Slot.ACTIVE_AT, np.full(sets, -1, dtype=np.int64))
        self.array(Slot.WORDS_AT, np.zeros((plan.capacity + slack) * plan.words, dtype=np.int64))
        for slot in (Slot.SOURCES_AT, Slot.HASHES_AT, Slot.PLACES_AT):
            self.array(slot, np.zeros(plan.capacity + slack, dtype=np.int64))
        self.array(Slot.SCRATCH_AT, np.zeros(plan.scratch, dtype=np.int64))
        self.array(Slot.MOVES_AT, np.array(plan.numbers, dtype=np.int64))
        for slot, memory in ((Slot.STATES_AT, self.states), (Slot.PARENTS_AT, self.parents)):
            self.set(slot, memory.address)
        if plan.graph:
            edges = max(self.memory_limit // 8, 1 << 16)
            self.offsets = Reserve(8 * (self.possible + slack))
            self.targets = Reserve(4 * edges)
            self.labels = Reserve(2 * edges)
            self.set(Slot.OFFSETS_AT, self.offsets.address)
            self.set(Slot.TARGETS_AT, self.targets.address)
            self.set(Slot.LABELS_AT, self.labels.address)
            self.set(Slot.EDGE_ROOM, edges)

    def array(self, slot: Slot, made: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep an array and tell the kernel where it is."""
        self.kept.append(made)
        self.set(slot, int(made.ctypes.data))
        return made

    def get(self, slot: Slot) -> int:
        return int(self.control[slot])

    def set(self, slot: Slot, value: int) -> None:
        self.control[slot] = value

    def place_table(self) -> None:
        self.set(Slot.TABLE_AT, self.table.address)
        self.set(Slot.SHIFT, 64 - self.bits)
        self.set(Slot.INDEX_MASK, (1 << self.bits) - 1)
        self.set(Slot.ROOM, self.room(LOAD))

    def room(self, load: float) -> int:
        """How many states there may be before something has to be done."""
        room = min(int(load * (1 << self.bits)), self.possible)
        return room if self.states_limit is None else min(room, self.states_limit + self.plan.capacity)

    def make_room(self) -> Stop | None:
        """Grow the table, fill it more densely, or end."""
        count = self.get(Slot.COUNT)
        if self.states_limit is not None and count > self.states_limit:
            return Stop.STATES
        if self.plan.graph and self.get(Slot.GENERATED) + self.plan.capacity > self.get(Slot.EDGE_ROOM):
            return Stop.MEMORY
        if count + self.plan.capacity > self.possible:
            return Stop.INDEXES if self.possible >= INDEXES * TIGHT else Stop.MEMORY
        if self.bits < 32 and self.grow():
            return None
        if self.get(Slot.ROOM) < self.room(TIGHT):
            self.set(Slot.ROOM, self.room(TIGHT))
            return None
        return Stop.MEMORY if self.bits < 32 else Stop.INDEXES

    def grow(self) -> bool:
        """A larger table, if there is memory for it beside the one that it replaces."""
        coarse = COARSE - self.halvings
        bits = min(self.bits + 3, coarse) if self.bits < coarse else self.bits + 1
        while bits > self.bits and self.memory() + (4 << bits) > self.memory_limit:
            bits -= 1
        if bits == self.bits:
            return False
        self.bits = bits
        self.fill_table()
        return True

    def fill_table(self) -> None:
        """A new table of as many bits as it is to have, with all states in it."""
        self.table = Reserve(4 << self.bits)
        self.place_table()
        count = self.get(Slot.COUNT)
        for first in range(0, count, REFILL):
            self.kernel_insert(self.address, first, min(count, first + REFILL))
            self.beat()

    def table_for(self, count: int) -> None:
        """See to it that a new table will be large enough for so many states."""
        while int(LOAD * (1 << self.bits)) < count and self.bits < 32:
            self.bits += 1

    def beat(self) -> None:
        """Called now and then while a table is filled."""

    def memory(self) -> int:
        """Bytes that the search holds in memory: states, parents, table, edges."""
        edges = self.get(Slot.GENERATED) * self.edge_width + self.get(Slot.COUNT) * 8 * self.plan.graph
        return self.get(Slot.COUNT) * self.width + (4 << self.bits) + edges

    def strikes(self) -> tuple[int | None, ...]:
        """For each watch the first state where it struck."""
        out: list[int | None] = [None] * self.plan.watches
        for number, positions in enumerate(self.plan.watch_sets):
            for bit, position in enumerate(positions):
                at = int(self.found[64 * number + bit])
                out[position] = None if at < 0 else at
        return tuple(out)
