"""The embedded engine: one SQLite database for each space.

WAL with ``synchronous=FULL``: a commit is in the log and the log is synced before it is acknowledged. The
database is held in exclusive locking mode: one server owns a space, a second one is told so, and no shared
memory is needed. After any failure the engine is unusable and says so; whoever owns it closes it and opens a
new one, and SQLite's recovery decides what became durable. (Retrying a failed sync would be a guess: the
operating system may have dropped the pages that it could not write.)
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final, Literal, Protocol

import msgspec

from quiesce.commits import Certificate, CommitClass, Seq, Verdict
from quiesce.overlap import WHOLE, Touched
from quiesce.server.engine import Head, Key, Recorded, Retention, StorageFailed, StoredCertificate, StoredSession
from quiesce.values import ABSENT

SCHEMA_VERSION: Final = 3

Synchronous = Literal["FULL", "NORMAL", "OFF"]
"""FULL: durable before acknowledged. NORMAL: the last commits may be lost when the machine (not the process)
fails. OFF: the database may be corrupted then."""

_SCHEMA: Final = """
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE document (
    instance TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, value BLOB,
    UNIQUE (instance, id)
);
CREATE TABLE write_history (
    seq INTEGER NOT NULL, instance TEXT NOT NULL, id TEXT NOT NULL, touched BLOB,
    PRIMARY KEY (instance, id, seq)
) WITHOUT ROWID;
CREATE INDEX write_history_by_seq ON write_history (seq);
CREATE TABLE session (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, key_hash BLOB NOT NULL, previous_hash BLOB, seen_ms REAL NOT
    NULL
) WITHOUT ROWID;
CREATE TABLE verdict (
    session TEXT NOT NULL, local_seq INTEGER NOT NULL, digest BLOB NOT NULL, verdict BLOB NOT NULL,
    PRIMARY KEY (session, local_seq)
) WITHOUT ROWID;
INSERT INTO counter VALUES ('sequence', 0), ('history_floor', 0);
"""

_COMMIT_CLASS: Final = """
ALTER TABLE document ADD COLUMN commit_class TEXT NOT NULL DEFAULT 'event';
ALTER TABLE document ADD COLUMN holder TEXT NOT NULL DEFAULT '';
"""

_CERTIFICATES: Final = """
CREATE TABLE certificate (
    name TEXT PRIMARY KEY, action TEXT NOT NULL, implementation TEXT NOT NULL, runtime TEXT NOT NULL,
    body BLOB NOT NULL, beyond TEXT, seen_ms REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX certificate_by_action ON certificate (action, implementation, runtime);
"""

_MIGRATIONS: Final[dict[int, str]] = {0: _SCHEMA, 1: _COMMIT_CLASS, 2: _CERTIFICATES}
"""From each version, what makes the next. Version 0 is an empty database."""


class Cursor(Protocol):
    """What is used of a statement's result."""

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """The remaining rows."""
        ...


class Connection(Protocol):
    """What is used of a database connection in autocommit mode; sqlite3's and apsw's both fit."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


Connect = Callable[[str], Connection]


def connect(path: str) -> Connection:
    """The standard library's SQLite, usable from any one thread at a time."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2.0, cached_statements=256)


@dataclass(frozen=True)
class SqliteOptions:
    """How a database is opened.

    ``synchronous`` trades durability for speed, knowingly. ``cache_bytes`` bounds the decoded documents kept
    in memory. ``connect`` and ``errors`` let another build of SQLite stand in (tests put a failing disk
    beneath it).
    """

    synchronous: Synchronous = "FULL"
    cache_bytes: int = 32 << 20
    retention: Retention = field(default_factory=Retention)
    connect: Connect = connect
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)


_NEVER: Final = Head(0, ABSENT, None)
_encode = msgspec.json.Encoder().encode
_decode_value = msgspec.json.Decoder().decode
_touched_decoder = msgspec.json.Decoder(Touched)
_verdict_decoder = msgspec.json.Decoder(Verdict)
_certificate_decoder = msgspec.json.Decoder(Certificate)


class SqliteEngine:
    """``quiesce.server.engine.Engine`` over one SQLite file, which is made if it is missing.

    Raises ``StorageFailed`` if it cannot be opened, belongs to another server, or is of a newer version.
    """

    def __init__(self, path: FilePath, options: SqliteOptions | None = None) -> None:
        self._path = path
        self._options = options or SqliteOptions()
        self._retention = self._options.retention
        self._broken: str | None = None
        self._cache: OrderedDict[Key, Head] = OrderedDict()
        self._cached_bytes = 0
        self._last: dict[str, int] = {}
        self._connection: Connection | None = None
        try:
            self._connection = self._options.connect(str(path))
            self._prepare()
            self._settle_log()
            self._sequence: int = self._counter("sequence")
            self._floor: int = self._counter("history_floor")
        except self._options.errors as error:
            self.close()
            hint = (
                "another server holds it; stop that one or use another directory"
                if "locked" in str(error)
                else "check the disk and the file, then start again"
            )
            raise StorageFailed(f"cannot open the database {path}: {error}; {hint}") from error
        except StorageFailed:
            self.close()
            raise

    def _prepare(self) -> None:
        self._run("PRAGMA locking_mode=EXCLUSIVE")
        mode = str(self._run("PRAGMA journal_mode=WAL").fetchone()[0])
        if mode.lower() != "wal":
            raise StorageFailed(f"the database {self._path} cannot use a write-ahead log here (it answered {mode!r})")
        self._run(f"PRAGMA synchronous={self._options.synchronous}")
        self._run("PRAGMA foreign_keys=OFF")
        self._run("PRAGMA wal_autocheckpoint=1000")
        self._run("BEGIN IMMEDIATE")  # takes the lock, and keeps it
        version = int(self._run("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise StorageFailed(
                f"the database {self._path} has schema version {version}, and this quiesce knows "
                f"{SCHEMA_VERSION}: "
                "use a newer quiesce"
            )
        while version < SCHEMA_VERSION:
            for statement in _MIGRATIONS[version].split(";"):
                if statement.strip():
                    self._run(statement)
            version += 1
            self._run(f"PRAGMA user_version={version}")
        self._run("COMMIT")

    def _settle_log(self) -> None:
        """Move what the log holds into the database, synced, before any of it is believed.

        The log may end in commits whose sync failed: still readable, perhaps never on the disk. Copying writes them
        anew, and a sync that succeeds now is about these bytes.
        """
        self._run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _counter(self, name: str) -> int:
        return int(self._run("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()[0])

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        if self._connection is None:
            raise StorageFailed(f"the database {self._path} is closed")
        return self._connection.execute(sql, parameters)

    def _guarded(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        if self._broken is not None:
            raise StorageFailed(self._broken)
        try:
            return self._run(sql, parameters)
        except self._options.errors as error:
            self._broken = f"the database {self._path} failed: {error}; it is reopened before it is used again"
            raise StorageFailed(self._broken) from error

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        cursor = self._guarded(sql, parameters)
        try:
            return cursor.fetchall()
        except self._options.errors as error:
            self._broken = f"the database {self._path} failed: {error}; it is reopened before it is used again"
            raise StorageFailed(self._broken) from error

    def _row(self, sql: str, parameters: Sequence[Any]) -> Any:
        rows = self._rows(sql, parameters)
        return rows[0] if rows else None

    @property
    def sequence(self) -> Seq:
        """The last sequence given out."""
        return self._sequence

    def begin(self) -> None:
        """Open a transaction."""
        self._guarded("BEGIN IMMEDIATE")
        self._began_at = self._sequence

    def commit(self) -> None:
        """Make everything since ``begin`` durable, or raise ``StorageFailed``."""
        if self._sequence != self._began_at:
            self._guarded("UPDATE counter SET value = ? WHERE name = 'sequence'", (self._sequence,))
            self._prune()
        self._guarded("COMMIT")

    def rollback(self) -> None:
        """Undo everything since ``begin``; what was cached of it is forgotten."""
        self._cache.clear()
        self._cached_bytes = 0
        self._last.clear()
        self._sequence = self._began_at
        self._guarded("ROLLBACK")

    def close(self) -> None:
        """Release the database. Idempotent; never raises."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except self._options.errors:
                self._broken = "closed after a failure"

    def _prune(self) -> None:
        """Drop history beyond the retention, an eighth of it at a time, so that the cost is spread."""
        floor = self._sequence - self._retention.writes
        if floor - self._floor > max(1, self._retention.writes // 8):
            self._guarded("DELETE FROM write_history WHERE seq <= ?", (floor,))
            self._guarded("UPDATE counter SET value = ? WHERE name = 'history_floor'", (floor,))
            self._floor = floor

    def head(self, key: Key) -> Head:
        """A document's current state."""
        cached = self._cache.get(key)
        if cached is not None:
            self._cache.move_to_end(key)
            return cached
        row = self._row("SELECT seq, value, commit_class, holder FROM document WHERE instance = ? AND id = ?", key)
        if row is None:
            return _NEVER
        encoded = None if row[1] is None else bytes(row[1])
        value = ABSENT if encoded is None else _decode_value(encoded)
        head = Head(row[0], value, encoded, CommitClass(row[2]), row[3])
        self._remember(key, head)
        return head

    def _remember(self, key: Key, head: Head) -> None:
        old = self._cache.pop(key, None)
        if old is not None:
            self._cached_bytes -= len(old.encoded or b"") + 200
        self._cache[key] = head
        self._cached_bytes += len(head.encoded or b"") + 200
        while self._cached_bytes > self._options.cache_bytes and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped.encoded or b"") + 200

    def writes_after(self, key: Key, seq: Seq) -> Sequence[tuple[Seq, Touched]] | None:
        """The document's writes later than ``seq``, ascending; None if history that old is no longer kept."""
        if seq < self._floor:
            return None
        rows = self._rows(
            "SELECT seq, touched FROM write_history WHERE instance = ? AND id = ? AND seq > ? ORDER BY seq",
            (key.instance, key.id, seq),
        )
        return [(row[0], WHOLE if row[1] is None else _touched_decoder.decode(row[1])) for row in rows]

    def write(self, key: Key, head: Head, touched: Touched) -> None:
        """Store a document's new state, a deletion included, and which paths the write touched."""
        self._guarded(
            "INSERT INTO document (instance, id, seq, value, commit_class, holder) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (instance, id) DO UPDATE SET seq = excluded.seq, value = excluded.value, "
            "commit_class = excluded.commit_class, holder = excluded.holder",
            (key.instance, key.id, head.seq, head.encoded, head.commit_class.value, head.holder),
        )
        self._guarded(
            "INSERT INTO write_history (seq, instance, id, touched) VALUES (?, ?, ?, ?)",
            (head.seq, key.instance, key.id, None if touched is WHOLE else _encode(touched)),
        )
        self._remember(key, head)

    def take_sequence(self) -> Seq:
        """The next sequence; it is stored when the transaction commits."""
        self._sequence += 1
        return self._sequence

    def find(self, instance: str, prefix: str, limit: int) -> Sequence[Key]:
        """Existing documents of one instance whose id starts with ``prefix``, by id, at most ``limit``."""
        # substr and not LIKE: a prefix is text, not a pattern. The lower bound lets the index do the work.
        rows = self._rows(
            "SELECT id FROM document WHERE instance = ? AND id >= ? AND substr(id, 1, ?) = ? "
            "AND value IS NOT NULL ORDER BY id LIMIT ?",
            (instance, prefix, len(prefix), prefix, limit),
        )
        return [Key(instance, row[0]) for row in rows]

    def session(self, id: str) -> StoredSession | None:
        """A session by id."""
        row = self._row("SELECT id, principal, key_hash, previous_hash, seen_ms FROM session WHERE id = ?", (id,))
        return None if row is None else _session(row)

    def save_session(self, session: StoredSession) -> None:
        """Store a session, new or changed."""
        self._guarded(
            "INSERT OR REPLACE INTO session (id, principal, key_hash, previous_hash, seen_ms) VALUES (?, ?, ?, ?, ?)",
            (session.id, session.principal, session.key_hash, session.previous_hash, session.seen_ms),
        )

    def forget_session(self, id: str, instance: str) -> None:
        """Remove a session, its verdicts, and the documents of its session instance."""
        self._guarded("DELETE FROM session WHERE id = ?", (id,))
        self._guarded("DELETE FROM verdict WHERE session = ?", (id,))
        self._guarded("DELETE FROM document WHERE instance = ?", (instance,))
        self._guarded("DELETE FROM write_history WHERE instance = ?", (instance,))
        self._last.pop(id, None)
        for key in [key for key in self._cache if key.instance == instance]:
            self._cached_bytes -= len(self._cache.pop(key).encoded or b"") + 200

    def sessions_unseen_since(self, wall_ms: float) -> Sequence[StoredSession]:
        """Sessions that were last opened before this time."""
        rows = self._rows(
            "SELECT id, principal, key_hash, previous_hash, seen_ms FROM session WHERE seen_ms < ?",
            (wall_ms,),
        )
        return [_session(row) for row in rows]

    def last_local_seq(self, session: str) -> int:
        """The highest local sequence that has a verdict, or 0."""
        last = self._last.get(session)
        if last is None:
            row = self._row("SELECT max(local_seq) FROM verdict WHERE session = ?", (session,))
            last = self._last[session] = int(row[0] or 0)
        return last

    def recorded(self, session: str, local_seq: int) -> Recorded | None:
        """The verdict stored for a commit's identity."""
        if not 0 < local_seq <= self.last_local_seq(session):
            return None
        row = self._row("SELECT digest, verdict FROM verdict WHERE session = ? AND local_seq = ?", (session, local_seq))
        return None if row is None else Recorded(bytes(row[0]), _verdict_decoder.decode(row[1]))

    def record(self, session: str, digest: bytes, verdict: Verdict) -> None:
        """Store a verdict; now and then, drop those beyond the retention."""
        local = verdict.local_seq
        self._guarded(
            "INSERT INTO verdict (session, local_seq, digest, verdict) VALUES (?, ?, ?, ?)",
            (session, local, digest, _encode(verdict)),
        )
        if local > self.last_local_seq(session):
            self._last[session] = local
        if local % 128 == 0:
            self._guarded(
                "DELETE FROM verdict WHERE session = ? AND local_seq <= ?",
                (session, local - self._retention.verdicts),
            )

    def certificate(self, name: str) -> StoredCertificate | None:
        """A declared surface by its name."""
        row = self._row("SELECT body, beyond FROM certificate WHERE name = ?", (name,))
        return None if row is None else StoredCertificate(_certificate_decoder.decode(row[0]), row[1])

    def declare(self, certificate: Certificate, wall_ms: float) -> None:
        """Store a declared surface, seen now. It is over at once if one of the same action and code is."""
        alike = (certificate.action, certificate.implementation, certificate.runtime)
        over = self._row(
            "SELECT beyond FROM certificate WHERE action = ? AND implementation = ? AND runtime = ? "
            "AND beyond IS NOT NULL LIMIT 1",
            alike,
        )
        self._guarded(
            "INSERT OR REPLACE INTO certificate (name, action, implementation, runtime, body, beyond, seen_ms) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (certificate.name, *alike, _encode(certificate), None if over is None else over[0], wall_ms),
        )

    def end_certificate(self, certificate: Certificate, beyond: str) -> None:
        """A commit went beyond it: all declarations of that action and code are over."""
        self._guarded(
            "UPDATE certificate SET beyond = ? WHERE action = ? AND implementation = ? AND runtime = ?",
            (beyond, certificate.action, certificate.implementation, certificate.runtime),
        )

    def forget_certificates(self, wall_ms: float) -> None:
        """Remove declarations that nobody has made since a time."""
        self._guarded("DELETE FROM certificate WHERE seen_ms < ?", (wall_ms,))

    def certificates(self) -> tuple[int, int]:
        """How many declarations there are, and how many of them are over."""
        row = self._row("SELECT count(*), count(beyond) FROM certificate", ())
        return int(row[0]), int(row[1])


def _session(row: Iterable[Any]) -> StoredSession:
    id, principal, key_hash, previous_hash, seen_ms = row
    return StoredSession(
        id, principal, bytes(key_hash), None if previous_hash is None else bytes(previous_hash), seen_ms
    )
