"""A session with a server, without its socket: connects, replays, watches, and survives lost connections.

Sans-IO. A transport calls ``connected``, ``receive`` and ``disconnected``, and sends what ``take`` gives it.
When it may connect again, and after how long, is in ``reconnect_after_ms``.

After a reconnect the order is: hello, the unsettled commits again, then the whole watch set with what is
really here. The answer to that is one window, which covers all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from quiesce.address import Identity
from quiesce.commits import Certificate, Document, Verdict
from quiesce.counts import Counts
from quiesce.protocol import (
    CAPABILITIES,
    Acting,
    Bye,
    ClientMessage,
    Declare,
    Demanded,
    DemandSet,
    Hello,
    Lease,
    Malformed,
    Moved,
    Problem,
    Resume,
    Serve,
    Served,
    ServeEnd,
    SessionReport,
    Watch,
    WatchAdd,
    WatchSet,
    Welcome,
    Window,
    decode_server,
    encode,
)
from quiesce.storage.replica import Layer, Replica

IN_FLIGHT = 128
"""How many commits are sent and undecided at a time; the rest wait here, in order."""


class Phase(StrEnum):
    """Where the session stands."""

    AWAY = "away"
    """No connection."""
    GREETING = "greeting"
    """Hello was sent."""
    RESTORING = "restoring"
    """Welcomed; the answer to the watch set is awaited."""
    LIVE = "live"
    """Windows keep the replica current."""
    ENDED = "ended"
    """Over: ``problem`` says why, and reconnecting unchanged will not help."""


@dataclass(eq=False)
class WatchHandle:
    """A watch request: ``ready`` when the replica holds what it reaches, or refused with ``problem``."""

    watches: tuple[Watch, ...]
    ready: bool = False
    problem: Problem | None = None
    _listeners: list[Callable[[WatchHandle], None]] = field(default_factory=list["Callable[[WatchHandle], None]"])

    def on_ready(self, listener: Callable[[WatchHandle], None]) -> None:
        """Call ``listener`` when it is answered; at once if it has been."""
        if self.ready or self.problem is not None:
            listener(self)
        else:
            self._listeners.append(listener)

    def answer(self, problem: Problem | None = None) -> None:
        """For the client: it was answered. The first answer counts."""
        if self.ready or self.problem is not None:
            return
        self.ready, self.problem = problem is None, problem
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(self)


class Client:
    """One session in one space. ``token`` is asked for at every connect, so that it may be renewed.

    ``acting``: a session that acts for a scope instance, which a serving runtime opens. ``replica`` makes another kind
    of replica.
    """

    def __init__(
        self,
        space: str,
        token: Callable[[], str],
        counts: Counts,
        on_output: Callable[[], None] | None = None,
        *,
        acting: Acting | None = None,
        replica: Callable[[str, Callable[[Layer], None]], Replica] = Replica,
    ):
        self.space = space
        self.phase = Phase.AWAY
        self.problem: Problem | None = None
        self.reconnect_after_ms: float | None = 0.0
        """Milliseconds to wait before the next connect; None when it would not help."""
        self.server_capabilities: frozenset[str] = frozenset()
        self.served: frozenset[str] = frozenset()
        """Derivations that a serving runtime runs now, by the ids of their documents; nobody else is to run them."""
        self.on_served: Callable[[], None] = lambda: None
        self.on_serving: Callable[[Lease | Demanded | Moved], None] = lambda message: None
        """Told what only a serving runtime hears."""
        self.on_welcome: Callable[[], None] = lambda: None
        self.on_received: Callable[[], None] = lambda: None
        """Called after each message, whatever it was."""
        self.replica = replica(space, self._queue)
        self.on_output = on_output or (lambda: None)
        self._token = token
        self._acting = acting
        self.demands: Callable[[], tuple[str, ...]] = lambda: ()
        """What this session needs of what is served; asked when it is to be said."""
        self._declared: dict[str, Certificate] = {}
        self._demands_told: tuple[str, ...] | None = ()
        self._log = counts.logger("client")
        self._used = ""
        self._expired: tuple[str, Problem] | None = None
        self._resume: Resume | None = None
        self._outbox: deque[bytes] = deque()
        self._waiting: deque[Layer] = deque()
        self._undecided: set[int] = set()
        self._watches: dict[Watch, None] = {}
        self._requests: dict[int, list[WatchHandle]] = {}
        self._handles: list[WatchHandle] = []
        self._next_request = 0
        self._broken = False

    # -- for those who use it

    def watch(self, *watches: Watch) -> WatchHandle:
        """Keep these documents current. Before the connection stands, the wish is kept until it does."""
        handle = WatchHandle(watches)
        self._watches.update(dict.fromkeys(watches))
        if self.phase is Phase.LIVE:
            request = self._request([handle])
            self._send(WatchAdd(request, watches))
        else:
            self._handles.append(handle)
        return handle

    def unwatch(self, *watches: Watch) -> WatchHandle:
        """Stop following these; documents that no other watch reaches leave the replica."""
        handle = WatchHandle(watches)
        for watch in watches:
            self._watches.pop(watch, None)
        if self.phase is Phase.LIVE:
            request = self._request([handle])
            self._send(WatchSet(request, tuple(self._watches)))
        else:
            self._handles.append(handle)
        return handle

    def report(
        self,
        event: Literal["trip", "clear"],
        action: str,
        document: Document,
        reason: Literal["", "convergence", "quiet", "retired", "evicted"] = "",
        renewals: int = 0,
        held_ms: float = 0.0,
    ) -> bool:
        """Tell the server of a breaker's trip or clear. Best effort: whether it was sent at all."""
        if self.phase not in (Phase.LIVE, Phase.RESTORING) or "sessionReportV1" not in self.server_capabilities:
            return False
        self._send(SessionReport(event, action, document, reason, renewals, held_ms))
        return True

    def declare(self, certificate: Certificate) -> str:
        """Tell the server all that an action touches; said again after every reconnect. The name for its commits."""
        if certificate.name not in self._declared:
            self._declared[certificate.name] = certificate
            if self.phase in (Phase.LIVE, Phase.RESTORING):
                self._declare(certificate)
        return certificate.name

    def _declare(self, certificate: Certificate) -> None:
        if "surfaceCheckV1" in self.server_capabilities:
            self._send(Declare(certificate))

    def demands_changed(self) -> None:
        """``demands`` may answer otherwise now: say so with the next message, and again after every reconnect."""
        self._demands_told = None
        self.on_output()

    def serve(self, actions: tuple[str, ...], resting: int | None = None) -> bool:
        """Ask for the space's lease, or renew it. Whether it was sent."""
        if not self._can_serve():
            return False
        self._send(Serve(actions, resting))
        return True

    def serve_end(self) -> None:
        """Give up the lease, or the wait for it."""
        if self._can_serve():
            self._send(ServeEnd())

    def _can_serve(self) -> bool:
        return self.phase in (Phase.LIVE, Phase.RESTORING) and "servingV1" in self.server_capabilities

    def close(self) -> None:
        """End the session for good, if connected; the server may forget it."""
        if self.phase in (Phase.LIVE, Phase.RESTORING):
            self._send(Bye())
        self._end(Problem("bye", "closed by its owner", fatal=True))

    @property
    def ended(self) -> bool:
        """Whether the session is over for good."""
        return self.phase is Phase.ENDED

    @property
    def unsettled(self) -> int:
        """Commits whose outcome the replica does not show yet."""
        return len(self.replica.layers)

    # -- what the transport calls

    def connected(self) -> None:
        """A transport stands: say hello."""
        if self.phase is Phase.ENDED:
            return
        self._used = self._token()
        if self._expired is not None and self._expired[0] == self._used:
            self._end(self._expired[1])  # the same token would be refused again
            return
        self.phase = Phase.GREETING
        self.reconnect_after_ms = 0.0
        self._broken = False
        self._outbox.clear()
        hello = Hello(self.space, self._used, resume=self._resume, capabilities=CAPABILITIES, acting=self._acting)
        self._send(hello)

    def disconnected(self) -> None:
        """The transport is gone. What was in flight may or may not have arrived."""
        if self.phase is Phase.ENDED:
            return
        self.phase = Phase.AWAY
        self._outbox.clear()
        self._waiting.clear()
        self._undecided.clear()
        for handles in self._requests.values():
            self._handles.extend(handle for handle in handles if not handle.ready)
        self._requests.clear()

    def take(self) -> bytes | None:
        """The next message to transmit, or None."""
        if not self._outbox and self._demands_told is None and self._can_serve():
            self._demands_told = self.demands()
            self._outbox.append(encode(DemandSet(self._demands_told)))
        return self._outbox.popleft() if self._outbox else None

    @property
    def wants_to_disconnect(self) -> bool:
        """Whether the transport should be closed now."""
        return self._broken or (self.phase is Phase.ENDED and not self._outbox)

    def receive(self, data: bytes | str) -> None:
        """One message arrived on the present connection."""
        self._receive(data)
        self.on_received()

    def _receive(self, data: bytes | str) -> None:
        if self._broken or self.phase in (Phase.AWAY, Phase.ENDED):
            return
        try:
            message = decode_server(data)
        except Malformed as malformed:
            if malformed.code == "unknown-message":  # a newer server's; capabilities keep it harmless
                self._log.info("unknown-message", str(malformed))
                return
            self._break("malformed-from-server", str(malformed))
            return
        if isinstance(message, Welcome):
            self._welcome(message)
        elif isinstance(message, Problem):
            self._trouble(message)
        elif self.phase is Phase.GREETING:
            self._break("early-message", "the server spoke before its welcome")
        elif isinstance(message, Verdict):
            self._verdict(message)
        elif isinstance(message, Window):
            self._window(message)
        elif isinstance(message, Served):
            self._now_served(message.actions)
        else:
            self.on_serving(message)

    # -- messages

    def _welcome(self, welcome: Welcome) -> None:
        if self.phase is not Phase.GREETING:
            return  # a duplicate
        if welcome.seq < self.replica.synced:
            self._end(
                Problem(
                    "space-went-back",
                    f"the server is at {welcome.seq} and this replica at {self.replica.synced}: the space "
                    "was restored "
                    "from an older state; start a fresh session",
                    fatal=True,
                )
            )
            return
        self.phase = Phase.RESTORING
        self._resume = Resume(welcome.session, welcome.key)
        self.server_capabilities = frozenset(welcome.capabilities)
        self.replica.holder = welcome.holder
        self.replica.welcome(self._identity(welcome), welcome.decided, welcome.session)
        for certificate in self._declared.values():
            self._declare(certificate)
        for layer in self.replica.layers:
            if layer.verdict is None:
                self._queue(layer)
        handles, self._handles = self._handles, []
        request = self._request(handles)
        self._send(WatchSet(request, tuple(self._watches), self.replica.have()))
        if self._demands_told:
            self._demands_told = None  # the server may have forgotten
        self._now_served(welcome.served)
        self.on_welcome()

    def _identity(self, welcome: Welcome) -> Identity:
        if self._acting is None:
            return Identity(welcome.principal, welcome.session)
        return Identity(self._acting.principal or "", self._acting.session or "")

    def _now_served(self, actions: tuple[str, ...]) -> None:
        if self.served != frozenset(actions):
            self.served = frozenset(actions)
            self.on_served()

    def _verdict(self, verdict: Verdict) -> None:
        self._undecided.discard(verdict.local_seq)
        self.replica.judge(verdict)
        self._fill()

    def _window(self, window: Window) -> None:
        if window.answer is not None:
            handles = self._requests.pop(window.answer, None)
            if handles is None:
                return  # a duplicate
            if self.phase is Phase.RESTORING:
                self.phase = Phase.LIVE
                self.replica.apply(window)
                later, self._handles = self._handles, []
                if later:
                    self._send(WatchAdd(self._request(later), tuple(self._watches)))
            elif not self._in_sequence(window):
                return
            else:
                self.replica.apply(window)
            for handle in handles:
                handle.answer()
        elif self._in_sequence(window):
            self.replica.apply(window)

    def _in_sequence(self, window: Window) -> bool:
        """Windows tile the sequence: one that was had before is ignored, a gap means that one was lost."""
        if window.from_seq == self.replica.synced:
            return True
        if window.to_seq > self.replica.synced:
            self._break(
                "window-gap",
                f"a window starts at {window.from_seq}, and this replica is at {self.replica.synced}",
            )
        return False

    def _trouble(self, problem: Problem) -> None:
        self._log.warn(f"problem-{problem.code}", problem.message)
        if problem.request is not None:
            for handle in self._requests.pop(problem.request, []):
                for watch in handle.watches:
                    self._watches.pop(watch, None)
                handle.answer(problem)
        if not problem.fatal:
            return
        if problem.code == "session-unknown":
            # Its commits' fate cannot be known any more. What is confirmed stays good.
            self._resume = None
            self.replica.lose()
            self._break("session-lost", problem.message)
        elif problem.retry_after_ms is not None:
            self._break("sent-away", problem.message)
            self.reconnect_after_ms = problem.retry_after_ms
        elif problem.code == "token-expired":
            self._expired = (self._used, problem)
            self._break("token-expired", problem.message)
        else:
            self._end(problem)

    # -- inside

    def _queue(self, layer: Layer) -> None:
        if self.phase in (Phase.LIVE, Phase.RESTORING):
            self._waiting.append(layer)
            self._fill()

    def _fill(self) -> None:
        while self._waiting and len(self._undecided) < IN_FLIGHT:
            layer = self._waiting.popleft()
            if layer.doomed:
                continue
            self._undecided.add(layer.local_seq)
            self._send(layer.commit)

    def _request(self, handles: list[WatchHandle]) -> int:
        self._next_request += 1
        self._requests[self._next_request] = handles
        return self._next_request

    def _send(self, message: ClientMessage) -> None:
        self._outbox.append(encode(message))
        self.on_output()

    def _break(self, event: str, message: str) -> None:
        self._log.warn(event, message)
        self._broken = True
        self.reconnect_after_ms = 0.0
        self.on_output()

    def _end(self, problem: Problem) -> None:
        if self.phase is Phase.ENDED:
            return
        self.phase = Phase.ENDED
        self.problem = problem
        self.reconnect_after_ms = None
        for handles in (*self._requests.values(), self._handles):
            for handle in handles:
                handle.answer(problem)
        self._requests.clear()
        self.replica.lose()
        self.on_output()
