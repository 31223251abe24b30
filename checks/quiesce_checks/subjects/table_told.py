"""What the breaker tells of a table of pairs, beside the model ``BreakerTable``: trips and ends, with the line that
names the document whole, the gate that it answers with, and when it wants to be called next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quiesce.address import Entity
from quiesce.scheduler.breaker_records import BreakerEvent, Tripped
from quiesce_model.breaker_table import BreakerTable
from quiesce_model.language.machine import Step

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Value
from .table import TableSubject, table_pairing
from .told import Telling, Texts, answered, moved, policy_as_deployed

TABLE_HAPPENED = ("told", "answer", "next housekeeping")


class TellingTable(TableSubject):
    """The table of pairs, with what it tells. An action's documents differ in nothing but their scope instance."""

    def describe(self) -> Description:
        plain = super().describe()
        return Description(plain.actions, (*plain.fields, *TABLE_HAPPENED))

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        super().reset(constants)
        actions, documents = self.size
        self.lines = Texts()
        self.breaker = self.telling = Telling(self.lines, policy_as_deployed(constants, self.tick))
        self.documents = [
            [Entity("space", f"session:me:{d}", f"{a}") for d in range(documents)] for a in range(actions)
        ]
        self.said: Observation = (None,) * len(TABLE_HAPPENED)

    def step(self, step: Step, at: int) -> None:
        args: dict[str, int] = dict(step.args)
        breaker = self.telling
        was_open = breaker.gate(self.actions[args["a"]], at) is None
        ended = {pair.document for pair in breaker.pairs() if self.has_ended(pair, at)}
        breaker.answer, logged = None, len(self.lines.logged)
        super().step(step, at)
        lines = self.lines.logged[logged:]
        unclear = self.documents[args["a"]][args["e"]] if "e" in args else None
        told = [
            f"{event.document.id}.{event.document.instance[-1]} {word(event, unclear, lines)}"
            for event in breaker.take_events()
            if isinstance(event, Tripped) or event.document not in ended
        ]
        answer = breaker.answer
        left = 0 if answer is None or answer.until is None else self.ticks(answer.until - at)
        self.said = (
            ", ".join(sorted(told)) or None,
            None if answer is None else answered(answer, was_open, left),
            None if step.action == "run" else self.housekeeping(at),
        )

    def housekeeping(self, at: int) -> Value:
        """How long until the last instant before the breaker wants to be called, when it has just been."""
        deadline = self.breaker.housekeeping_deadline()
        return None if deadline is None else self.ticks(deadline - 1 - at)

    def observe(self, at: int) -> Observation:
        said, self.said = self.said, (None,) * len(TABLE_HAPPENED)
        return (*super().observe(at), *said)


def word(event: BreakerEvent, unclear: Entity | None, lines: Iterable[str]) -> str:
    """How a pair ended; one that gives way to another of its run before it agrees itself is only gone. A trip has to
    have a line that names the whole of the document's identity."""
    if isinstance(event, Tripped):
        whole = f" {event.document.space}/{event.document.instance}/{event.document.id} "
        return "tripped" if any(whole in line for line in lines) else "tripped without its line"
    return "gone" if event.document == unclear else event.reason


@dataclass(frozen=True)
class TableTold:
    """Trips, and the ends of tripped pairs that had not ended by themselves, by the rows around a step."""

    actions: int
    documents: int
    quiet: int
    cap: int

    def __call__(self, before: Any, step: Step, after: Any) -> Value:
        told: list[str] = []
        for a in range(self.actions):
            for d in range(self.documents):
                pair = f"node_{a}_pair_{d}"
                was, now = self.live(before, pair), getattr(after, f"{pair}_tripped")
                if now and not was and (a, d) == self.echoed(step):
                    told.append(f"{a}.{d} tripped")
                elif was and not now:
                    told.append(f"{a}.{d} {self.reason(step, a, d)}")
        return ", ".join(sorted(told)) or None

    def next_housekeeping(self, before: Any, step: Step, after: Any) -> Value:
        """How long until the last instant at which none of the pairs that stand is due."""
        if step.action == "run":
            return None
        left: list[int] = []
        for pair in (f"node_{a}_pair_{d}" for a in range(self.actions) for d in range(self.documents)):
            since_echo, settling = getattr(after, f"{pair}_since_echo"), getattr(after, f"{pair}_settling")
            if since_echo <= self.quiet and settling <= self.cap:
                left += [self.quiet - since_echo] if since_echo >= 0 else []
                left += [self.cap - settling] if settling >= 0 else []
        return min(left, default=None)

    def echoed(self, step: Step) -> tuple[int, int] | None:
        args = dict(step.args)
        return (args["a"], args["d"]) if step.action in ("echo", "echo_and_converge") else None

    def live(self, row: Any, pair: str) -> bool:
        ended = getattr(row, f"{pair}_since_echo") > self.quiet or getattr(row, f"{pair}_settling") > self.cap
        return bool(getattr(row, f"{pair}_tripped")) and not ended

    def reason(self, step: Step, a: int, d: int) -> str:
        args = dict(step.args)
        if step.action == "retire":
            return "retired"
        if step.action == "echo_and_converge" and (a, d) == (args["a"], args["e"]):
            return "gone"
        return "convergence" if step.action == "converge" and (a, d) == (args["a"], args["d"]) else "evicted"


def table_answer(before: Any, step: Step, after: Any) -> Value:
    """What is answered to the action whose step it is."""
    if step.action in ("run", "forget"):
        return None
    gate = f"node_{dict(step.args)['a']}_gate"
    return moved(getattr(before, gate), getattr(after, gate))


def telling_table_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """The table of pairs at a scope, with what it tells."""
    plain = table_pairing(tick, **constants)
    model = BreakerTable(**constants)
    told = TableTold(model.actions, model.documents, model.quiet, model.cap)
    return replace(
        plain,
        subject=lambda: TellingTable(tick, model.actions, model.documents),
        happened={
            **plain.happened,
            **dict(zip(TABLE_HAPPENED, (told, table_answer, told.next_housekeeping), strict=True)),
        },
    )
