"""The successors of the states of one level, a batch at a time.

Successors come in the order of their states, and of one state in the order of the relation's actions, however many
states are worked on at once: so the numbering of states, and with it every trace, is that of the plain search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .assembly import Assembly
from .control import Slot, read, write
from .emit import Emitter
from .lanes import Lanes
from .program import Move

BATCH = 256
"""Successors generated before they are looked up: enough to hide the latency of memory, few enough for the cache."""

FEW = 16
"""Up to so many moves, each is computed for every state and written whether it is possible or not, and only counted if
it is: no branch is ever guessed wrong. Of more moves, those that no state at hand can take are skipped."""


@dataclass(frozen=True)
class Batch:
    """Addresses of the kernel's arrays, and ``edges``, the number of transitions before this batch."""

    states: str
    words: str
    sources: str
    edges: str


class Successors:
    """Writes the part of the kernel that fills the batch. ``graph`` keeps edges."""

    def __init__(self, lanes: Lanes, *, graph: bool) -> None:
        self.shape = lanes
        self.graph = graph
        self.moves: list[tuple[int, Move]] = [
            (number, move)
            for number, move in enumerate(lanes.program.moves)
            if move.enabled.op != "const" or move.enabled.data
        ]

    @property
    def few(self) -> bool:
        return len(self.moves) <= FEW

    @property
    def capacity(self) -> int:
        """Successors that the batch has to hold."""
        return BATCH + (len(self.moves) + 2) * self.shape.lanes

    @property
    def scratch(self) -> int:
        """64-bit words of scratch memory: for each move, the words of its successor in each lane."""
        return max(1, len(self.moves)) * self.shape.words * self.shape.lanes

    def generate(self, out: Assembly, batch: Batch) -> str:
        """Fill the batch with successors of the next states of this level. Gives their number."""
        end = read(out, Slot.LEVEL_END)
        counters = {number: out.cell() for number, _ in self.moves} if self.few else {}
        cursor, size = out.cell(read(out, Slot.NEXT)), out.cell()
        with out.loop() as (_, after):
            state, body, more = out.get(cursor), out.label(), out.label()
            out.split(out.op(f"icmp ult i64 {state}, {end}"), more, after)
            out.start(more)
            out.split(out.op(f"icmp ult i64 {out.get(size)}, {BATCH}"), body, after)
            out.start(body)
            emit = Emitter(out, self.shape.program.layout, self.shape.load(out, batch.states, state), self.shape.lanes)
            for number, positions in enumerate(self.shape.expanded_sets, len(self.shape.state_sets)):
                self.shape.watch(out, emit, positions, number, state, end)
            if self.few:
                self.expand_few(out, batch, emit, state, end, counters, size)
            else:
                self.expand_many(out, batch, emit, state, end, size)
            out.set(cursor, out.op(f"add i64 {state}, {self.shape.lanes}"))
        beyond = out.get(cursor)
        write(out, Slot.NEXT, out.op(f"call i64 @llvm.umin.i64(i64 {beyond}, i64 {end})"))
        taken = read(out, Slot.TAKEN_AT, "ptr")
        for number, counter in counters.items():
            old = out.load(taken, str(number))
            out.store(out.op(f"add i64 {old}, {out.get(counter)}"), taken, str(number))
        return out.get(size)

    def expand_few(
        self,
        out: Assembly,
        batch: Batch,
        emit: Emitter,
        state: str,
        end: str,
        counters: dict[int, str],
        size: str,
    ) -> None:
        """Every move of the states ``state`` on, without a branch."""
        valid = self.shape.valid(out, state, end)
        lanes, words = self.shape.lanes, self.shape.words
        scratch = read(out, Slot.SCRATCH_AT, "ptr")
        possible: list[str] = []
        changed: list[list[bool]] = []
        new: list[list[str]] = []
        for row, (number, move) in enumerate(self.moves):
            enabled = emit.value(move.enabled)
            successor = emit.successor(move.updates)
            changed.append([word is not old for word, old in zip(successor, emit.words, strict=True)])
            new.append(successor)
            if lanes == 1:
                one = out.op(f"zext i1 {enabled} to i64")
                possible.append(one)
                total = one
            else:
                self.keep(out, scratch, row, successor, changed[-1])
                here = self.shape.bits(out, out.op(f"and {emit.bool} {enabled}, {valid}"))
                possible.append(out.op(f"zext i{lanes} {here} to i64"))
                narrow = out.op(f"call i{lanes} @llvm.ctpop.i{lanes}(i{lanes} {here})")
                total = out.op(f"zext i{lanes} {narrow} to i64")
            out.set(counters[number], out.op(f"add i64 {out.get(counters[number])}, {total}"))
        for lane in range(lanes):
            source = out.op(f"add i64 {state}, {lane}")
            self.edge_offset(out, batch, source, size)
            old = self.shape.word_at(out, batch.states, source)
            kept = [out.load(old, str(k)) if any(not c[k] for c in changed) else "" for k in range(words)]
            for row, (number, _) in enumerate(self.moves):
                values = [
                    (new[row][k] if lanes == 1 else self.fetch(out, scratch, row, k, lane))
                    if changed[row][k]
                    else kept[k]
                    for k in range(words)
                ]
                bit = possible[row]
                if lanes > 1:
                    bit = out.op(f"and i64 {out.op(f'lshr i64 {bit}, {lane}') if lane else bit}, 1")
                self.write(out, batch, values, source, number, size)
                out.set(size, out.op(f"add i64 {out.get(size)}, {bit}"))

    def expand_many(self, out: Assembly, batch: Batch, emit: Emitter, state: str, end: str, size: str) -> None:
        """The moves that some state at hand can take; then each state's own, by the bits that are set."""
        valid = self.shape.valid(out, state, end)
        lanes, words = self.shape.lanes, self.shape.words
        scratch = read(out, Slot.SCRATCH_AT, "ptr")
        groups = [self.moves[i : i + 64] for i in range(0, len(self.moves), 64)]
        bits: list[str] = []
        for group in groups:
            found = emit.number(0)
            for bit, (_, move) in enumerate(group):
                one = emit.number(1 << bit)
                enabled = emit.value(move.enabled)
                here = out.op(f"select {emit.bool} {enabled}, {emit.int} {one}, {emit.int} {emit.number(0)}")
                found = here if bit == 0 else out.op(f"or {emit.int} {found}, {here}")
            bits.append(out.op(f"select {emit.bool} {valid}, {emit.int} {found}, {emit.int} {emit.number(0)}"))
        for row, (_, move) in enumerate(self.moves):
            with out.when(self.shape.any(out, emit.value(move.enabled))), emit.apart():
                self.keep(out, scratch, row, emit.successor(move.updates), [True] * words)
        taken = read(out, Slot.TAKEN_AT, "ptr")
        numbers = read(out, Slot.MOVES_AT, "ptr")
        for lane in range(lanes):
            source = out.op(f"add i64 {state}, {lane}")
            self.edge_offset(out, batch, source, size)
            for index, found in enumerate(bits):
                left = out.cell(self.shape.lane(out, found, lane))
                with out.loop() as (_, after):
                    now, body = out.get(left), out.label()
                    out.split(out.op(f"icmp ne i64 {now}, 0"), body, after)
                    out.start(body)
                    low = out.op(f"call i64 @llvm.cttz.i64(i64 {now}, i1 true)")
                    row_ = out.op(f"add i64 {low}, {64 * index}")
                    first = out.at(scratch, out.op(f"mul i64 {row_}, {words * lanes}"))
                    values = [out.load(first, str(k * lanes + lane)) for k in range(words)]
                    number = out.load(numbers, row_)
                    self.write(out, batch, values, source, number, size)
                    out.set(size, out.op(f"add i64 {out.get(size)}, 1"))
                    out.store(out.op(f"add i64 {out.load(taken, number)}, 1"), taken, number)
                    out.set(left, out.op(f"and i64 {now}, {out.op(f'sub i64 {now}, 1')}"))

    def keep(self, out: Assembly, scratch: str, row: int, words: Sequence[str], which: Sequence[bool]) -> None:
        """Put the words of a move's successors into scratch memory, lane beside lane."""
        type_ = "i64" if self.shape.lanes == 1 else f"<{self.shape.lanes} x i64>"
        for k, word in enumerate(words):
            if which[k]:
                place = out.at(scratch, str((row * self.shape.words + k) * self.shape.lanes))
                out.do(f"store {type_} {word}, ptr {place}, align 8")

    def fetch(self, out: Assembly, scratch: str, row: int, k: int, lane: int) -> str:
        return out.load(scratch, str((row * self.shape.words + k) * self.shape.lanes + lane))

    def write(
        self, out: Assembly, batch: Batch, values: Sequence[str], source: str, move: int | str, size: str
    ) -> None:
        """A successor at the end of the batch, which is not moved yet."""
        place = out.get(size)
        target = self.shape.word_at(out, batch.words, place)
        for k, value in enumerate(values):
            out.store(value, target, str(k))
        out.store(out.op(f"trunc i64 {source} to i32"), batch.sources, place, "i32")
        if self.graph:
            edge = out.op(f"add i64 {batch.edges}, {place}")
            label = str(move) if isinstance(move, int) else out.op(f"trunc i64 {move} to i16")
            out.store(label, read(out, Slot.LABELS_AT, "ptr"), edge, "i16")

    def edge_offset(self, out: Assembly, batch: Batch, source: str, size: str) -> None:
        """Note where a state's edges begin; for a lane beyond the level's end, its own turn overwrites it."""
        if self.graph:
            offset = out.op(f"add i64 {batch.edges}, {out.get(size)}")
            out.store(offset, read(out, Slot.OFFSETS_AT, "ptr"), source)
