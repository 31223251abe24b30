"""The kernel of a search by two owners, each with its own states, table and thread.

A state belongs to the owner that the lowest bit of its hash says, which the table uses neither for the place nor for
the tag. An owner expands its own states; successors of its own it looks up at once, the others it puts into a box, and
when the level is at its end, or the box is full, the two exchange boxes. So neither ever touches what the other writes
to, and there is no lock.

A parent is known by its index times two plus its owner.
"""

from __future__ import annotations

from dataclasses import replace

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .kernel import DECLARATIONS, Kernel, noting
from .successors import BATCH, Batch
from .visited import Visited, mix


class OwnerKernel(Kernel):
    """Writes the module; both owners run the same code."""

    def module(self) -> str:
        lanes = self.shape.lanes
        count = f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})" if lanes > 1 and lanes != 64 else ""
        parts = [noting(), self.insert(), self.judge(), self.first_hash(), self.expand(), self.receive()]
        return "\n\n".join([DECLARATIONS, count, *parts]) + "\n"

    def first_hash(self) -> str:
        """The hash of the initial state."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        words = [out.load(states, str(k)) for k in range(self.shape.words)]
        out.leave(mix(out, self.shape.keys.of(out, words)))
        return out.function("i64 @first_hash(ptr %control) nounwind")

    def expand(self) -> str:
        """Expand states of this level in order, until it is at its end, the box is full, or something else is due."""
        out = Assembly()
        visited = Visited(self.shape, out)
        arrays = visited.arrays
        with out.loop():
            count = read(out, Slot.COUNT)
            with out.when(out.op(f"icmp eq i64 {read(out, Slot.NEXT)}, {read(out, Slot.LEVEL_END)}")):
                out.leave(str(int(Answer.LEVEL)))
            most = out.op(f"add i64 {read(out, Slot.OUT_COUNT)}, {self.successors.capacity}")
            with out.when(out.op(f"icmp ugt i64 {most}, {read(out, Slot.OUT_ROOM)}")):
                out.leave(str(int(Answer.FULL)))
            self.within_bounds(out, count)
            edges = read(out, Slot.GENERATED)
            size = self.successors.generate(out, Batch(arrays.states, arrays.words, arrays.sources, edges))
            write(out, Slot.GENERATED, out.op(f"add i64 {edges}, {size}"))
            kept = self.part(out, visited, size)
            with out.each("0", kept) as j:
                visited.table.prefetch(visited.table.place(out.load(arrays.hashes, j)))
            self.enter(out, visited, kept, count)
        out.do("unreachable")
        return out.function("i64 @expand(ptr %control) nounwind")

    def part(self, out: Assembly, visited: Visited, size: str) -> str:
        """Leave this owner's successors in the batch, closed up, and put the others into the box. Gives how many stay.

        Each is written to both places, and one of the two ends moves on: no branch is guessed wrong.
        """
        arrays = visited.arrays
        box, parents = read(out, Slot.OUT_WORDS_AT, "ptr"), read(out, Slot.OUT_SOURCES_AT, "ptr")
        owner, bit = read(out, Slot.OWNER, "i32"), read(out, Slot.OWNED_BIT)
        kept, sent = out.cell(), out.cell(read(out, Slot.OUT_COUNT))
        with out.each("0", size) as j:
            words = visited.words_of(arrays.words, j)
            doubled = out.op(f"shl i32 {out.load(arrays.sources, j, 'i32')}, 1")
            source = out.op(f"or i32 {doubled}, {owner}")
            h = mix(out, visited.key_of(words))
            foreign = out.op(f"and i64 {out.op(f'xor i64 {h}, {bit}')}, 1")
            here, there = out.get(kept), out.get(sent)
            for array, place in ((arrays.words, here), (box, there)):
                at = self.shape.word_at(out, array, place)
                for k, word in enumerate(words):
                    out.store(word, at, str(k))
            out.store(source, arrays.sources, here, "i32")
            out.store(source, parents, there, "i32")
            out.store(h, arrays.hashes, here)
            out.set(kept, out.op(f"add i64 {here}, {out.op(f'xor i64 {foreign}, 1')}"))
            out.set(sent, out.op(f"add i64 {there}, {foreign}"))
        write(out, Slot.OUT_COUNT, out.get(sent))
        return out.get(kept)

    def receive(self) -> str:
        """Look up what the other owner sent."""
        out = Assembly()
        with out.loop():
            begin, end = read(out, Slot.IN_NEXT), read(out, Slot.IN_COUNT)
            with out.when(out.op(f"icmp eq i64 {begin}, {end}")):
                out.leave(str(int(Answer.EXHAUSTED)))
            count = read(out, Slot.COUNT)
            self.within_bounds(out, count)
            left = out.op(f"sub i64 {end}, {begin}")
            size = out.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {BATCH})")
            visited = Visited(self.shape, out)
            visited.arrays = replace(
                visited.arrays,
                words=self.shape.word_at(out, read(out, Slot.IN_WORDS_AT, "ptr"), begin),
                sources=out.at(read(out, Slot.IN_SOURCES_AT, "ptr"), begin, "i32"),
            )
            visited.hash(size)
            self.enter(out, visited, size, count)
            write(out, Slot.IN_NEXT, out.op(f"add i64 {begin}, {size}"))
        out.do("unreachable")
        return out.function("i64 @receive(ptr %control) nounwind")

    def enter(self, out: Assembly, visited: Visited, size: str, count: str) -> None:
        visited.look_up(size)
        now = visited.append(size, count, "0")
        write(out, Slot.COUNT, now)
        out.do(f"call void @judge(ptr %control, i64 {count}, i64 {now})")
