"""One space: its jobs in batches over one engine, and the windows that tell every session what changed.

A batch is one durable transaction. ``take`` collects it, ``Batch.run`` touches only the engine (and may run
on a thread of its own), ``settle`` sends what follows. Under load a batch grows while the last one syncs, so
the number of syncs does not grow with the number of commits. Verdicts and the window that covers them are
queued in one go, after the batch is durable: a window is an atomic cut of the space at ``to_seq``, and a
verdict never follows it.
"""

from __future__ import annotations

import hmac
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias, cast

import msgspec

from quiesce.address import Identity, Scope
from quiesce.clock import Clock
from quiesce.commits import Commit, Document, Outcome, Seq
from quiesce.counts import Counts
from quiesce.protocol import (
    CAPABILITIES,
    Have,
    Hello,
    Problem,
    Upsert,
    Watch,
    Welcome,
    Window,
    encode,
)
from quiesce.server.access import Actor, Claims, Grant
from quiesce.server.decide import Decision, ReplayDiffers, Written, decide
from quiesce.server.engine import Engine, Head, Key, StorageFailed, StoredSession
from quiesce.server.limits import Bucket, Limits
from quiesce.server.session import Connection, ServerSession, scope_of
from quiesce.server.tally import Tally

RESTORING_MS = 1_000.0
"""What a client is told to wait before it reconnects to a space whose storage failed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server is given: nothing in it is reached for."""

    limits: Limits
    clock: Clock
    wall: Clock
    random: Callable[[int], str]
    counts: Counts
    tally: Tally


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A hello whose token was accepted."""

    connection: Connection
    hello: Hello
    claims: Claims
    grant: Grant


@dataclass(frozen=True, slots=True)
class CommitJob:
    """A commit that arrived, and the connection that brought it."""

    session: ServerSession
    connection: Connection
    commit: Commit


@dataclass(frozen=True, slots=True)
class WatchJob:
    """A watch request; None as ``request`` is a slow reader's catch-up."""

    session: ServerSession
    connection: Connection
    request: int | None
    watches: tuple[Watch, ...] = ()
    have: tuple[Have, ...] = ()
    replace: bool = False
    behind: frozenset[Key] = frozenset()


@dataclass(frozen=True, slots=True)
class SeenJob:
    """The session was here. ``confirmed``: its client has the newest key, so that the one before is
    worthless.
    """

    session: str
    confirmed: bool


@dataclass(frozen=True, slots=True)
class ForgetJob:
    """A session that said goodbye, or all that were not seen since a time."""

    session: ServerSession | None = None
    unseen_since_ms: float | None = None


Soles: TypeAlias = "dict[Key, tuple[ServerSession, Written]]"
"""Documents that one session alone wrote in a batch, with its first write: what it may be spared."""

Job: TypeAlias = OpenJob | CommitJob | WatchJob | SeenJob | ForgetJob


@dataclass(frozen=True, slots=True)
class Opened:
    """A session made or resumed, or the problem that prevents it."""

    id: str
    key: str
    decided: int
    resumed: bool
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The documents that a watch request reaches, with their heads."""

    watched: dict[Key, Head]
    too_many: bool = False


@dataclass
class Results:
    """What a batch did. ``failure`` set: nothing of it is known to be durable."""

    seq: Seq = 0
    opened: list[Opened] = field(default_factory=list[Opened])
    decided: list[Decision | Problem] = field(default_factory=list["Decision | Problem"])
    reached: list[Reached] = field(default_factory=list[Reached])
    heads: dict[Key, Head] = field(default_factory=dict[Key, Head])
    failure: str | None = None


@dataclass
class Batch:
    """Jobs of one durable transaction: sessions first, then commits as they came, then what watches see of
    them.
    """

    space: Space
    opens: list[OpenJob]
    commits: list[CommitJob]
    watches: list[WatchJob]
    others: list[SeenJob | ForgetJob]

    def run(self) -> Results:
        """Do it. Touches the engine only; never raises for a failing database."""
        results = Results()
        try:
            engine = self.space.opened_engine()
            engine.begin()
            self._run(engine, results)
            engine.commit()
            results.seq = engine.sequence
        except StorageFailed as failed:
            results.failure = str(failed)
        return results

    def _run(self, engine: Engine, results: Results) -> None:
        surroundings = self.space.surroundings
        for other in self.others:
            if isinstance(other, SeenJob):
                stored = engine.session(other.session)
                if stored is not None:
                    previous = None if other.confirmed else stored.previous_hash
                    engine.save_session(
                        StoredSession(stored.id, stored.principal, stored.key_hash, previous, surroundings.wall())
                    )
            elif other.session is not None:
                engine.forget_session(other.session.id, _session_instance(other.session.actor.identity))
            else:
                for stored in engine.sessions_unseen_since(other.unseen_since_ms or 0.0):
                    if not self.space.holds(stored.id):
                        engine.forget_session(stored.id, _session_instance(Identity(stored.principal, stored.id)))
        for job in self.opens:
            results.opened.append(_open(engine, job, surroundings))
        for job in self.commits:
            try:
                decision = decide(
                    engine,
                    job.session.actor,
                    job.commit,
                    max_document_bytes=surroundings.limits.document_bytes,
                )
            except ReplayDiffers as differs:
                results.decided.append(Problem("replay-differs", str(differs), fatal=True))
                continue
            results.decided.append(decision)
            for written in decision.writes:
                results.heads[written.key] = engine.head(written.key)
            for document in decision.verdict.documents:
                key = job.session.key(document)
                results.heads[key] = engine.head(key)
        for key in list(results.heads):
            results.heads[key] = engine.head(key)
        for watch in self.watches:
            results.reached.append(_reach(engine, watch, surroundings.limits))


def _session_instance(identity: Identity) -> str:
    return identity.instance(Scope.SESSION)


def _open(engine: Engine, job: OpenJob, surroundings: Surroundings) -> Opened:
    now = surroundings.wall()
    key = surroundings.random(24)
    key_hash = sha256(key.encode()).digest()
    resume = job.hello.resume
    if resume is None:
        id = surroundings.random(12)
        engine.save_session(StoredSession(id, job.claims.principal, key_hash, None, now))
        return Opened(id, key, 0, resumed=False)
    stored = engine.session(resume.session)
    presented = sha256(resume.key.encode("utf-8", "replace")).digest()
    # One answer for unknown, foreign and forgotten: which it was is nobody else's business.
    if stored is None or stored.principal != job.claims.principal:
        problem = Problem("session-unknown", "no such session to resume: open a new one", fatal=True)
        return Opened("", "", 0, resumed=False, problem=problem)
    if hmac.compare_digest(presented, stored.key_hash):
        previous = stored.key_hash
    elif stored.previous_hash is not None and hmac.compare_digest(presented, stored.previous_hash):
        previous = stored.previous_hash
    else:
        problem = Problem(
            "session-revoked",
            "this session was resumed elsewhere with a newer key: stop, or open a new session",
            fatal=True,
        )
        return Opened("", "", 0, resumed=False, problem=problem)
    engine.save_session(StoredSession(stored.id, stored.principal, key_hash, previous, now))
    return Opened(stored.id, key, engine.last_local_seq(stored.id), resumed=True)


def _reach(engine: Engine, job: WatchJob, limits: Limits) -> Reached:
    found: dict[Key, Head] = {}
    for key in job.behind:
        found[key] = engine.head(key)
    for watch in job.watches:
        key = job.session.key(watch)
        if not watch.prefix:
            found[key] = engine.head(key)
            continue
        for match in engine.find(key.instance, key.id, limits.tracked + 1 - len(found)):
            found[match] = engine.head(match)
        if len(found) > limits.tracked:
            return Reached({}, too_many=True)
    for have in job.have:
        key = job.session.key(Document(have.id, have.scope))
        if key not in found:
            found[key] = engine.head(key)
    return Reached(found, too_many=len(found) > 2 * limits.tracked)


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
        self._jobs: deque[Job] = deque()
        self._running = False
        self._trackers: defaultdict[Key, set[ServerSession]] = defaultdict(set)
        self._prefixes: dict[tuple[str, str], set[ServerSession]] = {}
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
        batch = Batch(self, [], [], [], [])
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
        for job, opened in zip(batch.opens, results.opened, strict=True):
            self._attach(job, opened)
        frames = _Frames(results.heads)
        owed: dict[ServerSession, set[Key]] = {}
        written: defaultdict[Key, list[tuple[ServerSession, Written]]] = defaultdict(list)
        for job, decision in zip(batch.commits, results.decided, strict=True):
            self._answer(job, decision, owed, written)
        soles: Soles = {}
        for key, writes in written.items():
            first_writer, first = writes[0]
            if all(writer is first_writer for writer, _ in writes):
                soles[key] = (first_writer, first)
            for session in self._interested(key):
                owed.setdefault(session, set()).add(key)
        for job, reached in zip(batch.watches, results.reached, strict=True):
            self._pull(job, reached, owed.get(job.session), soles, frames)
            if job.session.restored:
                owed.pop(job.session, None)
        for session, keys in owed.items():
            self._window(session, keys, soles, frames)

    def _attach(self, job: OpenJob, opened: Opened) -> None:
        connection = job.connection
        if opened.problem is not None:
            connection.fail(opened.problem)
            return
        session = self.sessions.get(opened.id)
        actor = Actor(Identity(job.claims.principal, opened.id), job.grant)
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
            self.drop_watches(session)
            session.actor = actor
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

    def _interested(self, key: Key) -> set[ServerSession]:
        found = self._trackers.get(key, frozenset[ServerSession]())
        matching: set[ServerSession] = set(found)
        for (instance, prefix), sessions in self._prefixes.items():
            if instance == key.instance and key.id.startswith(prefix):
                matching |= sessions
        return matching

    def _window(
        self,
        session: ServerSession,
        keys: Iterable[Key],
        soles: Soles,
        frames: _Frames,
    ) -> None:
        connection = session.connection
        if connection is None or not session.restored:
            return
        if session.behind is not None or connection.outbox_bytes > self.surroundings.limits.outbox_soft_bytes:
            self._hold_back(session, connection, keys)
            return
        send = [key for key in keys if self._to_send(session, key, soles, frames)]
        limit = self.surroundings.limits.tracked
        if len(session.tracked) > limit:
            message = f"these watches reach more than {limit} documents: watch fewer, or by a longer prefix"
            connection.fail(Problem("watch-too-wide", message, fatal=True))
            return
        self._emit(session, connection, frames, tuple(sorted(send)), Window(session.synced, self.seq))

    def _to_send(
        self,
        session: ServerSession,
        key: Key,
        soles: Soles,
        frames: _Frames,
    ) -> bool:
        """Whether the client needs the document: not if it has it, nor if only it wrote it onto what it
        had.
        """
        head = frames.heads[key]
        had = session.tracked.get(key)
        tracked = had is not None or session.covers(key)
        if tracked:
            self._track(session, key, head.seq)
        if had == head.seq:
            return False
        sole = soles.get(key)
        if sole is not None and sole[0] is session:
            return not (sole[1].whole or had == sole[1].base)
        return True

    def _hold_back(self, session: ServerSession, connection: Connection, keys: Iterable[Key]) -> None:
        if session.behind is None:
            session.behind = set()
            session.behind_since = self.surroundings.clock()
            self._log.info("reader-behind", "windows are held back until the reader has caught up", session=session.id)
        session.behind.update(keys)
        if connection.outbox_bytes > self.surroundings.limits.outbox_hard_bytes:
            self.slow_reader(connection)

    def slow_reader(self, connection: Connection) -> None:
        """Give up on a reader: it is told, and catches up when it reconnects."""
        self._log.warn("slow-reader-closed", "a reader did not keep up", connection=connection.id)
        connection.fail(
            Problem(
                "slow-reader",
                "this connection reads more slowly than the space changes: reconnect and catch up, or watch less",
                fatal=True,
                retry_after_ms=RESTORING_MS,
            )
        )

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

    def _pull(
        self,
        job: WatchJob,
        reached: Reached,
        owed: set[Key] | None,
        soles: Soles,
        frames: _Frames,
    ) -> None:
        session, connection = job.session, job.connection
        if session.connection is not connection:
            return
        if reached.too_many:
            connection.send(
                Problem(
                    "watch-too-wide",
                    f"these watches reach more than {self.surroundings.limits.tracked} documents: watch "
                    "fewer, or by a "
                    "longer prefix",
                    request=job.request,
                )
            )
            return
        frames.heads.update(reached.watched)
        known = dict(session.tracked)
        removes: tuple[Document, ...] = ()
        if job.request is not None:
            known.update({session.key(Document(have.id, have.scope)): have.seq for have in job.have})
            if job.replace:
                self.drop_watches(session)
            for watch in job.watches:
                self._watch(session, watch)
            if job.replace:
                kept = {Document(have.id, have.scope) for have in job.have}
                gone = [key for key in known if not session.covers(key)]
                removes = tuple(
                    document
                    for document in (Document(key.id, scope_of(key.instance)) for key in gone)
                    if document not in kept
                )
            session.restored = True
        send: list[Key] = []
        for key in {*reached.watched, *(owed or ())}:
            head = frames.heads[key]
            had = known.get(key)
            if session.covers(key):
                self._track(session, key, head.seq)
            if had == head.seq:
                continue
            sole = soles.get(key)
            if sole is not None and sole[0] is session and sole[1].base == had:
                continue
            if had is None and head.seq == 0:
                continue
            send.append(key)
        session.behind = None
        session.catching_up = False
        self._emit(
            session,
            connection,
            frames,
            tuple(sorted(send)),
            Window(session.synced, self.seq, removes=removes, answer=job.request, catch_up=job.request is None),
        )

    def _emit(
        self,
        session: ServerSession,
        connection: Connection,
        frames: _Frames,
        keys: tuple[Key, ...],
        window: Window,
    ) -> None:
        connection.send(frames.encoded(keys, session.decided, window))
        session.synced = self.seq
        session.frames += 1
        self.surroundings.tally.windows += 1

    # -- watches

    def _watch(self, session: ServerSession, watch: Watch) -> None:
        key = session.key(watch)
        session.watches[key, watch.prefix] = watch
        if watch.prefix:
            self._prefixes.setdefault((key.instance, key.id), set()).add(session)
        else:
            self._trackers[key].add(session)

    def _track(self, session: ServerSession, key: Key, seq: Seq) -> None:
        if key not in session.tracked:
            self._trackers[key].add(session)
        session.tracked[key] = seq

    def drop_watches(self, session: ServerSession) -> None:
        """Forget what a session watches and was sent."""
        for key in (*session.tracked, *(key for key, prefix in session.watches if not prefix)):
            trackers = self._trackers.get(key)
            if trackers is not None:
                trackers.discard(session)
                if not trackers:
                    del self._trackers[key]
        for key, prefix in session.watches:
            if prefix:
                place = (key.instance, key.id)
                sessions = self._prefixes.get(place)
                if sessions is not None:
                    sessions.discard(session)
                    if not sessions:
                        del self._prefixes[place]
        session.watches.clear()
        session.tracked.clear()
        session.behind = None
        session.catching_up = False

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
        self.drop_watches(session)
        self.sessions.pop(session.id, None)

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


class _Frames:
    """Encodes each document once, and each equal window once, for however many sessions get it."""

    def __init__(self, heads: dict[Key, Head]) -> None:
        self.heads = heads
        self._upserts: dict[tuple[Key, Seq], msgspec.Raw] = {}
        self._windows: dict[tuple[Any, ...], bytes] = {}

    def encoded(self, keys: tuple[Key, ...], caught_up: int, window: Window) -> bytes:
        shared = (
            keys,
            caught_up,
            window.from_seq,
            window.to_seq,
            window.answer,
            window.catch_up,
            window.removes,
        )
        data = self._windows.get(shared)
        if data is None:
            made = Window(
                window.from_seq,
                window.to_seq,
                # Raw stands for an upsert that is encoded already.
                cast("tuple[Upsert, ...]", tuple(self._upsert(key) for key in keys)),
                window.removes,
                caught_up,
                window.answer,
                window.catch_up,
            )
            data = self._windows[shared] = encode(made)
        return data

    def _upsert(self, key: Key) -> msgspec.Raw:
        head = self.heads[key]
        raw = self._upserts.get((key, head.seq))
        if raw is None:
            value = None if head.encoded is None else msgspec.Raw(head.encoded)
            upsert = Upsert(key.id, head.seq, scope_of(key.instance), head.encoded is None, value)
            raw = self._upserts[key, head.seq] = msgspec.Raw(msgspec.json.encode(upsert))
        return raw
