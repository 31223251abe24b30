"""The visited set: its table, and how a batch of successors is held against it.

Open addressing over 32-bit entries. An entry is 0 for an empty slot, else the index of a state plus one in as many low
bits as the table has index bits, and bits of the state's hash above them: a probe looks at a state only where those
bits agree. What decides is always the whole state. The table is never full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .assembly import Assembly
from .control import Slot, read
from .lanes import Lanes

MULTIPLIER = 0x9E3779B97F4A7C15
SECOND = 0xD6E8FEB86659FD93
LINE = 8
"""Words in a line of the cache."""


@dataclass(frozen=True)
class Arrays:
    """Addresses: the states and their parents, and the batch's successors with their sources, hashes and places."""

    states: str
    parents: str
    words: str
    sources: str
    hashes: str
    places: str

    @staticmethod
    def given(out: Assembly) -> Arrays:
        slots = (
            Slot.STATES_AT,
            Slot.PARENTS_AT,
            Slot.WORDS_AT,
            Slot.SOURCES_AT,
            Slot.HASHES_AT,
            Slot.PLACES_AT,
        )
        return Arrays(*(read(out, slot, "ptr") for slot in slots))


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


class Visited:
    """Writes the parts of the kernel that look into the table and fill it. ``targets`` keeps where edges lead,
    ``origin`` (an operand of 16 bits) is kept with each new state."""

    def __init__(self, shape: Lanes, out: Assembly, *, targets: bool = False, origin: str | None = None) -> None:
        self.shape = shape
        self.out = out
        self.targets = targets
        self.origin = origin
        self.arrays = Arrays.given(out)
        self.table = Table(out)

    def words_of(self, array: str, index: str) -> list[str]:
        address = self.shape.word_at(self.out, array, index)
        return [self.out.load(address, str(k)) for k in range(self.shape.words)]

    def key_of(self, words: Sequence[str]) -> list[str]:
        return self.shape.keys.of(self.out, words)

    def fetch(self, address: str) -> None:
        """Prefetch every cache line that a state may stand in."""
        words = self.shape.words
        for k in range(0, words, LINE):
            self.out.do(prefetch(self.out.at(address, str(k))))
        if words > 1 and words % LINE and LINE % words:
            self.out.do(prefetch(self.out.at(address, str(words - 1))))

    def enter(self, first: str, size: str) -> None:
        """Enter the states ``first`` on, ``size`` of them, all new."""
        out, table = self.out, self.table
        with out.each("0", size) as j:
            h = mix(out, self.key_of(self.words_of(self.arrays.states, out.op(f"add i64 {first}, {j}"))))
            out.store(h, self.arrays.hashes, j)
            table.prefetch(table.place(h))
        with out.each("0", size) as j:
            h = out.load(self.arrays.hashes, j)
            place = out.cell(table.place(h))
            with out.loop() as (again, found):
                filled = out.label()
                out.split(out.op(f"icmp eq i32 {table.entry(out.get(place))}, 0"), found, filled)
                out.start(filled)
                out.set(place, table.after(out.get(place)))
                out.jump(again)
            table.put(out.get(place), h, out.op(f"add i64 {first}, {j}"))

    def hash(self, size: str) -> None:
        """Compute each successor's hash, and fetch its slot."""
        out, table = self.out, self.table
        with out.each("0", size) as j:
            h = mix(out, self.key_of(self.words_of(self.arrays.words, j)))
            out.store(h, self.arrays.hashes, j)
            table.prefetch(table.place(h))

    def look_up(self, size: str) -> None:
        """Find for each successor the first slot that is empty or may be its own; fetch the state that is there."""
        out, table = self.out, self.table
        with out.each("0", size) as j:
            h = out.load(self.arrays.hashes, j)
            tag = table.tag(h)
            place = out.cell(table.place(h))
            with out.loop() as (again, found):
                entry = table.entry(out.get(place))
                filled, candidate, other = out.label(), out.label(), out.label()
                out.split(out.op(f"icmp eq i32 {entry}, 0"), found, filled)
                out.start(filled)
                out.split(table.matches(entry, tag), candidate, other)
                out.start(candidate)
                self.fetch(self.shape.word_at(out, self.arrays.states, table.index(entry)))
                out.goto(found)
                out.start(other)
                out.set(place, table.after(out.get(place)))
                out.jump(again)
            out.store(out.get(place), self.arrays.places, j)

    def append(self, size: str, count: str, edges: str) -> str:
        """Compare each successor with the state found, and append it if it is new. Gives the new number of states.

        ``count`` is their number before, ``edges`` that of the transitions before this batch.
        """
        out, table, arrays = self.out, self.table, self.arrays
        total = out.cell(count)
        with out.each("0", size) as j:
            h = out.load(arrays.hashes, j)
            tag = table.tag(h)
            mine = self.words_of(arrays.words, j)
            key = self.key_of(mine)
            place, target = out.cell(out.load(arrays.places, j)), out.cell()
            with out.loop() as (again, found):
                entry = table.entry(out.get(place))
                with out.when(out.op(f"icmp eq i32 {entry}, 0")):
                    now = out.get(total)
                    new = self.shape.word_at(out, arrays.states, now)
                    for k, word in enumerate(mine):
                        out.store(word, new, str(k))
                    out.store(out.load(arrays.sources, j, "i32"), arrays.parents, now, "i32")
                    if self.origin is not None:
                        out.store(self.origin, read(out, Slot.ORIGINS_AT, "ptr"), now, "i16")
                    table.put(out.get(place), h, now)
                    out.set(target, now)
                    out.set(total, out.op(f"add i64 {now}, 1"))
                    out.jump(found)
                with out.when(table.matches(entry, tag)):
                    index = table.index(entry)
                    with out.when(same(out, key, self.key_of(self.words_of(arrays.states, index)))):
                        out.set(target, index)
                        out.jump(found)
                out.set(place, table.after(out.get(place)))
                out.jump(again)
            if self.targets:
                edge = out.op(f"add i64 {edges}, {j}")
                narrow = out.op(f"trunc i64 {out.get(target)} to i32")
                out.store(narrow, read(out, Slot.TARGETS_AT, "ptr"), edge, "i32")
        return out.get(total)


def same(out: Assembly, mine: Sequence[str], other: Sequence[str]) -> str:
    """Whether all words are equal."""
    differences = [out.op(f"xor i64 {a}, {b}") for a, b in zip(mine, other, strict=True)]
    found = differences[0]
    for difference in differences[1:]:
        found = out.op(f"or i64 {found}, {difference}")
    return out.op(f"icmp eq i64 {found}, 0")


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
