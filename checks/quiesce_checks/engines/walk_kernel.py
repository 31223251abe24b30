"""The kernel of random walks as LLVM text: whole walks, one after the other, each with its own weights.

A walk holds its state in registers. In each state everything watched for is looked for, then one of the possible moves
is drawn by weight, and only its successor is computed.
"""

from __future__ import annotations

from .assembly import Assembly
from .control import Answer, Slot, read, write
from .emit import Emitter
from .kernel import DECLARATIONS, noting
from .lanes import Lanes
from .program import Move, Program
from .swarm import FIRST, GOLDEN, SECOND
from .visited import signed


class WalkKernel:
    """Writes the module. ``moves`` are those that are not impossible in themselves, with their numbers."""

    def __init__(self, program: Program) -> None:
        self.shape = Lanes(program, 1)
        self.moves: list[tuple[int, Move]] = [
            (number, move)
            for number, move in enumerate(program.moves)
            if move.enabled.op != "const" or move.enabled.data
        ]

    def module(self) -> str:
        return "\n\n".join([DECLARATIONS, noting(), self.walk()]) + "\n"

    def walk(self) -> str:
        """Walk until the block is done, or something was found; after that the next call begins the next walk."""
        out = Assembly()
        weights_at, seeds_at = read(out, Slot.WEIGHTS_AT, "ptr"), read(out, Slot.SEEDS_AT, "ptr")
        path, lengths = read(out, Slot.PATH_AT, "ptr"), read(out, Slot.LENGTHS_AT, "ptr")
        initial, depth = read(out, Slot.STATES_AT, "ptr"), read(out, Slot.DEPTH)
        words = [out.cell() for _ in range(self.shape.words)]
        seed, step = out.cell(), out.cell()
        with out.loop():
            run = read(out, Slot.RUN)
            with out.when(out.op(f"icmp uge i64 {run}, {read(out, Slot.RUNS)}")):
                out.leave(str(int(Answer.EXHAUSTED)))
            weights = out.at(weights_at, out.op(f"mul i64 {run}, {len(self.moves)}"), "i32")
            for k, word in enumerate(words):
                out.set(word, out.load(initial, str(k)))
            out.set(seed, out.load(seeds_at, run))
            out.set(step, "0")
            events = read(out, Slot.EVENTS)
            with out.loop() as (_, ended):
                now = out.get(step)
                emit = Emitter(out, self.shape.program.layout, [out.get(word) for word in words], 1)
                self.look(out, emit, now)
                struck = out.op(f"icmp ne i64 {events}, {read(out, Slot.EVENTS)}")
                over = out.op(f"or i1 {struck}, {out.op(f'icmp uge i64 {now}, {depth}')}")
                going = out.label()
                out.split(over, ended, going)
                out.start(going)
                self.move(out, emit, words, weights, seed, ended, path, now)
                out.set(step, out.op(f"add i64 {now}, 1"))
            taken = out.get(step)
            out.store(taken, lengths, run)
            write(out, Slot.RUN, out.op(f"add i64 {run}, 1"))
            write(out, Slot.STEP, taken)
            write(out, Slot.STEPS, out.op(f"add i64 {read(out, Slot.STEPS)}, {taken}"))
            with out.when(out.op(f"icmp ne i64 {events}, {read(out, Slot.EVENTS)}")):
                out.leave(str(int(Answer.EVENT)))
        out.do("unreachable")
        return out.function("i64 @walk(ptr %control) nounwind")

    def look(self, out: Assembly, emit: Emitter, now: str) -> None:
        """Look for everything that is watched for; what is noted is the number of steps taken."""
        end = out.op(f"add i64 {now}, 1")
        for number, positions in enumerate(self.shape.watch_sets):
            self.shape.watch(out, emit, positions, number, now, end)

    def move(
        self, out: Assembly, emit: Emitter, words: list[str], weights: str, seed: str, ended: str, path: str, now: str
    ) -> None:
        """Draw one possible move and take it; go to ``ended`` if there is none."""
        total = "0"
        sums: list[str] = []
        for row, (_, move) in enumerate(self.moves):
            weight = out.op(f"zext i32 {out.load(weights, str(row), 'i32')} to i64")
            counts = out.op(f"select i1 {emit.value(move.enabled)}, i64 {weight}, i64 0")
            total = out.op(f"add i64 {total}, {counts}")
            sums.append(total)
        some = out.label()
        out.split(out.op(f"icmp eq i64 {total}, 0"), ended, some)
        out.start(some)
        drawn = out.op(f"lshr i64 {self.random(out, seed)}, 32")
        drawn = out.op(f"lshr i64 {out.op(f'mul i64 {drawn}, {total}')}, 32")
        chosen = "0"
        for sum_ in sums:
            passed = out.op(f"zext i1 {out.op(f'icmp ule i64 {sum_}, {drawn}')} to i64")
            chosen = out.op(f"add i64 {chosen}, {passed}")
        labels = [out.label() for _ in self.moves]
        after, nowhere = out.label(), out.label()
        cases = " ".join(f"i64 {row}, label %{label}" for row, label in enumerate(labels))
        out.do(f"switch i64 {chosen}, label %{nowhere} [ {cases} ]")
        out.start(nowhere)
        out.do("unreachable")
        for label, (number, move) in zip(labels, self.moves, strict=True):
            out.start(label)
            with emit.apart():
                for cell, old, new in zip(words, emit.words, emit.successor(move.updates), strict=True):
                    if new is not old:
                        out.set(cell, new)
            self.count(out, number, now)
            out.store(str(number), path, now, "i32")
            out.goto(after)
        out.start(after)

    def count(self, out: Assembly, number: int, now: str) -> None:
        """The move was taken once more, and perhaps earlier in a walk than ever before."""
        taken_at, first_at = read(out, Slot.TAKEN_AT, "ptr"), read(out, Slot.FIRST_LEVEL_AT, "ptr")
        out.store(out.op(f"add i64 {out.load(taken_at, str(number))}, 1"), taken_at, str(number))
        level = out.op(f"add i64 {now}, 1")
        least = out.op(f"call i64 @llvm.umin.i64(i64 {out.load(first_at, str(number))}, i64 {level})")
        out.store(least, first_at, str(number))

    def random(self, out: Assembly, seed: str) -> str:
        """The next 64 random bits (splitmix64)."""
        z = out.op(f"add i64 {out.get(seed)}, {signed(GOLDEN)}")
        out.set(seed, z)
        for shift, factor in ((30, FIRST), (27, SECOND)):
            folded = out.op(f"xor i64 {z}, {out.op(f'lshr i64 {z}, {shift}')}")
            z = out.op(f"mul i64 {folded}, {signed(factor)}")
        return out.op(f"xor i64 {z}, {out.op(f'lshr i64 {z}, 31')}")
