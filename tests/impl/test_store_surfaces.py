"""Declared surfaces: the server says which commits stay within them, and one that does not ends the declaration."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest
from store_world import World
from test_store_server import Peer

import quiesce.server.sqlite as sqlite
from quiesce.address import Identity, Scope
from quiesce.commits import (
    Certificate,
    Commit,
    DeleteDocument,
    Outcome,
    PatchDocument,
    PendingRead,
    Place,
    Put,
    Read,
    SetDocument,
)
from quiesce.protocol import Declare, Problem, decode_client, encode
from quiesce.server.access import Actor
from quiesce.server.certify import first_beyond
from quiesce.server.decide import decide, digest_of
from quiesce.server.engine import Engine
from quiesce.server.health import stats
from quiesce.server.memory import MemoryEngine
from quiesce.server.sqlite import SqliteEngine, SqliteOptions

ANN = Actor(Identity("ann", "s1"))
SURFACE = Certificate("a", "impl:1", "run:1", (Place("in", path=("x",)),), (Place("out"),))
WITHIN = Commit(
    1,
    (Read("in", path=("x", "deep"), seq=0), Read("out", seq=0)),
    operations=(SetDocument("out", {"value": 1}),),
    certificate=SURFACE.name,
)
BEYOND = {
    "a write": (Commit(2, operations=(SetDocument("other", 1),)), "other"),
    "a deletion": (Commit(2, operations=(DeleteDocument("in"),)), "in"),
    "an edit": (Commit(2, operations=(PatchDocument("in", (Put(("x",), 1),)),)), "in/x"),
    "another instance": (Commit(2, operations=(SetDocument("out", 1, Scope.USER),)), "user:out"),
    "a read": (Commit(2, (Read("other", seq=0),)), "other"),
    "a wider read": (Commit(2, (Read("in", seq=0),)), "in"),
    "a read of own": (Commit(2, pending=(PendingRead("in", (1,)),)), "in"),
}


@pytest.fixture(params=["memory", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    return MemoryEngine() if request.param == "memory" else SqliteEngine(tmp_path / "a.sqlite", SqliteOptions("OFF"))


def run(engine: Engine, commit: Commit) -> tuple[Outcome, bool]:
    engine.begin()
    verdict = decide(engine, ANN, commit, max_document_bytes=1_000).verdict
    engine.commit()
    return verdict.outcome, verdict.certified


def declare(engine: Engine, certificate: Certificate, wall_ms: float = 1.0) -> None:
    engine.begin()
    engine.declare(certificate, wall_ms)
    engine.commit()


def test_commits_within_a_declared_surface_are_certified_and_no_others(engine: Engine) -> None:
    assert run(engine, WITHIN) == (Outcome.ACCEPTED, False), "nothing of that name has been declared"
    declare(engine, SURFACE)
    again = msgspec.structs.replace(WITHIN, local_seq=2, reads=())
    assert run(engine, again) == (Outcome.ACCEPTED, True)
    assert run(engine, msgspec.structs.replace(again, local_seq=3, certificate="")) == (Outcome.ACCEPTED, False)
    assert engine.certificates() == (1, 0)


@pytest.mark.parametrize("what", BEYOND)
def test_what_lies_beyond_is_found(what: str) -> None:
    commit, place = BEYOND[what]
    assert str(first_beyond(commit, SURFACE)) == place


def test_nothing_of_a_commit_within_is_beyond() -> None:
    assert first_beyond(WITHIN, SURFACE) is None


def test_one_commit_that_goes_beyond_ends_the_declaration_for_that_action_and_code_for_good(engine: Engine) -> None:
    declare(engine, SURFACE)
    beyond = Commit(1, operations=(SetDocument("other", 1),), certificate=SURFACE.name)
    assert run(engine, beyond) == (Outcome.ACCEPTED, False), "the commit is judged as any other"
    after = msgspec.structs.replace(WITHIN, local_seq=2, reads=())
    assert run(engine, after) == (Outcome.ACCEPTED, False)
    declare(engine, SURFACE, 2.0)
    assert run(engine, msgspec.structs.replace(after, local_seq=3)) == (Outcome.ACCEPTED, False)
    wider = msgspec.structs.replace(SURFACE, writes=(Place("out"), Place("other")))
    declare(engine, wider)
    named = msgspec.structs.replace(after, local_seq=4, certificate=wider.name)
    assert run(engine, named) == (Outcome.ACCEPTED, False), "wider, of the same code: who says so was wrong once"
    other = msgspec.structs.replace(wider, implementation="impl:2")
    declare(engine, other)
    assert run(engine, msgspec.structs.replace(after, local_seq=5, certificate=other.name)) == (Outcome.ACCEPTED, True)
    assert engine.certificates() == (3, 2)


def test_a_refused_commit_ends_nothing(engine: Engine) -> None:
    declare(engine, SURFACE)
    run(engine, Commit(1, operations=(SetDocument("out", 1),)))
    stale = Commit(2, (Read("out", seq=0),), operations=(SetDocument("other", 1),), certificate=SURFACE.name)
    assert run(engine, stale)[0] is Outcome.CONFLICT
    assert engine.certificates() == (1, 0)


def test_what_is_rolled_back_ended_nothing(engine: Engine) -> None:
    declare(engine, SURFACE)
    engine.begin()
    engine.end_certificate(SURFACE, "other")
    engine.rollback()
    assert engine.certificates() == (1, 0)


def test_declarations_are_kept_while_they_are_made_and_then_forgotten(engine: Engine) -> None:
    declare(engine, SURFACE, 10.0)
    engine.begin()
    engine.forget_certificates(10.0)
    engine.commit()
    assert engine.certificate(SURFACE.name) is not None
    engine.begin()
    engine.forget_certificates(11.0)
    engine.commit()
    assert engine.certificate(SURFACE.name) is None


def test_they_outlive_a_restart(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite")
    declare(engine, SURFACE)
    engine.begin()
    engine.end_certificate(SURFACE, "other")
    engine.commit()
    engine.close()
    engine = SqliteEngine(tmp_path / "a.sqlite")
    stored = engine.certificate(SURFACE.name)
    assert stored is not None
    assert (stored.certificate, stored.beyond) == (SURFACE, "other")
    engine.close()


def test_a_database_of_the_version_before_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = sqlite3.connect(path)
    old.executescript(sqlite._SCHEMA + sqlite._COMMIT_CLASS)
    old.execute("PRAGMA user_version = 2")
    old.commit()
    old.close()
    engine = SqliteEngine(path, SqliteOptions("OFF"))
    declare(engine, SURFACE)
    assert run(engine, WITHIN) == (Outcome.ACCEPTED, True)
    engine.close()


def test_over_the_wire(world: World) -> None:
    ann = Peer(world, "ann")
    ann.welcome()
    assert ann.ask(Declare(SURFACE)) == []
    (verdict, *_) = ann.ask(WITHIN)
    assert verdict.certified
    ann.ask(Commit(2, operations=(SetDocument("other", 1),), certificate=SURFACE.name))
    assert stats(world.hub)["spaces"]["board"]["surfaces"] == {"declared": 1, "exceeded": 1}
    assert decode_client(encode(Declare(SURFACE))) == Declare(SURFACE)
    assert digest_of(WITHIN) == digest_of(msgspec.structs.replace(WITHIN, certificate=""))


def test_too_large_a_declaration_is_refused_in_words() -> None:
    world = World(surface_places=1)
    ann = Peer(world, "ann")
    ann.welcome()
    (problem,) = ann.ask(Declare(SURFACE))
    assert isinstance(problem, Problem)
    assert (problem.code, problem.fatal) == ("surface-too-large", False)
