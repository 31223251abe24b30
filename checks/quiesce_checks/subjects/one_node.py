"""One node of a real scheduler, beside the model ``OneNode``: its gates, the wake, and whoever waits for idle.

The scheduler is the runtime's own, over a replica whose server the adapter plays: it says what changes and what becomes
of a commit. It also plays the breaker, which the model lets do as it likes, and those who read the node. A body is
awaited, so that its start and its end are two steps. What is compared, and what is not, is in ``one_node_seen``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from quiesce.address import Address, Identity, Scope
from quiesce.address import entity as entity_of
from quiesce.clock import ManualClock
from quiesce.commits import Document, Outcome, Verdict
from quiesce.counts import Counts
from quiesce.protocol import Upsert, Window
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_records import Action, Gate, Move
from quiesce.scheduler.convergence import ConvergencePolicy
from quiesce.scheduler.echo import EchoCapture, ReadLog, StepKind
from quiesce.scheduler.echo import Step as EchoStep
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Awaiting, Began, Ended, Ran, Run
from quiesce.scheduler.scheduler import Scheduler
from quiesce.storage.notification import Notification, NotificationKind
from quiesce.storage.replica import Replica
from quiesce.storage.transaction import CommitHandle, Result, Settled
from quiesce_model.language.machine import Step
from quiesce_model.language.outcome import Misuse
from quiesce_model.one_node import OneNode

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Refused
from .one_node_seen import DERIVED, FIELDS, HAPPENED, HIDDEN, SEEN, Looker

ACTIONS: dict[str, tuple[str, ...]] = {
    "change": ("own",),
    "overtake": (),
    "demand": (),
    "release": (),
    "begin_pass": (),
    "run": (),
    "finish": ("writes",),
    "end_pass": (),
    "fire": (),
    "succeed": ("echo",),
    "conflict": (),
    "caught_up": (),
    "lift": ("rest",),
    "hold": (),
    "release_hold": (),
    "retire": (),
    "register": (),
    "resolve_idle": (),
}

SPACE = "space"
ALICE = Identity("alice", "first")
OUT = Document("out")
FOREVER = 1e15
"""A deadline that never comes: what waits for it is there, and never runs."""

NOT_THERE = (
    "longest_debounce",
    "debounce_kept",
    "hold_apart",
    "stay_resolved",
    "own_changes_hold_idle",
    "retire_all",
)
"""The repairs of the model, which the runtime does not have."""


class Awaited:
    """What a body returns: it ends when the adapter says so."""

    def __await__(self) -> Any:
        yield self


class Told(RemoteEchoBreaker):
    """A breaker that says of a commit what it was told to say; the rules of the real one are compared elsewhere."""

    backoff = 0.0
    standing = 0.0
    of: Action | None = None

    def steps(self, action: Action, capture: EchoCapture, reads: ReadLog) -> tuple[EchoStep, ...]:
        return (EchoStep(address(OUT).entity, StepKind.ECHO, 0.0),) if self.backoff else ()

    def observe(self, action: Action, steps: Iterable[EchoStep], now: float) -> Gate:
        self.standing, self.of = max(self.standing, now + self.backoff), action
        return Gate(self.standing, Move.LATER)

    def retire(self, action: Action, now: float) -> Gate:
        if action is self.of:
            self.standing = 0.0
        return Gate(None, Move.KEPT)


def address(document: Document) -> Address:
    return Address(entity_of(SPACE, Scope.SPACE, document.id, ALICE))


def ignored(layer: object) -> None:
    """Nothing is sent: the adapter settles commits itself."""


@dataclass
class World:
    """What one walk has: a scheduler with one node, and what its environment remembers."""

    clock: ManualClock
    replica: Replica
    scheduler: Scheduler
    breaker: Told
    node: Node
    readers: list[Node]
    refused: dict[int, CommitHandle]
    run: Run | None = None
    flight: CommitHandle | None = None
    outlived: CommitHandle | None = None
    written: int = 0
    runs: int = 0
    registered_reads: int = 0
    changes: int = 0


class OneNodeSubject:
    """``tick`` is how many milliseconds the model's unit of time is."""

    def __init__(self, tick: int) -> None:
        self.tick = tick

    def describe(self) -> Description:
        return Description(ACTIONS, FIELDS)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        clock, replica = ManualClock(), Replica(SPACE, ignored)
        replica.welcome(ALICE, 0)
        convergence = ConvergencePolicy(
            iterations=constants["budget"] + 1,
            run_budget=constants["budget"],
            backoff_base_ms=constants["base"] * self.tick,
            backoff_max_ms=constants["cap"] * self.tick,
            idle_hold_passes=constants["hold_passes"],
        )
        counts = Counts(quiet=True)
        scheduler = Scheduler(replica, clock, counts, convergence=convergence, random=lambda: 0.5)
        scheduler.breaker = breaker = Told(counts.logger("breaker"))
        self.resume = constants["resume"] * self.tick
        kind = Kind.EFFECT if constants["effect"] else Kind.COMPUTATION
        node = Node("node", kind, self.body, declared_writes=(address(OUT),))
        node.gates.debounce_ms = constants["debounce"] * self.tick
        node.gates.throttle_ms = constants["throttle"] * self.tick
        node.gates.no_auto_debounce = True  # a body takes as long as the walk lets time pass
        self.world = World(clock, replica, scheduler, breaker, node, [], {})
        self.look = Looker(scheduler, node, self.tick, constants["hold_passes"], FOREVER)
        parent = None
        if constants["awaited"] and not constants["effect"]:
            parent = self.never_run("parent")
        scheduler.register(node, parent)
        if parent is not None:
            self.demand()

    def step(self, step: Step, at: int) -> None:
        self.world.clock.now = float(at)
        self.look.before()
        getattr(self, step.action)(*(value for _, value in step.args))
        self.look.after()

    def observe(self, at: int) -> Observation:
        self.world.clock.now = float(at)
        return self.look.seen(float(at))

    # What the environment does.

    def body(self, run: Run) -> Awaited:
        """Every run reads other documents than the one before it, and every change is of what the last one read.

        So a change while a body runs makes another run necessary, and is none of something that this one has read: that
        would be a race, which ends in a refusal that the model of one node does not have.
        """
        self.world.runs += 1
        for document in inputs(self.world.runs):
            run.read(document)
        return Awaited()

    def change(self, own: bool) -> None:
        world = self.world
        world.changes += 1
        if not world.node.reads.deep:  # before a first run nothing is registered but the session as a whole
            world.scheduler.invalidation.notified(Notification(NotificationKind.RESET, SPACE, ()))
            return
        mine, theirs = inputs(world.registered_reads)
        if own:
            transaction = world.replica.begin()
            transaction.write(mine, (), world.changes)
            self.accepted(transaction.commit())
        else:
            self.window(Upsert(theirs.id, world.changes, value=world.changes))

    def window(self, *upserts: Upsert, caught_up: int = 0) -> None:
        changes = self.world.changes
        self.world.replica.apply(Window(changes - 1, changes, upserts, caught_up=caught_up))

    def overtake(self) -> None:
        """Nothing of it is seen here."""

    def demand(self) -> None:
        self.never_run("reader", OUT)

    def never_run(self, label: str, *reads: Document) -> Node:
        """An effect that is there, so that what it reads is live, and waits for a deadline that never comes."""
        effect = Node(label, Kind.EFFECT, lambda run: None, declared_reads=tuple(map(address, reads)))
        effect.gates.echo_backoff_until = FOREVER
        self.world.scheduler.register(effect)
        if reads:
            self.world.readers.append(effect)
        return effect

    def release(self) -> None:
        self.world.scheduler.unregister(self.world.readers.pop())

    # A pass.

    def begin_pass(self) -> None:
        """A pass may begin at any time: one that finds nothing to run changes nothing."""
        if not self.world.scheduler.tick_queued:
            self.world.scheduler.queue_tick()
        self.moved(Began)

    def run(self) -> None:
        step = self.moved(Awaiting)
        assert isinstance(step, Awaiting)
        self.world.run = step.run

    def finish(self, writes: bool) -> None:
        world = self.world
        assert world.run is not None
        if writes:  # not where a refused commit wrote that is still to be caught up with: none rests on another
            world.written = next(n for n in count() if n not in world.refused)
            world.run.write(Document(f"out {world.written}"), (), world.runs)
        world.scheduler.body_done(world.run)
        self.moved(Ran)
        world.flight = world.run.handle if writes else None
        world.registered_reads, world.run = world.runs, None

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

    def succeed(self, echo: int) -> None:
        self.world.breaker.backoff = echo * self.tick
        self.settle(self.flown(), Settled.COMMITTED)
        self.world.breaker.backoff = 0.0

    def conflict(self) -> None:
        """The verdict has come, and what it was about has not: the commit settles with that."""
        outlived, handle = self.world.outlived, self.flown()
        if handle is outlived:
            self.settle(handle, Settled.STALE)
        else:
            self.world.refused[self.world.written] = handle

    def flown(self) -> CommitHandle:
        handle, self.world.flight = self.world.flight, None
        assert handle is not None
        return handle

    def settle(self, handle: CommitHandle, settled: Settled) -> None:
        """What the replica does when a window covers a verdict; then the replica forgets the commit."""
        handle.settle(Result(settled, code="conflict" if settled is Settled.STALE else ""))
        self.accepted(handle)

    def accepted(self, handle: CommitHandle) -> None:
        assert handle.local_seq is not None  # it wrote something
        self.world.changes += 1
        self.world.replica.judge(Verdict(handle.local_seq, Outcome.ACCEPTED, self.world.changes))
        self.window(caught_up=handle.local_seq)

    def caught_up(self) -> None:
        refused, self.world.refused = self.world.refused, {}
        for handle in refused.values():
            self.settle(handle, Settled.STALE)

    def lift(self, rest: int) -> None:
        world = self.world
        until = world.clock.now + rest * self.tick if rest else None
        world.breaker.standing = until or 0.0
        world.scheduler.apply_echo_gate(world.node, Gate(until, Move.EARLIER if rest else Move.LIFTED))

    def hold(self) -> None:
        self.world.scheduler.hold(self.world.node, self.resume)

    def release_hold(self) -> None:
        self.world.scheduler.release_hold(self.world.node)

    # The registration.

    def retire(self) -> None:
        """What is under way when the registration ends comes to its end later, and to nothing."""
        world = self.world
        world.scheduler.unregister(world.node)
        while world.readers:
            self.release()
        self.caught_up()
        world.outlived = world.flight

    def register(self) -> None:
        self.world.scheduler.register(self.world.node)

    # Idle.

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


def inputs(run: int) -> tuple[Document, Document]:
    """What a run reads: one document that this session writes, and one that another does."""
    return Document(f"mine {run % 2}"), Document(f"theirs {run % 2}")


def one_node_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """One node at a scope. Raises Misuse for what only the model has."""
    for name in NOT_THERE:
        if constants.get(name):
            raise Misuse(f"the runtime has no {name}: leave it out")
    machine: Callable[[], OneNode] = lambda: OneNode(**constants)  # noqa: E731
    return Pairing(
        name="one_node",
        machine=machine,
        subject=lambda: OneNodeSubject(tick),
        seen=SEEN,
        hidden=HIDDEN,
        derived=DERIVED,
        happened=HAPPENED,
        tick=tick,
        implementation="quiesce.scheduler",
    )
