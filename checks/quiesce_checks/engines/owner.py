"""One owner of a search: its states, and what it does when it is told to.

It knows words, moves and watches by number only, so it may be in another process or on another machine than the model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checkpoints import Unusable, got, part_of, put
from .control import Answer, Slot
from .jit import Loaded
from .memory import Reserve
from .room import Room
from .search import Stop
from .shares import owner_of
from .transport import Plan, Report, Seen, Tally

INDEX = np.dtype(np.uint32).itemsize
ORIGIN = np.dtype(np.uint16).itemsize
FOREVER = 1 << 62

NUMBERS = (Slot.COUNT, Slot.NEXT, Slot.LEVEL, Slot.LEVEL_END, Slot.GENERATED, Slot.EVENTS)
"""How far an owner has come."""


@dataclass(frozen=True)
class Parcel:
    """What one owner has for another: states, word after word, and the indexes of their parents."""

    origin: int
    words: NDArray[np.uint64]
    parents: NDArray[np.uint32]


Boxes = NDArray[np.uint8]
"""The memory of all boxes of one owner."""


def room_of(plan: Plan) -> int:
    """For how many states a box has room: as many as an owner may put into all of its boxes together, so that none is
    full before the others; and one more, since what is not kept is written, too."""
    return plan.box + plan.blueprint.capacity + 1


def box_bytes(plan: Plan) -> int:
    """The size of a box, for states and their parents' indexes."""
    return -(-room_of(plan) * (8 * plan.blueprint.words + INDEX) // 8) * 8


def parcel(plan: Plan, memory: Boxes, origin: int, owner: int, count: int) -> Parcel:
    """What ``origin`` has put into its box for an owner, in place; ``memory`` is that of all its boxes."""
    words = plan.blueprint.words
    at = owner * box_bytes(plan)
    states = memory[at : at + 8 * words * count].view(np.uint64)
    at += 8 * words * room_of(plan)
    return Parcel(origin, states, memory[at : at + INDEX * count].view(np.uint32))


class Owner(Room):
    """Owner ``number`` of a plan. It takes at most ``memory`` bytes, and puts what belongs to others into ``boxes``,
    memory of its own if none is given. Its methods are orders, see :class:`~.transport.Transport`."""

    def __init__(self, plan: Plan, number: int, code: Loaded, memory: int, boxes: Boxes | None = None) -> None:
        super().__init__(plan.blueprint, memory, plan.states, extra=ORIGIN)
        self.whole = plan
        self.number = number
        self.halvings = (plan.owners - 1).bit_length()
        self.initial = np.array(plan.blueprint.initial, dtype=np.uint64)
        self.stopped: Stop | None = None
        self.sent = 0
        self.most_sent = 0
        self.spent = 0.0
        self.starts: list[int] = []
        self.code = code
        self.kernel_expand = code.answering("expand")
        self.kernel_receive = code.answering("receive")
        self.kernel_insert = code.doing("insert")
        self.judge = code.doing("judge")
        self.origins = self.beside[0]
        self.set(Slot.ORIGINS_AT, self.origins.address)
        self.place_boxes(Reserve(plan.owners * box_bytes(plan), dense=False).bytes_view if boxes is None else boxes)
        self.sent_states: NDArray[np.uint64] = np.zeros(((1 << plan.sent_bits) + 1, self.plan.words), dtype=np.uint64)
        self.set(Slot.SENT_AT, int(self.sent_states.ctypes.data))
        self.set(Slot.SENT_SHIFT, 64 - plan.sent_bits)
        self.set(Slot.SENT_SIZE, 1 << plan.sent_bits)
        self.take_turn(code.answering("first_hash"))

    def place_boxes(self, boxes: Boxes) -> None:
        plan, owners = self.whole, self.whole.owners
        self.boxes = boxes
        states = np.zeros(owners, dtype=np.int64)
        parents = np.zeros(owners, dtype=np.int64)
        for owner in range(owners):
            found = parcel(plan, boxes, self.number, owner, 1)
            states[owner], parents[owner] = found.words.ctypes.data, found.parents.ctypes.data
        states[self.number], parents[self.number] = self.get(Slot.WORDS_AT), self.get(Slot.SOURCES_AT)
        self.array(Slot.BOXES_AT, states)
        self.array(Slot.BOX_SOURCES_AT, parents)
        self.counts = self.array(Slot.BOX_COUNTS_AT, np.zeros(owners, dtype=np.int64))
        self.set(Slot.OUT_ROOM, plan.box + plan.blueprint.capacity)

    def take_turn(self, first_hash: Callable[[int], int]) -> None:
        """See to it that the initial state is the first owner's."""
        owners = self.whole.owners
        self.states.words(np.uint64, self.plan.words)[:] = self.initial
        said = owner_of(first_hash(self.address), owners)
        self.set(Slot.OWNER, self.number)
        self.set(Slot.OWNERS, owners)
        self.set(Slot.TURN, (owners - said) % owners)

    # Orders

    def begin(self) -> Report:
        """Forget everything but the initial state, if it is this owner's."""
        self.forget()
        if self.number == 0:
            self.states.words(np.uint64, self.plan.words)[:] = self.initial
            self.parents.words(np.uint32, 1)[:] = 0
            self.origins.words(np.uint16, 1)[:] = 0
            self.set(Slot.COUNT, 1)
        self.set(Slot.LEVEL, 1)
        self.set(Slot.LEVEL_END, self.get(Slot.COUNT))
        self.starts = [0, self.get(Slot.COUNT)]
        self.fill_table()
        self.judge(self.address, 0, self.get(Slot.COUNT))
        return self.report()

    def expand(self, level: int) -> tuple[Answer, list[int]]:
        """Successors of a part of the states of ``level``: its own are looked up, the others are in boxes then. Gives
        what ended it, and how many are in each box."""
        before = thread_time()
        self.reach(level)
        self.counts[:] = 0
        self.set(Slot.OUT_COUNT, 0)
        answer = self.call(self.kernel_expand, self.whole.batches)
        self.counts[self.number] = 0
        self.sent += self.get(Slot.OUT_COUNT)
        self.most_sent = max(self.most_sent, self.get(Slot.OUT_COUNT))
        self.spent += thread_time() - before
        return answer, self.counts.tolist()

    def receive(self, parcels: Sequence[Parcel], answer: Answer = Answer.LEVEL) -> Report:
        """Look up what others have sent. ``answer`` is that of expanding, to be reported."""
        before = thread_time()
        for found in parcels:
            if not len(found.parents) or self.stopped is not None:
                continue
            self.set(Slot.ORIGIN, found.origin)
            self.set(Slot.IN_WORDS_AT, int(found.words.ctypes.data))
            self.set(Slot.IN_SOURCES_AT, int(found.parents.ctypes.data))
            self.set(Slot.IN_COUNT, len(found.parents))
            self.set(Slot.IN_NEXT, 0)
            self.call(self.kernel_receive, FOREVER)
        self.spent += thread_time() - before
        return self.report(answer)

    def report(self, answer: Answer = Answer.LEVEL) -> Report:
        memory = self.memory()
        strikes = tuple(None if at is None else (self.level_of(at), at) for at in self.strikes())
        return Report(
            answer=answer,
            stop=self.stopped or (Stop.MEMORY if memory > self.memory_limit else None),
            count=self.get(Slot.COUNT),
            next=self.get(Slot.NEXT),
            generated=self.get(Slot.GENERATED),
            memory=memory,
            sent=self.sent,
            spent=self.spent,
            strikes=strikes,
        )

    def tally(self) -> Tally:
        """What was done in all levels up to the one that was expanded last."""
        moves = self.plan.moves
        first = np.where((self.first_level == 0) & (self.taken > 0), self.get(Slot.LEVEL), self.first_level)
        return Tally(tuple(self.taken[:moves].tolist()), tuple(first[:moves].tolist()))

    def used(self) -> float:
        """Processor's seconds of the whole process that the owner is in."""
        return process_time()

    def look(self, index: int) -> Seen:
        """One of its states."""
        words = self.plan.words
        found = self.states.words(np.uint64, (index + 1) * words)[-words:]
        origin, parent = self.origins.words(np.uint16, index + 1)[-1], self.parents.words(np.uint32, index + 1)[-1]
        return Seen(tuple(int(word) for word in found), int(origin), int(parent))

    def all_seen(self) -> tuple[Seen, ...]:
        return tuple(self.look(index) for index in range(self.get(Slot.COUNT)))

    def save(self, level: int, path: Path, search: str) -> str:
        """Write one's part of the checkpoint at ``path``, before ``level`` is expanded; gives its checksum, or why it
        could not be written, after a space."""
        self.reach(level)
        numbers = {slot.name: self.get(slot) for slot in NUMBERS} | {"starts": self.starts}
        try:
            return put(part_of(path, self.number), search, numbers, [array.data for array in self.arrays()])
        except OSError as error:
            return f" {error}"

    def restore(self, path: Path, sums: Sequence[str]) -> str:
        """Go on from one's part of the checkpoint at ``path``; the answer is why that is not possible, or empty."""
        part = part_of(path, self.number)
        try:
            saved = got(part)
        except Unusable as error:
            return str(error)
        if saved is None or saved.numbers["sum"] != sums[self.number]:
            return f"{part} is damaged"
        count = int(saved.numbers[Slot.COUNT.name])
        if count + self.plan.capacity > self.possible:
            return f"{part} has {count:,} states, more than the limits allow"
        self.forget()
        for slot in NUMBERS:
            self.set(slot, int(saved.numbers[slot.name]))
        self.starts = list(saved.numbers["starts"])
        for array, block in zip(self.arrays(), saved.blocks, strict=True):
            array[:] = np.frombuffer(block, dtype=array.dtype)
        self.table_for(count)
        self.fill_table()
        return ""

    # What orders are made of

    def forget(self) -> None:
        """As at first. What was sent lately may be lost, so nothing was sent; only the initial state needs never be."""
        for slot in NUMBERS:
            self.set(slot, 0)
        for array, start in ((self.taken, 0), (self.first_level, 0), (self.found, -1), (self.active, -1)):
            array[:] = start
        self.sent_states[:] = self.initial
        self.stopped = None

    def reach(self, level: int) -> None:
        """If ``level`` is a new one: what was found in the one before is what it expands."""
        if level == self.get(Slot.LEVEL):
            return
        self.first_level[(self.first_level == 0) & (self.taken > 0)] = level - 1
        self.set(Slot.LEVEL, level)
        self.set(Slot.LEVEL_END, self.get(Slot.COUNT))
        self.starts.append(self.get(Slot.COUNT))

    def call(self, what: Callable[[int], int], batches: int) -> Answer:
        """Call the kernel, making room where that is needed; if there is none, ``stopped`` says so."""
        self.set(Slot.BUDGET, batches)
        while True:
            answer = Answer(what(self.address))
            if answer is not Answer.ROOM:
                return answer
            self.stopped = self.make_room()
            if self.stopped is not None:
                return answer

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that an owner has learned, but for :data:`NUMBERS`, as it is in memory."""
        count = self.get(Slot.COUNT)
        return (
            self.taken,
            self.first_level,
            self.found,
            self.active,
            self.states.words(np.uint64, count * self.plan.words),
            self.parents.words(np.uint32, count),
            self.origins.words(np.uint16, count),
        )

    def level_of(self, index: int) -> int:
        return bisect_right(self.starts, index)

    def memory(self) -> int:
        """Bytes that the owner holds, boxes included."""
        boxes = self.most_sent * (8 * self.plan.words + INDEX)
        return super().memory() + boxes + self.sent_states.nbytes


def parcels_for(plan: Plan, owner: int, boxes: Sequence[Boxes], counts: Sequence[int]) -> list[Parcel]:
    """What all others have for one owner, in the order of owners; ``counts`` says how much, by sender."""
    return [
        parcel(plan, boxes[origin], origin, owner, counts[origin]) for origin in range(plan.owners) if origin != owner
    ]
