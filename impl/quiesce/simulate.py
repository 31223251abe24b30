"""Many sessions over one server in simulated time: deliveries take as long as they are told to, and nothing else does.

The same seed gives the same run to the last commit. For measurements and examples; tests that have to choose every
single step move a ``Loopback`` by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from quiesce.clock import ManualClock
from quiesce.commits import Document
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Run
from quiesce.scheduler.scheduler import Scheduler
from quiesce.server.access import DevelopmentAuthenticator
from quiesce.server.engine import Engine
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.memory import MemoryEngine
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally
from quiesce.storage.client import Client
from quiesce.storage.loopback import Link, Loopback

NEVER_TRIPS = 10**9
"""An ``echo_trip_threshold`` that no loop reaches: what a runtime without the breaker would do."""


@dataclass(eq=False)
class Actor:
    """One session of a simulation."""

    client: Client
    link: Link
    scheduler: Scheduler
    up_arrives: list[float] = field(default_factory=list[float])
    down_arrives: list[float] = field(default_factory=list[float])


class Simulation:
    """Sessions over one hub. ``delay`` gives each message's way in milliseconds; messages of a link keep
    their order.
    """

    def __init__(self, delay: Callable[[], float], policy: BreakerPolicy | None = None) -> None:
        self.clock = ManualClock(0.0)
        self.actors: list[Actor] = []
        self.commit_times: list[float] = []
        """When each commit was decided, in milliseconds since the beginning."""
        self._delay = delay
        self._policy = policy
        names = itertools.count()
        limits = Limits(commits_per_second=1e9, messages_per_second=1e9)
        counts = Counts(quiet=True)
        surroundings = Surroundings(limits, self.clock, self.clock, lambda size: f"s{next(names)}", counts, Tally())
        engines: dict[str, Engine] = {}
        self.hub = Hub(
            surroundings, DevelopmentAuthenticator(), lambda space: engines.setdefault(space, MemoryEngine())
        )
        self._loop = Loopback(self.hub)
        self._arrivals: list[tuple[float, int, Actor, bool]] = []
        self._numbers = itertools.count()

    def actor(self, principal: str) -> Actor:
        """A session that follows everything, connected before time begins."""
        client = Client("space", lambda: principal, Counts(quiet=True))
        client.watch(Watch("", prefix=True))
        link = self._loop.link(client)
        link.connect()
        self._loop.settle()
        scheduler = Scheduler(client.replica, self.clock, Counts(quiet=True), policy=self._policy, random=lambda: 0.5)
        made = Actor(client, link, scheduler)
        self.actors.append(made)
        return made

    @property
    def commits(self) -> int:
        """Commits accepted so far."""
        return len(self.commit_times)

    def run(self, milliseconds: float) -> None:
        """Let so much time pass."""
        end = self.clock.now + milliseconds
        self._move()
        while True:
            timers = [at for actor in self.actors if (at := actor.scheduler.timer_at) is not None]
            arrival = [self._arrivals[0][0]] if self._arrivals else []
            at = min((*timers, *arrival), default=end + 1)
            if at > end:
                break
            self.clock.now = max(self.clock.now, at)
            while self._arrivals and self._arrivals[0][0] <= self.clock.now:
                self._arrive()
            for actor in self.actors:
                timer = actor.scheduler.timer_at
                if timer is not None and timer <= self.clock.now:
                    actor.scheduler.timer_fired()
            self._move()
        self.clock.now = end

    def _arrive(self) -> None:
        _, _, actor, upward = heappop(self._arrivals)
        if upward:
            actor.up_arrives.pop(0)
            actor.link.up()
            self.hub.step()
        else:
            actor.down_arrives.pop(0)
            actor.link.down()
        self._move()

    def _move(self) -> None:
        for actor in self.actors:
            while actor.scheduler.step() is not None:
                pass
        space = self.hub.spaces.get("space")
        while space is not None and len(self.commit_times) < space.seq:
            self.commit_times.append(self.clock.now)
        for actor in self.actors:
            self._send(actor, actor.up_arrives, actor.link.waiting_up(), upward=True)
            self._send(actor, actor.down_arrives, actor.link.waiting_down(), upward=False)

    def _send(self, actor: Actor, under_way: list[float], waiting: int, *, upward: bool) -> None:
        while len(under_way) < waiting:
            at = self.clock.now + self._delay()
            if under_way:
                at = max(at, under_way[-1])
            under_way.append(at)
            heappush(self._arrivals, (at, next(self._numbers), actor, upward))


@dataclass(frozen=True)
class Storm:
    """A storm to simulate: so many sessions that write each tag, and messages that take between two times."""

    sides: tuple[int, ...] = (1, 1)
    fastest_ms: float = 20.0
    slowest_ms: float = 60.0
    seed: int = 1


def simulate_storm(storm: Storm, policy: BreakerPolicy, milliseconds: float) -> Simulation:
    """Let sessions that disagree about one document run against each other; each side's sessions agree."""
    random = Random(storm.seed)
    simulation = Simulation(lambda: random.uniform(storm.fastest_ms, storm.slowest_ms), policy)
    shared = Document("shared")
    for side, sessions in enumerate(storm.sides):
        for number in range(sessions):
            actor = simulation.actor(f"side {side}, session {number}")

            def tag(run: Run, side: int = side) -> None:
                run.read(shared)
                run.write(shared, (), f"side {side}")

            actor.scheduler.register(Node(f"tag {side}", Kind.EFFECT, tag))
    simulation.run(milliseconds)
    return simulation
