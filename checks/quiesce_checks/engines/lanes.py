"""States side by side: how instructions work on one packed state or on several at once."""

from __future__ import annotations

from .assembly import Assembly
from .control import Slot, read
from .emit import Emitter
from .keys import Keys
from .program import Program


def sets(positions: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Positions of watches in groups of up to 64, one bit set for each group."""
    return tuple(positions[i : i + 64] for i in range(0, len(positions), 64))


class Lanes:
    """A program's width in 64-bit words, and how many states are worked on at a time, one to a lane."""

    def __init__(self, program: Program, lanes: int) -> None:
        self.program = program
        self.words = program.layout.words
        self.lanes = lanes
        self.keys = Keys(program.layout, program.symmetric)
        self.state_sets = sets(program.at("state"))
        self.expanded_sets = sets(program.at("expanded"))

    @property
    def watch_sets(self) -> tuple[tuple[int, ...], ...]:
        """Positions of watches by bit set and bit."""
        return (*self.state_sets, *self.expanded_sets)

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

    def valid(self, out: Assembly, state: str, end: str) -> str:
        """Which lanes hold states before ``end``, the first one holding ``state``."""
        if self.lanes == 1:
            return "true"
        type_ = f"<{self.lanes} x i64>"
        steps = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
        numbers = out.op(f"add {type_} {self.splat(out, state)}, <{steps}>")
        return out.op(f"icmp ult {type_} {numbers}, {self.splat(out, end)}")
