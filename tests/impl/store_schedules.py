"""Random schedules of a whole store, held against a reference so naive that it can be read at a glance.

Sessions read, write, patch, lose connections, get messages twice and late, and the server restarts, all in an order
drawn from one seed. Afterwards one dictionary, into which every accepted commit is replayed in order, says what must be
true: of every read, of every handle, of every replica.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from store_world import World

import quiesce.server.batch
from quiesce.address import Scope
from quiesce.commits import (
    Commit,
    DeleteDocument,
    Document,
    DocumentAbsent,
    DocumentIs,
    OriginCommitted,
    Outcome,
    Put,
    SetDocument,
)
from quiesce.protocol import Watch
from quiesce.server.access import Actor
from quiesce.server.decide import Decision
from quiesce.server.engine import Engine
from quiesce.server.memory import MemoryEngine
from quiesce.storage.client import Client, Phase
from quiesce.storage.loopback import Link
from quiesce.storage.notification import Notification, NotificationKind
from quiesce.storage.transaction import CommitHandle, Settled, Transaction
from quiesce.values import ABSENT, PathError, value_hash

DOCUMENTS = [
    Document("a"),
    Document("b"),
    Document("mine", Scope.USER),
    Document("tab", Scope.SESSION),
]
PATHS: list[tuple[str, ...]] = [(), ("x",), ("y",), ("list",), ("list", "0"), ("list", "1"), ("deep", "k"), ("deep",)]


@dataclass
class Seen:
    """What a transaction's own eyes saw: the value at a path, or a container's look from outside."""

    document: Document
    path: tuple[str, ...]
    shallow: bool
    value: Any


@dataclass
class Attempt:
    """A commit as its session knows it."""

    handle: CommitHandle
    session: str
    principal: str
    seen: list[Seen]


@dataclass
class Accepted:
    """A commit as the server accepted it."""

    actor: Actor
    commit: Commit
    seq: int


class Reference:
    """One dictionary, and its copies after every accepted commit."""

    def __init__(self) -> None:
        self.state: dict[tuple[str, str], Any] = {}
        self.after: dict[int, dict[tuple[str, str], Any]] = {0: {}}

    def replay(self, accepted: Accepted) -> None:
        """Apply a commit's operations the plainest way."""
        for operation in accepted.commit.operations:
            place = (accepted.actor.identity.instance(operation.scope), operation.id)
            if isinstance(operation, SetDocument):
                self.state[place] = copy.deepcopy(operation.value)
            elif isinstance(operation, DeleteDocument):
                self.state.pop(place, None)
            else:
                for edit in operation.edits:
                    parent = self.state[place]
                    for segment in edit.path[:-1]:
                        parent = parent[int(segment)] if isinstance(parent, list) else parent[segment]
                    last = edit.path[-1]
                    if isinstance(parent, list):
                        if not isinstance(edit, Put):
                            del parent[int(last)]
                        elif int(last) == len(parent):
                            parent.append(copy.deepcopy(edit.value))
                        else:
                            parent[int(last)] = copy.deepcopy(edit.value)
                    elif isinstance(edit, Put):
                        parent[last] = copy.deepcopy(edit.value)
                    else:
                        del parent[last]
        self.after[accepted.seq] = copy.deepcopy(self.state)

    def before(self, seq: int) -> dict[tuple[str, str], Any]:
        """The state that a commit at ``seq`` met."""
        return self.after[seq - 1]


NOTHING = "nothing there"


def look(state: Any, path: tuple[str, ...]) -> Any:
    """The value at a path, read naively."""
    for segment in path:
        if isinstance(state, dict) and segment in state:
            state = state[segment]
        elif isinstance(state, list) and segment.isdigit() and int(segment) < len(state):
            state = state[int(segment)]
        else:
            return NOTHING
    return state


def outside(value: Any) -> Any:
    """What a shallow read compares."""
    if isinstance(value, dict):
        return set(value)
    if isinstance(value, list):
        return ("array", len(value))
    return value


@dataclass
class Schedule:
    """One run. ``play`` moves at random; ``finish`` reconnects everybody and holds all against the reference."""

    seed: int
    tally: Counter[str]
    open_engine: Callable[[], Engine] = MemoryEngine
    steps: int = 200
    attempts: list[Attempt] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    mirrors: dict[int, dict[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.world = World()
        self.world.engines["board"] = self.open_engine()
        self.clients: list[tuple[Client, Link]] = []
        self.open: list[tuple[Client, Transaction, list[Seen]]] = []
        for index, principal in enumerate(("alice", "alice", "bob")):
            watches = (
                [Watch("", scope, prefix=True) for scope in Scope]
                if index != 1
                else [Watch("a"), Watch("mine", Scope.USER), Watch("tab", Scope.SESSION)]
            )
            client, link = self.world.client(principal, "board", *watches)
            self._mirror(client)
            self.clients.append((client, link))

    def _mirror(self, client: Client) -> None:
        mirror = self.mirrors[id(client)] = {}

        def listen(notification: Notification) -> None:
            self.tally[f"notified {notification.kind.value}"] += 1
            assert notification.changes or notification.kind is NotificationKind.RESET
            for change in notification.changes:
                entity = change.address.entity
                known = mirror.get(entity, ABSENT)
                assert known == change.before or known == change.after, "a change was not told"
                assert change.before != change.after
                mirror[entity] = change.after
            if notification.kind in (NotificationKind.COMMIT, NotificationKind.REVERT):
                assert notification.source is not None

        client.replica.subscribe(listen)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        real = quiesce.server.batch.decide

        def recording(engine: Engine, actor: Actor, commit: Commit, *, max_document_bytes: int) -> Decision:
            decision = real(engine, actor, commit, max_document_bytes=max_document_bytes)
            if decision.replayed:
                self.tally["replayed"] += 1
            else:
                self.tally[f"{decision.verdict.outcome.value} {decision.verdict.code}".strip()] += 1
                if decision.verdict.outcome is Outcome.ACCEPTED:
                    self.tally["accepted on pending"] += bool(commit.pending)
                    self.accepted.append(Accepted(actor, commit, decision.verdict.seq))
            return decision

        quiesce.server.batch.decide = recording
        try:
            yield
        finally:
            quiesce.server.batch.decide = real

    def run(self) -> None:
        """Play and finish."""
        with self._recorded():
            for _ in range(self.steps):
                self._step()
            self.finish()

    def _step(self) -> None:
        client, link = self.rng.choice(self.clients)
        draw = self.rng.random()
        if draw < 0.22:
            self._transact(client)
        elif draw < 0.27 and self.open:
            self._end(self.open.pop(self.rng.randrange(len(self.open))))
        elif draw < 0.48:
            for _ in range(self.rng.randint(1, 4)):
                twice = self.rng.random() < 0.1
                self.tally["duplicated up"] += link.up(twice=twice) and twice
        elif draw < 0.72:
            for _ in range(self.rng.randint(1, 6)):
                twice = self.rng.random() < 0.1
                self.tally["duplicated down"] += link.down(twice=twice) and twice
        elif draw < 0.90:
            self.world.loop.decide()
        elif draw < 0.93:
            self.tally["cut"] += link.connected
            link.cut()
        elif draw < 0.985:
            link.connect()
        elif draw < 0.99:
            self.world.clock.advance(self.rng.choice((10.0, 40_000.0)))
            self.world.hub.tick()
        elif draw < 0.993:
            self._restart()

    def _restart(self) -> None:
        self.tally["restarted"] += 1
        for _, link in self.clients:
            link.cut()
        for space in self.world.hub.spaces.values():
            space.sessions.clear()
        self.world.hub.spaces.clear()

    def _transact(self, client: Client) -> None:
        if client.phase is Phase.ENDED:
            return
        transaction = client.replica.begin(source_action=object())
        seen: list[Seen] = []
        written: set[Document] = set()
        for _ in range(self.rng.randint(1, 4)):
            document = self.rng.choices(DOCUMENTS, weights=(5, 3, 2, 1))[0]
            path = self.rng.choice(PATHS)
            draw = self.rng.random()
            if draw < 0.3:
                value = transaction.read(document, path)
                if document not in written:
                    seen.append(Seen(document, path, False, NOTHING if value is ABSENT else copy.deepcopy(value)))
            elif draw < 0.45:
                transaction.read_keys(document, path)
                if document not in written:
                    visible = look(self._snapshot(transaction, document), path)
                    seen.append(Seen(document, path, True, copy.deepcopy(outside(visible))))
            elif draw < 0.55:
                written.add(document)
                transaction.delete(document, path if self.rng.random() < 0.9 else ())
            else:
                self._write(transaction, document, path, written)
        if self.rng.random() < 0.15:
            self._require(client, transaction)
        entry = (client, transaction, seen)
        if self.rng.random() < 0.3:
            self.open.append(entry)
        else:
            self._end(entry)

    def _snapshot(self, transaction: Transaction, document: Document) -> Any:
        value = transaction._before(document)
        return NOTHING if value is ABSENT else value

    def _write(
        self, transaction: Transaction, document: Document, path: tuple[str, ...], written: set[Document]
    ) -> None:
        number = self.rng.randint(0, 5)
        value: Any = {
            (): {"x": number, "y": 0, "list": [number], "deep": {"k": number}},
            ("list",): [number] * self.rng.randint(0, 3),
            ("deep",): {"k": number, "l": 1} if number % 2 else {"k": number},
        }.get(path, number)
        try:
            transaction.write(document, path, value)
            written.add(document)
        except PathError:
            self.tally["no such place"] += 1

    def _require(self, client: Client, transaction: Transaction) -> None:
        document = self.rng.choice(DOCUMENTS[:2])
        draw = self.rng.random()
        if draw < 0.3:
            transaction.require(DocumentAbsent(document.id, document.scope))
        elif draw < 0.7:
            value = client.replica.visible(document)
            if value is not ABSENT:
                transaction.require(DocumentIs(document.id, value_hash(value), document.scope))
        else:
            mine = [a for a in self.attempts if a.session == client.replica.identity.session and a.handle.local_seq]
            if mine:
                transaction.require(OriginCommitted(self.rng.choice(mine[-4:]).handle.local_seq))

    def _end(self, entry: tuple[Client, Transaction, list[Seen]]) -> None:
        client, transaction, seen = entry
        if client.phase is Phase.ENDED:
            return
        handle = transaction.commit()
        identity = client.replica.identity
        if handle.local_seq is not None or handle.result is None:
            self.attempts.append(Attempt(handle, identity.session, identity.principal, seen))
        elif handle.result.settled is Settled.STALE:
            self.tally["inconsistent here"] += 1

    # -- what must be true

    def finish(self) -> None:
        """Bring everybody back and compare."""
        while self.open:
            self._end(self.open.pop())
        for _ in range(8):
            for _, link in self.clients:
                link.connect()
            self.world.settle()
        self.accepted = self.durable(self.accepted)
        reference = Reference()
        for accepted in sorted(self.accepted, key=lambda accepted: accepted.seq):
            if accepted.commit.operations:
                assert accepted.seq == len(reference.after), "the sequence has no gaps and no repetitions"
                reference.replay(accepted)
        self._identities()
        by_identity = {(a.actor.session, a.commit.local_seq): a for a in self.accepted}
        for attempt in self.attempts:
            self._check_attempt(attempt, by_identity, reference)
        for client, _ in self.clients:
            self._check_replica(client, reference)
        self.check_store(reference.state)

    def durable(self, accepted: list[Accepted]) -> list[Accepted]:
        """Of what was decided, what lasted: everything, unless storage can fail."""
        return accepted

    def check_store(self, state: dict[tuple[str, str], Any]) -> None:
        """Compare what is stored, for those who can look."""

    def _identities(self) -> None:
        names = [(a.actor.session, a.commit.local_seq) for a in self.accepted]
        assert len(names) == len(set(names)), "a commit was applied twice"

    def _check_attempt(
        self, attempt: Attempt, by_identity: dict[tuple[str, int], Accepted], reference: Reference
    ) -> None:
        result = attempt.handle.result
        assert result is not None, "a commit never settled"
        self.tally[f"settled {result.settled.value}"] += 1
        accepted = by_identity.get((attempt.session, attempt.handle.local_seq or 0))
        if result.settled is Settled.COMMITTED:
            assert accepted is not None, "acknowledged and not in the store"
            assert accepted.seq == result.seq
        else:
            assert accepted is None, f"{result.settled} and yet applied"
        if accepted is None:
            return
        state = reference.before(accepted.seq)
        for seen in attempt.seen:
            place = (accepted.actor.identity.instance(seen.document.scope), seen.document.id)
            now = look(state.get(place, NOTHING), seen.path)
            assert (outside(now) if seen.shallow else now) == seen.value, (
                f"commit {attempt.session}/{attempt.handle.local_seq} at {accepted.seq} read {seen} and met {now!r}"
            )

    def _check_replica(self, client: Client, reference: Reference) -> None:
        assert client.phase is Phase.LIVE, client.problem
        assert client.unsettled == 0
        identity = client.replica.identity
        for document in DOCUMENTS:
            if client is self.clients[1][0] and document.id == "b":
                continue  # not watched
            place = (identity.instance(document.scope), document.id)
            expected = reference.state.get(place, ABSENT)
            assert client.replica.visible(document) == expected, f"{identity} sees another {document}"
            assert client.replica.confirmed(document)[1] == expected
            mirrored = self.mirrors[id(client)].get(client.replica.entity(document), ABSENT)
            assert mirrored == expected, "the notifications do not add up to what is visible"
