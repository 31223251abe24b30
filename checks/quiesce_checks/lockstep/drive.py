"""Model and subject taking the same steps, compared after every one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from quiesce_model.language.machine import Machine, Step, apply, copy, state
from quiesce_model.language.outcome import Blocked

from .pairing import Pairing, Row, saturated
from .subject import Observation, Refused, Subject, SubjectFailed, Value

ELAPSE = "elapse"

START = Step("")
"""What the turn before the first step has in its place; no action has this name."""


@dataclass(frozen=True)
class Answer:
    """What one side made of a step: ``done`` with what can be seen then, ``refused``, ``crashed`` with the error, or
    ``failed``: it gave no answer, or none that makes sense, and ``wrote`` are the last lines of its log."""

    kind: Literal["done", "refused", "crashed", "failed"]
    seen: Observation = ()
    text: str = ""
    wrote: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether this is the side's own failure, whatever the other one says."""
        return self.kind in ("crashed", "failed")


@dataclass(frozen=True)
class Turn:
    """One step of a walk, with both answers. ``at`` is when it was taken, in ms."""

    step: Step
    at: int
    model: Answer
    subject: Answer

    @property
    def is_start(self) -> bool:
        """Whether this is the start of a walk, and no step."""
        return self.step == START

    @property
    def agrees(self) -> bool:
        return self.model.kind == self.subject.kind and self.model.seen == self.subject.seen


@dataclass(frozen=True)
class Divergence:
    """A walk whose last turn differs. ``fields`` are those that differ, with both values; ``found_after`` is how many
    steps the walk had before it was shrunk."""

    pairing: str
    fields: tuple[str, ...]
    turns: tuple[Turn, ...]
    start: Answer
    found_after: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(turn.step for turn in self.turns if not turn.is_start)

    @property
    def differs(self) -> tuple[tuple[str, Value, Value], ...]:
        """Field, the model's value, the subject's, for each field that differs at the end."""
        last = self.turns[-1] if self.turns else None
        model, subject = (last.model, last.subject) if last else (self.start, self.start)
        return tuple((name, a, b) for name, a, b in zip(self.fields, model.seen, subject.seen, strict=False) if a != b)


class Pair:
    """A machine and a subject that have taken the same steps since they were reset.

    With ``explored`` the machine's ages are saturated as in exploration, and so is what the subject shows; without,
    both are as they are.
    """

    def __init__(self, pairing: Pairing, subject: Subject | None = None, *, explored: bool = False) -> None:
        self.pairing = pairing
        self.subject = subject if subject is not None else pairing.subject()
        self.machine: Machine = copy(pairing.model)
        self.initial = state(pairing.model)
        self.at = 0
        limits = pairing.limits
        self.limits = limits if explored else (None,) * len(limits)
        self.quiet: Observation = (None,) * len(pairing.happened)

    def reset(self) -> Turn:
        """Both at their start; the turn's step is none."""
        self.machine = copy(self.pairing.model)
        self.at = 0
        try:
            self.subject.reset(self.pairing.constants)
            seen = Answer("done", saturated(self.subject.observe(0), self.limits))
        except Exception as error:
            seen = broken(error)
        model = Answer("done", saturated((*self.shown(), *self.quiet), self.limits))
        return Turn(START, 0, model, seen)

    def shown(self) -> Observation:
        return self.pairing.shown(self.row(), self.machine)

    def row(self) -> Row:
        return self.pairing.row(state(self.machine))

    def take(self, step: Step) -> Turn:
        """One step on both sides."""
        happened = self.quiet
        if step.action == ELAPSE:
            distance = dict(step.args)["d"]
            self.machine.elapse(distance)
            self.at += distance * self.pairing.tick
            kind: Literal["done", "refused"] = "done"
        else:
            before = self.row()
            try:
                apply(self.machine, step)
                kind = "done"
                after = self.row()
                happened = tuple(view(before, step, after) for view in self.pairing.happened.values())
            except Blocked as blocked:
                return self.refused(step, blocked)
        model = Answer(kind, saturated((*self.shown(), *happened), self.limits))
        return Turn(step, self.at, model, self.answer(step))

    def answer(self, step: Step) -> Answer:
        try:
            if step.action != ELAPSE:
                self.subject.step(step, self.at)
            return Answer("done", saturated(self.subject.observe(self.at), self.limits))
        except Refused as refusal:
            return Answer("refused", (), str(refusal))
        except Exception as error:
            return broken(error)

    def refused(self, step: Step, blocked: Blocked) -> Turn:
        """A step that the model's guard forbids: the subject is asked only if the guard is its own affair."""
        if blocked.rule not in self.pairing.refusable:
            raise blocked
        model = Answer("refused", saturated((*self.shown(), *self.quiet), self.limits), str(blocked))
        kind, text = "done", ""
        try:
            try:
                self.subject.step(step, self.at)
            except Refused as refusal:  # which has to leave everything as it was
                kind, text = "refused", str(refusal)
            seen = saturated(self.subject.observe(self.at), self.limits)
        except Exception as error:
            return Turn(step, self.at, model, broken(error))
        return Turn(step, self.at, model, Answer(kind, seen, text))


def broken(error: Exception) -> Answer:
    if isinstance(error, SubjectFailed):
        return Answer("failed", (), str(error), error.wrote)
    return Answer("crashed", (), f"{type(error).__name__}: {error}")


def walk(pairing: Pairing, steps: Iterable[Step], *, explored: bool = False) -> tuple[Divergence | None, int]:
    """Take steps from the start until the sides differ. Returns the divergence, if any, and how many were taken.

    A step that the model's guard forbids is left out, unless the subject has to refuse it too.
    """
    pair = Pair(pairing, explored=explored)
    start = pair.reset()
    if not start.agrees:
        return diverged(pairing, start, ()), 0
    turns: list[Turn] = []
    for step in steps:
        try:
            turn = pair.take(step)
        except Blocked:
            continue
        turns.append(turn)
        if not turn.agrees:
            return diverged(pairing, start, tuple(turns)), len(turns)
    return None, len(turns)


def diverged(pairing: Pairing, start: Turn, turns: tuple[Turn, ...]) -> Divergence:
    if not turns:
        return Divergence(pairing.name, pairing.fields, (start,), start.model, 0)
    return Divergence(pairing.name, pairing.fields, turns, start.model, len(turns))
