"""The server without its sockets: connections in, messages out, spaces in between.

Sans-IO: a transport calls ``connect``, ``receive`` and ``disconnect``, takes what a connection has to send,
and runs the batches of spaces that are ``ready``. Time comes from the given clocks; ``tick`` does what is
due.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from quiesce.commits import Commit, PatchDocument, Put, SetDocument
from quiesce.counts import Counts
from quiesce.protocol import (
    VERSION,
    Bye,
    ClientMessage,
    Declare,
    DemandSet,
    Hello,
    Malformed,
    Problem,
    Serve,
    ServeEnd,
    SessionReport,
    WatchAdd,
    WatchSet,
    decode_client,
    too_deep,
)
from quiesce.server.access import AccessDenied, Authenticator
from quiesce.server.batch import CommitJob, DeclareJob, ForgetJob, OpenJob, SeenJob, WatchJob
from quiesce.server.engine import Engine
from quiesce.server.limits import Bucket
from quiesce.server.session import Connection, FiledReport, ServerSession
from quiesce.server.space import Space
from quiesce.server.surroundings import Surroundings

IDLE_SPACE_MS = 60_000.0
"""A space that nobody uses is closed after this long."""

SWEEP_MS = 600_000.0
"""How often long-forgotten sessions are looked for."""


class Hub:
    """All connections and spaces of one server.

    ``open_engine`` opens a space's database by the space's name. ``on_work`` is called when a space has
    become ready.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        authenticator: Authenticator,
        open_engine: Callable[[str], Engine],
        on_work: Callable[[], None] = lambda: None,
    ) -> None:
        self.surroundings = surroundings
        self.spaces: dict[str, Space] = {}
        self.connections: dict[int, Connection] = {}
        self.on_work = on_work
        self.on_unserved: Callable[[str], None] = lambda space: None
        """Told, now and then, of a space that is in use and of which nobody holds the lease."""
        self.on_unused: Callable[[str], None] = lambda space: None
        """Told, now and then, of a space that nobody uses but those who serve it."""
        self.shutting_down = False
        self._authenticator = authenticator
        self._open_engine = open_engine
        self._next_connection = 0
        self._principals: Counter[str] = Counter()
        self._swept_at = surroundings.clock()
        self._log = surroundings.counts.logger("server")

    @property
    def counts(self) -> Counts:
        """The counted log of this server."""
        return self.surroundings.counts

    # -- what the transport calls

    def connect(self, on_output: Callable[[], None] = lambda: None) -> Connection:
        """A transport was opened. It has ``hello_ms`` to say hello."""
        limits = self.surroundings.limits
        self._next_connection += 1
        connection = Connection(self._next_connection, self.surroundings.clock(), on_output)
        if self.shutting_down:
            connection.fail(_closing())
        elif len(self.connections) >= limits.connections:
            self._problem(
                connection,
                Problem(
                    "too-many-connections",
                    f"this server holds {limits.connections} connections and takes no more: come back later",
                    fatal=True,
                    retry_after_ms=5_000,
                ),
            )
        self.connections[connection.id] = connection
        connection.messages = Bucket(limits.messages_per_second, self.surroundings.clock)
        return connection

    def disconnect(self, connection: Connection) -> None:
        """The transport is gone, however it ended."""
        if connection.closed:
            return
        connection.closed = True
        self.connections.pop(connection.id, None)
        if connection.greeted and connection.claims is not None:
            self._principals[connection.claims.principal] -= 1
            if self._principals[connection.claims.principal] <= 0:
                del self._principals[connection.claims.principal]
        session = connection.session
        if session is not None:
            space = self.spaces.get(connection.space or "")
            if space is not None:
                space.detach(connection)
                self.on_work()

    def receive(self, connection: Connection, data: bytes | str) -> None:
        """Bytes of one message arrived."""
        if connection.closing is not None or connection.closed:
            return
        tally, limits = self.surroundings.tally, self.surroundings.limits
        tally.received += 1
        tally.received_bytes += len(data)
        if len(data) > limits.message_bytes:
            self._problem(
                connection,
                Problem(
                    "too-large",
                    f"a message of {len(data)} bytes, and {limits.message_bytes} are allowed: split the commit",
                    fatal=True,
                ),
            )
            return
        try:
            message = decode_client(data)
        except Malformed as malformed:
            self._problem(
                connection, Problem(malformed.code, str(malformed), fatal=malformed.code != "unknown-message")
            )
            # even harmless nonsense is limited
            self._allowed(connection)
            return
        if isinstance(message, Hello):
            self._hello(connection, message)
        elif connection.session is None:
            self._problem(
                connection,
                Problem("malformed", "say hello first, and wait for the welcome before anything else", fatal=True),
            )
        elif self._still_valid(connection):
            self._dispatch(connection, connection.session, message)

    def step(self) -> bool:
        """Run one batch of every space that is ready, here and now. Whether there was any."""
        ready = [space for space in list(self.spaces.values()) if space.ready]
        for space in ready:
            batch = space.take()
            if batch is not None:
                self.surroundings.tally.batches += 1
                space.settle(batch, batch.run())
        return bool(ready)

    def tick(self) -> None:
        """Do what is due now: late hellos, expired tokens and sessions, stalled readers, idle spaces."""
        limits, now = self.surroundings.limits, self.surroundings.clock()
        for connection in list(self.connections.values()):
            if connection.session is not None:
                self._still_valid(connection)
            elif now - connection.opened_ms > limits.hello_ms and not connection.greeted:
                self._problem(
                    connection,
                    Problem(
                        "hello-timeout",
                        f"no hello within {limits.hello_ms:.0f} ms of connecting: say hello at once",
                        fatal=True,
                        retry_after_ms=1_000,
                    ),
                )
        sweep = now - self._swept_at > SWEEP_MS
        if sweep:
            self._swept_at = now
        for space in list(self.spaces.values()):
            space.serving.check()
            for session in list(space.sessions.values()):
                if session.connection is None:
                    if now - session.detached_ms > limits.detached_ms:
                        space.expire(session)
                        self._log.info("session-expired", "a detached session gave up its place", session=session.id)
                elif session.behind is not None and now - session.behind_since > limits.stalled_ms:
                    space.windows.slow_reader(session.connection)
            if sweep:
                space.add(ForgetJob(unseen_since_ms=self.surroundings.wall() - limits.session_retention_ms))
                self.on_work()
            elif not space.sessions and not space.busy and now - space.idle_since > IDLE_SPACE_MS:
                space.close()
                del self.spaces[space.name]
            elif space.sessions and space.serving.lease is None:
                self.on_unserved(space.name)
            elif space.sessions and not space.in_use and now - space.idle_since > IDLE_SPACE_MS:
                self.on_unused(space.name)

    def shut_down(self) -> None:
        """Tell every client that the server stops; what was received is still decided by the next steps."""
        self.shutting_down = True
        for connection in list(self.connections.values()):
            connection.fail(_closing())

    def close(self) -> None:
        """Release every database."""
        for space in self.spaces.values():
            space.close()
        self.spaces.clear()

    # -- messages

    def _hello(self, connection: Connection, hello: Hello) -> None:
        limits = self.surroundings.limits
        if connection.greeted:
            if hello == connection.hello:
                return  # delivered twice
            self._problem(connection, Problem("malformed", "a connection says hello once", fatal=True))
            return
        if hello.version != VERSION:
            self._problem(
                connection,
                Problem(
                    "malformed",
                    f"protocol version {hello.version} is not spoken here, only {VERSION}: use a matching client",
                    fatal=True,
                ),
            )
            return
        try:
            claims = self._authenticator.claims(hello.token)
            grant = claims.grant(hello.space)
        except AccessDenied as denied:
            self._problem(connection, Problem(denied.code, str(denied), fatal=True))
            return
        if hello.acting is not None and not grant.serve:
            message = "this token may not act for others: ask for one made with --serve"
            self._problem(connection, Problem("forbidden", message, fatal=True))
            return
        if not 0 < len(hello.space) <= 100:
            self._problem(connection, Problem("malformed", "a space's name has 1 to 100 characters", fatal=True))
            return
        if self._principals[claims.principal] >= limits.connections_per_principal:
            self._problem(
                connection,
                Problem(
                    "too-many-connections",
                    f"this principal holds {limits.connections_per_principal} connections: close some",
                    fatal=True,
                    retry_after_ms=5_000,
                ),
            )
            return
        space = self.spaces.get(hello.space)
        if space is None:
            if len(self.spaces) >= limits.spaces:
                self._problem(
                    connection,
                    Problem(
                        "too-many-connections",
                        f"this server has {limits.spaces} spaces open: come back later",
                        fatal=True,
                        retry_after_ms=5_000,
                    ),
                )
                return
            name = hello.space
            space = Space(name, lambda: self._open_engine(name), self.surroundings)
            self.spaces[name] = space
        refused = space.serving.refusal(hello.acting) if hello.acting is not None else None
        if refused is not None:
            self._problem(connection, refused)
            return
        connection.greeted = True
        connection.hello = hello
        connection.space = hello.space
        connection.claims = claims
        self._principals[claims.principal] += 1
        connection.on_drained = lambda: self._drained(space, connection)
        space.add(OpenJob(connection, hello, claims, grant))
        if space.serving.lease is None:
            self.on_unserved(space.name)
        self.on_work()

    def _drained(self, space: Space, connection: Connection) -> None:
        if space.drained(connection):
            self.on_work()

    def _dispatch(self, connection: Connection, session: ServerSession, message: ClientMessage) -> None:
        space = self.spaces.get(connection.space or "")
        if space is None:
            return
        if not session.key_confirmed:
            session.key_confirmed = True
            space.add(SeenJob(session.id, confirmed=True))
        if session.actor.holder:
            space.serving.check()  # its lease may have ended, and it with the lease
            if connection.closing is not None:
                return
        if isinstance(message, Commit):
            if self._commit_allowed(connection, session, message):
                session.in_flight += 1
                space.add(CommitJob(session, connection, message))
        elif not self._allowed(connection):
            return
        elif isinstance(message, WatchSet | WatchAdd):
            self._watch(connection, session, space, message)
        elif isinstance(message, SessionReport):
            self._report(session, message)
        elif isinstance(message, Declare):
            self._declare(connection, space, message)
        elif isinstance(message, Serve | ServeEnd | DemandSet):
            self._serving(connection, session, space, message)
        elif isinstance(message, Bye):
            space.expire(session)
            session.connection = None
            connection.session = None
            space.add(ForgetJob(session))
            connection.fail(Problem("bye", "goodbye: the session is over and forgotten", fatal=True))
        self.on_work()

    def _commit_allowed(self, connection: Connection, session: ServerSession, commit: Commit) -> bool:
        limits = self.surroundings.limits
        if session.in_flight >= limits.in_flight:
            self._limited(connection, f"more than {limits.in_flight} commits wait for a verdict", 100.0)
            return False
        wait = session.commits.take()
        if wait > 0:
            self._limited(connection, f"more than {limits.commits_per_second:.0f} commits a second", max(wait, 100.0))
            return False
        edits = sum(len(op.edits) for op in commit.operations if isinstance(op, PatchDocument))
        layers = sum(len(read.layers) for read in commit.pending)
        for count, limit, what in (
            (
                len(commit.operations) + len(commit.preconditions),
                limits.operations,
                "operations and preconditions",
            ),
            (len(commit.reads) + len(commit.pending) + layers, limits.reads, "reads and layers"),
            (edits, limits.edits, "edits"),
        ):
            if count > limit:
                self._problem(
                    connection,
                    Problem(
                        "too-large",
                        f"a commit of {count} {what}, and {limit} are allowed: split it",
                        fatal=True,
                    ),
                )
                return False
        if any(_deep(operation) for operation in commit.operations):
            self._problem(
                connection,
                Problem("too-large", "a value nests more than 64 containers: split it into documents", fatal=True),
            )
            return False
        return True

    def _watch(
        self, connection: Connection, session: ServerSession, space: Space, message: WatchSet | WatchAdd
    ) -> None:
        limits = self.surroundings.limits
        replace = isinstance(message, WatchSet)
        count = len(message.watches) + (0 if replace else len(session.watches))
        if count > limits.watches or len(message.have) > limits.tracked:
            problem = Problem(
                "too-many-watches",
                f"{count} watches and {len(message.have)} known documents, and {limits.watches} and "
                f"{limits.tracked} "
                "are allowed: watch by prefix",
                request=message.request,
            )
            self._problem(connection, problem)
            return
        scopes = {item.scope for item in (*message.watches, *message.have)}
        refused = sorted(scope.value for scope in scopes if not session.actor.may_read(scope))
        if refused:
            self._problem(
                connection,
                Problem(
                    "forbidden",
                    f"this session may not read scope {', '.join(refused)}",
                    request=message.request,
                ),
            )
            return
        space.add(WatchJob(session, connection, message.request, message.watches, message.have, replace))

    def _declare(self, connection: Connection, space: Space, message: Declare) -> None:
        declared, limit = message.certificate, self.surroundings.limits.surface_places
        names = (declared.action, declared.implementation, declared.runtime)
        places = (*declared.reads, *declared.writes)
        if len(places) > limit or any(len(name) > 500 for name in (*names, *(place.id for place in places))):
            text = f"a declared surface has at most {limit} places and names of at most 500 characters: declare less"
            self._problem(connection, Problem("surface-too-large", text))
            return
        space.add(DeclareJob(declared))

    def _serving(
        self, connection: Connection, session: ServerSession, space: Space, message: Serve | ServeEnd | DemandSet
    ) -> None:
        if isinstance(message, ServeEnd):
            space.serving.release(session)
            return
        limit, hello = self.surroundings.limits.demands, connection.hello
        if len(message.actions) > limit or any(len(action) > 500 for action in message.actions):
            text = f"more than {limit} derivations, or a name of more than 500 characters: name fewer, or shorter"
            self._problem(connection, Problem("too-many-derivations", text))
        elif session.actor.holder:
            text = "a session that acts for others neither serves nor demands: use one of your own"
            self._problem(connection, Problem("forbidden", text))
        elif isinstance(message, DemandSet):
            space.serving.demand(session, message.actions)
        elif connection.claims is None or hello is None or not connection.claims.grant(hello.space).serve:
            text = "this token may not serve derivations: ask for one made with --serve"
            self._problem(connection, Problem("forbidden", text, fatal=True))
        else:
            space.serving.serve(session, message, space.seq)

    def _report(self, session: ServerSession, report: SessionReport) -> None:
        if not session.actor.may_read(report.document.scope):
            return  # best effort: nothing is filed, nothing is answered
        key = session.key(report.document)
        if len(report.action) > 500 or len(key.id) > 500:
            return
        self.surroundings.tally.breaker_reports[report.event] += 1
        session.reports.append(FiledReport(report, key.instance, self.surroundings.wall()))
        while len(session.reports) > self.surroundings.limits.reports:
            session.reports.popleft()

    # -- checks

    def _still_valid(self, connection: Connection) -> bool:
        claims = connection.claims
        if claims is None or claims.expires_ms is None or claims.expires_ms > self.surroundings.wall():
            return True
        self._problem(
            connection,
            Problem("token-expired", "the token has expired: connect again with a new one and resume", fatal=True),
        )
        return False

    def _allowed(self, connection: Connection) -> bool:
        wait = connection.messages.take() if connection.messages is not None else 0.0
        if wait > 0:
            limit = self.surroundings.limits.messages_per_second
            self._limited(connection, f"more than {limit:.0f} messages a second besides commits", max(wait, 100.0))
        return wait <= 0

    def _limited(self, connection: Connection, what: str, retry_after_ms: float) -> None:
        self._problem(
            connection,
            Problem(
                "rate-limited",
                f"{what}: wait, reconnect and replay what has no verdict",
                fatal=True,
                retry_after_ms=retry_after_ms,
            ),
        )

    def _problem(self, connection: Connection, problem: Problem) -> None:
        self.surroundings.tally.problems[problem.code] += 1
        self._log.info(f"problem-{problem.code}", problem.message, connection=connection.id)
        if problem.fatal:
            connection.fail(problem)
        else:
            connection.send(problem)


def _closing() -> Problem:
    return Problem("shutting-down", "the server stops: reconnect and replay", fatal=True, retry_after_ms=1_000)


def _deep(operation: object) -> bool:
    if isinstance(operation, SetDocument):
        return too_deep(operation.value)
    if isinstance(operation, PatchDocument):
        # the path adds to the depth of what it leads to
        return any(
            len(edit.path) > 64 or (isinstance(edit, Put) and too_deep(edit.value, 64 - len(edit.path)))
            for edit in operation.edits
        )
    return False
