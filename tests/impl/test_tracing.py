"""What a scheduler writes of itself with QUIESCE_TRACE, and that it survives other processes, a crash, a full disk."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quiesce.commits import Document
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Run, RunAgain
from quiesce.scheduler.tracing import VARIABLE
from quiesce.simulate import Simulation, Storm, simulate_storm

Event = dict[str, Any]


def lines(path: Path) -> list[Event]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def one_node(body: Any = None, **gates: float) -> Simulation:
    """One session with an effect that copies a document."""
    simulation = Simulation(lambda: 1.0, BreakerPolicy())
    actor = simulation.actor("mine")

    def copy(run: Run) -> None:
        run.write(Document("to"), (), run.read(Document("from")))

    node = Node("copy", Kind.EFFECT, body or copy)
    for name, value in gates.items():
        setattr(node.gates, name, value)
    actor.scheduler.register(node)
    simulation.run(5)
    put(simulation, 1)
    return simulation


def put(simulation: Simulation, value: object) -> None:
    transaction = simulation.actors[0].client.replica.begin()
    transaction.write(Document("from"), (), value)
    transaction.commit()
    simulation.run(100)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "trace.ndjson"))
    return tmp_path / "trace.ndjson"


def test_without_the_variable_there_is_no_trace(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    scheduler = one_node().actors[0].scheduler
    assert scheduler.trace is None
    assert scheduler.breaker.on_drop is None


def test_a_run_is_told_from_its_cause_to_its_commit(path: Path):
    one_node(debounce_ms=10)
    told = [(event["event"], event["at"]) for event in lines(path) if "node" in event]
    assert told == [
        ("liveness", 0),
        ("registered", 0),
        ("run-started", 0),
        ("run-ended", 0),
        ("kicked-off", 0),
        ("committed", 0),
        ("changed", 5),
        ("run-started", 15),
        ("run-ended", 15),
        ("kicked-off", 15),
        ("committed", 17),
    ]
    changed = next(event for event in lines(path) if event["event"] == "changed")
    assert changed["cause"] == {"document": "space/space/from", "path": [], "origin": "local"}
    assert (changed["gates"]["debounce"], changed["wake"], changed["status"]) == (15, 15, "invalid")
    assert len({event["session"] for event in lines(path)}) == 1


def test_the_first_line_says_how_the_session_works(path: Path):
    one_node()
    first = lines(path)[0]
    assert (first["event"], first["format"], first["process"]) == ("opened", 1, os.getpid())
    assert first["breaker"]["echo_trip_threshold"] == 12
    assert first["convergence"]["run_budget"] == 10


def test_a_trip_its_renewals_and_its_end_are_told(path: Path):
    policy = BreakerPolicy(echo_trip_threshold=2, echo_window_ms=5_000, echo_backoff_max_ms=1_000)
    simulation = simulate_storm(Storm(), policy, 5_000)
    simulation.actors[0].scheduler.dispose()
    events = lines(path)
    session = next(event["session"] for event in events if event["event"] == "disposed")
    pairs = [event["pairs"][0] for event in events if event["session"] == session and event.get("pairs")]
    assert [pair["step"] for pair in pairs if pair.get("tripped")][:3] == [500, 1_000, 1_000]
    dropped = [event for event in events if event["event"] == "pair-dropped"]
    assert [(event["document"], event["reason"]) for event in dropped] == [("space/space/shared", "retired")]


def test_runs_that_come_to_nothing_say_so(path: Path):
    asked = iter([True, False, False])

    def body(run: Run) -> None:
        if next(asked, False):
            raise RunAgain("once more")
        run.read(Document("from"))

    one_node(body)
    outcomes = [event["outcome"] for event in lines(path) if event["event"] == "run-ended"]
    assert outcomes[:2] == ["again", "returned"]
    assert [event["after_conflict"] for event in lines(path) if event["event"] == "retry"] == [False]


def test_a_name_may_hold_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "trace-%p.ndjson"))
    one_node()
    assert lines(tmp_path / f"trace-{os.getpid()}.ndjson")


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere" / "trace.ndjson"))
    with pytest.raises(RuntimeError, match=r"QUIESCE_TRACE=.* cannot be written \(No such file or directory\): name"):
        one_node()


def test_a_full_disk_ends_the_trace_and_not_the_session(path: Path, monkeypatch: pytest.MonkeyPatch):
    simulation = one_node()
    before = path.read_text()

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        put(simulation, 2)
        put(simulation, 3)
    assert path.read_text() == before
    assert simulation.actors[0].client.replica.visible(Document("to")) == 3
    put(simulation, 4)
    assert path.read_text() == before, "it does not go on after a gap"


CHILD = """
import os, signal, sys
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.simulate import Storm, simulate_storm
policy = BreakerPolicy(echo_trip_threshold=3)
simulation = simulate_storm(Storm(seed=int(sys.argv[1])), policy, 20_000)
if sys.argv[2] == "crash":
    trace = simulation.actors[0].scheduler.trace
    write = os.write
    os.write = lambda file, data: (write(file, data[: len(data) // 2]), os.kill(os.getpid(), signal.SIGKILL))
    trace.idle()
"""


def child(path: Path, seed: int, ending: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(seed), ending], env={**os.environ, VARIABLE: str(path)})


def test_several_processes_write_into_one_file(path: Path):
    children = [child(path, seed, "end") for seed in range(2)]
    assert [process.wait(60) for process in children] == [0, 0]
    sessions: dict[str, list[float]] = {}
    for event in lines(path):
        sessions.setdefault(event["session"], []).append(event["at"])
    assert len(sessions) == 4
    assert all(times == sorted(times) and len(times) > 20 for times in sessions.values())


def test_a_crash_costs_the_line_that_was_being_written_and_no_other(path: Path):
    process = child(path, 1, "crash")
    assert process.wait(60) == -signal.SIGKILL
    *whole, torn = path.read_text().split("\n")
    assert len([json.loads(line) for line in whole]) > 20
    with pytest.raises(json.JSONDecodeError):
        json.loads(torn)
    one_node()  # another process goes on in the same file
    *before, first = path.read_text().splitlines()[: len(whole) + 2]
    assert before == [*whole, torn]
    assert json.loads(first)["event"] == "opened"
