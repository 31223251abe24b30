"""The kernel of a search by several owners, each with its own states and table, in one process or in many.

A state belongs to the owner that the low bits of its hash say, which a table uses neither for the place nor for the
tag. An owner expands its own states; successors of its own it looks up at once, the others it puts into a box for each
owner, and when the level is at its end, or enough is in boxes, all exchange boxes. So none ever touches what another
writes to, and there is no lock.

Where boxes are sent, what was put into one lately is not put there again: its owner has it, or will have it first from
there. Between threads that takes longer than it saves.

A parent is known by its owner and its index there.
"""

from __future__ import annotations

from dataclasses import replace

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .kernel import DECLARATIONS, Kernel, noting
from .program import Program
from .shares import OWNER_BITS
from .successors import BATCH, Batch
from .visited import Visited, mix, same


class OwnerKernel(Kernel):
    """Writes the module; all owners run the same code. ``near`` says that boxes are read where they are."""

    def __init__(self, program: Program, *, lanes: int, near: bool) -> None:
        super().__init__(program, lanes=lanes)
        self.near = near

    def module(self) -> str:
        lanes = self.shape.lanes
        count = f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})" if lanes > 1 and lanes != 64 else ""
        parts = [noting(), self.insert(), self.judge(), self.first_hash(), self.expand(), self.receive()]
        return "\n\n".join([DECLARATIONS, count, *parts]) + "\n"

    def first_hash(self) -> str:
        """The hash of the first state."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        words = [out.load(states, str(k)) for k in range(self.shape.words)]
        out.leave(mix(out, self.shape.keys.of(out, words)))
        return out.function("i64 @first_hash(ptr %control) nounwind")

    def expand(self) -> str:
        """Expand states of this level in order, until it is at its end, boxes are full, or something else is due."""
        out = Assembly()
        visited = Visited(self.shape, out, origin=narrow(out, read(out, Slot.OWNER)))
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
        """Leave this owner's successors in the batch, closed up, and put the others into boxes. Gives how many stay.

        The batch is this owner's box. Each successor is written to the end of a box, and the end moves on unless it was
        sent before: no branch is guessed wrong.
        """
        arrays = visited.arrays
        boxes, parents = read(out, Slot.BOXES_AT, "ptr"), read(out, Slot.BOX_SOURCES_AT, "ptr")
        counts, owner = read(out, Slot.BOX_COUNTS_AT, "ptr"), read(out, Slot.OWNER)
        owners, turn = read(out, Slot.OWNERS), read(out, Slot.TURN)
        out.store("0", counts, owner)
        kept, sent = out.cell(), out.cell(read(out, Slot.OUT_COUNT))
        with out.each("0", size) as j:
            words = visited.words_of(arrays.words, j)
            source = out.load(arrays.sources, j, "i32")
            h = mix(out, visited.key_of(words))
            low = out.op(f"and i64 {h}, {(1 << OWNER_BITS) - 1}")
            said = out.op(f"lshr i64 {out.op(f'mul i64 {low}, {owners}')}, {OWNER_BITS}")
            moved = out.op(f"add i64 {said}, {turn}")
            over = out.op(f"icmp uge i64 {moved}, {owners}")
            whose = out.op(f"select i1 {over}, i64 {out.op(f'sub i64 {moved}, {owners}')}, i64 {moved}")
            mine = out.op(f"icmp eq i64 {whose}, {owner}")
            new = "1" if self.near else self.not_sent(out, words, h, mine)
            end = out.load(counts, whose)
            box = self.shape.word_at(out, out.load(boxes, whose, "ptr"), end)
            for k, word in enumerate(words):
                out.store(word, box, str(k))
            out.store(source, out.load(parents, whose, "ptr"), end, "i32")
            here = out.get(kept)
            out.store(h, arrays.hashes, here)
            own = out.op(f"zext i1 {mine} to i64")
            out.store(out.op(f"add i64 {end}, {new}"), counts, whose)
            out.set(kept, out.op(f"add i64 {here}, {own}"))
            out.set(sent, out.op(f"add i64 {out.get(sent)}, {out.op(f'sub i64 {new}, {own}')}"))
        write(out, Slot.OUT_COUNT, out.get(sent))
        return out.get(kept)

    def not_sent(self, out: Assembly, words: list[str], h: str, mine: str) -> str:
        """1 for a state that was not sent lately, or is this owner's; what others shall have is noted as sent."""
        shift, nowhere = read(out, Slot.SENT_SHIFT), read(out, Slot.SENT_SIZE)
        slot = out.op(f"select i1 {mine}, i64 {nowhere}, i64 {out.op(f'lshr i64 {h}, {shift}')}")
        lately = self.shape.word_at(out, read(out, Slot.SENT_AT, "ptr"), slot)
        known = same(out, words, [out.load(lately, str(k)) for k in range(self.shape.words)])
        for k, word in enumerate(words):
            out.store(word, lately, str(k))
        again = out.op(f"and i1 {known}, {out.op(f'xor i1 {mine}, true')}")
        return out.op(f"zext i1 {out.op(f'xor i1 {again}, true')} to i64")

    def receive(self) -> str:
        """Look up what another owner sent."""
        out = Assembly()
        origin = narrow(out, read(out, Slot.ORIGIN))
        with out.loop():
            begin, end = read(out, Slot.IN_NEXT), read(out, Slot.IN_COUNT)
            with out.when(out.op(f"icmp eq i64 {begin}, {end}")):
                out.leave(str(int(Answer.EXHAUSTED)))
            count = read(out, Slot.COUNT)
            self.within_bounds(out, count)
            left = out.op(f"sub i64 {end}, {begin}")
            size = out.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {BATCH})")
            visited = Visited(self.shape, out, origin=origin)
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


class PairKernel(OwnerKernel):
    """For two owners on threads, where the ends of both boxes are in registers."""

    def part(self, out: Assembly, visited: Visited, size: str) -> str:
        """Each successor is written to both boxes, and one of the two ends moves on."""
        arrays = visited.arrays
        other = out.op(f"xor i64 {read(out, Slot.OWNER)}, 1")
        box = out.load(read(out, Slot.BOXES_AT, "ptr"), other, "ptr")
        parents = out.load(read(out, Slot.BOX_SOURCES_AT, "ptr"), other, "ptr")
        mine = out.op(f"xor i64 {read(out, Slot.TURN)}, {read(out, Slot.OWNER)}")
        kept, sent = out.cell(), out.cell(read(out, Slot.OUT_COUNT))
        with out.each("0", size) as j:
            words = visited.words_of(arrays.words, j)
            source = out.load(arrays.sources, j, "i32")
            h = mix(out, visited.key_of(words))
            said = out.op(f"xor i64 {out.op(f'lshr i64 {h}, {OWNER_BITS - 1}')}, {mine}")
            foreign = out.op(f"and i64 {said}, 1")
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
        out.store(out.get(sent), read(out, Slot.BOX_COUNTS_AT, "ptr"), other)
        return out.get(kept)


def narrow(out: Assembly, number: str) -> str:
    return out.op(f"trunc i64 {number} to i16")
