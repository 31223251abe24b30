"""Client and server in one process, where every delivery is a step under the caller's hand.

Nothing moves by itself: a message that was sent lies in its queue until ``up`` or ``down`` delivers it, and
the server decides nothing until ``decide``. So every interleaving can be made, and none happens by accident.
"""

from __future__ import annotations

from collections import deque

from quiesce.server.hub import Hub
from quiesce.server.session import Connection
from quiesce.storage.client import Client


class Link:
    """One client's connection to a hub: two queues of messages, oldest first."""

    def __init__(self, client: Client, hub: Hub) -> None:
        self.client = client
        self._hub = hub
        self._up: deque[bytes] = deque()
        self._down: deque[bytes] = deque()
        self._connection: Connection | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    @property
    def connection(self) -> Connection | None:
        """The server's end."""
        return self._connection

    def connect(self) -> None:
        """Open a connection; the client's hello is queued. Does nothing if there is one."""
        if self._connection is None:
            self._connection = self._hub.connect()
            self.client.connected()

    def cut(self) -> None:
        """The connection dies: everything in both queues is lost, and both ends learn it."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._up.clear()
            self._down.clear()
            self._hub.disconnect(connection)
            self.client.disconnected()

    def waiting_up(self) -> int:
        """Messages on the way to the server."""
        while (data := self.client.take()) is not None:
            self._up.append(data)
        return len(self._up)

    def waiting_down(self) -> int:
        """Messages on the way to the client."""
        if self._connection is not None:
            while (data := self._connection.take()) is not None:
                self._down.append(data)
        return len(self._down)

    def up(self, *, twice: bool = False) -> bool:
        """Deliver the oldest message to the server. ``twice``: a duplicate follows it. Whether there was
        one.
        """
        if not self.waiting_up() or self._connection is None:
            return False
        data = self._up.popleft()
        for _ in range(2 if twice else 1):
            self._hub.receive(self._connection, data)
        return True

    def down(self, *, twice: bool = False) -> bool:
        """Deliver the oldest message to the client. ``twice``: a duplicate follows it. Whether there was
        one.
        """
        if not self.waiting_down():
            self._close_if_finished()
            return False
        data = self._down.popleft()
        for _ in range(2 if twice else 1):
            self.client.receive(data)
        self._close_if_finished()
        return True

    def _close_if_finished(self) -> None:
        connection = self._connection
        finished = connection is not None and connection.finished and not self._down
        if finished or (connection is not None and self.client.wants_to_disconnect):
            self.cut()


class Loopback:
    """A hub and its links, and the steps that move them."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.links: list[Link] = []

    def link(self, client: Client) -> Link:
        """A link for a client, not yet connected."""
        link = Link(client, self.hub)
        self.links.append(link)
        return link

    def decide(self) -> bool:
        """The server runs one batch of every ready space. Whether there was one."""
        return self.hub.step()

    def settle(self, limit: int = 100_000) -> int:
        """Move everything until nothing moves; returns the number of steps. Raises ``RuntimeError`` beyond
        ``limit``.
        """
        steps = 0
        moved = True
        while moved:
            moved = False
            for link in self.links:
                while link.up():
                    moved = True
                    steps += 1
            if self.decide():
                moved = True
                steps += 1
            for link in self.links:
                while link.down():
                    moved = True
                    steps += 1
            if steps > limit:
                raise RuntimeError(f"the loopback still moves after {steps} steps: something answers itself for ever")
        return steps
