"""An adapter asked one thing at a time: which points of the protocol it keeps.

Nothing here compares it with the model's behaviour, that is lockstep's; the model only says what can be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeAlias

from quiesce_model.language.machine import Machine, Step, apply, copy, is_timed, steps
from quiesce_model.language.outcome import Blocked, Fault

from .adapter_values import shown, spelled
from .described import Described
from .stdio import START, TIMEOUT, StdioSubject
from .stdio_child import Child, cut
from .subject import Observation, Refused, SubjectFailed

Turn: TypeAlias = tuple[Step | None, int]
"""A step, or None where only time passes, and when, in ms."""

Seen: TypeAlias = tuple[str, Observation]
"""``done`` or ``refused``, and what is seen then."""


@dataclass(frozen=True)
class Point:
    """One point of the protocol, and what the adapter made of it."""

    name: str
    outcome: Literal["right", "wrong", "not asked"]
    text: str


class Wrong(Exception):
    """The adapter does not keep the point; the text says what it did, and what it has to do."""


class NotAsked(Exception):
    """The point says nothing about this adapter, or cannot be asked; the text says why."""


class Exam:
    """What the points ask with: new runs of the adapter, and a walk through the model."""

    def __init__(
        self,
        machine: Machine,
        command: Sequence[str],
        *,
        tick: int = 1,
        timeout: float = TIMEOUT,
        folder: Path | None = None,
    ) -> None:
        self.machine, self.command, self.tick, self.timeout, self.folder = machine, command, tick, timeout, folder
        self.said: Described | None = None
        self.constants: dict[str, Any] = dict(machine.constants_)
        self.turns = walk_of(machine, tick)

    def subject(self) -> StdioSubject:
        """A new run of the adapter; it is started by the first question."""
        made = StdioSubject(self.command, self.machine, tick=self.tick, timeout=self.timeout, folder=self.folder)
        made.described()
        return made

    def talk(self) -> Talk:
        return Talk(Child(self.command, self.folder), self.timeout)

    def begun(self) -> Talk:
        """A new run that has described itself and was reset."""
        talk = self.talk()
        talk.ask("describe", {"protocol": 1})
        talk.ask("reset", self.reset)
        return talk

    @property
    def reset(self) -> dict[str, Any]:
        return {"constants": {name: spelled(value) for name, value in self.constants.items()}, "tick": self.tick}

    def walk(self, subject: StdioSubject, looks: int = 1) -> list[Seen]:
        """Take the walk from the start, looking so often after each step."""
        subject.reset(self.constants)
        found: list[Seen] = [("done", subject.observe(0))]
        for step, at in self.turns:
            kind = "done"
            if step is not None:
                try:
                    subject.step(step, at)
                except Refused:
                    kind = "refused"
            for _ in range(looks - 1):
                subject.observe(at)
            found.append((kind, subject.observe(at)))
        return found

    def turn(self, number: int) -> str:
        """A turn of the walk in words, counted from 1; 0 is the start."""
        if number == 0:
            return "at the start"
        step, at = self.turns[number - 1]
        return f"at turn {number} ({'time passes' if step is None else step} at {at:,} ms)"


class Talk:
    """Requests in any shape, and the answers as they are."""

    def __init__(self, child: Child, timeout: float) -> None:
        self.child, self.timeout, self.number = child, max(timeout, START), 0

    def ask(self, method: str, params: Any, number: Any = None) -> dict[str, Any]:
        self.number += 1
        id = self.number if number is None else number
        return self.line(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), method)

    def line(self, text: str, what: str) -> dict[str, Any]:
        return self.answer(self.child.ask(text.encode() + b"\n", what, self.timeout), what)

    def answer(self, line: bytes, what: str) -> dict[str, Any]:
        try:
            data: Any = json.loads(line)
        except ValueError:
            data = None
        if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":  # pyright: ignore[reportUnknownMemberType]
            raise Wrong(f"answered {what} with what is no JSON-RPC 2.0: {cut(line)}")
        return data  # pyright: ignore[reportUnknownVariableType]

    def seen(self, at: int = 0) -> Any:
        """What it shows, to tell whether something has changed."""
        answer = self.ask("observe", {"at": at})
        if not isinstance(answer.get("result"), dict):
            raise Wrong(f"did not answer observe any more after that: {shown(answer)}")
        return answer["result"]


def walk_of(machine: Machine, tick: int, length: int = 40) -> list[Turn]:
    """A walk that the model allows, the same each time."""
    random, runner, at = Random(1), copy(machine), 0
    turns: list[Turn] = []
    choices = steps(machine)
    while len(turns) < length:
        random.shuffle(choices)
        taken = next((step for step in choices if possible(runner, step)), None)
        if is_timed(runner) and (taken is None or random.random() < 0.3):
            distance = random.randint(1, 3)
            runner.elapse(distance)
            at += distance * tick
            turns.append((None, at))
        elif taken is None:
            break
        else:
            apply(runner, taken)
            turns.append((taken, at))
    return turns


def possible(machine: Machine, step: Step) -> bool:
    try:
        apply(copy(machine), step)
    except (Blocked, Fault):
        return False
    return True


def blocked_by(exam: Exam, rules: Sequence[str]) -> tuple[int, Step] | None:
    """Where on the walk the model forbids a step by one of these rules: after how many turns, and the step."""
    runner, at = copy(exam.machine), 0
    for number in range(len(exam.turns) + 1):
        for step in steps(exam.machine):
            try:
                apply(copy(runner), step)
            except Blocked as blocked:
                if blocked.rule in rules:
                    return number, step
            except Fault:
                continue
        if number < len(exam.turns):
            step, now = exam.turns[number]
            if step is None:
                runner.elapse((now - at) // exam.tick)
                at = now
            else:
                apply(runner, step)
    return None


Check: TypeAlias = Callable[[Exam], str]
"""Asks one point. Returns what was seen where it is kept; raises Wrong, NotAsked or SubjectFailed."""


def examine(exam: Exam, watcher: Callable[[str], None] | None = None) -> list[Point]:
    """All points, each on new runs of the adapter. Where it does not describe itself or not this model, the rest is not
    asked. Raises :class:`~.stdio_child.CannotStart`."""
    from .conformance_points import FIRST, POINTS

    found: list[Point] = []
    for name, check in POINTS.items():
        if watcher is not None:
            watcher(name)
        failed = next((point.name for point in found if point.name in FIRST and point.outcome != "right"), None)
        if failed is not None:
            found.append(Point(name, "not asked", f"needs {failed!r} to be right"))
            continue
        try:
            found.append(Point(name, "right", check(exam)))
        except NotAsked as reason:
            found.append(Point(name, "not asked", str(reason)))
        except (Wrong, SubjectFailed) as error:
            wrote = getattr(error, "wrote", ())
            found.append(Point(name, "wrong", str(error) + (f"; it wrote: {' / '.join(wrote)}" if wrote else "")))
    return found


__all__ = ["Exam", "NotAsked", "Point", "Talk", "Wrong", "blocked_by", "examine"]
