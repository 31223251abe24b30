"""What the breaker tells others, beside the model ``Breaker``: its line, what it reports and
answers, what it counts, and when it wants to be called again.

The pairings here compare all that the plain one compares, and this on top. The policy is made as a deployment makes it:
a repair that is off is left to its default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Action, BreakerEvent, Cleared, Gate, Move, Tripped
from quiesce.scheduler.echo import Cause, EchoCapture, Origin, WriteDetail
from quiesce.scheduler.echo import Step as EchoStep
from quiesce_model.breaker import Breaker
from quiesce_model.language.machine import Step

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Value
from .breaker import DOCUMENT, BreakerSubject, Lines, Named, Reported, breaker_pairing

ORIGINS = tuple(Origin)

HAPPENED = ("line", "cycles", "trips", "answer", "why", "ends")
"""What is told of a step: the error lines, echo steps and trips counted, the gate answered with, how tripped pairs
ended, and with which figures."""

DERIVED = ("next housekeeping",)

REPAIRS = ("clear_when_settled", "kickoff_order", "evict_untripped_first")


class Telling(RemoteEchoBreaker):
    """A breaker whose last answer can be looked at, and whose causes come from everywhere in turn."""

    answer: Gate | None = None
    captures = 0

    def capture(
        self, causes: Iterable[Cause], writes: Iterable[WriteDetail], now: float, registration: object = None
    ) -> EchoCapture:
        origin = ORIGINS[self.captures % len(ORIGINS)]
        self.captures += 1
        return super().capture([Cause(cause.address, origin) for cause in causes], writes, now, registration)

    def observe(self, action: Action, steps: Iterable[EchoStep], now: float) -> Gate:
        self.answer = super().observe(action, steps, now)
        return self.answer

    def retire(self, action: Action, now: float) -> Gate:
        self.answer = super().retire(action, now)
        return self.answer


class Texts(Lines):
    """Error lines with their texts."""

    def error(self, event: str, message: str) -> None:
        self.logged.append(f"{event} {message}")


def policy_as_deployed(constants: Mapping[str, int | bool], tick: int) -> BreakerPolicy:
    """The model's constants as the runtime's; what is off is not named."""
    more: dict[str, int | bool] = {name: True for name in REPAIRS if constants.get(name)}
    if "capacity" in constants:
        more["max_echo_pairs"] = constants["capacity"]
    return BreakerPolicy(
        echo_window_ms=constants["window"] * tick,
        echo_trip_threshold=constants["threshold"],
        echo_backoff_base_ms=constants["base"] * tick,
        echo_backoff_max_ms=constants["cap"] * tick,
        echo_quiet_reset_ms=constants["quiet"] * tick,
        **more,  # type: ignore[arg-type]
    )


def answered(answer: Gate, was_open: bool, left: Value) -> str:
    """A gate in words. One that was open and still is may be called kept or lifted: a backoff that has run out can be
    held or gone."""
    if was_open and left == 0 and answer.move in (Move.KEPT, Move.LIFTED):
        return "open"
    return f"{answer.move.value} {left}"


def moved(before: int, after: int) -> str:
    """What an answer has to say of a gate, by how long it was and is shut."""
    if after == 0:
        return "open" if before == 0 else "lifted 0"
    word = "kept" if after == before else "later" if after > before else "earlier"
    return f"{word} {after}"


class TellingSubject(BreakerSubject):
    """The breaker of one action and one document, with what it tells."""

    def describe(self) -> Description:
        plain = super().describe()
        return Description(plain.actions, fields_with(plain.fields))

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        super().reset(constants)
        self.lines = Texts()
        self.breaker = self.telling = Telling(self.lines, self.policy(constants))
        self.tripped_at: int | None = None
        self.said: Observation = (None,) * len(HAPPENED)

    def policy(self, constants: Mapping[str, int | bool]) -> BreakerPolicy:
        return policy_as_deployed(constants, self.tick)

    def step(self, step: Step, at: int) -> None:
        breaker = self.telling
        was_open, before = breaker.gate(self.action, at) is None, breaker.stats(at)
        either = self.ended_both_ways(at)
        breaker.answer, logged = None, len(self.lines.logged)
        super().step(step, at)
        after, answer = breaker.stats(at), breaker.answer
        left = 0 if answer is None or answer.until is None else self.ticks(answer.until - at)
        self.said = (
            ", ".join(self.lines.logged[logged:]) or None,
            after.cycles_observed - before.cycles_observed,
            after.trips - before.trips,
            None if answer is None else answered(answer, was_open, left),
            ", ".join(self.why(event, either) for event in self.events) or None,
            self.figures(self.events, at),
        )

    def ended_both_ways(self, at: int) -> bool:
        """The pair that is held is both quiet and settled; which it became first is beyond what saturated ages tell."""
        policy = self.breaker.policy
        return any(
            pair.settles_after is not None
            and at > pair.settles_after
            and at - pair.last_echo > policy.echo_quiet_reset_ms
            for pair in self.breaker.pairs()
        )

    def why(self, event: BreakerEvent, either: bool) -> str:
        if not isinstance(event, Cleared):
            return "tripped"
        return "either" if either and event.reason in ("quiet", "convergence") else event.reason

    def figures(self, events: tuple[BreakerEvent, ...], at: int) -> Value:
        """The renewals of the pair that ended, as far as they made the backoff longer, and what is wrong with the
        events otherwise: a time, a name, how long the pair was held."""
        said: Value = None
        for event in events:
            wrong = (event.action, event.document, event.at) != (self.action.label, DOCUMENT.entity, at)
            if isinstance(event, Tripped):
                self.tripped_at = at
            else:
                policy = self.breaker.policy
                said = min(event.renewals, doublings(policy.echo_backoff_base_ms, policy.echo_backoff_max_ms))
                wrong = wrong or self.tripped_at is None or event.held_ms != at - self.tripped_at
            if wrong:
                return str(event)
        return said

    def observe(self, at: int) -> Observation:
        said, self.said = self.said, (None,) * len(HAPPENED)
        *plain, reported = super().observe(at)
        return (*plain, self.housekeeping(at), reported, *said)

    def housekeeping(self, at: int) -> Value:
        """How long until the last instant before the breaker wants to be called; -1 when that is over."""
        deadline = self.breaker.housekeeping_deadline()
        if deadline is None:
            return None
        return -1 if deadline <= at else self.ticks(deadline - 1 - at)


def fields_with(plain: tuple[str, ...]) -> tuple[str, ...]:
    """The plain fields end with the one thing that happened; what is derived comes before it."""
    return (*plain[:-1], *DERIVED, plain[-1], *HAPPENED)


def doublings(base: int, length: int) -> int:
    """After how many renewals a backoff is that long."""
    count = 0
    while base < length:
        base, count = 2 * base, count + 1
    return count


class Why(Reported):
    """How tripped pairs ended, told apart where the model can."""

    def end(self, row: Any) -> str | None:
        if not row.pair_tripped:
            return None
        quiet, settled = row.pair_since_echo > self.quiet, row.pair_settling > self.cap
        if quiet and settled:
            return "either"
        return "quiet" if quiet else "convergence" if settled else None

    def told(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Expected:
    """What a step has to make the breaker say, by the rows around it; ``line`` is the text of a trip."""

    why: Why
    base: int
    line: str

    def happened(self) -> dict[str, Any]:
        views = (self.lines, self.cycles, self.trips, self.answer, self.why, self.ends)
        return dict(zip(HAPPENED, views, strict=True))

    def lands(self, before: Any, step: Step) -> bool:
        """A step lands whose registration is the current one."""
        return step.action == "commit" and not getattr(before, f"flight_{dict(step.args)['place']}_outlived")

    def cycles(self, before: Any, step: Step, after: Any) -> Value:
        if not self.lands(before, step):
            return 0
        run = f"flight_{dict(step.args)['place']}"
        overtaken = self.why.kickoff_order and getattr(before, f"{run}_overtaken") and self.stands(before)
        return int(getattr(before, f"{run}_overwrites") and not overtaken)

    def stands(self, row: Any) -> bool:
        settled = row.pair_settling > self.why.cap
        return self.why.held(row) and not settled and self.why.end(row) is None

    def trips(self, before: Any, step: Step, after: Any) -> Value:
        return int("tripped" in str(self.why(before, step, after)))

    def lines(self, before: Any, step: Step, after: Any) -> Value:
        return self.line if self.trips(before, step, after) else None

    def answer(self, before: Any, step: Step, after: Any) -> Value:
        if not self.lands(before, step) and step.action != "retire":
            return None
        return moved(before.gate, after.gate)

    def ends(self, before: Any, step: Step, after: Any) -> Value:
        why = self.why(before, step, after)
        return None if why in (None, "tripped") else doublings(self.base, before.pair_backoff)


def until_housekeeping(machine: Any) -> Value:
    """How long until the last instant before a pair is due; -1 when one is."""
    pair = machine.pair
    if pair.is_quiet(machine) or pair.is_settled(machine):
        return -1
    quiet = [machine.quiet - pair.since_echo.items_[0]] if pair.tripped else []
    settling = [machine.cap - pair.settling.items_[0]] if pair.settling.running else []
    return min((*quiet, *settling), default=None)


def line_of(threshold: int, window: int, base: int) -> str:
    """The line of a trip, in the note's words (§2); times in ms."""
    return (
        f"remote-echo-breaker-tripped action {Named().label} rewrote document {DOCUMENT.entity.space}/"
        f"{DOCUMENT.entity.instance}/{DOCUMENT.entity.id} {threshold} times within {window}ms against a remote writer; "
        f"backing off its re-runs, starting at {base}ms"
    )


def telling_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """The breaker of one action and one document at a scope, with what it tells."""
    plain = breaker_pairing(tick, **constants)
    model = Breaker(**constants)
    expected = Expected(
        Why(model.quiet, model.cap, model.clear_when_settled, model.kickoff_order),
        model.base,
        line_of(model.threshold, model.window * tick, model.base * tick),
    )
    return replace(
        plain,
        subject=lambda: TellingSubject(tick),
        derived={**plain.derived, DERIVED[0]: until_housekeeping},
        happened={**plain.happened, **expected.happened()},
    )


# As it ships.

SHIPPED: dict[str, int] = {"threshold": 12, "window": 60_000, "base": 500, "cap": 30_000, "quiet": 120_000}
"""The constants that the note proposes; times in ms."""

CAPACITY = 4_096
"""Pairs that the table holds as it ships."""


class ShippedSubject(TellingSubject):
    """The breaker with the policy that it has when nobody says anything."""

    def policy(self, constants: Mapping[str, int | bool]) -> BreakerPolicy:
        return BreakerPolicy()

    def describe(self) -> Description:
        plain = super().describe()
        at = plain.fields.index(DERIVED[0]) + 1
        return Description(plain.actions, (*plain.fields[:at], "capacity", *plain.fields[at:]))

    def observe(self, at: int) -> Observation:
        seen = super().observe(at)
        place = len(seen) - len(HAPPENED) - 1
        return (*seen[:place], self.breaker.policy.max_echo_pairs, *seen[place:])


def shipped_pairing() -> Pairing:
    """The breaker with the constants that it ships with, millisecond by millisecond."""
    plain = telling_pairing(1, **SHIPPED)

    def capacity(machine: Any) -> Value:
        return CAPACITY

    return replace(plain, subject=lambda: ShippedSubject(1), derived={**plain.derived, "capacity": capacity})
