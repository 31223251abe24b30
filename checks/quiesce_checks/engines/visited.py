"""The visited set's table, as instructions: open addressing over 32-bit entries.

An entry is 0 for an empty slot, else the index of a state plus one in as many low bits as the table has index bits, and
bits of the state's hash above them: a probe looks at a state only where those bits agree. The table is never full.
"""

from __future__ import annotations

from collections.abc import Sequence

from .assembly import Assembly
from .control import Slot, read

MULTIPLIER = 0x9E3779B97F4A7C15
SECOND = 0xD6E8FEB86659FD93


class Table:
    """The visited set's table, as instructions."""

    def __init__(self, out: Assembly) -> None:
        self.out = out
        self.at = read(out, Slot.TABLE_AT, "ptr")
        self.shift = read(out, Slot.SHIFT)
        self.mask = read(out, Slot.INDEX_MASK)
        self.index_bits = out.op(f"trunc i64 {self.mask} to i32")
        self.tag_bits = out.op(f"xor i32 {self.index_bits}, -1")

    def place(self, h: str) -> str:
        """Where the search for a hash begins."""
        return self.out.op(f"lshr i64 {h}, {self.shift}")

    def after(self, place: str) -> str:
        return self.out.op(f"and i64 {self.out.op(f'add i64 {place}, 1')}, {self.mask}")

    def entry(self, place: str) -> str:
        return self.out.load(self.at, place, "i32")

    def prefetch(self, place: str) -> None:
        self.out.do(prefetch(self.out.at(self.at, place, "i32")))

    def tag(self, h: str) -> str:
        return self.out.op(f"and i32 {self.out.op(f'trunc i64 {h} to i32')}, {self.tag_bits}")

    def matches(self, entry: str, tag: str) -> str:
        return self.out.op(f"icmp eq i32 {self.out.op(f'and i32 {entry}, {self.tag_bits}')}, {tag}")

    def index(self, entry: str) -> str:
        """The state that an entry is of."""
        wide = self.out.op(f"zext i32 {self.out.op(f'and i32 {entry}, {self.index_bits}')} to i64")
        return self.out.op(f"sub i64 {wide}, 1")

    def put(self, place: str, h: str, index: str) -> None:
        number = self.out.op(f"trunc i64 {self.out.op(f'add i64 {index}, 1')} to i32")
        self.out.store(self.out.op(f"or i32 {number}, {self.tag(h)}"), self.at, place, "i32")


def prefetch(address: str) -> str:
    return f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)"


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def mix(out: Assembly, words: Sequence[str]) -> str:
    """64 well mixed bits of a state: the high ones choose the place in the table, of the low 32 the tag is made."""

    def fold(h: str, by: int) -> str:
        return out.op(f"xor i64 {h}, {out.op(f'lshr i64 {h}, {by}')}")

    h = words[0]
    for word in words[1:]:
        h = fold(out.op(f"mul i64 {h}, {signed(SECOND)}"), 32)
        h = out.op(f"add i64 {h}, {word}")
    h = out.op(f"mul i64 {fold(h, 32)}, {signed(MULTIPLIER)}")
    h = out.op(f"mul i64 {fold(h, 29)}, {signed(SECOND)}")
    return fold(h, 32)
