"""What the scheduler's tests share: sessions over one emulated server, and a clock that moves by hand.

Every delivery and every run is a step of the test's own. ``settle`` makes all of them until nothing
moves, while time stands; ``advance`` lets time pass from one timer to the next. The definitions of what
is kept incrementally are checked after every step."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

from store_world import World

from quiesce.address import Address, Path, Scope
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerEvent
from quiesce.scheduler.node import Body, Kind, Node
from quiesce.scheduler.run import Awaiting, Failure, Ran, Run, Step
from quiesce.scheduler.scheduler import Outlets, Scheduler
from quiesce.storage.client import Client, Phase
from quiesce.storage.loopback import Link
from quiesce.values import ABSENT, Maybe, at

D = Document("d")


class Pause:
    """Awaited by a test's body: it goes on when the test says so."""

    def __await__(self) -> Any:
        yield self


class Peer:
    """One session: a client, its link, and its scheduler."""

    def __init__(self, world: Sessions, principal: str, policy: BreakerPolicy | None) -> None:
        self.world = world
        self.counts = Counts(quiet=True)
        self.client, self.link = world.client(principal)
        self.failures: list[Failure] = []
        self.reports: list[BreakerEvent] = []
        self.on_report: Callable[[BreakerEvent], None] = lambda event: None
        self.on_step: Callable[[], None] = lambda: None
        self.ran: list[str] = []
        self.body: tuple[Run, Coroutine[Any, Any, Any], Context] | None = None
        self.scheduler = Scheduler(
            self.client.replica,
            world.clock,
            self.counts,
            Outlets(failed=self.failures.append, reported=self._reported),
            policy=policy,
            random=lambda: 0.5,
            checked=True,
        )

    def _reported(self, event: BreakerEvent) -> None:
        self.reports.append(event)
        self.on_report(event)

    # -- making nodes

    def address(self, document: Document, path: Path = ()) -> Address:
        return Address(self.client.replica.entity(document), path)

    def node(self, label: str, kind: Kind, body: Body, **options: Any) -> Node:
        """Register one; ``writes`` and ``reads`` are documents that it declares."""
        declared = {
            f"declared_{name}": tuple(self.address(document) for document in options.pop(name, ()))
            for name in ("reads", "writes")
        }
        parent = options.pop("parent", None)
        node = Node(label, kind, body, **declared)
        for name, value in options.items():
            setattr(node.gates, name, value)
        self.scheduler.register(node, parent)
        return node

    def effect(self, label: str, body: Body, **options: Any) -> Node:
        return self.node(label, Kind.EFFECT, body, **options)

    def computation(self, label: str, body: Body, **options: Any) -> Node:
        return self.node(label, Kind.COMPUTATION, body, **options)

    def handler(self, label: str, body: Body) -> Node:
        return self.node(label, Kind.HANDLER, body)

    def derive(self, name: str, function: Callable[[Run], object], **options: Any) -> Node:
        """A computation that derives the document ``name``."""
        out = Document(name)
        return self.computation(name, lambda run: run.write(out, (), function(run)), writes=[out], **options)

    # -- moving

    def step(self) -> Step | None:
        self.on_step()
        step = self.scheduler.step()
        self.on_step()
        if isinstance(step, Ran):
            self.ran.append(step.run.node.label)
        elif isinstance(step, Awaiting):
            assert isinstance(step.awaitable, Coroutine)
            self.body = (step.run, step.awaitable, copy_context())
            self.resume()
        return step

    def resume(self) -> None:
        """The awaited body goes on until it pauses again or ends."""
        assert self.body is not None
        run, coroutine, context = self.body
        try:
            context.run(coroutine.send, None)
        except StopIteration:
            self.body = None
            self.scheduler.body_done(run)
        except Exception as error:
            self.body = None
            self.scheduler.body_done(run, error)

    def run(self, limit: int = 20_000) -> bool:
        """All steps that there are. Whether there was one."""
        for number in range(limit):
            if self.step() is None:
                return number > 0
        raise RuntimeError(f"the scheduler still has something to do after {limit} steps")

    # -- looking

    def value(self, document: Document | str, path: Path = ()) -> Maybe:
        """What the session sees; no read of a node."""
        named = Document(document) if isinstance(document, str) else document
        return at(self.client.replica.visible(named), path)

    def put(self, document: Document | str, value: object, path: Path = ()) -> None:
        """A commit that no node makes."""
        named = Document(document) if isinstance(document, str) else document
        transaction = self.client.replica.begin()
        transaction.write(named, path, value)
        transaction.commit()


class Sessions(World):
    """Peers over one hub."""

    def __init__(self, policy: BreakerPolicy | None = None, **limits: float) -> None:
        super().__init__(**{"commits_per_second": 1e9, "messages_per_second": 1e9, **limits})
        self.policy = policy
        self.peers: list[Peer] = []

    def peer(self, principal: str = "alice") -> Peer:
        made = Peer(self, principal, self.policy)
        self.peers.append(made)
        return made

    def settle(self, limit: int = 10_000) -> None:
        """Deliver, decide and run until nothing moves, while time stands."""
        for _ in range(limit):
            self.loop.settle()
            moved = [peer.run() for peer in self.peers]
            if not any(moved):
                return
        raise RuntimeError("the sessions never come to rest while time stands")

    def advance(self, milliseconds: float) -> None:
        """Let time pass, timer by timer, and everything settle at each."""
        end = self.clock.now + milliseconds
        while True:
            timers = {peer: at for peer in self.peers if (at := peer.scheduler.timer_at) is not None and at <= end}
            if not timers:
                break
            self.clock.now = max(self.clock.now, min(timers.values()))
            for peer, at in timers.items():
                if at <= self.clock.now:
                    peer.scheduler.timer_fired()
            self.settle()
        self.clock.now = max(self.clock.now, end)  # a body may have let time pass beyond it

    @property
    def commits(self) -> int:
        """The space's sequence."""
        space = self.hub.spaces.get("board")
        return space.seq if space is not None else 0


def present(value: Maybe) -> bool:
    return value is not ABSENT


__all__ = ["ABSENT", "Client", "D", "Link", "Pause", "Peer", "Phase", "Scope", "Sessions", "present"]
