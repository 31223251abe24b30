"""An engine without a disk: for tests, and for a space that may be lost. Same rules, nothing durable."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from quiesce.commits import Certificate, Seq, Verdict
from quiesce.overlap import Touched
from quiesce.server.engine import Head, Key, Recorded, Retention, StoredCertificate, StoredSession
from quiesce.values import ABSENT

_NEVER = Head(0, ABSENT, None)


@dataclass
class _State:
    sequence: int = 0
    heads: dict[Key, Head] = field(default_factory=dict[Key, Head])
    writes: dict[Key, list[tuple[Seq, Touched]]] = field(default_factory=dict[Key, "list[tuple[Seq, Touched]]"])
    sessions: dict[str, StoredSession] = field(default_factory=dict[str, StoredSession])
    verdicts: dict[str, dict[int, Recorded]] = field(default_factory=dict[str, "dict[int, Recorded]"])
    last: dict[str, int] = field(default_factory=dict[str, int])
    certificates: dict[str, tuple[StoredCertificate, float]] = field(
        default_factory=dict[str, "tuple[StoredCertificate, float]"]
    )


class MemoryEngine:
    """``quiesce.server.engine.Engine`` over dictionaries. A rollback restores a shallow copy made at
    ``begin``.
    """

    def __init__(self, retention: Retention | None = None) -> None:
        self._retention = retention or Retention()
        self._state = _State()
        self._undo: _State | None = None

    @property
    def sequence(self) -> Seq:
        """The last sequence given out."""
        return self._state.sequence

    def begin(self) -> None:
        """Remember the state for a rollback. Dictionaries of immutable records are copied one level deep."""
        state = self._state
        self._undo = _State(
            state.sequence,
            dict(state.heads),
            {key: list(writes) for key, writes in state.writes.items()},
            dict(state.sessions),
            {session: dict(verdicts) for session, verdicts in state.verdicts.items()},
            copy.copy(state.last),
            dict(state.certificates),
        )

    def commit(self) -> None:
        """Keep what was done."""
        self._undo = None

    def rollback(self) -> None:
        """Undo everything since ``begin``."""
        if self._undo is not None:
            self._state, self._undo = self._undo, None

    def close(self) -> None:
        """Nothing to release."""

    def head(self, key: Key) -> Head:
        """A document's current state."""
        return self._state.heads.get(key, _NEVER)

    def writes_after(self, key: Key, seq: Seq) -> Sequence[tuple[Seq, Touched]] | None:
        """The document's writes later than ``seq``; None beyond the retention."""
        if seq < self._state.sequence - self._retention.writes:
            return None
        return [write for write in self._state.writes.get(key, ()) if write[0] > seq]

    def write(self, key: Key, head: Head, touched: Touched) -> None:
        """Store a document's new state."""
        self._state.heads[key] = head
        floor = self._state.sequence - self._retention.writes
        kept = [write for write in self._state.writes.get(key, ()) if write[0] > floor]
        self._state.writes[key] = [*kept, (head.seq, touched)]

    def take_sequence(self) -> Seq:
        """The next sequence."""
        self._state.sequence += 1
        return self._state.sequence

    def find(self, instance: str, prefix: str, limit: int) -> Sequence[Key]:
        """Existing documents by prefix."""
        found = sorted(
            key
            for key, head in self._state.heads.items()
            if key.instance == instance and key.id.startswith(prefix) and head.value is not ABSENT
        )
        return found[:limit]

    def session(self, id: str) -> StoredSession | None:
        """A session by id."""
        return self._state.sessions.get(id)

    def save_session(self, session: StoredSession) -> None:
        """Store a session."""
        self._state.sessions[session.id] = session

    def forget_session(self, id: str, instance: str) -> None:
        """Remove a session and what was only its own."""
        state = self._state
        state.sessions.pop(id, None)
        state.verdicts.pop(id, None)
        state.last.pop(id, None)
        for key in [key for key in state.heads if key.instance == instance]:
            del state.heads[key]
            state.writes.pop(key, None)

    def sessions_unseen_since(self, wall_ms: float) -> Sequence[StoredSession]:
        """Sessions that were last opened before this time."""
        return [session for session in self._state.sessions.values() if session.seen_ms < wall_ms]

    def last_local_seq(self, session: str) -> int:
        """The highest local sequence that has a verdict, or 0."""
        return self._state.last.get(session, 0)

    def recorded(self, session: str, local_seq: int) -> Recorded | None:
        """The verdict stored for a commit's identity."""
        return self._state.verdicts.get(session, {}).get(local_seq)

    def record(self, session: str, digest: bytes, verdict: Verdict) -> None:
        """Store a verdict; the oldest beyond the retention go."""
        verdicts = self._state.verdicts.setdefault(session, {})
        verdicts[verdict.local_seq] = Recorded(digest, verdict)
        # A commit refused for its place in the order must not move the order.
        self._state.last[session] = max(self._state.last.get(session, 0), verdict.local_seq)
        while len(verdicts) > self._retention.verdicts:
            del verdicts[next(iter(verdicts))]

    def certificate(self, name: str) -> StoredCertificate | None:
        """A declared surface by its name."""
        found = self._state.certificates.get(name)
        return None if found is None else found[0]

    def declare(self, certificate: Certificate, wall_ms: float) -> None:
        """Store a declared surface, seen now."""
        alike = (stored.beyond for stored, _ in self._state.certificates.values() if _alike(stored, certificate))
        beyond = next((place for place in alike if place is not None), None)
        self._state.certificates[certificate.name] = StoredCertificate(certificate, beyond), wall_ms

    def end_certificate(self, certificate: Certificate, beyond: str) -> None:
        """All declarations of that action and code are over."""
        for name, (stored, seen_ms) in list(self._state.certificates.items()):
            if _alike(stored, certificate):
                self._state.certificates[name] = StoredCertificate(stored.certificate, beyond), seen_ms

    def forget_certificates(self, wall_ms: float) -> None:
        """Remove declarations that nobody has made since a time."""
        kept = {name: held for name, held in self._state.certificates.items() if held[1] >= wall_ms}
        self._state.certificates = kept

    def certificates(self) -> tuple[int, int]:
        """How many declarations there are, and how many of them are over."""
        held = [stored for stored, _ in self._state.certificates.values()]
        return len(held), sum(stored.beyond is not None for stored in held)


def _alike(stored: StoredCertificate, certificate: Certificate) -> bool:
    one = stored.certificate
    return (one.action, one.implementation, one.runtime) == (
        certificate.action,
        certificate.implementation,
        certificate.runtime,
    )
