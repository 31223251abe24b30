"""Two derivations of a real scheduler, beside the model ``OneSession``: passes, turns, causes, and what is left to do.

The scheduler is the runtime's own, over a replica whose server the adapter plays: the model decides commits in any
order, and a server does so in the order in which they were sent. What is compared, and what is not, is in
``one_session_seen``; it is also said there which part of the model this is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quiesce.clock import ManualClock
from quiesce.commits import Document, Outcome, Verdict
from quiesce.counts import Counts
from quiesce.protocol import Upsert, Window
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_records import Action, Gate, Move
from quiesce.scheduler.convergence import ConvergencePolicy
from quiesce.scheduler.echo import Cause, EchoCapture, Origin, ReadLog, StepKind
from quiesce.scheduler.echo import Step as EchoStep
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Awaiting, Began, Ended, Ran, Run
from quiesce.scheduler.scheduler import Scheduler
from quiesce.storage.replica import Replica
from quiesce.storage.transaction import CommitHandle, Result, Settled
from quiesce_model.language.machine import Step
from quiesce_model.language.outcome import Misuse
from quiesce_model.one_session import OneSession

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Refused, SubjectFailed
from .one_node import ALICE, FOREVER, SPACE, Awaited, address, ignored
from .one_session_seen import DERIVED, FIELDS, HIDDEN, SEEN, SessionLooker

ACTIONS: dict[str, tuple[str, ...]] = {
    "write_elsewhere": (),
    "deliver": (),
    "nudge": ("n",),
    "unwatch": (),
    "watch": (),
    "begin_pass": (),
    "send": (),
    "run": ("n",),
    "finish": (),
    "end_pass": (),
    "fire": (),
    "succeed": ("n", "echo"),
    "lift": ("n",),
    "conflict": ("n",),
    "refuse": ("n",),
    "resolve_idle": (),
}

DATA = tuple(Document(f"d{n}") for n in range(3))
NUDGE = Document("nudge")

LEFT_OUT = ("foreign", "refusals", "backlog", "escalate_together", "own_revert_skipped", "preflight_again", "park_once")
"""What is not walked: see ``one_session_seen``."""


class ToldOfMany(RemoteEchoBreaker):
    """A breaker that says of a commit what it was told to say, for several actions."""

    backoff = 0.0

    def steps(self, action: Action, capture: EchoCapture, reads: ReadLog) -> tuple[EchoStep, ...]:
        return (EchoStep(address(DATA[0]).entity, StepKind.ECHO, 0.0),) if self.backoff else ()

    def observe(self, action: Action, steps: Iterable[EchoStep], now: float) -> Gate:
        assert isinstance(action, Node)
        return Gate(max(action.gates.echo_backoff_until, now + self.backoff), Move.LATER)


@dataclass
class SessionWorld:
    """What one walk has."""

    clock: ManualClock
    replica: Replica
    scheduler: Scheduler
    breaker: ToldOfMany
    cycle: bool
    node: list[Node] = field(default_factory=list[Node])
    readers: list[Node] = field(default_factory=list[Node])
    flight: dict[int, CommitHandle] = field(default_factory=dict[int, CommitHandle])
    run: Run | None = None
    value: int = 0
    changes: int = 0


class OneSessionSubject:
    """``tick`` is how many milliseconds the model's unit of time is."""

    def __init__(self, tick: int) -> None:
        self.tick = tick

    def describe(self) -> Description:
        return Description(ACTIONS, FIELDS)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        clock, replica = ManualClock(), Replica(SPACE, ignored)
        replica.welcome(ALICE, 0)
        convergence = ConvergencePolicy(
            iterations=2 * constants["budget"] + 2,
            run_budget=constants["budget"],
            backoff_base_ms=constants["base"] * self.tick,
            backoff_max_ms=constants["cap"] * self.tick,
            idle_hold_passes=constants["hold_passes"],
        )
        counts = Counts(quiet=True)
        scheduler = Scheduler(replica, clock, counts, convergence=convergence, random=lambda: 0.5)
        scheduler.breaker = breaker = ToldOfMany(counts.logger("breaker"))
        self.world = SessionWorld(clock, replica, scheduler, breaker, bool(constants["cycle"]))
        first = 1 if constants["restless"] else 0
        self.window(*(Upsert(d.id, 1, value=first if n == 0 else 0) for n, d in enumerate(DATA)))
        for n in range(2):
            reads, writes = (address(DATA[n]),), (address(DATA[n + 1]),)
            # One label for both: what tells actions apart is the object.
            node = Node("derivation", Kind.COMPUTATION, self.body, declared_reads=reads, declared_writes=writes)
            node.gates.debounce_ms = constants["debounce"] * self.tick
            node.gates.throttle_ms = constants["throttle"] * self.tick
            scheduler.register(node)
            self.world.node.append(node)
        self.look = SessionLooker(scheduler, self.world.node, DATA, self.tick, constants["hold_passes"])
        self.watch()

    def step(self, step: Step, at: int) -> None:
        self.world.clock.now = float(at)
        getattr(self, step.action)(*(value for _, value in step.args))

    def observe(self, at: int) -> Observation:
        self.world.clock.now = float(at)
        return self.look.seen(float(at), self.reading())

    def reading(self) -> int | None:
        """Which node's body is at work."""
        return None if self.world.run is None else self.world.node.index(self.world.run.node)

    # What changes.

    def body(self, run: Run) -> Awaited:
        """What it writes is decided by what it reads as it starts."""
        n = self.world.node.index(run.node)
        value = number(run.read(DATA[n]))
        run.read(DATA[n + 1])
        if n == 0 and self.world.cycle:
            value = (value + number(run.read(DATA[2]))) % 2
        self.world.value = value
        return Awaited()

    def nudge(self, n: int) -> None:
        """Said to the scheduler as the replica's changes are, of a document that no run reads."""
        world = self.world
        world.scheduler.invalidation.invalidate(world.node[n], Cause(address(NUDGE), Origin.LOCAL), world.clock.now)

    def watch(self) -> None:
        effect = Node("reader", Kind.EFFECT, lambda run: None, declared_reads=(address(DATA[2]),))
        effect.gates.echo_backoff_until = FOREVER
        self.world.scheduler.register(effect)
        self.world.readers.append(effect)

    def unwatch(self) -> None:
        self.world.scheduler.unregister(self.world.readers.pop())

    def window(self, *upserts: Upsert, caught_up: int = 0) -> None:
        self.world.changes += 1
        changes = self.world.changes
        self.world.replica.apply(Window(changes - 1, changes, upserts, caught_up=caught_up))

    # A pass.

    def begin_pass(self) -> None:
        """A pass may begin at any time: one that finds nothing to run changes nothing."""
        if not self.world.scheduler.tick_queued:
            self.world.scheduler.queue_tick()
        self.moved(Began)

    def run(self, n: int) -> None:
        step = self.moved(Awaiting)
        assert isinstance(step, Awaiting)
        self.world.run = step.run
        if step.run.node is not self.world.node[n]:
            raise Refused("it is the other one's turn")

    def finish(self) -> None:
        world, n = self.world, self.reading()
        assert world.run is not None
        assert n is not None
        world.run.write(DATA[n + 1], (), world.value)
        world.scheduler.body_done(world.run)
        self.moved(Ran)
        if world.run.handle is not None and world.run.handle.result is None:
            world.flight[n] = world.run.handle
        world.run = None

    def end_pass(self) -> None:
        self.moved(Ended)

    def moved(self, kind: type) -> object:
        step = self.world.scheduler.step()
        if not isinstance(step, kind):
            raise Refused(f"the step was {type(step).__name__}")
        return step

    def fire(self) -> None:
        self.world.scheduler.timer_fired()

    # What becomes of a commit.

    def succeed(self, n: int, echo: int) -> None:
        world = self.world
        world.breaker.backoff = echo * self.tick
        handle = world.flight.pop(n)
        handle.settle(Result(Settled.COMMITTED))
        world.breaker.backoff = 0.0
        assert handle.local_seq is not None  # it wrote something
        world.replica.judge(Verdict(handle.local_seq, Outcome.ACCEPTED, world.changes + 1))
        self.window(caught_up=handle.local_seq)

    def lift(self, n: int) -> None:
        self.world.scheduler.apply_echo_gate(self.world.node[n], Gate(None, Move.LIFTED))

    def not_walked(self, *args: object) -> None:
        """What only a model with one of LEFT_OUT does, which the pairing refuses before the first step."""
        raise SubjectFailed(f"walks no step of a model with one of {', '.join(LEFT_OUT)}: leave them out")

    write_elsewhere = deliver = send = conflict = refuse = not_walked

    def resolve_idle(self) -> None:
        """Somebody waits for idle, and is told at once; but for a pass that has nothing to do."""
        scheduler = self.world.scheduler
        while scheduler.tick_queued and not scheduler.agenda.any_ready(scheduler.clock()):
            self.begin_pass()
            self.end_pass()
        told: list[bool] = []
        forget = scheduler.when_idle(lambda: told.append(True))
        if not told:
            forget()
            raise Refused("it is not idle")


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def one_session_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """One session at a scope. Raises Misuse for the part of the model that is not walked."""
    for name in LEFT_OUT:
        if constants.get(name):
            raise Misuse(f"{name} is not walked: leave it out")
    return Pairing(
        name="one_session",
        machine=lambda: OneSession(**constants),
        subject=lambda: OneSessionSubject(tick),
        seen=SEEN,
        hidden=HIDDEN,
        derived=DERIVED,
        tick=tick,
        implementation="quiesce.scheduler",
    )
