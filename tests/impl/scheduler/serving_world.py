"""Sessions over one emulated server, with a serving runtime beside it; every step is by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from api_world import ApiWorld, SessionPeer

from quiesce.address import Scope
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.run import Awaiting, Ran
from quiesce.serving.seat import App, too_narrow
from quiesce.serving.space import SpaceServer, Stepped, Surrounding
from quiesce.storage.client import Client
from quiesce.storage.loopback import Link


class Runtime:
    """One serving runtime of the world, and what it ran."""

    def __init__(self, world: ServingWorld, app: App, rest_after_ms: float, policy: BreakerPolicy | None) -> None:
        self.world = world
        self.counts = Counts(quiet=True)
        self.links: dict[Client, Link] = {}
        self.ran: Counter[tuple[str, str]] = Counter()
        """Runs that came to a result, by action and instance."""
        self.probes: Counter[tuple[str, str]] = Counter()
        """Runs that were stopped, or came too early."""
        self.dead = False
        self.server = SpaceServer(
            "board",
            app,
            Surrounding(
                lambda: "server",
                self._connect,
                self.counts,
                world.clock,
                policy=policy,
                rest_after_ms=rest_after_ms,
                checked=True,
            ),
        )

    def _connect(self, client: Client) -> None:
        link = self.links[client] = self.world.loop.link(client)
        link.connect()

    def step(self) -> bool:
        stepped = None if self.dead else self.server.step()
        if stepped is not None:
            self._note(stepped)
        return stepped is not None

    def run(self) -> bool:
        moved = False
        while self.step():
            moved = True
        return moved

    def _note(self, stepped: Stepped) -> None:
        step = stepped.step
        assert not isinstance(step, Awaiting), "these applications do not wait"
        if isinstance(step, Ran):
            key = (step.run.node.label, stepped.seat.instance.key)
            stopped = too_narrow(step.run) is not None or step.run.error is not None
            (self.probes if stopped else self.ran)[key] += 1

    def instances(self) -> list[str]:
        """The instances that have a seat."""
        return sorted(instance.key for instance in self.server.seats)

    def die(self) -> None:
        """The process is gone: nothing says goodbye."""
        self.dead = True
        for link in self.links.values():
            link.cut()

    def close(self) -> None:
        """It ends in good order."""
        self.server.close()
        self.world.loop.settle()
        self.dead = True


class ServingWorld(ApiWorld):
    """A world with serving runtimes."""

    def __init__(self, policy: BreakerPolicy | None = None, **limits: float) -> None:
        super().__init__(policy, **limits)
        self.runtimes: list[Runtime] = []

    def serve(self, app: App, *, rest_after_ms: float = 1e12) -> Runtime:
        made = Runtime(self, app, rest_after_ms, self.policy)
        self.runtimes.append(made)
        self.settle()
        return made

    def person(self, principal: str, app: App) -> SessionPeer:
        """A session that has registered the application, as every client does."""
        made = self.session(principal)
        made.session.client.watch(*everything())
        app(made.session)
        return made

    def shows(self, peer: SessionPeer, id: str) -> list[Any]:
        """An effect that needs a derivation; what it has shown."""
        shown: list[Any] = []
        peer.session.effect(name=f"show-{id}")(lambda: shown.append(peer.session.derivations[id].get()))
        return shown

    def settle(self, limit: int = 10_000) -> None:
        for _ in range(limit):
            self.loop.settle()
            moved = [peer.run() for peer in self.peers]
            moved += [runtime.run() for runtime in self.runtimes]
            if not any(moved) and self.loop.settle() == 0:
                return
        raise RuntimeError("the sessions never come to rest while time stands")

    def shuffle(self, random: Random, limit: int = 100_000) -> None:
        """As ``settle``, but one delivery, decision or step at a time, in any order."""
        idle = 0
        for _ in range(limit):
            moves: list[Callable[[], object]] = [self.loop.decide]
            moves += [move for link in self.loop.links for move in (link.up, link.down)]
            moves += [peer.step for peer in self.peers]
            moves += [runtime.step for runtime in self.runtimes]
            move, times = random.choice(moves), random.choice((1, 1, 1, 5, 20))
            idle = 0 if [made for _ in range(times) if (made := move())] else idle + 1
            if idle > 30:  # bad luck, or nothing is left
                if not [move for move in moves if move()]:
                    return
                idle = 0
        raise RuntimeError("the sessions never come to rest while time stands")

    def advance(self, milliseconds: float) -> None:
        end = self.clock.now + milliseconds
        while True:
            due: list[Any] = [peer.scheduler for peer in self.peers]
            due += [runtime.server for runtime in self.runtimes if not runtime.dead]
            timers = {holder: at for holder in due if (at := holder.timer_at) is not None and at <= end}
            if not timers:
                break
            self.clock.now = max(self.clock.now, min(timers.values()))
            self.hub.tick()
            for holder, at in timers.items():
                if at <= self.clock.now:
                    holder.timer_fired()
            self.settle()
        self.clock.now = end
        self.hub.tick()
        self.settle()


def everything() -> list[Watch]:
    """What a session follows unless it narrows it."""
    return [Watch("", scope, prefix=True) for scope in Scope]
