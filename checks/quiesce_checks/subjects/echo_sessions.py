"""Real sessions that disagree about one document on a real server, beside the model ``EchoLoop``.

Each session has the runtime's own client, replica, scheduler and breaker, and one effect that reads the document and
writes what the session wants there; the server is the runtime's own, over memory. Nothing moves by itself: a step of
the walk is one commit that arrives, one delivery, or one pass. What is compared, and what is not, is in
``echo_sessions_seen``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from quiesce.clock import ManualClock
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Upsert, Watch, Window, decode_server, encode
from quiesce.scheduler.breaker_records import BreakerEvent
from quiesce.scheduler.echo import Cause, Origin
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Ran, Run
from quiesce.scheduler.scheduler import Outlets, Scheduler
from quiesce.server.access import DevelopmentAuthenticator
from quiesce.server.engine import Key
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.memory import MemoryEngine
from quiesce.server.session import Connection
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally
from quiesce.storage.client import Client
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.language.machine import Step
from quiesce_model.language.outcome import Misuse

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Refused
from .breaker import policy_of
from .echo_sessions_seen import Happenings, address_of, derived, hidden, seen_names
from .echo_sessions_seen import fields as fields_of

ACTIONS: dict[str, tuple[str, ...]] = {
    "deliver": ("s",),
    "run": ("s",),
    "commit": ("s",),
    "refuse": ("s",),
    "forget": ("s",),
    "agree": (),
    "type": ("s", "value"),
    "leave": ("s",),
}

SPACE = "board"
SHARED = Document("shared")
INPUT = Document("input")
EVERY = 1e12
"""A rate that no walk reaches."""


class Server:
    """The runtime's server, with a clock that the walk moves."""

    def __init__(self, clock: ManualClock) -> None:
        numbers = count()
        limits = Limits(commits_per_second=EVERY, messages_per_second=EVERY)
        counts = Counts(quiet=True)
        self.engine = MemoryEngine()
        surroundings = Surroundings(limits, clock, clock, lambda size: f"r{next(numbers)}", counts, Tally())
        self.hub = Hub(surroundings, DevelopmentAuthenticator(), lambda space: self.engine)

    @property
    def document(self) -> object:
        """The shared document as the server has it."""
        return self.engine.head(Key("space", SHARED.id)).value


class Wire:
    """A client's connection: what it sends arrives when ``up`` is called, what it is sent when ``down`` is."""

    def __init__(self, server: Server, client: Client) -> None:
        self.hub, self.client = server.hub, client
        self.connection: Connection = server.hub.connect()
        self.waiting: list[bytes] = []
        client.connected()

    def up(self) -> None:
        """All that the client has sent arrives, and is decided."""
        while (data := self.client.take()) is not None:
            self.hub.receive(self.connection, data)
        while self.hub.step():
            pass

    def on_its_way(self) -> list[bytes]:
        while (data := self.connection.take()) is not None:
            self.waiting.append(data)
        return self.waiting

    def down(self) -> None:
        """All that is on its way arrives. Windows that follow each other come as one, which the server may do too where
        a reader is slow: what changed and changed back meanwhile is no change."""
        messages, self.waiting = [decode_server(data) for data in self.on_its_way()], []
        while messages:
            message = messages.pop(0)
            while isinstance(message, Window) and messages:
                following = messages[0]
                if not isinstance(following, Window):
                    break
                message = joined(message, following)
                del messages[0]
            self.client.receive(encode(message))

    def settle(self) -> None:
        """Until nothing is on its way."""
        self.up()
        while self.on_its_way():
            self.down()
            self.up()

    @property
    def behind(self) -> bool:
        """Whether a change of the document is on its way."""
        return any(
            isinstance(message, Window) and any(upsert.id == SHARED.id for upsert in message.upserts)
            for message in map(decode_server, self.on_its_way())
        )


def joined(first: Window, second: Window) -> Window:
    latest: dict[tuple[str, str], Upsert] = {(u.id, u.scope): u for u in (*first.upserts, *second.upserts)}
    return Window(
        first.from_seq,
        second.to_seq,
        tuple(latest.values()),
        (*first.removes, *second.removes),
        caught_up=max(first.caught_up, second.caught_up),
        catch_up=True,
    )


@dataclass
class Session:
    """One session of the loop."""

    client: Client
    wire: Wire
    counts: Counts
    reports: list[BreakerEvent]
    scheduler: Scheduler
    node: Node
    wish: int | None = None
    present: bool = True

    def passes(self) -> int:
        """All steps that there are; how many runs they were. A pass that finds nothing to run is none."""
        runs = 0
        while (step := self.scheduler.step()) is not None:
            runs += isinstance(step, Ran)
        return runs


class EchoSubject:
    """``tick`` is how many milliseconds the model's unit of time is."""

    def __init__(self, tick: int, sessions: int) -> None:
        self.tick = tick
        self.size = sessions

    def describe(self) -> Description:
        return Description(ACTIONS, fields_of(self.size))

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        self.constants = constants
        self.clock = ManualClock()
        self.server = Server(self.clock)
        self.sessions = [self.joined(f"user {s}") for s in range(self.size)]
        self.agreed = False
        writer = self.sessions[0]
        self.put(writer, 0)  # the document has the value that the first session wants
        for session in self.sessions:
            session.wire.settle()
        for s, session in enumerate(self.sessions):
            session.wish = self.wanted(s)
            if session.wish == 0:
                session.passes()
        self.happenings = Happenings(self.sessions)

    def joined(self, user: str) -> Session:
        """A session whose effect has run, and found nothing to want yet."""
        counts, reports = Counts(quiet=True), list[BreakerEvent]()
        client = Client(SPACE, lambda: user, counts)
        client.watch(Watch(SHARED.id))
        wire = Wire(self.server, client)
        wire.settle()
        policy = policy_of(self.constants, self.tick)
        scheduler = Scheduler(client.replica, self.clock, counts, Outlets(reported=reports.append), policy=policy)
        node = Node("write what is wanted", Kind.EFFECT, lambda run: self.body(session, run))
        session = Session(client, wire, counts, reports, scheduler, node)
        scheduler.register(node)
        session.passes()
        return session

    def body(self, session: Session, run: Run) -> None:
        """Its other input is a cause of runs and is not read: a step of it would have the breaker look at the pair, and
        clear one that has ended, before the model does."""
        run.read(SHARED)
        if session.wish is not None:
            run.write(SHARED, (), session.wish)

    def wanted(self, s: int) -> int:
        return 0 if self.agreed else s % int(self.constants["values"])

    def put(self, session: Session, value: int) -> None:
        """The session's user edits the document, and the server has it at once."""
        transaction = session.client.replica.begin()
        transaction.write(SHARED, (), value)
        session.scheduler.commit(transaction)
        session.wire.settle()

    def step(self, step: Step, at: int) -> None:
        self.clock.now = float(at)
        self.happenings.before()
        args: dict[str, Any] = dict(step.args)
        if step.action == "agree":
            self.agree()
        else:
            move: Callable[..., None] = getattr(self, step.action)
            move(self.sessions[args.pop("s")], **args)
        self.happenings.after()

    def observe(self, at: int) -> Observation:
        self.clock.now = float(at)
        return self.happenings.seen(self.server.document, self.agreed, float(at), self.tick)

    def deliver(self, session: Session) -> None:
        session.wire.down()

    def run(self, session: Session) -> None:
        """Its run, in a pass. Nobody is asked whether to look: the scheduler has to have seen to it itself."""
        scheduler, now = session.scheduler, self.clock.now
        if not scheduler.agenda.any_ready(now):
            raise Refused("nothing may run")
        if scheduler.wake_at is not None and scheduler.wake_at <= now:
            scheduler.queue_tick()  # what timer_fired does besides housekeeping, which is a step of its own
        if session.passes() != 1:
            raise Refused("a run is due, and there was not one")

    def commit(self, session: Session) -> None:
        session.wire.settle()

    def refuse(self, session: Session) -> None:
        """What the commit was late for, the verdict, and what the session has missed."""
        session.wire.settle()

    def forget(self, session: Session) -> None:
        held = session.scheduler.breaker.pairs()
        session.scheduler.timer_fired()
        if session.scheduler.breaker.pairs() == held:
            raise Refused("nothing has ended")

    def agree(self) -> None:
        self.agreed = True
        for s, session in enumerate(self.sessions):
            session.wish = 0
            if s % int(self.constants["values"]) and session.present:
                scheduler = session.scheduler
                address = session.scheduler.replica.entity(INPUT)
                cause = Cause(address_of(address), Origin.LOCAL)
                scheduler.invalidation.invalidate(session.node, cause, self.clock.now)

    def type(self, session: Session, value: int) -> None:
        self.put(session, value)

    def leave(self, session: Session) -> None:
        session.present = False
        session.scheduler.dispose()
        self.server.hub.disconnect(session.wire.connection)
        session.client.disconnected()
        session.wire.waiting.clear()


def echo_loop_pairing(tick: int = 1_000, **constants: Any) -> Pairing:
    """Two or more sessions at a scope. Raises Misuse for the repair that asks where a change came from."""
    if constants.get("remote_causes_only"):
        raise Misuse("who wrote the document first is not compared: leave remote_causes_only out")
    model = EchoLoop(**constants)
    return Pairing(
        name="echo_loop",
        machine=lambda: EchoLoop(**constants),
        subject=lambda: EchoSubject(tick, model.sessions),
        seen=seen_names(model.sessions),
        hidden=hidden(model.sessions),
        derived=derived(model.sessions),
        happened=Happenings.expected(model),
        refusable=frozenset({"BRK-18", "BRK-21"}),
        tick=tick,
        implementation="quiesce: sessions and their server",
    )
