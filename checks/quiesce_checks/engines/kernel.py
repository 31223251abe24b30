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

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .emit import Emitter
from .lanes import Lanes
from .program import Program
from .successors import BATCH, Batch, Successors
from .visited import Visited

DECLARATIONS = """\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)"""


def noting() -> str:
    """A function that notes ``state`` for each watch of ``set`` whose bit is given and that was not found before."""
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


class Kernel:
    """Writes the module. ``graph`` keeps the edges, in the order of their sources."""

    def __init__(self, program: Program, *, lanes: int, graph: bool = False) -> None:
        self.shape = Lanes(program, lanes)
        self.successors = Successors(self.shape, graph=graph)
        self.graph = graph
        self.moves = len(program.moves)

    def module(self) -> str:
        lanes = self.shape.lanes
        count = f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})" if lanes > 1 and lanes != 64 else ""
        return "\n\n".join([DECLARATIONS, count, noting(), self.insert(), self.judge(), self.search()]) + "\n"

    def insert(self) -> str:
        """Enter states ``first``..``end``-1, all different and none of them in it, into the table."""
        out = Assembly()
        visited = Visited(self.shape, out)
        start = out.cell("%first")
        with out.loop() as (_, after):
            base, body = out.get(start), out.label()
            out.split(out.op(f"icmp ult i64 {base}, %end"), body, after)
            out.start(body)
            left = out.op(f"sub i64 %end, {base}")
            size = out.op(f"call i64 @llvm.umin.i64(i64 {left}, i64 {BATCH})")
            visited.enter(base, size)
            out.set(start, out.op(f"add i64 {base}, {size}"))
        out.do("ret void")
        return out.function("void @insert(ptr noalias %control, i64 %first, i64 %end) nounwind")

    def judge(self) -> str:
        """Look at the new states ``first``..``end``-1 for what is watched for in states."""
        out = Assembly()
        states = read(out, Slot.STATES_AT, "ptr")
        shape = self.shape
        for number, positions in enumerate(shape.state_sets):
            start = out.cell("%first")
            with out.loop() as (_, after):
                base, body = out.get(start), out.label()
                out.split(out.op(f"icmp ult i64 {base}, %end"), body, after)
                out.start(body)
                emit = Emitter(out, shape.program.layout, shape.load(out, states, base), shape.lanes)
                shape.watch(out, emit, positions, number, base, "%end")
                out.set(start, out.op(f"add i64 {base}, {shape.lanes}"))
        out.do("ret void")
        return out.function("void @judge(ptr %control, i64 %first, i64 %end) nounwind")

    def search(self) -> str:
        """Expand states in order until one of :class:`Answer`."""
        out = Assembly()
        visited = Visited(self.shape, out, targets=self.graph)
        arrays = visited.arrays
        with out.loop():
            count = read(out, Slot.COUNT)
            self.begin(out, count)
            events, edges = read(out, Slot.EVENTS), read(out, Slot.GENERATED)
            size = self.successors.generate(out, Batch(arrays.states, arrays.words, arrays.sources, edges))
            visited.hash(size)
            visited.look_up(size)
            now = visited.append(size, count, edges)
            write(out, Slot.COUNT, now)
            write(out, Slot.GENERATED, out.op(f"add i64 {edges}, {size}"))
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
        self.within_bounds(out, count)
        if self.graph:
            edges = out.op(f"add i64 {read(out, Slot.GENERATED)}, {self.successors.capacity}")
            with out.when(out.op(f"icmp ugt i64 {edges}, {read(out, Slot.EDGE_ROOM)}")):
                out.leave(str(int(Answer.ROOM)))

    def within_bounds(self, out: Assembly, count: str) -> None:
        """Return where the call or the room is at its end."""
        budget = read(out, Slot.BUDGET)
        with out.when(out.op(f"icmp eq i64 {budget}, 0")):
            out.leave(str(int(Answer.BUDGET)))
        write(out, Slot.BUDGET, out.op(f"sub i64 {budget}, 1"))
        most = out.op(f"add i64 {count}, {self.successors.capacity}")
        with out.when(out.op(f"icmp ugt i64 {most}, {read(out, Slot.ROOM)}")):
            out.leave(str(int(Answer.ROOM)))
