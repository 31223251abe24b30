"""What is compared of sessions in an echo loop, and what is not.

The document on the server; of each session what its user sees, what its derivation is to run for, whether a change or a
commit is on its way, the breaker's pair, the gate on the node, and of each step what was counted, logged and reported.

A pair whose quiet stretch or settling period is over is shown as not held, by both: the model keeps it until
housekeeping comes, the runtime clears it before it does anything else. So is what is left of a session that has gone.
While a commit is on its way the runtime shows what it writes already, and the model what it found: what is compared is
what the runtime shows. Windows that are on their way to a session arrive as one, since in the model a session that is
behind is brought the newest value and not what was there between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quiesce.address import Address, Entity
from quiesce.commits import Document
from quiesce.scheduler.breaker import TRIP_EVENT
from quiesce.scheduler.breaker_records import PairState
from quiesce.values import ABSENT
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.language.machine import Step

from ..lockstep.pairing import Derived, Happened
from ..lockstep.subject import Observation, Value
from .breaker import reason, told

if TYPE_CHECKING:
    from .echo_sessions import Session

SEEN = ("behind", "triggered", "input_changed", "pending?")
PAIR = ("echoes", "opened", "tripped", "backoff", "deadline", "since_echo", "settling")
NO_PAIR: tuple[Value, ...] = (0, -1, False, 0, 0, -1, -1)
TOLD = ("counted", "tripped", "lines", "reported")


def seen_names(sessions: int) -> tuple[str, ...]:
    return ("document", "agreed", *(f"session[{s}].{name}" for s in range(sessions) for name in SEEN))


def pair_names(sessions: int) -> tuple[str, ...]:
    return tuple(f"session[{s}].pair.{part}" for s in range(sessions) for part in PAIR)


def fields(sessions: int) -> tuple[str, ...]:
    each = [f"session {s} {name}" for s in range(sessions) for name in ("sees", "gate", "active")]
    told = [f"session {s} {name}" for s in range(sessions) for name in TOLD]
    return (*seen_names(sessions), *pair_names(sessions), *each, *told)


def hidden(sessions: int) -> Mapping[str, str]:
    why = {
        "present": "its going is a step, and nothing is seen of it after that",
        "sees": "compared as 'sees': the runtime shows what is on its way too",
        "remote": "who wrote first counts only with remote_causes_only, which is left out",
        "pending.value": "compared as 'sees'",
        "pending.by_document": "compared by what the commit counts",
        "pending.by_input": "compared by what the refused commit is run again for",
        "pending.by_remote": "who wrote first counts only with remote_causes_only, which is left out",
    }
    return {f"session[{s}].{name}": reason for s in range(sessions) for name, reason in why.items()}


def derived(sessions: int) -> Mapping[str, Derived]:
    """A pair of the model that is held, part by part; then what each session sees, its gate, and its active pairs."""
    made: dict[str, Derived] = {}
    for s in range(sessions):
        for n, part in enumerate(PAIR):
            made[f"session[{s}].pair.{part}"] = of_pair(s, part, NO_PAIR[n])
    for s in range(sessions):
        made[f"session {s} sees"] = of_sight(s)
        made[f"session {s} gate"] = of_gate(s)
        made[f"session {s} active"] = of_active(s)
    return made


def of_pair(s: int, part: str, absent: Value) -> Derived:
    def shown(machine: Any) -> Value:
        pair = machine.session[s].pair
        if pair.is_quiet(machine) or pair.is_settled(machine):
            return absent
        value = getattr(pair, part)
        return value if isinstance(value, int) else value.items_[0]

    return shown


def of_sight(s: int) -> Derived:
    def shown(machine: Any) -> Value:
        me = machine.session[s]
        if not me.present:
            return None
        return me.sees if me.pending is None else me.pending.value

    return shown


def of_gate(s: int) -> Derived:
    return lambda machine: machine.session[s].pair.deadline.remaining


def of_active(s: int) -> Derived:
    return lambda machine: int(not machine.session[s].pair.deadline.over)


class Happenings:
    """Looks at sessions, and at what a step told of them."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self.was = [counted(session) for session in sessions]
        self.now = self.nothing()

    def nothing(self) -> list[tuple[Value, ...]]:
        return [(None,) * len(TOLD) for _ in self.sessions]

    @staticmethod
    def expected(model: EchoLoop) -> Mapping[str, Happened]:
        return {f"session {s} {name}": Expected(model, s, name) for s in range(model.sessions) for name in TOLD}

    def before(self) -> None:
        """A step is about to be taken."""
        for session in self.sessions:
            session.reports.clear()
        self.was = [counted(session) for session in self.sessions]

    def after(self) -> None:
        """It was taken."""
        self.now = [
            (*(now - was for now, was in zip(counted(session), before, strict=True)), told_by(session))
            for session, before in zip(self.sessions, self.was, strict=True)
        ]

    def seen(self, document: object, agreed: bool, now: float, tick: int) -> Observation:
        last, self.now = self.now, self.nothing()
        plain = [value for session in self.sessions for value in moving(session)]
        pairs = [value for session in self.sessions for value in pair_of(session, now, tick)]
        each = [value for session in self.sessions for value in (sight(session), *gate(session, now, tick))]
        assert isinstance(document, int)
        return (document, agreed, *plain, *pairs, *each, *(value for values in last for value in values))


def counted(session: Session) -> tuple[int, int, int]:
    """Echo steps and trips in all, and lines logged of trips."""
    stats = session.scheduler.echo_breaker_stats()
    lines = session.counts.counts_breakdown().get("scheduler", {}).get(TRIP_EVENT, 0)
    return stats.cycles_observed, stats.trips, lines


def told_by(session: Session) -> str | None:
    """Trips and clears in the order in which they were reported."""
    return told(tuple(session.reports), session.scheduler.breaker.policy.clear_when_settled)


def moving(session: Session) -> tuple[Value, ...]:
    if not session.present:
        return (False, False, False, False)
    causes = {cause.address.entity.id for cause in session.node.causes}
    return (session.wire.behind, "shared" in causes, "input" in causes, bool(session.client.replica.layers))


def pair_of(session: Session, now: float, tick: int) -> tuple[Value, ...]:
    pairs = session.scheduler.breaker.pairs()
    if not pairs or ended(pairs[0], now, session):
        return NO_PAIR
    pair = pairs[0]
    settling = pair.settles_after
    cap = session.scheduler.breaker.policy.echo_backoff_max_ms
    return (
        0 if pair.tripped else pair.echoes,
        -1 if pair.tripped else ticks(now - pair.window_opened, tick),
        pair.tripped,
        ticks(pair.step_ms, tick),
        ticks(max(0.0, (pair.deadline or 0.0) - now), tick),
        ticks(now - pair.last_echo, tick) if pair.tripped else -1,
        -1 if settling is None else ticks(now - (settling - cap), tick),
    )


def ended(pair: PairState, now: float, session: Session) -> bool:
    quiet = pair.tripped and now - pair.last_echo > session.scheduler.breaker.policy.echo_quiet_reset_ms
    return quiet or (pair.settles_after is not None and now > pair.settles_after)


def sight(session: Session) -> Value:
    if not session.present:
        return None
    value = session.client.replica.visible(Document("shared"))
    assert value is ABSENT or isinstance(value, int)
    return None if value is ABSENT else int(value)  # type: ignore[arg-type]


def gate(session: Session, now: float, tick: int) -> tuple[Value, Value]:
    left = max(0.0, session.node.gates.echo_backoff_until - now)
    return ticks(left, tick), session.scheduler.echo_breaker_stats().active


def ticks(duration: float, tick: int) -> int | str:
    """A duration in the model's unit; a part of one is shown in ms, and differs from every whole."""
    whole, rest = divmod(duration, tick)
    return int(whole) if rest == 0 else f"{duration:g} ms"


def address_of(entity: Entity) -> Address:
    return Address(entity)


class Expected:
    """What the model has to have told of one session in a step."""

    def __init__(self, model: EchoLoop, s: int, name: str) -> None:
        self.quiet, self.cap, self.settles = model.quiet, model.cap, model.clear_when_settled
        self.s, self.name = s, name

    def __call__(self, before: Any, step: Step, after: Any) -> Value:
        """``before`` and ``after`` are rows of ``EchoLoop``."""
        counted, tripped, reported = self.told(before, step, after)
        return {"counted": counted, "tripped": tripped, "lines": tripped, "reported": reported}[self.name]

    def told(self, before: Any, step: Step, after: Any) -> tuple[int, int, str | None]:
        was, now = Part(before, self.s), Part(after, self.s)
        mine = dict(step.args).get("s") == self.s
        if not mine or step.action not in ("run", "commit", "forget", "leave"):
            return 0, 0, None
        ended = self.end(was)
        if step.action == "leave":
            return 0, 0, ended or ("retired" if was.tripped else None)
        if step.action == "forget":
            return 0, 0, ended if was.tripped else None
        if step.action == "run":
            if now.pending or not was.triggered:
                return 0, 0, None
            cleared = was.tripped and not now.tripped
            return 0, 0, (ended or reason("convergence", self.settles)) if cleared else None
        echo = was.by_document
        tripped = echo and now.tripped and (not was.tripped or ended is not None)
        said = [*([ended] if ended and echo else []), *(["tripped"] if tripped else [])]
        return int(echo), int(tripped), ", ".join(said) or None

    def end(self, was: Part) -> str | None:
        """How a tripped pair that housekeeping would clear now has ended."""
        if not was.tripped:
            return None
        if was.settling > self.cap:
            return reason("convergence", self.settles)
        return reason("quiet", self.settles) if was.since_echo > self.quiet else None


class Part:
    """One session of a row."""

    def __init__(self, row: Any, s: int) -> None:
        def leaf(name: str) -> Any:
            return getattr(row, f"session_{s}_{name}")

        self.triggered = bool(leaf("triggered"))
        self.pending = bool(leaf("pending_present"))
        self.by_document = bool(leaf("pending_by_document"))
        self.tripped = bool(leaf("pair_tripped"))
        self.settling = int(leaf("pair_settling"))
        self.since_echo = int(leaf("pair_since_echo"))
