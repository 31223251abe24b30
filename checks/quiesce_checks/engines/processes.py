"""Owners in processes of this machine. Orders go through pipes; boxes are in memory that all of them see, so what is
sent is copied by nobody.

A process is a fresh interpreter that is told the plan: nothing of the program that asked for the search runs in it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

from .control import Answer
from .interrupts import held
from .memory import available
from .owner import box_bytes
from .transport import Lost, Plan, Report

MODULE = f"{__package__}.worker"
PATIENCE = 5.0
"""Seconds that a process gets to end by itself."""


@dataclass
class Process:
    """One owner's process, and the connection to it."""

    number: int
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]

    def tell(self, *what: Any) -> None:
        """Raises :class:`Lost`."""
        try:
            self.connection.send(what)
        except OSError:
            raise self.lost() from None

    def answer(self) -> tuple[bool, Any]:
        """Whether it did what it was told, and what came out. Raises :class:`Lost`."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            raise self.lost() from None

    def lost(self) -> Lost:
        self.end()
        code = self.process.returncode
        how = f"was ended by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}"
        return Lost(f"the process of owner {self.number} {how}")

    def end(self) -> None:
        """Without its connection it ends by itself; if it does not, it is ended."""
        self.connection.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Processes:
    """See :class:`~.transport.Transport`."""

    near = False

    def __init__(self, owners: int) -> None:
        self.owners = owners
        self.name = "one process" if owners == 1 else f"{owners} processes"
        self.handles: list[int] = []
        self.all: list[Process] = []

    def start(self, plan: Plan) -> float:
        self.plan = plan
        self.memory = (plan.memory if plan.memory is not None else available() * 9 // 10) // plan.owners
        with held():
            self.handles = [shared(plan.owners * box_bytes(plan)) for _ in range(plan.owners)]
            self.all = [self.made(number) for number in range(plan.owners)]
            return max(self.answers(self.all))

    def made(self, number: int) -> Process:
        """A new process; it will answer with the seconds that compiling took."""
        mine, its = Pipe()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, str(its.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno(), *self.handles],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for the process that gives orders
        )
        its.close()
        made = Process(number, process, mine)
        made.tell(self.plan, number, self.memory, self.handles)
        return made

    def ask(self, order: str, *given: Any) -> list[Any]:
        with held():
            return self.orders([(order, given)] * self.owners)

    def ask_one(self, owner: int, order: str, *given: Any) -> Any:
        with held():
            self.all[owner].tell(order, given)
            return self.answers([self.all[owner]])[0]

    def exchange(self, level: int) -> list[Report]:
        with held():
            filled: list[tuple[Answer, list[int]]] = self.orders([("expand", (level,))] * self.owners)
            sent = [counts for _, counts in filled]
            return self.orders([("receive", ([counts[owner] for counts in sent],)) for owner in range(self.owners)])

    def orders(self, orders: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """One order to each, then all answers: they work at the same time."""
        lost: Lost | None = None
        asked: list[Process] = []
        for process, (order, given) in zip(self.all, orders, strict=True):
            try:
                process.tell(order, given)
                asked.append(process)
            except Lost as error:
                lost = error
        found = self.answers(asked)
        if lost is not None:
            raise lost
        return found

    def answers(self, asked: Sequence[Process]) -> list[Any]:
        """What they say; if something went wrong, it is raised when all have answered."""
        found: list[Any] = []
        wrong: Exception | None = None
        for process in asked:
            try:
                fine, said = process.answer()
            except Lost as error:
                wrong = error
                continue
            if fine:
                found.append(said)
            elif not isinstance(wrong, Lost):
                wrong = said
        if wrong is not None:
            raise wrong
        return found

    def revive(self) -> None:
        with held():
            gone = [process.number for process in self.all if process.process.poll() is not None]
            for number in gone:
                self.all[number].end()
                self.all[number] = self.made(number)
            self.answers([self.all[number] for number in gone])

    def stop(self) -> None:
        for process in self.all:
            process.connection.close()
        for process in self.all:
            process.end()
        for handle in self.handles:
            os.close(handle)
        self.all, self.handles = [], []


def shared(size: int) -> int:
    """A file in memory that has no name, where the system has such; it is taken as it is written to."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("quiesce")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    os.ftruncate(handle, size)
    return handle
