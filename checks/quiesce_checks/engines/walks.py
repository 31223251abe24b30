"""Random walks, block by block: in native code, and in plain Python, which takes the same walks step for step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .control import Answer, Slot
from .interpreted import readable
from .jit import Loaded
from .program import Move, Program
from .simulation import Strike
from .swarm import GOLDEN, WORD, Swarm, mixed
from .walk_kernel import WalkKernel

Enough = Callable[[Collection[int]], bool]
"""Whether a block may end, given the watches that it has found."""


@dataclass(frozen=True)
class Walked:
    """What a block of walks did. ``lengths`` are steps by walk; ``taken`` and ``earliest`` are by move, the latter the
    step (the first is 1) at which it was taken earliest in a walk, 0 if never. ``whole`` says that no walk was left."""

    strikes: tuple[Strike, ...]
    lengths: tuple[int, ...]
    taken: tuple[int, ...]
    earliest: tuple[int, ...]
    whole: bool


class Walker(Protocol):
    """Takes walks. ``wanted`` are the positions of the watches still looked for; the first strike of each is kept, and
    the walk that it is on ends there."""

    def block(self, first: int, runs: int, wanted: Collection[int], enough: Enough) -> Walked: ...


NEVER = 1 << 62


class NativeWalker:
    """Walks of at most ``depth`` steps in native code. One to a thread: they share the code and nothing else."""

    def __init__(self, program: Program, kernel: WalkKernel, code: Loaded, swarm: Swarm, depth: int) -> None:
        self.program = program
        self.kernel = kernel
        self.code = code
        self.call = code.answering("walk")
        self.swarm = swarm
        self.sets = kernel.shape.watch_sets
        moves = len(program.moves)
        self.control: NDArray[np.int64] = np.zeros(len(Slot), dtype=np.int64)
        self.initial = np.array(program.layout.pack(program.initial), dtype=np.uint64)
        self.taken: NDArray[np.int64] = np.zeros(moves + 1, dtype=np.int64)
        self.earliest: NDArray[np.int64] = np.zeros(moves + 1, dtype=np.int64)
        self.found: NDArray[np.int64] = np.zeros(64 * len(self.sets), dtype=np.int64)
        self.active: NDArray[np.uint64] = np.zeros(len(self.sets), dtype=np.uint64)
        self.path: NDArray[np.int32] = np.zeros(depth + 1, dtype=np.int32)
        for slot, array in (
            (Slot.STATES_AT, self.initial),
            (Slot.TAKEN_AT, self.taken),
            (Slot.FIRST_LEVEL_AT, self.earliest),
            (Slot.FOUND_AT, self.found),
            (Slot.ACTIVE_AT, self.active),
            (Slot.PATH_AT, self.path),
        ):
            self.control[slot] = array.ctypes.data
        self.control[Slot.DEPTH] = depth

    def block(self, first: int, runs: int, wanted: Collection[int], enough: Enough) -> Walked:
        weights, seeds = self.swarm.weights(first, runs), self.swarm.seeds(first, runs)
        lengths: NDArray[np.int64] = np.zeros(runs, dtype=np.int64)
        self.control[Slot.WEIGHTS_AT] = weights.ctypes.data
        self.control[Slot.SEEDS_AT] = seeds.ctypes.data
        self.control[Slot.LENGTHS_AT] = lengths.ctypes.data
        self.control[Slot.RUNS] = runs
        for slot in (Slot.RUN, Slot.STEPS, Slot.EVENTS):
            self.control[slot] = 0
        self.taken[:] = 0
        self.earliest[:] = NEVER
        self.found[:] = -1
        for number, positions in enumerate(self.sets):
            self.active[number] = sum(1 << bit for bit, position in enumerate(positions) if position in wanted)
        strikes: list[Strike] = []
        answer = Answer.EVENT
        while answer is Answer.EVENT:
            answer = Answer(self.call(int(self.control.ctypes.data)))
            strikes += self.struck(first, {strike.watch for strike in strikes})
            if enough([strike.watch for strike in strikes]):
                break
        done = int(self.control[Slot.RUN])
        moves = len(self.program.moves)
        return Walked(
            tuple(strikes),
            tuple(int(n) for n in lengths[:done]),
            tuple(int(n) for n in self.taken[:moves]),
            tuple(0 if n == NEVER else int(n) for n in self.earliest[:moves]),
            done == runs,
        )

    def struck(self, first: int, known: Collection[int]) -> list[Strike]:
        run = first + int(self.control[Slot.RUN]) - 1
        moves = tuple(int(move) for move in self.path[: self.control[Slot.STEP]])
        new = [
            position
            for number, positions in enumerate(self.sets)
            for bit, position in enumerate(positions)
            if self.found[64 * number + bit] >= 0 and position not in known
        ]
        return [Strike(position, run, moves, int(self.control[Slot.STEPS])) for position in sorted(new)]


class PlainWalker:
    """The same walks without a compiler."""

    def __init__(self, program: Program, moves: Sequence[tuple[int, Move]], swarm: Swarm, depth: int) -> None:
        self.program = program
        self.functions = readable(program)
        self.row = {number: row for row, (number, _) in enumerate(moves)}
        self.swarm = swarm
        self.depth = depth

    def block(self, first: int, runs: int, wanted: Collection[int], enough: Enough) -> Walked:
        weights = self.swarm.weights(first, runs).tolist()
        seeds = self.swarm.seeds(first, runs).tolist()
        moves = len(self.program.moves)
        taken, earliest = [0] * moves, [0] * moves
        strikes: list[Strike] = []
        lengths: list[int] = []
        left = set(wanted)
        for run in range(runs):
            path, found = self.walk(weights[run], seeds[run] & WORD, left)
            for step, move in enumerate(path, 1):
                taken[move] += 1
                earliest[move] = min(earliest[move] or step, step)
            lengths.append(len(path))
            left -= found
            strikes += [Strike(watch, first + run, tuple(path), sum(lengths)) for watch in sorted(found)]
            if found and enough([strike.watch for strike in strikes]):
                break
        return Walked(tuple(strikes), tuple(lengths), tuple(taken), tuple(earliest), len(lengths) == runs)

    def walk(self, weights: Sequence[int], seed: int, wanted: Collection[int]) -> tuple[list[int], set[int]]:
        """One walk's moves, and which of the wanted watches strike in its last state."""
        state, path = self.program.initial, list[int]()
        while True:
            struck = {*self.functions.judge_state(state), *self.functions.judge_expanded(state)} & set(wanted)
            if struck or len(path) >= self.depth:
                return path, struck
            possible = self.functions.expand(state)
            total = sum(weights[self.row[move]] for move, _ in possible)
            if not total:
                return path, set()
            seed = (seed + GOLDEN) & WORD
            drawn = ((mixed(seed) >> 32) * total) >> 32
            for move, new in possible:
                drawn -= weights[self.row[move]]
                if drawn < 0:
                    path.append(move)
                    state = new
                    break
