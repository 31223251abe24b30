"""What the store's tests share: a server and clients in one process, moved by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

from quiesce.clock import ManualClock
from quiesce.counts import Counts
from quiesce.protocol import Watch
from quiesce.server.access import Authenticator, DevelopmentAuthenticator
from quiesce.server.engine import Engine
from quiesce.server.hub import Hub
from quiesce.server.limits import Limits
from quiesce.server.memory import MemoryEngine
from quiesce.server.surroundings import Surroundings
from quiesce.server.tally import Tally
from quiesce.storage.client import Client
from quiesce.storage.loopback import Link, Loopback


class World:
    """A hub over memory engines (or others), a manual clock, and as many clients as a test asks for."""

    def __init__(self, authenticator: Authenticator | None = None, **limits: float) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.counts = Counts(quiet=True)
        self.engines: dict[str, Engine] = {}
        self._names = itertools.count()
        self.surroundings = Surroundings(
            replace(Limits(), **limits), self.clock, self.clock, self._name, self.counts, Tally()
        )
        self.hub = Hub(self.surroundings, authenticator or DevelopmentAuthenticator(), self.open_engine)
        self.loop = Loopback(self.hub)

    def _name(self, size: int) -> str:
        return f"r{next(self._names)}"

    def open_engine(self, space: str) -> Engine:
        """Memory that outlives the space object, as a disk does."""
        return self.engines.setdefault(space, MemoryEngine())

    def client(self, token: str, space: str = "board", *watches: Watch, connect: bool = True) -> tuple[Client, Link]:
        """A client that watches everything (or what is given), connected and settled unless told
        otherwise.
        """
        client = Client(space, lambda: token, self.counts)
        client.watch(*(watches or (Watch("", prefix=True),)))
        link = self.loop.link(client)
        if connect:
            link.connect()
            self.loop.settle()
        return client, link

    def settle(self) -> None:
        """Deliver and decide until nothing moves."""
        self.loop.settle()
