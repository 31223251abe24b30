"""A search that goes on where memory ends: states, parents and the visited set in files.

States are appended to one file in breadth-first order. Successors of the level at hand are collected in memory; then
those that are new are found by their fingerprints (see :mod:`.runs`) and appended in the order in which they came up,
so states have the numbers that they would have had in memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .control import Answer, Slot
from .disk_kernel import DiskKernel
from .jit import Loaded, loaded
from .packing import Layout
from .room import INDEXES
from .runs import Prints, Runs, earliest
from .search import Stop

if TYPE_CHECKING:
    from .native import Native

ENGINE = "explore (on disk)"
COPIED = 1 << 20
"""Bytes that are written at a time."""


class Growing:
    """An array in a file: appended to by writing, read in place. ``slack`` zeros can be read beyond its end."""

    def __init__(self, path: Path, width: int, slack: int) -> None:
        self.width = width
        self.slack = slack
        self.count = 0
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        weakref.finalize(self, os.close, self.file)
        self.path = path
        self.view: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)

    @property
    def bytes(self) -> int:
        return self.count * self.width

    def append(self, data: NDArray[np.uint8]) -> None:
        """Raises OSError if the disk is full: what is mapped is never written to, since that would end the process."""
        at = self.bytes
        for start in range(0, len(data), COPIED):
            piece = data[start : start + COPIED].data
            while len(piece):
                written = os.pwrite(self.file, piece, at)
                piece, at = piece[written:], at + written
        self.count = at // self.width
        os.ftruncate(self.file, at + self.slack)
        self.view = np.memmap(self.path, dtype=np.uint8, mode="r", shape=(at + self.slack,))


class DiskStates:
    """States of a search on disk. The files live as long as this does."""

    def __init__(self, layout: Layout, states: Growing, parents: Growing, folder: Path) -> None:
        self.layout = layout
        self.states = states
        self.parents = parents
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def leaves(self, index: int) -> tuple[int, ...]:
        width = self.states.width
        return self.layout.unpack(self.states.view[index * width : (index + 1) * width].view(np.uint64).tolist())

    def parent(self, index: int) -> int:
        return int(self.parents.view[4 * index : 4 * index + 4].view(np.uint32)[0])


class OnDisk:
    """Takes a native search over, with its control array. Its folder below ``where`` goes away with the states."""

    def __init__(self, native: Native, where: Path | None) -> None:
        self.native: Native = weakref.proxy(native)  # it holds us, and shall end when nobody else holds it
        self.program = native.program
        self.watchman = native.watchman
        self.kernel = DiskKernel(self.program, lanes=native.kernel.shape.lanes)
        self.words = self.program.layout.words
        folder = Path(tempfile.mkdtemp(prefix="quiesce-", dir=where))
        slack = 8 * self.words * (self.kernel.shape.lanes + 1)
        self.states = Growing(folder / "states", 8 * self.words, slack)
        self.parents = Growing(folder / "parents", 4, 4)
        self.view = DiskStates(self.program.layout, self.states, self.parents, folder)
        self.room = max(2 * self.kernel.successors.capacity, native.memory_limit // (3 * (8 * self.words + 4 + 16) + 8))
        self.runs = Runs(folder, self.room)
        self.code: Loaded | None = None

    def run(self) -> Stop:
        """Go on to the end. Raises OSError if the disk is full."""
        before = perf_counter()
        self.code = loaded(self.kernel.module())
        self.compile_seconds = perf_counter() - before
        self.collect, self.prints = self.code.answering("collect"), self.code.doing("prints")
        self.judge = self.code.doing("judge")
        self.take_over()
        while True:
            answer = Answer(self.collect(self.native.address))
            self.settle()
            stop = self.after(answer)
            if stop is not None:
                return stop

    def take_over(self) -> None:
        """States, parents and fingerprints to files; the memory is given back."""
        native = self.native
        native.give_table_back()
        self.box: NDArray[np.uint64] = np.zeros(self.room * self.words, dtype=np.uint64)
        self.box_parents: NDArray[np.uint32] = np.zeros(self.room, dtype=np.uint32)
        self.first: NDArray[np.uint64] = np.zeros(self.room, dtype=np.uint64)
        self.second: NDArray[np.uint64] = np.zeros(self.room, dtype=np.uint64)
        for slot, array in (
            (Slot.OUT_WORDS_AT, self.box),
            (Slot.OUT_SOURCES_AT, self.box_parents),
            (Slot.FIRST_PRINTS_AT, self.first),
            (Slot.SECOND_PRINTS_AT, self.second),
        ):
            native.set(slot, int(array.ctypes.data))
        native.set(Slot.OUT_ROOM, self.room)
        native.set(Slot.OUT_COUNT, 0)
        count = native.get(Slot.COUNT)
        for start in range(0, count, self.room):
            end = min(count, start + self.room)
            self.prints(native.address, start, end)
            prints = Prints(self.first[: end - start], self.second[: end - start])
            self.runs.add(prints.take(earliest(prints)))
        self.states.append(native.states.bytes_view[: count * 8 * self.words])
        self.parents.append(native.parents.bytes_view[: count * 4])
        native.give_states_back(self.view)
        native.set(Slot.STATES_AT, int(self.states.view.ctypes.data))

    def settle(self) -> None:
        """Append those of the box that are new, and look at them."""
        native = self.native
        size, count = native.get(Slot.OUT_COUNT), native.get(Slot.COUNT)
        prints = Prints(self.first[:size], self.second[:size])
        at = earliest(prints)
        prints = prints.take(at)
        new = self.runs.new(prints)
        self.runs.add(prints.take(new))
        chosen = np.sort(at[new])
        if len(chosen):
            box = self.box.reshape(-1, self.words)
            self.states.append(box[chosen].view(np.uint8).reshape(-1))
            self.parents.append(self.box_parents[chosen].view(np.uint8))
            native.set(Slot.STATES_AT, int(self.states.view.ctypes.data))
            native.set(Slot.COUNT, count + len(chosen))
            self.judge(native.address, count, count + len(chosen))
        native.set(Slot.OUT_COUNT, 0)

    def after(self, answer: Answer) -> Stop | None:
        """Whether the search is at its end; begins the next level where one ends."""
        native, limits = self.native, self.watchman.limits
        native.beat()
        if self.watchman.decided(native.strikes()):
            return Stop.DECIDED
        count = native.get(Slot.COUNT)
        if limits.states is not None and count > limits.states:
            return Stop.STATES
        if self.watchman.overdue():
            return Stop.SECONDS
        if count >= INDEXES:
            return Stop.INDEXES
        if answer is not Answer.LEVEL:
            return None
        level = native.get(Slot.LEVEL)
        native.first_level[(native.first_level == 0) & (native.taken > 0)] = level
        if count == native.get(Slot.LEVEL_END):
            return Stop.EXHAUSTED
        native.set(Slot.LEVEL, level + 1)
        native.set(Slot.LEVEL_END, count)
        return Stop.DEPTH if limits.depth is not None and level + 1 >= limits.depth else None

    def memory(self) -> int:
        """Bytes in memory: the box, and as much again twice for sorting it."""
        return 3 * self.room * (8 * self.words + 4 + 16)

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return self.states.bytes + self.parents.bytes + self.runs.bytes

    def remark(self) -> str:
        """What a verdict that rests on all of the search has to say."""
        on_disk = f"{self.bytes / 1e6:,.1f} MB on disk"
        if self.kernel.shape.keys.words == 1:
            return f"{on_disk}, exact: the fingerprint of a state of 64 bits is the state"
        count = self.native.get(Slot.COUNT)
        return f"{on_disk}, 128-bit fingerprints: a state was missed with a chance of at most {chance(count):.0e}"


def chance(states: int) -> float:
    """The chance that two of so many different states have one fingerprint of 128 bits, at most."""
    return states * states / 2.0**129
