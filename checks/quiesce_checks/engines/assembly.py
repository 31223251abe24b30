"""A writer of LLVM's textual form: fresh names, memory cells for variables, structured loops and branches.

Variables that change are cells on the stack; LLVM's first pass turns them into registers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


class Assembly:
    """One function's body, written from top to bottom. An operand is a string: ``%7``, ``5``, ``true``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.cells: list[str] = []
        self.named = 0
        self.done = False

    def name(self) -> str:
        self.named += 1
        return f"%v{self.named}"

    def op(self, text: str) -> str:
        """An instruction that gives a value; ``text`` is all that stands right of the equals sign."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction that gives none."""
        self.lines.append(f"  {text}")

    def cell(self, start: str = "0", type_: str = "i64") -> str:
        """A variable of the function, set to ``start`` here."""
        name = self.name()
        self.cells.append(f"  {name} = alloca {type_}")
        self.do(f"store {type_} {start}, ptr {name}")
        return name

    def get(self, cell: str, type_: str = "i64") -> str:
        return self.op(f"load {type_}, ptr {cell}")

    def set(self, cell: str, value: str, type_: str = "i64") -> None:
        self.do(f"store {type_} {value}, ptr {cell}")

    def at(self, base: str, index: str, type_: str = "i64") -> str:
        """The address of element ``index`` of an array."""
        return self.op(f"getelementptr {type_}, ptr {base}, i64 {index}")

    def load(self, base: str, index: str, type_: str = "i64") -> str:
        return self.op(f"load {type_}, ptr {self.at(base, index, type_)}")

    def store(self, value: str, base: str, index: str, type_: str = "i64") -> None:
        self.do(f"store {type_} {value}, ptr {self.at(base, index, type_)}")

    def label(self) -> str:
        return self.name()[1:]

    def goto(self, label: str) -> None:
        self.do(f"br label %{label}")

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def split(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        """What is written inside runs if the condition holds. A body that leaves (``ret``, ``goto``) sets ``done``."""
        yes, after = self.label(), self.label()
        self.split(condition, yes, after)
        self.start(yes)
        yield
        if not self.done:
            self.goto(after)
        self.done = False
        self.start(after)

    @contextmanager
    def loop(self) -> Generator[tuple[str, str]]:
        """For ever: gives the labels to go to for the next round and for the end."""
        again, after = self.label(), self.label()
        self.goto(again)
        self.start(again)
        yield again, after
        if not self.done:
            self.goto(again)
        self.done = False
        self.start(after)

    @contextmanager
    def each(self, start: str, end: str) -> Generator[str]:
        """Indexes start..end-1."""
        index = self.cell(start)
        with self.loop() as (_, after):
            now, body = self.get(index), self.label()
            self.split(self.op(f"icmp ult i64 {now}, {end}"), body, after)
            self.start(body)
            yield now
            self.set(index, self.op(f"add i64 {now}, 1"))

    def leave(self, value: str) -> None:
        self.do(f"ret i64 {value}")
        self.done = True

    def jump(self, label: str) -> None:
        """Go elsewhere from inside a ``when``."""
        self.goto(label)
        self.done = True

    def function(self, head: str) -> str:
        return "\n".join([f"define {head} {{", "entry:", *self.cells, *self.lines, "}"])
