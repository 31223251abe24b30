"""One connection and one session as the server sees them; neither does any I/O."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from quiesce.address import Scope
from quiesce.commits import Document, Seq
from quiesce.protocol import Hello, Problem, ServerMessage, SessionReport, Watch, encode
from quiesce.server.access import Actor, Claims
from quiesce.server.engine import Key
from quiesce.server.limits import Bucket
from quiesce.server.tally import Rate


class Connection:
    """A transport's two ends as queues: what arrived is given to the hub, what is to be sent is taken from
    here.

    ``on_output`` is called when there is something to take. The outbox is bounded by the hub's limits, and
    the one that drains it says how fast.
    """

    def __init__(self, id: int, opened_ms: float, on_output: Callable[[], None]) -> None:
        self.id = id
        self.opened_ms = opened_ms
        self.claims: Claims | None = None
        self.session: ServerSession | None = None
        self.space: str | None = None
        self.greeted = False
        self.hello: Hello | None = None
        self.closing: Problem | None = None
        self.closed = False
        self.messages: Bucket | None = None
        self.outbox_bytes = 0
        self.on_drained: Callable[[], None] = lambda: None
        self._outbox: deque[bytes] = deque()
        self._on_output = on_output

    def send(self, message: ServerMessage | bytes) -> None:
        """Queue a message, unless the connection is closing."""
        if self.closing is not None or self.closed:
            return
        data = message if isinstance(message, bytes) else encode(message)
        self._outbox.append(data)
        self.outbox_bytes += len(data)
        self._on_output()

    def fail(self, problem: Problem) -> None:
        """Send a last message; after it the transport is to be closed with the problem's code."""
        if self.closing is None and not self.closed:
            if problem.code == "slow-reader":  # it would read what is queued too slowly as well
                self._outbox.clear()
                self.outbox_bytes = 0
            self.send(problem)
            self.closing = problem
            self._on_output()

    def take(self) -> bytes | None:
        """The next message to transmit, or None. Taking tells the server that the reader keeps up."""
        if not self._outbox:
            return None
        data = self._outbox.popleft()
        self.outbox_bytes -= len(data)
        self.on_drained()
        return data

    @property
    def finished(self) -> bool:
        """Whether everything was taken and the transport should now be closed."""
        return self.closed or (self.closing is not None and not self._outbox)

    @property
    def queued(self) -> int:
        """Messages that wait to be taken."""
        return len(self._outbox)


@dataclass(frozen=True, slots=True)
class FiledReport:
    """A breaker report with the document's scope instance resolved, and when it came (wall milliseconds)."""

    report: SessionReport
    instance: str
    at_ms: float


@dataclass(eq=False, slots=True)
class ServerSession:
    """What the server keeps for a session while it is attached, and for a while after.

    ``synced`` is the end of the last window that was queued. ``tracked`` maps every document that its watches
    reach to the sequence that the client has or was sent. ``behind`` holds what a slow reader has missed.
    """

    id: str
    actor: Actor
    commits: Bucket
    connection: Connection | None = None
    detached_ms: float = 0.0
    restored: bool = False
    """Whether the client has said, on this connection, what it watches: until then it gets verdicts, no
    windows.
    """
    synced: Seq = 0
    decided: int = 0
    watches: dict[tuple[Key, bool], Watch] = field(default_factory=dict[tuple[Key, bool], Watch])
    tracked: dict[Key, Seq] = field(default_factory=dict[Key, Seq])
    behind: set[Key] | None = None
    behind_since: float = 0.0
    catching_up: bool = False
    in_flight: int = 0
    key_confirmed: bool = False
    capabilities: tuple[str, ...] = ()
    outcomes: Counter[str] = field(default_factory=Counter[str])
    rate: Rate = field(default_factory=Rate)
    reports: deque[FiledReport] = field(default_factory=deque[FiledReport])
    frames: int = 0

    def key(self, document: Document | Watch) -> Key:
        """The instance of a document that this session means."""
        return Key(self.actor.identity.instance(document.scope), document.id)

    def covers(self, key: Key) -> bool:
        """Whether a watch reaches the document."""
        if (key, False) in self.watches:
            return True
        return any(
            prefix and watched.instance == key.instance and key.id.startswith(watched.id)
            for watched, prefix in self.watches
        )


def scope_of(instance: str) -> Scope:
    """The scope that an instance key belongs to."""
    return Scope(instance.partition(":")[0])
