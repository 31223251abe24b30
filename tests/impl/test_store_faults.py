"""The store over a disk that fails: nothing acknowledged is lost, nothing applied twice, everybody agrees.

A killed process cannot show a missing sync, since the operating system keeps what was written; a disk that forgets can.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest
from faulty_disk import Disk, DiskOptions
from store_schedules import Accepted, Schedule

import quiesce.server.sqlite
from quiesce.commits import Outcome
from quiesce.server.engine import Engine, StorageFailed
from quiesce.server.sqlite import SqliteEngine, SqliteOptions, Synchronous
from quiesce.values import ABSENT

ERRORS = {"write": (apsw.FullError, apsw.IOError), "sync": (apsw.IOError,), "read": (apsw.IOError,)}


class FailingSchedule(Schedule):
    """A schedule whose server loses its machine now and then, and whose disk returns errors."""

    def __init__(self, seed: int, tally: Counter[str], synchronous: Synchronous = "FULL") -> None:
        self.disk = Disk(random.Random(seed))
        layer = DiskOptions(self.disk, f"faulty-{seed}")
        self.options: SqliteOptions = layer.options(synchronous)
        self.layer = layer
        super().__init__(seed, tally, steps=160)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._restart_cleanly()

    def _open(self, space: str) -> Engine:
        return SqliteEngine(Path("board.sqlite"), self.options)

    def _restart_cleanly(self) -> None:
        """Begin on the disk instead of in memory."""
        self.world.hub._open_engine = self._open
        for _, link in self.clients:
            link.cut()
            link.client._resume = None
        self.world.hub.spaces.clear()
        for _, link in self.clients:
            link.connect()
        self.world.settle()

    def _step(self) -> None:
        draw = self.rng.random()
        if draw < 0.02:
            self._crash()
        elif draw < 0.05:
            kind = self.rng.choice(("write", "write", "sync", "sync", "read"))
            self.disk.plan(kind, self.rng.randrange(12), self.rng.choice(ERRORS[kind]))
        elif draw < 0.10:
            self.rng.choice(self.clients)[1].connect()
        super()._step()

    def _crash(self) -> None:
        self.tally["machine failed"] += 1
        self._restart()
        self.disk.crash()

    def finish(self) -> None:
        """Fail once more at the end, then look."""
        self._crash()
        self.tally["disk faults"] += self.disk.faults
        self.tally["storage failed"] += self.world.counts.logger("server").count("storage-failed")
        super().finish()

    def durable(self, accepted: list[Accepted]) -> list[Accepted]:
        """What the database itself says was accepted: a failed batch leaves it open whether it was."""
        for space in self.world.hub.spaces.values():
            space.close()
        self.disk.crash()  # whatever is not durable now was never going to be
        engine = SqliteEngine(Path("board.sqlite"), self.options)
        found: dict[tuple[str, int], Accepted] = {}
        for candidate in accepted:
            recorded = engine.recorded(candidate.actor.session, candidate.commit.local_seq)
            if (
                recorded is not None
                and recorded.verdict.outcome is Outcome.ACCEPTED
                and recorded.verdict.seq == candidate.seq
            ):
                found[candidate.actor.session, candidate.commit.local_seq] = candidate
        self._engine = engine
        return list(found.values())

    def check_store(self, state: dict[tuple[str, str], Any]) -> None:
        """The documents in the database are what the accepted commits make of nothing."""
        rows = self._engine._rows("SELECT instance, id, value FROM document WHERE value IS NOT NULL", ())
        stored = {(row[0], row[1]): quiesce.server.sqlite._decode_value(row[2]) for row in rows}
        assert stored == {place: value for place, value in state.items() if value is not ABSENT}
        self._engine.close()


def play(seeds: range, synchronous: Synchronous = "FULL") -> Counter[str]:
    tally: Counter[str] = Counter()
    for seed in seeds:
        try:
            FailingSchedule(seed, tally, synchronous).run()
        except AssertionError as error:
            raise AssertionError(f"schedule {seed}: {error}") from error
    return tally


def check_floors(tally: Counter[str], runs: int) -> None:
    floors = {"machine failed": 2, "disk faults": 1, "storage failed": 0.7, "replayed": 1, "accepted": 5}
    for name, each in floors.items():
        assert tally[name] >= each * runs, (name, tally)


def test_nothing_acknowledged_is_lost_when_machine_and_disk_fail() -> None:
    check_floors(play(range(90)), 90)


@pytest.mark.slow
def test_many_failures() -> None:
    check_floors(play(range(10_000, 11_500)), 1_500)


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_a_missing_sync_is_caught(synchronous: Synchronous) -> None:
    with pytest.raises(AssertionError, match=r"acknowledged and not|older state|never settled"):
        play(range(120), synchronous)


def test_trusting_a_log_whose_sync_failed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # After a failed sync the log can be read and may never reach the disk. Without writing it anew on opening,
    # a replayed commit would be acknowledged from it.
    monkeypatch.setattr(SqliteEngine, "_settle_log", lambda self: None)
    with pytest.raises(AssertionError):
        play(range(600))


def test_a_database_of_another_server_is_refused(tmp_path: Path) -> None:
    first = SqliteEngine(tmp_path / "a.sqlite")
    options = SqliteOptions(connect=lambda path: quiesce.server.sqlite.connect(path))
    with pytest.raises(StorageFailed, match="another server holds it"):
        SqliteEngine(tmp_path / "a.sqlite", options)
    first.close()
    SqliteEngine(tmp_path / "a.sqlite").close()


def test_a_newer_schema_is_refused_and_named(tmp_path: Path) -> None:
    SqliteEngine(tmp_path / "a.sqlite").close()
    connection = quiesce.server.sqlite.connect(str(tmp_path / "a.sqlite"))
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StorageFailed, match="schema version 99, and this quiesce knows 3: use a newer quiesce"):
        SqliteEngine(tmp_path / "a.sqlite")
