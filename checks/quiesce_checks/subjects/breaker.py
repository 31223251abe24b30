"""The runtime's breaker of one action and one document, beside the model ``Breaker``.

The adapter plays the scheduler: it keeps the runs in flight, captures at kickoff, hands a result to the breaker if its
registration is still the current one, and asks the gate before a run starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerEvent, Cleared, PairState
from quiesce.scheduler.echo import Cause, EchoCapture, Origin
from quiesce_model.breaker import Breaker
from quiesce_model.language.machine import Step

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Refused, Value

DOCUMENT = Address(Entity("space", "space", "document"))

ACTIONS: dict[str, tuple[str, ...]] = {
    "run": ("overwrites",),
    "retry": ("overwrites",),
    "commit": ("place",),
    "refuse": ("place",),
    "forget": (),
    "retire": (),
    "register": (),
}

SEEN = (
    "registered", "pair.echoes", "pair.opened", "pair.tripped", "pair.backoff", "pair.deadline", "pair.since_echo",
    "pair.settling", "gate",
)  # fmt: skip

FIELDS = (*SEEN, "active", "reported")


@dataclass
class Named:
    """An action that is nothing but itself."""

    label: str = "action"


@dataclass(frozen=True)
class Detail:
    """A write detail."""

    address: Address
    previous: int
    value: int


@dataclass(frozen=True)
class Reads:
    """What every run here has read: the document that it writes."""

    deep: tuple[Address, ...] = ()
    shallow: tuple[Address, ...] = ()


READS = Reads((DOCUMENT,))
OVERWRITES = (Detail(DOCUMENT, 1, 2),)
CAUSES = (Cause(DOCUMENT, Origin.REMOTE),)


@dataclass
class Lines:
    """The error lines that were logged."""

    logged: list[str] = field(default_factory=list[str])

    def error(self, event: str, message: str) -> None:
        self.logged.append(event)


Make: TypeAlias = Callable[[Lines, BreakerPolicy], RemoteEchoBreaker]
"""What makes the breaker under test."""


def policy_of(constants: Mapping[str, Any], tick: int, **more: Any) -> BreakerPolicy:
    """The model's constants as the runtime's, in ms."""
    return BreakerPolicy(
        echo_window_ms=constants["window"] * tick,
        echo_trip_threshold=constants["threshold"],
        echo_backoff_base_ms=constants["base"] * tick,
        echo_backoff_max_ms=constants["cap"] * tick,
        echo_quiet_reset_ms=constants["quiet"] * tick,
        clear_when_settled=constants["clear_when_settled"],
        **more,
    )


class BreakerSubject:
    """One registered action over one document; ``tick`` is how many ms the model's unit of time is."""

    def __init__(self, tick: int, make: Make = RemoteEchoBreaker) -> None:
        self.tick = tick
        self.make = make

    def describe(self) -> Description:
        return Description(ACTIONS, FIELDS)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        self.lines = Lines()
        policy = policy_of(constants, self.tick, kickoff_order=constants["kickoff_order"])
        self.breaker = self.make(self.lines, policy)
        self.action = Named()
        self.registration: object = object()
        self.registered = True
        self.owed = False
        self.flight: list[EchoCapture] = []
        self.kickoffs = 0
        self.events: tuple[BreakerEvent, ...] = ()
        self.pairs: tuple[PairState, ...] = ()

    def step(self, step: Step, at: int) -> None:
        argument: Any = step.args[0][1] if step.args else None  # no action here has more than one
        match step.action:
            case "run" | "retry":
                if self.breaker.gate(self.action, at) is not None:
                    raise Refused("the gate is closed")
                writes = OVERWRITES if argument else ()
                # A kickoff's place in the order of kickoffs: within one millisecond there may be several.
                self.kickoffs += 1
                capture = self.breaker.capture(CAUSES, writes, at + self.kickoffs / 1_000_000, self.registration)
                self.flight.append(capture)
                return
            case "commit":
                capture = self.flight.pop(argument)
                if capture.registration is not self.registration:
                    return
                steps = self.breaker.steps(self.action, capture, READS)
                self.breaker.observe(self.action, steps, at)
            case "refuse":  # a failed commit is none of the breaker's business
                self.flight.pop(argument)
                return
            case "forget":
                self.breaker.housekeep(at)
            case "retire":
                self.breaker.retire(self.action, at)
                self.registered = False
                self.registration = None
            case _:
                self.registered = True
                self.registration = object()
                return
        self.events = self.breaker.take_events()
        self.pairs = self.breaker.pairs()  # instants: as time passes they stay what they are

    def observe(self, at: int) -> Observation:
        events, self.events = self.events, ()
        gate = self.breaker.gate(self.action, at)
        left = 0 if gate is None else self.ticks(gate - at)
        return (
            self.registered,
            *(self.shown(self.pairs[0], at) if self.pairs else ABSENT),
            left,
            self.breaker.stats(at).active,
            told(events, self.breaker.policy.clear_when_settled) if events else None,
        )

    def shown(self, pair: PairState, at: int) -> tuple[Value, ...]:
        deadline = pair.deadline
        settling = pair.settles_after
        cap = self.breaker.policy.echo_backoff_max_ms
        return (
            0 if pair.tripped else pair.echoes,
            -1 if pair.tripped else self.ticks(at - pair.window_opened),
            pair.tripped,
            self.ticks(pair.step_ms),
            0 if deadline is None or deadline <= at else self.ticks(deadline - at),
            self.ticks(at - pair.last_echo) if pair.tripped else -1,
            -1 if settling is None else self.ticks(at - (settling - cap)),
        )

    def ticks(self, duration: float) -> int | str:
        """A duration in the model's unit; a part of one is shown in ms, and differs from every whole."""
        whole, rest = divmod(duration, self.tick)
        return int(whole) if rest == 0 else f"{duration:g} ms"


ABSENT: tuple[Value, ...] = (0, -1, False, 0, 0, -1, -1)
"""What is seen of a pair that is not held."""


def told(events: tuple[BreakerEvent, ...], settles: bool) -> str | None:
    """Trips and clears in the order in which they are reported, see :func:`reason`."""
    return ", ".join(reason(e.reason, settles) if isinstance(e, Cleared) else "tripped" for e in events) or None


def reason(text: str, settles: bool) -> str:
    """How a pair ended. With ``clear_when_settled`` a pair may be both quiet and settled when housekeeping is late;
    which came first is beyond what saturated ages tell, so the two are then one reason."""
    return "ended" if settles and text in ("quiet", "convergence") else text


@dataclass(frozen=True)
class Reported:
    """What the model has to have reported of a step: a trip, and how each tripped pair ended."""

    quiet: int
    cap: int
    clear_when_settled: bool
    kickoff_order: bool

    def __call__(self, before: Any, step: Step, after: Any) -> Value:
        """``before`` and ``after`` are rows of ``Breaker``."""
        if not before.pair_tripped and not after.pair_tripped:
            return None
        if step.action == "retire":
            return self.end(before) or "retired"
        if step.action == "forget":
            return self.end(before) if before.pair_tripped else None
        if step.action != "commit":
            return None
        at = dict(step.args)["place"]
        overtaken = self.kickoff_order and getattr(before, f"flight_{at}_overtaken") and self.end(before) is None
        if getattr(before, f"flight_{at}_outlived") or (overtaken and self.held(before)):
            return None
        if not getattr(before, f"flight_{at}_overwrites"):
            cleared = before.pair_tripped and not after.pair_tripped
            return self.end(before) or self.told("convergence") if cleared else None
        ended = self.end(before)
        tripped = after.pair_tripped and (not before.pair_tripped or ended is not None)
        return ", ".join([*([ended] if ended else []), *(["tripped"] if tripped else [])]) or None

    def held(self, row: Any) -> bool:
        return bool(row.pair_tripped or row.pair_echoes)

    def end(self, row: Any) -> str | None:
        """How a tripped pair that housekeeping would clear now has ended."""
        if not row.pair_tripped:
            return None
        if row.pair_settling > self.cap:
            return self.told("convergence")
        return self.told("quiet") if row.pair_since_echo > self.quiet else None

    def told(self, text: str) -> str:
        return reason(text, self.clear_when_settled)


def breaker_pairing(tick: int = 1_000, make: Make = RemoteEchoBreaker, **constants: Any) -> Pairing:
    """The breaker of one action and one document at a scope; ``make`` makes another than the runtime's own."""
    model = Breaker(**constants)
    flights = {
        f"flight[{n}]{part}": "runs in flight are the scheduler's, which the adapter plays"
        for n in range(model.in_flight)
        for part in ("?", ".overwrites", ".outlived", ".overtaken", ".tracked")
    }
    return Pairing(
        name="breaker",
        machine=lambda: Breaker(**constants),
        subject=lambda: BreakerSubject(tick, make),
        seen=SEEN,
        hidden={**flights, "owed": "what is owed is the scheduler's, which the adapter plays"},
        derived={"active": lambda machine: int(not machine.pair.deadline.over)},
        happened={"reported": Reported(model.quiet, model.cap, model.clear_when_settled, model.kickoff_order)},
        refusable=frozenset({"BRK-18", "BRK-20"}),
        tick=tick,
        implementation="quiesce.scheduler.breaker",
    )
