"""A commit's class and holder: told with each document, kept over a restart, and nothing that an older peer needs."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from store_world import World
from test_store_server import Peer

import quiesce.server.sqlite as sqlite
from quiesce.address import Identity
from quiesce.commits import Commit, CommitClass, Document, SetDocument
from quiesce.protocol import Upsert, Watch, WatchSet, Window, encode
from quiesce.server.access import Actor
from quiesce.server.decide import decide, digest_of
from quiesce.server.engine import Engine, Key
from quiesce.server.memory import MemoryEngine
from quiesce.server.sqlite import SqliteEngine, SqliteOptions

SERVES = Actor(Identity("ann", "s1"), holder="h1")
DERIVED = Commit(1, operations=(SetDocument("a", 1),), commit_class=CommitClass.DERIVED)


def test_what_wrote_a_document_is_told_with_it(world: World) -> None:
    watcher = Peer(world, "bob")
    watcher.take()
    watcher.ask(WatchSet(1, (Watch("", prefix=True),)))
    client, _ = world.client("ann")
    transaction = client.replica.begin(commit_class=CommitClass.DERIVED)
    transaction.write(Document("a"), (), 1)
    transaction.commit()
    client.replica.begin().abort()
    world.settle()
    (window,) = [message for message in watcher.take() if isinstance(message, Window)]
    assert [(upsert.commit_class, upsert.holder) for upsert in window.upserts] == [(CommitClass.DERIVED, "")]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_class_and_holder_stay_with_the_document(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    engine: Engine = MemoryEngine() if kind == "memory" else SqliteEngine(path, SqliteOptions("OFF"))
    engine.begin()
    decide(engine, SERVES, DERIVED, max_document_bytes=1_000)
    engine.commit()
    if kind == "sqlite":
        engine.close()
        engine = SqliteEngine(path, SqliteOptions("OFF"))
    head = engine.head(Key("space", "a"))
    assert (head.commit_class, head.holder) == (CommitClass.DERIVED, "h1")
    engine.begin()
    decide(engine, Actor(Identity("bob", "s2")), Commit(1, operations=(SetDocument("a", 2),)), max_document_bytes=1_000)
    engine.commit()
    head = engine.head(Key("space", "a"))
    assert (head.commit_class, head.holder) == (CommitClass.EVENT, "")
    engine.close()


def test_a_database_without_classes_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = sqlite3.connect(path)
    old.executescript(sqlite._SCHEMA)  # the first version's, word for word
    old.execute("INSERT INTO document VALUES ('space', 'a', 1, X'37')")
    old.execute("UPDATE counter SET value = 1 WHERE name = 'sequence'")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    engine = SqliteEngine(path, SqliteOptions("OFF"))
    head = engine.head(Key("space", "a"))
    assert (head.value, head.seq, head.commit_class, head.holder) == (7, 1, CommitClass.EVENT, "")
    engine.begin()
    assert decide(engine, SERVES, DERIVED, max_document_bytes=1_000).verdict.seq == 2
    engine.commit()
    engine.close()


def test_a_replay_answers_alike_whether_or_not_its_first_server_knew_classes() -> None:
    assert digest_of(DERIVED) == digest_of(msgspec.structs.replace(DERIVED, commit_class=CommitClass.EVENT))
    assert digest_of(DERIVED) != digest_of(msgspec.structs.replace(DERIVED, operations=()))


def test_a_peer_that_knows_no_classes_reads_past_them() -> None:
    class OldUpsert(msgspec.Struct, rename="camel"):
        id: str
        seq: int

    class OldCommit(msgspec.Struct, rename="camel", tag_field="type", tag="commit"):
        local_seq: int

    upsert = Upsert("a", 1, commit_class=CommitClass.DERIVED, holder="h1")
    assert msgspec.json.decode(msgspec.json.encode(upsert), type=OldUpsert) == OldUpsert("a", 1)
    assert msgspec.json.decode(encode(DERIVED), type=OldCommit) == OldCommit(1)
    assert msgspec.json.decode(b'{"id":"a","seq":1}', type=Upsert).commit_class is CommitClass.EVENT


def test_a_server_that_tells_no_classes_is_as_good(world: World) -> None:
    """Nobody's derived commit is taken for one's own: nothing is skipped."""
    alice, _ = world.client("alice")
    bob, _ = world.client("bob")
    heard: list[str] = []
    alice.replica.subscribe(lambda told: heard.extend(change.derived_by for change in told.changes))
    transaction = bob.replica.begin()
    transaction.write(Document("a"), (), 1)
    transaction.commit()
    world.settle()
    assert heard == [""]


def test_a_holder_is_the_server_s_to_name(world: World) -> None:
    """A commit cannot say who serves: only a session that the server lets serve has a holder."""
    alice, _ = world.client("alice")
    bob, _ = world.client("bob")
    session = next(iter(world.hub.spaces["board"].sessions.values()))
    session.actor = replace(session.actor, holder="h1")
    for client, name in ((alice, "served"), (bob, "plain")):
        transaction = client.replica.begin(commit_class=CommitClass.DERIVED)
        transaction.write(Document(name), (), 1)
        transaction.commit()
    world.settle()
    engine = world.engines["board"]
    assert [engine.head(Key("space", name)).holder for name in ("served", "plain")] == ["h1", ""]
