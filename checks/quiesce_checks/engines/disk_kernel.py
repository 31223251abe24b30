"""The kernel of a search whose visited set is on disk: successors and fingerprints, and no table.

A fingerprint has two halves of 64 bits. The first is the hash that the table uses. Of a state of one word it is a
bijection, so there it is as good as the state itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .kernel import DECLARATIONS, Kernel, noting
from .successors import Batch
from .visited import Visited, mix, signed

OTHER = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
"""Odd numbers with as many ones as zeros, about; others than those of the first half."""


class DiskKernel(Kernel):
    """Writes the module. It works on the control array of a native search that has come to the end of its memory."""

    def module(self) -> str:
        lanes = self.shape.lanes
        count = f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})" if lanes > 1 and lanes != 64 else ""
        return "\n\n".join([DECLARATIONS, count, noting(), self.judge(), self.prints(), self.collect()]) + "\n"

    def prints(self) -> str:
        """The fingerprints of the states ``first``..``end``-1, from the box's beginning on."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        with out.each("%first", "%end") as index:
            address = self.shape.word_at(out, states, index)
            words = [out.load(address, str(k)) for k in range(self.shape.words)]
            self.put(out, words, out.op(f"sub i64 {index}, %first"))
        out.do("ret void")
        return out.function("void @prints(ptr %control, i64 %first, i64 %end) nounwind")

    def put(self, out: Assembly, words: Sequence[str], place: str) -> None:
        key = self.shape.keys.of(out, words)
        out.store(mix(out, key), read(out, Slot.FIRST_PRINTS_AT, "ptr"), place)
        out.store(second_print(out, key), read(out, Slot.SECOND_PRINTS_AT, "ptr"), place)

    def collect(self) -> str:
        """Put successors of this level's states into the box, until the level is at its end or the box is full."""
        out = Assembly()
        visited = Visited(self.shape, out)
        arrays = visited.arrays
        box, parents = read(out, Slot.OUT_WORDS_AT, "ptr"), read(out, Slot.OUT_SOURCES_AT, "ptr")
        with out.loop():
            with out.when(out.op(f"icmp eq i64 {read(out, Slot.NEXT)}, {read(out, Slot.LEVEL_END)}")):
                out.leave(str(int(Answer.LEVEL)))
            most = out.op(f"add i64 {read(out, Slot.OUT_COUNT)}, {self.successors.capacity}")
            with out.when(out.op(f"icmp ugt i64 {most}, {read(out, Slot.OUT_ROOM)}")):
                out.leave(str(int(Answer.FULL)))
            edges, sent = read(out, Slot.GENERATED), read(out, Slot.OUT_COUNT)
            size = self.successors.generate(out, Batch(arrays.states, arrays.words, arrays.sources, edges))
            with out.each("0", size) as j:
                there = out.op(f"add i64 {sent}, {j}")
                words = visited.words_of(arrays.words, j)
                at = self.shape.word_at(out, box, there)
                for k, word in enumerate(words):
                    out.store(word, at, str(k))
                out.store(out.load(arrays.sources, j, "i32"), parents, there, "i32")
                self.put(out, words, there)
            write(out, Slot.GENERATED, out.op(f"add i64 {edges}, {size}"))
            write(out, Slot.OUT_COUNT, out.op(f"add i64 {sent}, {size}"))
        out.do("unreachable")
        return out.function("i64 @collect(ptr %control) nounwind")


def second_print(out: Assembly, words: Sequence[str]) -> str:
    """64 bits that have nothing to do with :func:`~.visited.mix` of the same words."""
    h = str(signed(OTHER[2]))
    for word in words:
        h = out.op(f"mul i64 {out.op(f'xor i64 {h}, {word}')}, {signed(OTHER[0])}")
        h = out.op(f"xor i64 {h}, {out.op(f'lshr i64 {h}, 31')}")
        h = out.op(f"mul i64 {h}, {signed(OTHER[1])}")
        h = out.op(f"xor i64 {h}, {out.op(f'lshr i64 {h}, 29')}")
    return h
