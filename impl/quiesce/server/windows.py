"""Windows: who watches what, what each session has, and what it is therefore told.

Documents and equal windows are encoded once for however many sessions get them. What a session wrote itself onto what
it had is left out. A slow reader's windows are held back, and one window makes up for them later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeAlias, cast

import msgspec

from quiesce.commits import Document, Seq
from quiesce.protocol import Problem, Upsert, Watch, Window, encode
from quiesce.server.batch import Reached, WatchJob
from quiesce.server.decide import Written
from quiesce.server.engine import Head, Key
from quiesce.server.session import Connection, ServerSession, scope_of
from quiesce.server.surroundings import Surroundings

RESTORING_MS = 1_000.0
"""What a client is told to wait before it connects again."""

Soles: TypeAlias = "dict[Key, tuple[ServerSession, Written]]"
"""Documents that one session alone wrote in a batch, with its first write: what it may be spared."""


class Windows:
    """The watches of one space, and the windows for them."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._trackers: defaultdict[Key, set[ServerSession]] = defaultdict(set)
        self._prefixes: dict[tuple[str, str], set[ServerSession]] = {}
        self._log = surroundings.counts.logger("server")

    def interested(self, key: Key) -> set[ServerSession]:
        found = self._trackers.get(key, frozenset[ServerSession]())
        matching: set[ServerSession] = set(found)
        for (instance, prefix), sessions in self._prefixes.items():
            if instance == key.instance and key.id.startswith(prefix):
                matching |= sessions
        return matching

    def tell(
        self,
        session: ServerSession,
        keys: Iterable[Key],
        soles: Soles,
        frames: Frames,
    ) -> None:
        connection = session.connection
        if connection is None or not session.restored:
            return
        if session.behind is not None or connection.outbox_bytes > self._surroundings.limits.outbox_soft_bytes:
            self._hold_back(session, connection, keys)
            return
        send = [key for key in keys if self.needs(session, key, soles, frames)]
        limit = self._surroundings.limits.tracked
        if len(session.tracked) > limit:
            message = f"these watches reach more than {limit} documents: watch fewer, or by a longer prefix"
            connection.fail(Problem("watch-too-wide", message, fatal=True))
            return
        self._emit(session, connection, frames, tuple(sorted(send)), Window(session.synced, frames.seq))

    def needs(
        self,
        session: ServerSession,
        key: Key,
        soles: Soles,
        frames: Frames,
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
            session.behind_since = self._surroundings.clock()
            self._log.info("reader-behind", "windows are held back until the reader has caught up", session=session.id)
        session.behind.update(keys)
        if connection.outbox_bytes > self._surroundings.limits.outbox_hard_bytes:
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

    def answer(
        self,
        job: WatchJob,
        reached: Reached,
        owed: set[Key] | None,
        soles: Soles,
        frames: Frames,
    ) -> None:
        session, connection = job.session, job.connection
        if session.connection is not connection:
            return
        if reached.too_many:
            connection.send(
                Problem(
                    "watch-too-wide",
                    f"these watches reach more than {self._surroundings.limits.tracked} documents: watch "
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
            Window(session.synced, frames.seq, removes=removes, answer=job.request, catch_up=job.request is None),
        )

    def _emit(
        self,
        session: ServerSession,
        connection: Connection,
        frames: Frames,
        keys: tuple[Key, ...],
        window: Window,
    ) -> None:
        connection.send(frames.encoded(keys, session.decided, window))
        session.synced = frames.seq
        session.frames += 1
        self._surroundings.tally.windows += 1

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


class Frames:
    """Encodes each document once, and each equal window once, for however many sessions get it."""

    def __init__(self, heads: dict[Key, Head], seq: Seq) -> None:
        self.heads = heads
        self.seq = seq
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
            scope, gone = scope_of(key.instance), head.encoded is None
            upsert = Upsert(key.id, head.seq, scope, gone, value, head.commit_class, head.holder)
            raw = self._upserts[key, head.seq] = msgspec.Raw(msgspec.json.encode(upsert))
        return raw
