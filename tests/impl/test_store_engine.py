"""The SQLite engine by itself: durability settings, migration, bounded history, and what a bare install needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import quiesce.server.sqlite as sqlite
from quiesce.address import Identity
from quiesce.commits import Commit, DeleteDocument, Outcome, PatchDocument, Put, Read, SetDocument
from quiesce.server.access import Actor
from quiesce.server.decide import Decision, decide
from quiesce.server.engine import Engine, Key, Retention
from quiesce.server.memory import MemoryEngine
from quiesce.server.sqlite import SqliteEngine, SqliteOptions
from quiesce.values import ABSENT

ANN = Actor(Identity("ann", "s1"))
A = Key("space", "a")


def run(engine: Engine, commit: Commit, actor: Actor = ANN) -> Decision:
    engine.begin()
    decision = decide(engine, actor, commit, max_document_bytes=10_000)
    engine.commit()
    return decision


def test_it_opens_for_durability(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite")
    pragmas = {
        name: engine._run(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "locking_mode")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive"}
    engine.close()
    engine.close()


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite")
    first = run(engine, Commit(1, operations=(SetDocument("a", {"n": 1}), SetDocument("b", 1))))
    run(engine, Commit(2, operations=(PatchDocument("a", (Put(("n",), 2),)), DeleteDocument("b"))))
    engine.close()
    engine = SqliteEngine(tmp_path / "a.sqlite")
    assert engine.sequence == 2
    assert engine.head(A).value == {"n": 2}
    assert engine.head(Key("space", "b")).value is ABSENT
    assert engine.head(Key("space", "b")).seq == 2, "a deletion is remembered"
    replay = run(engine, Commit(1, operations=(SetDocument("a", {"n": 1}), SetDocument("b", 1))))
    assert (replay.verdict, replay.replayed) == (first.verdict, True)
    stale = run(engine, Commit(3, (Read("a", path=("n",), seq=1),), operations=(SetDocument("c", 1),)))
    assert stale.verdict.outcome is Outcome.CONFLICT
    engine.close()


def test_what_is_rolled_back_never_was(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite")
    run(engine, Commit(1, operations=(SetDocument("a", 1),)))
    engine.begin()
    decide(engine, ANN, Commit(2, operations=(SetDocument("a", 2),)), max_document_bytes=10_000)
    engine.rollback()
    assert (engine.sequence, engine.head(A).value, engine.last_local_seq("s1")) == (1, 1, 1)
    assert run(engine, Commit(2, operations=(SetDocument("a", 3),))).verdict.seq == 2
    engine.close()


def test_an_older_schema_is_migrated_and_keeps_its_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite")
    run(engine, Commit(1, operations=(SetDocument("a", 1),)))
    engine.close()
    present = sqlite.SCHEMA_VERSION
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", present + 1)
    monkeypatch.setitem(
        sqlite._MIGRATIONS, present, "ALTER TABLE document ADD COLUMN note TEXT; CREATE TABLE extra (id INTEGER)"
    )
    engine = SqliteEngine(tmp_path / "a.sqlite")
    assert engine._run("PRAGMA user_version").fetchone()[0] == present + 1
    assert engine.head(A).value == 1
    assert engine._rows("SELECT note FROM document", ()) == [(None,)]
    engine.close()
    monkeypatch.setitem(sqlite._MIGRATIONS, present + 1, "CREATE TABLE more (id INTEGER); THIS FAILS")
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", present + 2)
    with pytest.raises(sqlite.StorageFailed):
        SqliteEngine(tmp_path / "a.sqlite")
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", present + 1)
    engine = SqliteEngine(tmp_path / "a.sqlite")
    tables = {row[0] for row in engine._rows("SELECT name FROM sqlite_master WHERE type = 'table'", ())}
    assert "more" not in tables, "a migration is done whole or not at all"
    engine.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_history_and_verdicts_are_bounded(kind: str, tmp_path: Path) -> None:
    retention = Retention(writes=80, verdicts=64)
    engine: Engine = (
        MemoryEngine(retention)
        if kind == "memory"
        else SqliteEngine(tmp_path / "a.sqlite", SqliteOptions("OFF", retention=retention))
    )
    run(engine, Commit(1, operations=(SetDocument("still", {"n": 1}),)))
    for local in range(2, 1_001):
        run(
            engine,
            Commit(
                local,
                operations=(PatchDocument("a", (Put((str(local % 7),), local),)),)
                if local > 2
                else (SetDocument("a", {}),),
            ),
        )
    if isinstance(engine, SqliteEngine):
        assert engine._rows("SELECT count(*) FROM write_history", ())[0][0] < 100
        assert engine._rows("SELECT count(*) FROM verdict", ())[0][0] < 64 + 129
    assert engine.writes_after(A, 1) is None
    old = Commit(1_001, (Read("a", path=("elsewhere",), seq=5),), operations=(SetDocument("b", 1),))
    assert run(engine, old).verdict.outcome is Outcome.CONFLICT, "too old to know: refused"
    unchanged = Commit(1_002, (Read("still", seq=1),), operations=(SetDocument("b", 1),))
    assert run(engine, unchanged).verdict.outcome is Outcome.ACCEPTED, "what never changed is true however old"
    recent = Commit(1_003, (Read("a", path=("elsewhere",), seq=990),), operations=(SetDocument("b", 2),))
    assert run(engine, recent).verdict.outcome is Outcome.ACCEPTED
    forgotten = run(engine, Commit(2, operations=(SetDocument("a", {}),)))
    assert forgotten.verdict.code == "replay-forgotten", "never applied again"


def test_documents_beyond_the_cache_are_read_again(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.sqlite", SqliteOptions("OFF", cache_bytes=2_000))
    for local in range(1, 51):
        run(engine, Commit(local, operations=(SetDocument(f"d{local}", "x" * 100 + str(local)),)))
    assert len(engine._cache) < 10
    assert [engine.head(Key("space", f"d{n}")).value for n in (1, 25, 50)] == ["x" * 100 + n for n in ("1", "25", "50")]
    engine.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_prefix_is_text_and_not_a_pattern(kind: str, tmp_path: Path) -> None:
    engine: Engine = MemoryEngine() if kind == "memory" else SqliteEngine(tmp_path / "a.sqlite", SqliteOptions("OFF"))
    ids = ["a%b", "a_b", "axb", "a", "é", "ézz", "\U0001f600x", "b"]
    for local, id in enumerate(ids, 1):
        run(engine, Commit(local, operations=(SetDocument(id, 1),)))
    for prefix in ("", "a", "a%", "a_", "é", "\U0001f600", "z"):
        found = {key.id for key in engine.find("space", prefix, 100)}
        assert found == {id for id in ids if id.startswith(prefix)}, prefix
    assert len(engine.find("space", "", 3)) == 3
    engine.close()


def test_a_bare_install_serves() -> None:
    """Neither a solver nor numpy, llvmlite, the OpenTelemetry SDK or a test tool is needed to serve."""
    program = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "z3", "llvmlite", "hypothesis", "networkx", "apsw", "httpx", "pytest",
                "quiesce_model", "quiesce_checks"} or name.startswith("opentelemetry.sdk"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import tempfile, pathlib
from quiesce.cli import serve, token
from quiesce.counts import Counts
from quiesce.server.serve import Settings, build
import quiesce.storage.socket, quiesce.storage.loopback
build(Settings(pathlib.Path(tempfile.mkdtemp())), Counts(quiet=True))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
