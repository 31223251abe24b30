"""What a space is asked to do, and doing it: the jobs of one batch, run as one durable transaction.

A batch touches its engine and nothing else of the server, so that it may run on a thread of its own. What follows from
its results is ``quiesce.server.space``'s.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from quiesce.address import Identity, Scope
from quiesce.commits import Certificate, Commit, Document, Seq
from quiesce.protocol import Have, Hello, Problem, Watch
from quiesce.server.access import Claims, Grant
from quiesce.server.decide import Decision, ReplayDiffers, decide
from quiesce.server.engine import Engine, Head, Key, StorageFailed, StoredSession
from quiesce.server.limits import Limits
from quiesce.server.session import Connection, ServerSession
from quiesce.server.surroundings import Surroundings


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


@dataclass(frozen=True, slots=True)
class DeclareJob:
    """A declared surface."""

    certificate: Certificate


Job: TypeAlias = OpenJob | CommitJob | WatchJob | SeenJob | ForgetJob | DeclareJob


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
    certificates: tuple[int, int] | None = None
    """Declared surfaces and those that are over, if that may have changed."""
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

    engine: Callable[[], Engine]
    """Opens the engine if it is not open. Raises ``StorageFailed``."""
    holds: Callable[[str], bool]
    """Whether a session, by id, has a place in memory."""
    surroundings: Surroundings
    opens: list[OpenJob]
    commits: list[CommitJob]
    watches: list[WatchJob]
    others: list[SeenJob | ForgetJob | DeclareJob]

    def run(self) -> Results:
        """Do it. Touches the engine only; never raises for a failing database."""
        results = Results()
        try:
            engine = self.engine()
            engine.begin()
            self._run(engine, results)
            if any(isinstance(job, DeclareJob) for job in self.others) or any(
                job.commit.certificate for job in self.commits
            ):
                results.certificates = engine.certificates()
            engine.commit()
            results.seq = engine.sequence
        except StorageFailed as failed:
            results.failure = str(failed)
        return results

    def _run(self, engine: Engine, results: Results) -> None:
        surroundings = self.surroundings
        for other in self.others:
            if isinstance(other, DeclareJob):
                engine.declare(other.certificate, surroundings.wall())
            elif isinstance(other, SeenJob):
                stored = engine.session(other.session)
                if stored is not None:
                    previous = None if other.confirmed else stored.previous_hash
                    engine.save_session(
                        StoredSession(stored.id, stored.principal, stored.key_hash, previous, surroundings.wall())
                    )
            elif other.session is not None:
                engine.forget_session(other.session.id, _session_instance(other.session.actor.own))
            else:
                engine.forget_certificates(other.unseen_since_ms or 0.0)
                for stored in engine.sessions_unseen_since(other.unseen_since_ms or 0.0):
                    if not self.holds(stored.id):
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
