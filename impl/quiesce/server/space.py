"""One space: its jobs in batches over one engine, and the windows that tell every session what changed.

A batch is one durable transaction. ``take`` collects it, ``Batch.run`` touches only the engine (and may run
on a thread of its own), ``settle`` sends what follows. Under load a batch grows while the last one syncs, so
the number of syncs does not grow with the number of commits. Verdicts and the window that covers them are
queued in one go, after the batch is durable: a window is an atomic cut of the space at ``to_seq``, and a
verdict never follows it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

from quiesce.address import Identity
from quiesce.commits import Outcome, Seq
from quiesce.protocol import CAPABILITIES, Problem, Welcome
from quiesce.server.access import Actor
from quiesce.server.batch import Batch, CommitJob, ForgetJob, Job, Opened, OpenJob, Results, SeenJob, WatchJob
from quiesce.server.decide import Decision, Written
from quiesce.server.engine import Engine, Key
from quiesce.server.limits import Bucket
from quiesce.server.serving import Serving
from quiesce.server.session import Connection, ServerSession, scope_of
from quiesce.server.surroundings import Surroundings
from quiesce.server.windows import RESTORING_MS, Frames, Soles, Windows


class Space:
    """A space's jobs, sessions and windows. Not thread-safe; only ``Batch.run`` may run elsewhere
    meanwhile.
    """

    MAX_BATCH = 512

    def __init__(self, name: str, open_engine: Callable[[], Engine], surroundings: Surroundings) -> None:
        self.name = name
        self.surroundings = surroundings
        self.sessions: dict[str, ServerSession] = {}
        self.seq: Seq = 0
        self.failures = 0
        self.idle_since = surroundings.clock()
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self.certificates = (0, 0)
        """Declared surfaces, and how many of them were exceeded and are over."""
        self._jobs: deque[Job] = deque()
        self._running = False
        self.windows = Windows(surroundings)
        self.serving = Serving(surroundings, lambda: self.sessions.values())
        self._log = surroundings.counts.logger("server")

    # -- jobs

    def add(self, job: Job) -> None:
        """Queue a job for the next batch."""
        self._jobs.append(job)

    @property
    def queued(self) -> int:
        """Jobs that wait."""
        return len(self._jobs)

    @property
    def ready(self) -> bool:
        """Whether there is a batch to take."""
        return bool(self._jobs) and not self._running

    @property
    def busy(self) -> bool:
        """Whether a batch is running or jobs wait."""
        return self._running or bool(self._jobs)

    def holds(self, session: str) -> bool:
        """Whether a session is attached, or keeps its place."""
        return session in self.sessions

    @property
    def in_use(self) -> bool:
        """Whether anybody but those who serve it is here."""
        return any(session not in self.serving for session in self.sessions.values())

    def opened_engine(self) -> Engine:
        """The engine, opened now if it was not. Raises ``StorageFailed``."""
        if self._engine is None:
            self._engine = self._open_engine()
        return self._engine

    def close(self) -> None:
        """Release the database."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def take(self) -> Batch | None:
        """The next batch; until it is settled there is no other."""
        if not self.ready:
            return None
        batch = Batch(self.opened_engine, self.holds, self.surroundings, [], [], [], [])
        commits_of: set[ServerSession] = set()
        while self._jobs and len(batch.commits) < self.MAX_BATCH:
            job = self._jobs[0]
            if isinstance(job, CommitJob):
                batch.commits.append(job)
                commits_of.add(job.session)
            elif isinstance(job, OpenJob):
                batch.opens.append(job)
            elif isinstance(job, WatchJob):
                if job.request is None:  # a catch-up sees what is missing now
                    job = WatchJob(
                        job.session, job.connection, None, behind=frozenset(job.session.behind or frozenset())
                    )
                elif job.session.behind:
                    job = WatchJob(
                        job.session,
                        job.connection,
                        job.request,
                        job.watches,
                        job.have,
                        job.replace,
                        frozenset(job.session.behind),
                    )
                batch.watches.append(job)
            elif isinstance(job, ForgetJob) and job.session is not None and job.session in commits_of:
                break  # a goodbye comes after the commits before it
            else:
                batch.others.append(job)
            self._jobs.popleft()
        self._running = True
        return batch

    # -- what follows from a batch

    def settle(self, batch: Batch, results: Results) -> None:
        """Send verdicts and windows for a batch that ran."""
        self._running = False
        self.idle_since = self.surroundings.clock()
        if results.failure is not None:
            self._fail(batch, results.failure)
            return
        self.seq = results.seq
        if results.certificates is not None:
            self.certificates = results.certificates
        for job, opened in zip(batch.opens, results.opened, strict=True):
            self._attach(job, opened)
        frames = Frames(results.heads, results.seq)
        owed: dict[ServerSession, set[Key]] = {}
        written: defaultdict[Key, list[tuple[ServerSession, Written]]] = defaultdict(list)
        for job, decision in zip(batch.commits, results.decided, strict=True):
            self._answer(job, decision, owed, written)
        soles: Soles = {}
        for key, writes in written.items():
            first_writer, first = writes[0]
            if all(writer is first_writer for writer, _ in writes):
                soles[key] = (first_writer, first)
            for session in self.windows.interested(key):
                owed.setdefault(session, set()).add(key)
        for job, reached in zip(batch.watches, results.reached, strict=True):
            self.windows.answer(job, reached, owed.get(job.session), soles, frames)
            if job.session.restored:
                owed.pop(job.session, None)
        for seat in self.serving.seats:  # told of every step, so that what they know can be compared
            if seat.restored and seat.synced < results.seq:
                owed.setdefault(seat, set())
        for session, keys in owed.items():
            self.windows.tell(session, keys, soles, frames)
        self.serving.moved(results.seq)

    def _attach(self, job: OpenJob, opened: Opened) -> None:
        connection = job.connection
        if opened.problem is not None:
            connection.fail(opened.problem)
            return
        session = self.sessions.get(opened.id)
        own, acting = Identity(job.claims.principal, opened.id), job.hello.acting
        actor = Actor(own, job.grant)
        if acting is not None:
            refused = self.serving.refusal(acting)
            if refused is not None:  # it was not when it said hello
                connection.fail(refused)
                return
            actor = self.serving.actor(own, acting, job.grant)
        if session is None:
            session = ServerSession(
                opened.id, actor, Bucket(self.surroundings.limits.commits_per_second, self.surroundings.clock)
            )
            session.decided = opened.decided
            self.sessions[opened.id] = session
        else:
            if session.connection is not None:
                session.connection.session = None
                session.connection.fail(
                    Problem("session-revoked", "this session was resumed by a newer connection", fatal=True)
                )
            self.windows.drop_watches(session)
            session.actor = actor
        if acting is not None:
            self.serving.seat(session)
        session.key_confirmed = not opened.resumed
        session.restored = False
        session.capabilities = job.hello.capabilities
        session.connection = connection
        connection.session = session
        if connection.closed:
            self.detach(connection)
            return
        connection.send(
            Welcome(
                opened.id,
                opened.key,
                job.claims.principal,
                self.seq,
                opened.decided,
                opened.resumed,
                CAPABILITIES,
                self.serving.served,
                actor.holder,
            )
        )

    def _answer(
        self,
        job: CommitJob,
        decision: Decision | Problem,
        owed: dict[ServerSession, set[Key]],
        written: defaultdict[Key, list[tuple[ServerSession, Written]]],
    ) -> None:
        session = job.session
        session.in_flight -= 1
        if isinstance(decision, Problem):
            job.connection.fail(decision)
            return
        verdict = decision.verdict
        self.surroundings.tally.verdict(verdict.outcome, replayed=decision.replayed)
        if session.connection is job.connection:
            job.connection.send(verdict)
        if not decision.replayed:
            session.outcomes[verdict.outcome] += 1
            session.rate.mark(self.surroundings.clock())
        session.decided = max(session.decided, verdict.local_seq)
        keys = owed.setdefault(session, set())
        for write in decision.writes:
            written[write.key].append((session, write))
            if session.actor.may_read(scope_of(write.key.instance)):
                keys.add(write.key)
        if verdict.outcome is Outcome.CONFLICT:
            keys.update(session.key(document) for document in verdict.documents)

    def drained(self, connection: Connection) -> bool:
        """A reader took something: whether it may now be told what it missed (a job was queued)."""
        session = connection.session
        if session is None or session.behind is None or session.catching_up:
            return False
        if connection.outbox_bytes > self.surroundings.limits.outbox_soft_bytes // 4:
            return False
        session.catching_up = True
        self.add(WatchJob(session, connection, None))
        return True

    # -- ends

    def detach(self, connection: Connection) -> None:
        """A connection ended: its session keeps its place for a while."""
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None
            session.restored = False
            session.detached_ms = self.surroundings.clock()
            session.behind = None
            session.catching_up = False
            self.add(SeenJob(session.id, confirmed=False))

    def expire(self, session: ServerSession) -> None:
        """Free what a session holds in memory."""
        self.windows.drop_watches(session)
        self.sessions.pop(session.id, None)
        self.serving.forget(session)

    def _fail(self, batch: Batch, failure: str) -> None:
        """Storage failed: nothing is acknowledged. Close it, send everybody away, and let recovery decide."""
        self.failures += 1
        self._log.error("storage-failed", failure, space=self.name)
        self.close()
        problem = Problem(
            "storage-failed",
            "the server could not store this: nothing is lost that was acknowledged; reconnect and replay",
            fatal=True,
            retry_after_ms=RESTORING_MS,
        )
        for open_job in batch.opens:
            open_job.connection.fail(problem)
        for job in (*batch.commits, *(job for job in self._jobs if isinstance(job, CommitJob))):
            job.session.in_flight -= 1
        for job in self._jobs:
            if isinstance(job, OpenJob):
                job.connection.fail(problem)
        for session in list(self.sessions.values()):
            if session.connection is not None:
                session.connection.fail(problem)
                self.detach(session.connection)
            self.expire(session)
        self._jobs.clear()
