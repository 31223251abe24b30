"""The durable part of one space, behind a small interface: heads, recent writes, sessions and verdicts.

An engine stores and finds; it decides nothing (``decide`` does). One caller at a time uses it, between
``begin`` and
``commit``; what lies between is durable together, or not at all. SQLite is the embedded engine; a
server-grade database implements the same dozen methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from quiesce.commits import Certificate, CommitClass, Seq, Verdict
from quiesce.overlap import Touched
from quiesce.values import Maybe


class Key(NamedTuple):
    """One document of the space: a resolved scope instance, never a scope's name, and an id."""

    instance: str
    id: str


@dataclass(frozen=True, slots=True)
class Head:
    """A document's current state: ``seq`` wrote it last (0: never written); ``encoded`` is its JSON, None
    if absent. ``commit_class`` and ``holder`` are those of the commit that wrote it.
    """

    seq: Seq
    value: Maybe
    encoded: bytes | None
    commit_class: CommitClass = CommitClass.EVENT
    holder: str = ""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """What outlives a connection and a restart: who, and the hashes of the keys that resume it.

    ``previous_hash`` is accepted until the client shows that it has received the newer key, so that a welcome
    lost in a dying socket costs nothing.
    """

    id: str
    principal: str
    key_hash: bytes
    previous_hash: bytes | None
    seen_ms: float


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored verdict and the digest of the commit that it answers."""

    digest: bytes
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class StoredCertificate:
    """A declared surface. ``beyond``: the place that a commit touched outside it, which ended it for good."""

    certificate: Certificate
    beyond: str | None


class StorageFailed(RuntimeError):
    """The database refused or failed: whether the open transaction is durable is unknown.

    The engine must be closed and opened anew; recovery decides. The message names the database and the cause.
    """


class Engine(Protocol):
    """One space's durable state."""

    @property
    def sequence(self) -> Seq:
        """The last sequence given out."""
        ...

    def begin(self) -> None:
        """Open a transaction."""
        ...

    def commit(self) -> None:
        """Make everything since ``begin`` durable, or raise ``StorageFailed``."""
        ...

    def rollback(self) -> None:
        """Undo everything since ``begin``."""
        ...

    def close(self) -> None:
        """Release the database. Idempotent; never raises."""
        ...

    def head(self, key: Key) -> Head:
        """A document's current state."""
        ...

    def writes_after(self, key: Key, seq: Seq) -> Sequence[tuple[Seq, Touched]] | None:
        """The document's writes later than ``seq``, ascending; None if history that old is no longer kept."""
        ...

    def write(self, key: Key, head: Head, touched: Touched) -> None:
        """Store a document's new state, a deletion included, and which paths the write touched."""
        ...

    def take_sequence(self) -> Seq:
        """The next sequence."""
        ...

    def find(self, instance: str, prefix: str, limit: int) -> Sequence[Key]:
        """Existing documents of one instance whose id starts with ``prefix``, by id, at most ``limit``."""
        ...

    def session(self, id: str) -> StoredSession | None:
        """A session by id."""
        ...

    def save_session(self, session: StoredSession) -> None:
        """Store a session, new or changed."""
        ...

    def forget_session(self, id: str, instance: str) -> None:
        """Remove a session, its verdicts, and the documents of its session instance."""
        ...

    def sessions_unseen_since(self, wall_ms: float) -> Sequence[StoredSession]:
        """Sessions that were last opened before this time."""
        ...

    def last_local_seq(self, session: str) -> int:
        """The highest local sequence that has a verdict, or 0."""
        ...

    def recorded(self, session: str, local_seq: int) -> Recorded | None:
        """The verdict stored for a commit's identity."""
        ...

    def record(self, session: str, digest: bytes, verdict: Verdict) -> None:
        """Store a verdict."""
        ...

    def certificate(self, name: str) -> StoredCertificate | None:
        """A declared surface by its name."""
        ...

    def declare(self, certificate: Certificate, wall_ms: float) -> None:
        """Store a declared surface, seen now. It is over at once if one of the same action and code is."""
        ...

    def end_certificate(self, certificate: Certificate, beyond: str) -> None:
        """A commit went beyond it: all declarations of that action and code are over."""
        ...

    def forget_certificates(self, wall_ms: float) -> None:
        """Remove declarations that nobody has made since a time."""
        ...

    def certificates(self) -> tuple[int, int]:
        """How many declarations there are, and how many of them are over."""
        ...


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept; what is older is answered safely, never wrongly.

    ``writes``: sequences whose write paths are kept for conflict checks; a read older than that conflicts
    whenever its document changed at all. ``verdicts``: kept for each session; more than it may have in
    flight.
    """

    writes: int = 10_000
    verdicts: int = 1_024
