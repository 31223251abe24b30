"""What serving saves and what a seat costs: runs, commits and CPU time of one change, with and without a runtime.

    python benchmarks/serving.py

Everything is in one process over the loopback, with the store in memory; so many users have one session each, and all
need three derivations: one of the space's, one of each user's own, one of each session's own.
"""

from __future__ import annotations

import itertools
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

from quiesce.address import Scope
from quiesce.clock import ManualClock
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.runtime import Session
from quiesce.server.access import DevelopmentAuthenticator
from quiesce.server.engine import Engine
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.memory import MemoryEngine
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally
from quiesce.serving.space import SpaceServer, Surrounding
from quiesce.storage.client import Client
from quiesce.storage.loopback import Loopback

CHANGES = 20


def board(session: Session) -> None:
    """What is derived."""
    title = session.cell("title", default="")
    preference = session.cell("preference", default="-", scope="user")
    mine = session.cell("mine", default="?", scope="session")
    shout = session.computed(name="shout")(lambda: title.get().upper())
    prefer = session.computed(name="prefer")(lambda: shout.get() + preference.get())
    session.computed(name="label")(lambda: prefer.get() + mine.get())


class Stage:
    """A server, its sessions, and perhaps a serving runtime."""

    def __init__(self, users: int, *, served: bool) -> None:
        self.clock = ManualClock(1_000_000.0)
        names = itertools.count()
        limits = Limits(commits_per_second=1e9, messages_per_second=1e9)
        engine: Engine = MemoryEngine()
        counts = Counts(quiet=True)
        given = Surroundings(limits, self.clock, self.clock, lambda size: f"s{next(names)}", counts, Tally())
        self.hub = Hub(given, DevelopmentAuthenticator(), lambda space: engine)
        self.loop = Loopback(self.hub)
        self.server: SpaceServer | None = None
        self.sessions: list[Session] = []
        if served:
            surrounding = Surrounding(lambda: "serving", self._connect, counts, self.clock, rest_after_ms=1e12)
            self.server = SpaceServer("space", board, surrounding)
            self.settle()
        for number in range(users):
            client = Client("space", lambda number=number: f"user{number}", counts)
            client.watch(*(Watch("", scope, prefix=True) for scope in Scope))
            self._connect(client)
            self.loop.settle()
            session = Session(client, counts, clock=self.clock)
            board(session)
            label = session.derivations["derived/label"]
            session.effect(name="show")(lambda label=label: label.get() and None)
            self.sessions.append(session)
            self.settle()

    def _connect(self, client: Client) -> None:
        self.loop.link(client).connect()

    def settle(self) -> None:
        """Until nothing moves."""
        moved = True
        while moved:
            moved = self.loop.settle() > 0
            for session in self.sessions:
                while session.scheduler.step() is not None:
                    moved = True
            while self.server is not None and self.server.step() is not None:
                moved = True

    def wait(self) -> None:
        """Some seconds pass, so that what is measured is no storm to the breaker; the lease is renewed."""
        self.clock.advance(6_000)
        if self.server is not None:
            self.server.timer_fired()
        self.settle()

    def total_runs(self) -> int:
        """Runs of derivations so far, wherever."""
        held = [*self.sessions]
        if self.server is not None:
            held += [seat.session for seat in self.server.seats.values() if seat.session is not None]
        return sum(derived.node.runs for session in held for derived in session.derivations.values())

    @property
    def commits(self) -> int:
        """Commits accepted so far."""
        return self.hub.spaces["space"].seq


class Cost(NamedTuple):
    """Of one change."""

    runs: float
    commits: float
    cpu_ms: float


def measured(users: int, *, served: bool) -> Cost:
    """Runs, commits and milliseconds of CPU time for one change of what everybody reads."""
    stage = Stage(users, served=served)
    runs, commits, began = stage.total_runs(), stage.commits, time.process_time()
    for number in range(CHANGES):
        stage.wait()
        stage.sessions[0].cell("title").set(f"title {number}")
        stage.settle()
    spent = (time.process_time() - began) * 1000
    made = (stage.total_runs() - runs, stage.commits - commits, spent)
    return Cost(*(figure / CHANGES for figure in made))


def seat_kib() -> float:
    """Memory of one seat more, in KiB: two for each user, between 10 and 30 users, less the users' own sessions."""

    def held(make: Callable[[], Stage]) -> float:
        tracemalloc.start()
        stage = make()
        size = tracemalloc.get_traced_memory()[0] / 1024
        tracemalloc.stop()
        del stage
        return size

    with_seats = held(lambda: Stage(30, served=True)) - held(lambda: Stage(10, served=True))
    without = held(lambda: Stage(30, served=False)) - held(lambda: Stage(10, served=False))
    return (with_seats - without) / 40


if __name__ == "__main__":
    print("| users | derived by | runs | commits | CPU, ms |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for users in (1, 10, 30):
        for served in (False, True):
            cost = measured(users, served=served)
            who = "the runtime" if served else "each session"
            print(f"| {users} | {who} | {cost.runs:.1f} | {cost.commits:.1f} | {cost.cpu_ms:.0f} |")
    print(f"\none seat more: {seat_kib():.0f} KiB")
