"""The search kernel as LLVM text, written for one program: its width, its moves, its watches.

States stand in one array in breadth-first order, ``words`` 64-bit words each, with the index of each one's parent
beside it. The visited set is an open-addressing table of 32-bit entries: a state's index plus one in the low bits,
bits of its hash in the rest, so that a probe seldom has to look at a state that is not the one sought.

The kernel works in batches, since what costs is waiting for memory. It generates the successors of some dozens of
states, computes their hashes and prefetches their table slots; then it looks the slots up and prefetches the states
they point to; then it compares, and appends what is new; then it judges the new states, which still are in the cache.
Successors are generated ``lanes`` states at a time, without branches.

All that the kernel and its caller share lies in one array of 64-bit words, see :mod:`.control`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .emit import Emitter
from .program import Program
from .visited import Table, mix, prefetch

BATCH = 256
"""Successors generated before they are looked up: enough to hide the latency of memory, few enough for the cache."""

DECLARATIONS = """\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)"""


def sets(positions: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(positions[i : i + 64] for i in range(0, len(positions), 64))


class Kernel:
    """Writes the module. ``graph`` keeps the edges, in the order of their sources (and so one lane at a time)."""

    def __init__(self, program: Program, *, lanes: int, graph: bool = False) -> None:
        self.program = program
        self.words = program.layout.words
        self.lanes = 1 if graph else lanes
        self.graph = graph
        self.moves = len(program.moves)
        self.state_sets = sets(program.at("state"))
        self.expanded_sets = sets(program.at("expanded"))

    @property
    def batch_capacity(self) -> int:
        """Successors that the batch buffers have to hold."""
        return BATCH + (self.moves + 2) * self.lanes

    @property
    def watch_sets(self) -> tuple[tuple[int, ...], ...]:
        """Positions of watches by bit set and bit."""
        return (*self.state_sets, *self.expanded_sets)

    def module(self) -> str:
        parts = [DECLARATIONS, self.note(), self.insert(), self.judge(), self.search()]
        if self.lanes > 1:
            parts.insert(0, f"declare i{self.lanes} @llvm.ctpop.i{self.lanes}(i{self.lanes})")
        return "\n\n".join(parts) + "\n"

    # What the functions share

    def note(self) -> str:
        """Note ``state`` for each watch of ``set`` whose bit is given and that was not found before."""
        out = Assembly()
        active_at = read(out, Slot.ACTIVE_AT, "ptr")
        found_at = read(out, Slot.FOUND_AT, "ptr")
        active = out.load(active_at, "%set")
        hit = out.op(f"and i64 {active}, %bits")
        out.store(out.op(f"xor i64 {active}, {hit}"), active_at, "%set")
        left = out.cell(hit)
        with out.loop() as (_, after):
            bits, body = out.get(left), out.label()
            out.split(out.op(f"icmp ne i64 {bits}, 0"), body, after)
            out.start(body)
            bit = out.op(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")
            first = out.op("shl i64 %set, 6")
            out.store("%state", found_at, out.op(f"or i64 {first}, {bit}"))
            out.set(left, out.op(f"and i64 {bits}, {out.op(f'sub i64 {bits}, 1')}"))
            write(out, Slot.EVENTS, out.op(f"add i64 {read(out, Slot.EVENTS)}, 1"))
        out.do("ret void")
        head = "internal void @note(ptr %control, i64 %set, i64 %bits, i64 %state) noinline cold nounwind"
        return out.function(head)

    def load(self, out: Assembly, states: str, index: str) -> list[str]:
        """The words of the states from ``index`` on, one state to a lane."""
        first = self.word_at(out, states, index)
        if self.lanes == 1:
            return [out.load(first, str(k)) for k in range(self.words)]
        total = self.lanes * self.words
        block = out.op(f"load <{total} x i64>, ptr {first}, align 8")
        if self.words == 1:
            return [block]
        found: list[str] = []
        for k in range(self.words):
            picks = ", ".join(f"i32 {lane * self.words + k}" for lane in range(self.lanes))
            pair = f"<{total} x i64> {block}, <{total} x i64> poison"
            found.append(out.op(f"shufflevector {pair}, <{self.lanes} x i32> <{picks}>"))
        return found

    def word_at(self, out: Assembly, array: str, index: str) -> str:
        """The address of the first word of a state."""
        start = index if self.words == 1 else out.op(f"mul i64 {index}, {self.words}")
        return out.at(array, start)

    def watch(
        self, out: Assembly, emit: Emitter, positions: tuple[int, ...], number: int, first: str, end: str
    ) -> None:
        """Look for the conditions of one set of watches in the states ``first`` on, as long as before ``end``."""
        bits = emit.number(0)
        for bit, position in enumerate(positions):
            holds = emit.value(self.program.watches[position].condition)
            one = out.op(f"select {emit.bool} {holds}, {emit.int} {emit.number(1 << bit)}, {emit.int} {emit.number(0)}")
            bits = one if bit == 0 else out.op(f"or {emit.int} {bits}, {one}")
        active = self.splat(out, out.load(read(out, Slot.ACTIVE_AT, "ptr"), str(number)))
        bits = out.op(f"and {emit.int} {bits}, {active}")
        some = out.op(f"icmp ne {emit.int} {bits}, {emit.number(0)}")
        with out.when(self.any(out, some)):
            for lane in range(self.lanes):
                state = out.op(f"add i64 {first}, {lane}")
                with out.when(out.op(f"icmp ult i64 {state}, {end}")):
                    out.do(
                        f"call void @note(ptr %control, i64 {number}, i64 {self.lane(out, bits, lane)}, i64 {state})"
                    )

    def splat(self, out: Assembly, value: str) -> str:
        """The same number in every lane."""
        if self.lanes == 1:
            return value
        type_ = f"<{self.lanes} x i64>"
        one = out.op(f"insertelement {type_} poison, i64 {value}, i32 0")
        return out.op(f"shufflevector {type_} {one}, {type_} poison, <{self.lanes} x i32> zeroinitializer")

    def lane(self, out: Assembly, value: str, lane: int) -> str:
        return value if self.lanes == 1 else out.op(f"extractelement <{self.lanes} x i64> {value}, i32 {lane}")

    def any(self, out: Assembly, conditions: str) -> str:
        """Whether a condition holds in any lane."""
        return conditions if self.lanes == 1 else out.op(f"icmp ne i{self.lanes} {self.bits(out, conditions)}, 0")

    def bits(self, out: Assembly, conditions: str) -> str:
        """A condition in each lane as a number with a bit for each."""
        return out.op(f"bitcast <{self.lanes} x i1> {conditions} to i{self.lanes}")

    # The visited set

    def insert(self) -> str:
        """Enter states ``first``..``end``-1, all different and none of them in it, into the table."""
        out = Assembly()
        table = Table(out)
        states = read(out, Slot.STATES_AT, "ptr")
        hashes = read(out, Slot.HASHES_AT, "ptr")
        start = out.cell("%first")
        with out.loop() as (_, after):
            base, body = out.get(start), out.label()
            out.split(out.op(f"icmp ult i64 {base}, %end"), body, after)
            out.start(body)
            left = out.op(f"sub i64 %end, {base}")
            size = out.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {BATCH})")
            with out.each("0", size) as j:
                address = self.word_at(out, states, out.op(f"add i64 {base}, {j}"))
                h = mix(out, [out.load(address, str(k)) for k in range(self.words)])
                out.store(h, hashes, j)
                table.prefetch(table.place(h))
            with out.each("0", size) as j:
                h = out.load(hashes, j)
                place = out.cell(table.place(h))
                with out.loop() as (again, found):
                    filled = out.label()
                    out.split(out.op(f"icmp eq i32 {table.entry(out.get(place))}, 0"), found, filled)
                    out.start(filled)
                    out.set(place, table.after(out.get(place)))
                    out.jump(again)
                table.put(out.get(place), h, out.op(f"add i64 {base}, {j}"))
            out.set(start, out.op(f"add i64 {base}, {size}"))
        out.do("ret void")
        return out.function("void @insert(ptr noalias %control, i64 %first, i64 %end) nounwind")

    def judge(self) -> str:
        """Look at the new states ``first``..``end``-1 for what is watched for in states."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        for number, positions in enumerate(self.state_sets):
            start = out.cell("%first")
            with out.loop() as (_, after):
                base, body = out.get(start), out.label()
                out.split(out.op(f"icmp ult i64 {base}, %end"), body, after)
                out.start(body)
                emit = Emitter(out, self.program.layout, self.load(out, states, base), self.lanes)
                self.watch(out, emit, positions, number, base, "%end")
                out.set(start, out.op(f"add i64 {base}, {self.lanes}"))
        out.do("ret void")
        return out.function("void @judge(ptr %control, i64 %first, i64 %end) nounwind")

    # The search

    def search(self) -> str:
        """Expand states in order until one of :class:`Answer`."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        parents = read(out, Slot.PARENTS_AT, "ptr")
        words = read(out, Slot.WORDS_AT, "ptr")
        sources = read(out, Slot.SOURCES_AT, "ptr")
        hashes = read(out, Slot.HASHES_AT, "ptr")
        places = read(out, Slot.PLACES_AT, "ptr")
        table = Table(out)
        with out.loop():
            count = read(out, Slot.COUNT)
            self.begin(out, count)
            events = read(out, Slot.EVENTS)
            base = read(out, Slot.GENERATED)
            size = self.generate(out, states, words, sources, base)
            self.look_up(out, table, states, words, hashes, places, size)
            now = self.append(out, table, states, parents, words, sources, hashes, places, size, count, base)
            write(out, Slot.COUNT, now)
            write(out, Slot.GENERATED, out.op(f"add i64 {base}, {size}"))
            out.do(f"call void @judge(ptr %control, i64 {count}, i64 {now})")
            with out.when(out.op(f"icmp ne i64 {events}, {read(out, Slot.EVENTS)}")):
                out.leave(str(int(Answer.EVENT)))
        out.do("unreachable")
        return out.function("i64 @search(ptr %control) nounwind")

    def begin(self, out: Assembly, count: str) -> None:
        """Go on to the next level where one ends; return where the call, the room or the search is at its end."""
        end = read(out, Slot.LEVEL_END)
        with out.when(out.op(f"icmp eq i64 {read(out, Slot.NEXT)}, {end}")):
            level = read(out, Slot.LEVEL)
            taken, first = read(out, Slot.TAKEN_AT, "ptr"), read(out, Slot.FIRST_LEVEL_AT, "ptr")
            with out.each("0", str(self.moves)) as move:
                never = out.op(f"icmp eq i64 {out.load(first, move)}, 0")
                some = out.op(f"icmp ne i64 {out.load(taken, move)}, 0")
                with out.when(out.op(f"and i1 {never}, {some}")):
                    out.store(level, first, move)
            with out.when(out.op(f"icmp eq i64 {count}, {end}")):
                out.leave(str(int(Answer.EXHAUSTED)))
            write(out, Slot.LEVEL, out.op(f"add i64 {level}, 1"))
            write(out, Slot.LEVEL_END, count)
        with out.when(out.op(f"icmp uge i64 {read(out, Slot.LEVEL)}, {read(out, Slot.LAST_LEVEL)}")):
            out.leave(str(int(Answer.DEPTH)))
        budget = read(out, Slot.BUDGET)
        with out.when(out.op(f"icmp eq i64 {budget}, 0")):
            out.leave(str(int(Answer.BUDGET)))
        write(out, Slot.BUDGET, out.op(f"sub i64 {budget}, 1"))
        most = out.op(f"add i64 {count}, {self.batch_capacity}")
        with out.when(out.op(f"icmp ugt i64 {most}, {read(out, Slot.ROOM)}")):
            out.leave(str(int(Answer.ROOM)))
        if self.graph:
            edges = out.op(f"add i64 {read(out, Slot.GENERATED)}, {self.batch_capacity}")
            with out.when(out.op(f"icmp ugt i64 {edges}, {read(out, Slot.EDGE_ROOM)}")):
                out.leave(str(int(Answer.ROOM)))

    def generate(self, out: Assembly, states: str, words: str, sources: str, edges: str) -> str:
        """Fill the batch with successors of the next states of this level. Gives their number."""
        end = read(out, Slot.LEVEL_END)
        counters = [out.cell() for _ in range(self.moves)]
        cursor, size = out.cell(read(out, Slot.NEXT)), out.cell()
        with out.loop() as (_, after):
            state, body, more = out.get(cursor), out.label(), out.label()
            out.split(out.op(f"icmp ult i64 {state}, {end}"), more, after)
            out.start(more)
            out.split(out.op(f"icmp ult i64 {out.get(size)}, {BATCH}"), body, after)
            out.start(body)
            self.expand(out, states, words, sources, edges, state, end, counters, size)
            out.set(cursor, out.op(f"add i64 {state}, {self.lanes}"))
        beyond = out.get(cursor)
        write(out, Slot.NEXT, out.op(f"call i64 @llvm.umin.i64(i64 {beyond}, i64 {end})"))
        taken = read(out, Slot.TAKEN_AT, "ptr")
        for move, counter in enumerate(counters):
            old = out.load(taken, str(move))
            out.store(out.op(f"add i64 {old}, {out.get(counter)}"), taken, str(move))
        return out.get(size)

    def expand(
        self,
        out: Assembly,
        states: str,
        words: str,
        sources: str,
        edges: str,
        state: str,
        end: str,
        counters: Sequence[str],
        size: str,
    ) -> None:
        """Every successor of the states ``state`` on, without a branch: each is written, and counted if it is one."""
        emit = Emitter(out, self.program.layout, self.load(out, states, state), self.lanes)
        valid = self.valid(out, state, end)
        for number, positions in enumerate(self.expanded_sets, len(self.state_sets)):
            self.watch(out, emit, positions, number, state, end)
        if self.graph:
            offset = out.op(f"add i64 {edges}, {out.get(size)}")
            out.store(offset, read(out, Slot.OFFSETS_AT, "ptr"), state)
        lane_states = [state, *(out.op(f"add i64 {state}, {lane}") for lane in range(1, self.lanes))]
        narrow = [out.op(f"trunc i64 {s} to i32") for s in lane_states]
        for label, (move, counter) in enumerate(zip(self.program.moves, counters, strict=True)):
            if move.enabled.op == "const" and not move.enabled.data:
                continue
            possible = emit.value(move.enabled)
            successor = emit.successor(move.updates)
            if self.lanes == 1:
                ones = [out.op(f"zext i1 {possible} to i64")]
                total = ones[0]
            else:
                here = self.bits(out, out.op(f"and {emit.bool} {possible}, {valid}"))
                wide = out.op(f"zext i{self.lanes} {here} to i64")
                shifted = [wide, *(out.op(f"lshr i64 {wide}, {lane}") for lane in range(1, self.lanes))]
                ones = [out.op(f"and i64 {bit}, 1") for bit in shifted]
                total = out.op(f"call i{self.lanes} @llvm.ctpop.i{self.lanes}(i{self.lanes} {here})")
                total = out.op(f"zext i{self.lanes} {total} to i64")
            out.set(counter, out.op(f"add i64 {out.get(counter)}, {total}"))
            for lane, one in enumerate(ones):
                place = out.get(size)
                target = self.word_at(out, words, place)
                for k, word in enumerate(successor):
                    out.store(self.lane(out, word, lane), target, str(k))
                out.store(narrow[lane], sources, place, "i32")
                if self.graph:
                    edge = out.op(f"add i64 {edges}, {place}")
                    out.store(str(label), read(out, Slot.LABELS_AT, "ptr"), edge, "i16")
                out.set(size, out.op(f"add i64 {place}, {one}"))

    def valid(self, out: Assembly, state: str, end: str) -> str:
        """Which lanes hold states before ``end``."""
        if self.lanes == 1:
            return "true"
        type_ = f"<{self.lanes} x i64>"
        steps = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
        numbers = out.op(f"add {type_} {self.splat(out, state)}, <{steps}>")
        return out.op(f"icmp ult {type_} {numbers}, {self.splat(out, end)}")

    def look_up(
        self, out: Assembly, table: Table, states: str, words: str, hashes: str, places: str, size: str
    ) -> None:
        """Find for each successor the first slot that is empty or may be its own; fetch the state that is there."""
        with out.each("0", size) as j:
            address = self.word_at(out, words, j)
            h = mix(out, [out.load(address, str(k)) for k in range(self.words)])
            out.store(h, hashes, j)
            table.prefetch(table.place(h))
        with out.each("0", size) as j:
            h = out.load(hashes, j)
            tag = table.tag(h)
            place = out.cell(table.place(h))
            with out.loop() as (again, found):
                entry, filled, other = table.entry(out.get(place)), out.label(), out.label()
                out.split(out.op(f"icmp eq i32 {entry}, 0"), found, filled)
                out.start(filled)
                out.split(table.matches(entry, tag), other + "x", other)
                out.start(other + "x")
                out.do(prefetch(self.word_at(out, states, table.index(entry))))
                out.goto(found)
                out.start(other)
                out.set(place, table.after(out.get(place)))
                out.jump(again)
            out.store(out.get(place), places, j)

    def append(
        self,
        out: Assembly,
        table: Table,
        states: str,
        parents: str,
        words: str,
        sources: str,
        hashes: str,
        places: str,
        size: str,
        count: str,
        edges: str,
    ) -> str:
        """Compare each successor with the state found, and append it if it is new. Gives the new number of states."""
        total = out.cell(count)
        with out.each("0", size) as j:
            h = out.load(hashes, j)
            tag = table.tag(h)
            address = self.word_at(out, words, j)
            mine = [out.load(address, str(k)) for k in range(self.words)]
            place = out.cell(out.load(places, j))
            target = out.cell()
            with out.loop() as (again, found):
                entry = table.entry(out.get(place))
                with out.when(out.op(f"icmp eq i32 {entry}, 0")):
                    now = out.get(total)
                    new = self.word_at(out, states, now)
                    for k, word in enumerate(mine):
                        out.store(word, new, str(k))
                    out.store(out.load(sources, j, "i32"), parents, now, "i32")
                    table.put(out.get(place), h, now)
                    out.set(target, now)
                    out.set(total, out.op(f"add i64 {now}, 1"))
                    out.jump(found)
                with out.when(table.matches(entry, tag)):
                    index = table.index(entry)
                    with out.when(self.same(out, mine, self.word_at(out, states, index))):
                        out.set(target, index)
                        out.jump(found)
                out.set(place, table.after(out.get(place)))
                out.jump(again)
            if self.graph:
                edge = out.op(f"add i64 {edges}, {j}")
                narrow = out.op(f"trunc i64 {out.get(target)} to i32")
                out.store(narrow, read(out, Slot.TARGETS_AT, "ptr"), edge, "i32")
        return out.get(total)

    def same(self, out: Assembly, mine: Sequence[str], address: str) -> str:
        """Whether all words are equal to those at ``address``."""
        differences = [out.op(f"xor i64 {word}, {out.load(address, str(k))}") for k, word in enumerate(mine)]
        found = differences[0]
        for other in differences[1:]:
            found = out.op(f"or i64 {found}, {other}")
        return out.op(f"icmp eq i64 {found}, 0")
