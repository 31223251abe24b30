"""The search without a compiler: terms as Python source. Small scopes are answered before a compiler has started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import Any

from ..relation.terms import BOOL, SIGNS, Term, walk
from .graph import Graph
from .program import Program
from .search import Searched, Stop, Watchman
from .symmetry import representative

ENGINE = "explore (interpreted)"
HEARTBEAT = 0.05
"""Seconds between two looks at limits and progress."""

DEEP = 12
"""Expressions nested deeper than this get a name, since Python's parser limits nesting."""

Expand = Callable[[tuple[int, ...]], list[tuple[int, tuple[int, ...]]]]
Judge = Callable[[tuple[int, ...]], tuple[int, ...]]


class Writer:
    """Writes terms as Python expressions; what is used twice, or nested deep, gets a local name."""

    def __init__(self, program: Program) -> None:
        self.variables = {f.term.number: f.variable for f in program.layout.fields if f.term.op == "var"}
        self.lines: list[str] = []
        self.text: dict[int, str] = {}
        self.depth: dict[int, int] = {}

    def write(self, roots: Iterable[Term], indent: str) -> list[str]:
        """Lines that compute what the roots share, and the roots' own expressions."""
        roots = list(roots)
        uses = Counter(arg.number for term in walk(roots) for arg in term.args)
        uses.update(root.number for root in roots)
        for term in walk(roots):
            if term.number in self.text:
                continue
            depth = 1 + max((self.depth[arg.number] for arg in term.args), default=0)
            text = self.expression(term)
            if term.args and (uses[term.number] > 1 or depth > DEEP):
                name = f"t{term.number}"
                self.lines.append(f"{indent}{name} = {text}")
                text, depth = name, 0
            self.text[term.number], self.depth[term.number] = text, depth
        return [self.text[root.number] for root in roots]

    def expression(self, term: Term) -> str:
        a = [self.text[arg.number] for arg in term.args]
        match term.op:
            case "const":
                return f"({term.data})" if term.sort != BOOL and term.data < 0 else str(term.data)
            case "var":
                return f"v{self.variables[term.number]}"
            case "not":
                return f"(not {a[0]})"
            case "ite":
                return f"({a[1]} if {a[0]} else {a[2]})"
            case "div" | "mod":
                divisor = term.args[1]
                whole = f"({a[0]} {'//' if term.op == 'div' else '%'} {a[1]})"
                safe = (divisor.low or 0) > 0 or (divisor.high is not None and divisor.high < 0)
                return whole if safe else f"({whole} if {a[1]} else 0)"
            case _:
                return f"({SIGNS[term.op].join(a)})"


def source(program: Program) -> str:
    """The text of ``expand`` and of the two judges."""
    variables = program.relation.variables
    names = "".join(f"v{i}, " for i in range(len(variables)))
    unpack = [f"    {names}= state"] if variables else []
    whole = Writer(program)
    enabled = whole.write([move.enabled for move in program.moves], "    ")
    lines = ["def expand(state):", *unpack, *whole.lines, "    out = []"]
    for number, (move, condition) in enumerate(zip(program.moves, enabled, strict=True)):
        if condition == "False":
            continue
        own = Writer(program)
        own.text, own.depth = dict(whole.text), dict(whole.depth)
        changed = own.write(move.updates.values(), "        ")
        new = {
            v: f"(1 if {text} else 0)" if term.sort == BOOL else text
            for (v, term), text in zip(move.updates.items(), changed, strict=True)
        }
        values = "".join(f"{new.get(v, f'v{v}')}, " for v in range(len(variables)))
        lines += [f"    if {condition}:", *own.lines, f"        out.append(({number}, ({values})))"]
    lines.append("    return out")
    for name, when in (("judge_state", "state"), ("judge_expanded", "expanded")):
        judge = Writer(program)
        positions = program.at(when)  # type: ignore[arg-type]
        conditions = judge.write([program.watches[i].condition for i in positions], "    ")
        lines += [f"def {name}(state):", *unpack, *judge.lines, "    out = []"]
        for position, condition in zip(positions, conditions, strict=True):
            lines += [f"    if {condition}:", f"        out.append({position})"]
        lines.append("    return out")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Readable:
    """A program as Python functions: the successors of a state with the moves that give them, and what strikes."""

    expand: Expand
    judge_state: Judge
    judge_expanded: Judge


def readable(program: Program) -> Readable:
    space: dict[str, Any] = {}
    exec(compile(source(program), f"<{program.relation.name}>", "exec"), space)
    return Readable(space["expand"], space["judge_state"], space["judge_expanded"])


@dataclass
class ListedStates:
    """States of an interpreted search."""

    found: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    parents: list[int] = field(default_factory=list[int])

    def leaves(self, index: int) -> tuple[int, ...]:
        return self.found[index]

    def parent(self, index: int) -> int:
        return self.parents[index]


class Interpreted:
    """A search in plain Python. After ``give_up`` seconds of the processor it hands over nothing but None."""

    def __init__(self, program: Program, watchman: Watchman, *, keep_graph: bool, give_up: float | None) -> None:
        self.program = program
        self.watchman = watchman
        self.give_up = give_up
        self.keep_graph = keep_graph
        self.states = ListedStates()
        self.found: list[int | None] = [None] * len(program.watches)
        self.taken = [0] * len(program.moves)
        self.first_level = [0] * len(program.moves)
        self.generated = 1
        self.expanded = 0
        self.level = 1
        self.offsets: list[int] = []
        self.targets: list[int] = []
        self.labels: list[int] = []

    def run(self) -> Searched | None:
        """None: it gave up. KeyboardInterrupt ends it with what it has."""
        begun = perf_counter()
        try:
            functions = readable(self.program)
            compiled = perf_counter() - begun
            stop = self.search(functions)
        except KeyboardInterrupt:
            compiled, stop = 0.0, Stop.INTERRUPTED
        return None if stop is None else self.result(stop, perf_counter() - begun, compiled)

    def search(self, functions: Readable) -> Stop | None:
        limits, found, parents = self.watchman.limits, self.states.found, self.states.parents
        symmetric = self.program.symmetric
        index: dict[tuple[int, ...], int] = {representative(self.program.initial, symmetric): 0}
        found.append(self.program.initial)
        parents.append(0)
        struck = self.note(functions.judge_state(self.program.initial), 0)
        level_end, beat, most, since = 1, 0, limits.states, thread_time()
        while self.expanded < len(found):
            if self.expanded == level_end:
                self.level += 1
                level_end = len(found)
            if limits.depth is not None and self.level >= limits.depth:
                return Stop.DEPTH
            if struck and self.watchman.decided(self.found):
                return Stop.DECIDED
            if most is not None and len(found) > most:
                return Stop.STATES
            beat += 1
            if beat & 255 == 0:
                if self.give_up is not None and thread_time() - since > self.give_up:
                    return None
                if self.watchman.overdue():
                    return Stop.SECONDS
                if limits.memory is not None and self.memory() > limits.memory:
                    return Stop.MEMORY
                if beat & 4095 == 0:
                    self.watchman.report(
                        ENGINE, self.found, depth=self.level, states=len(found),
                        queue=len(found) - self.expanded, memory=self.memory(),
                    )  # fmt: skip
            at = self.expanded
            state = found[at]
            struck = self.note(functions.judge_expanded(state), at)
            successors = functions.expand(state)
            for move, new in successors:
                key = representative(new, symmetric) if symmetric else new
                known = index.get(key)
                if known is None:
                    known = index[key] = len(found)
                    found.append(new)
                    parents.append(at)
                    struck = self.note(functions.judge_state(new), known) or struck
                if not self.taken[move]:
                    self.first_level[move] = self.level
                self.taken[move] += 1
                if self.keep_graph:
                    self.targets.append(known)
                    self.labels.append(move)
            if self.keep_graph:
                self.offsets.append(self.generated - 1)
            self.generated += len(successors)
            self.expanded += 1
        return Stop.EXHAUSTED

    def note(self, watches: tuple[int, ...], state: int) -> bool:
        new = False
        for watch in watches:
            if self.found[watch] is None:
                self.found[watch] = state
                new = True
        return new

    def memory(self) -> int:
        """Bytes, about: a tuple of small numbers, its place in a dictionary and two lists."""
        return len(self.states.found) * (40 + 8 * len(self.program.initial) + 120)

    def result(self, stop: Stop, seconds: float, compiled: float) -> Searched:
        distinct = len(self.states.found)
        return Searched(
            engine=ENGINE,
            stop=stop,
            distinct=distinct,
            generated=self.generated,
            depth=self.level,
            queue=distinct - self.expanded,
            seconds=seconds,
            compile_seconds=compiled,
            bytes=self.memory(),
            bytes_per_state=self.memory() / max(distinct, 1),
            found=tuple(self.found),
            taken=tuple(self.taken),
            first_level=tuple(self.first_level),
            states=self.states,
            graph=self.graph(distinct),
        )

    def graph(self, distinct: int) -> Graph | None:
        if not self.keep_graph:
            return None
        import numpy as np

        rest = [len(self.targets)] * (distinct + 1 - len(self.offsets))
        return Graph(
            self.states,
            tuple(action.step for action in self.program.relation.actions),
            np.array(self.offsets + rest, dtype=np.int64),
            np.array(self.targets, dtype=np.uint32),
            np.array(self.labels, dtype=np.uint16),
        )
