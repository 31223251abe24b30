"""A process that is one owner: ``python -m quiesce_checks.engines.worker HANDLE``.

It does what it reads from its connection, answers there, and ends when the connection does.
"""

from __future__ import annotations

import mmap
import signal
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from .control import Answer
from .jit import loaded
from .owner import Boxes, Owner, box_bytes, parcels_for
from .transport import Plan, Report


class Worker:
    """An owner, and the boxes of all."""

    def __init__(self, plan: Plan, number: int, memory: int, handles: Sequence[int]) -> None:
        self.plan = plan
        self.boxes = [mapped(handle, plan) for handle in handles]
        code = loaded(plan.module)
        self.compile_seconds = code.seconds
        self.owner = Owner(plan, number, code, memory, self.boxes[number])
        self.answer = Answer.LEVEL

    def do(self, order: str, given: Sequence[Any]) -> Any:
        if order == "receive":
            return self.receive(*given)
        done = getattr(self.owner, order)(*given)
        if order == "expand":
            self.answer = done[0]
        return done

    def receive(self, counts: Sequence[int]) -> Report:
        """Look up what is in others' boxes, so many states of each."""
        return self.owner.receive(parcels_for(self.plan, self.owner.number, self.boxes, counts), self.answer)


def mapped(handle: int, plan: Plan) -> Boxes:
    return np.frombuffer(mmap.mmap(handle, plan.owners * box_bytes(plan)), dtype=np.uint8)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever gives orders decides
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    try:
        told = connection.recv()
        try:
            worker = Worker(*told)
        except Exception as error:
            connection.send((False, error))
            return
        connection.send((True, worker.compile_seconds))
        while True:
            order, given = connection.recv()
            try:
                said = (True, worker.do(order, given))
            except Exception as error:
                said = (False, error)
            connection.send(said)
    except (EOFError, ConnectionError):
        return


if __name__ == "__main__":
    main()
