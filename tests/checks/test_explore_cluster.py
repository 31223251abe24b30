"""Owners on a Ray cluster of two machines (both of them this one) find what one search finds."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from explored_alike import alike, random_machine, told
from explored_at_random import at_random
from explored_lost import Once
from explored_machines import Cells, Lamps
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines.checkpoints import Checkpoints
from quiesce_checks.engines.cluster import Cluster, Unreachable
from quiesce_checks.engines.explore import Limits, Progress, Stop, explore
from quiesce_checks.relation.build import relation
from quiesce_model import Machine

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray: Any = pytest.importorskip("ray", reason="quiesce[cluster] is not installed: make test-cluster installs it")

pytestmark = pytest.mark.slow

SMALL = SCOPES["small"]
PLAIN: dict[str, Any] = {"engine": "interpreted"}
MEMORY = 100 << 20
"""Bytes of each machine's object store: more than the tests need."""


def two_nodes() -> Any:
    """Ray gives a node 30 seconds to start, which is not always enough where others work: the third time counts."""
    from ray.cluster_utils import Cluster as Machines

    for last in (False, False, True):
        made: Any = Machines()
        try:
            for _ in range(2):
                made.add_node(num_cpus=1, object_store_memory=MEMORY, include_dashboard=False)
            return made
        except Exception as error:
            if last or "timed out during startup" not in str(error):
                raise
            made.shutdown()
    raise AssertionError


@pytest.fixture(scope="module")
def machines() -> Generator[Any]:
    made = two_nodes()
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def two(machines: Any) -> dict[str, Any]:
    return {"engine": "native", "cluster": machines.address}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    found: list[Cluster] = []
    good = Cluster.start

    def start(self: Cluster, plan: Any) -> float:
        found.append(self)
        return good(self, plan)

    monkeypatch.setattr(Cluster, "start", start)
    return found


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return told(explore(yardstick(SMALL), engine="native", confirm=None))


@pytest.mark.parametrize("machine", [Lamps(), Cells(size=13)], ids=lambda m: type(m).__name__)
def test_actors_find_what_the_plain_search_does(machine: Machine, two: dict[str, Any]) -> None:
    assert alike(relation(machine), PLAIN, two, deadlock=True)


def test_there_is_one_owner_for_each_processor_and_machine(two: dict[str, Any], started: list[Cluster]) -> None:
    found = explore(yardstick(SMALL), confirm=None, **two)
    assert found.verdict("waits_within_backoff").engine == "explore (2 actors on 2 machines)"
    assert len(set(started[0].places)) == 2


@pytest.mark.parametrize("saved", [False, True], ids=["without checkpoints", "with checkpoints"])
def test_a_killed_actor_changes_nothing(
    saved: bool, two: dict[str, Any], started: list[Cluster], whole: dict[str, Any], tmp_path: Path
) -> None:
    watcher = Once(SMALL.distinct // 2, lambda: ray.kill(started[-1].actors[1]))
    saving = Checkpoints(tmp_path, 0) if saved else None
    found = explore(yardstick(SMALL), confirm=None, progress=watcher, checkpoints=saving, **two)
    assert told(found) == whole
    assert found.verdict("waits_within_backoff").how.endswith("an owner was lost once, and its work done again")
    assert (watcher.fell_back_to > 10) == saved


def test_the_shortest_trace_is_as_long_when_an_actor_was_killed(two: dict[str, Any], started: list[Cluster]) -> None:
    planted = yardstick(SMALL, bug=True)
    plain = explore(planted, stop="first", engine="native", confirm=None).traces["waits_within_backoff"]
    watcher = Once(1_000, lambda: ray.kill(started[-1].actors[0]))
    found = explore(planted, stop="first", confirm=None, progress=watcher, **two)
    assert watcher.at
    assert found.traces["waits_within_backoff"].length == plain.length


def test_traces_are_confirmed_by_the_machine(two: dict[str, Any]) -> None:
    assert told(explore(Lamps(), **two)) == told(explore(Lamps(), **PLAIN))


def test_limits_and_ctrl_c_end_it_inconclusive(two: dict[str, Any]) -> None:
    assert explore(yardstick(SMALL), confirm=None, limits=Limits(memory=600_000), **two).stop is Stop.MEMORY

    def interrupt(beat: Progress) -> None:
        raise KeyboardInterrupt

    assert explore(yardstick(SMALL), confirm=None, progress=interrupt, **two).stop is Stop.INTERRUPTED


@pytest.mark.parametrize("seed", range(10))
def test_random_relations_are_searched_alike(seed: int, two: dict[str, Any]) -> None:
    assert alike(at_random(seed), PLAIN, two, deadlock=True)


@pytest.mark.parametrize("seed", range(4))
def test_random_machines_are_searched_alike_and_traces_confirmed(seed: int, two: dict[str, Any]) -> None:
    machine, limits = random_machine(seed), Limits(depth=5)
    assert told(explore(machine, limits=limits, **two)) == told(explore(machine, limits=limits, **PLAIN))


def test_a_machine_that_is_gone_changes_nothing(
    machines: Any, two: dict[str, Any], started: list[Cluster], whole: dict[str, Any], tmp_path: Path
) -> None:
    extra = machines.add_node(num_cpus=1, object_store_memory=MEMORY)
    watcher = Once(SMALL.distinct // 2, lambda: machines.remove_node(extra, allow_graceful=False))
    found = explore(yardstick(SMALL), confirm=None, progress=watcher, checkpoints=Checkpoints(tmp_path, 0), **two)
    assert told(found) == whole
    assert found.searched is not None
    assert found.searched.engine == "explore (3 actors on 3 machines)"
    assert watcher.fell_back_to > 10


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("somewhere", "a cluster's address is auto or HOST:PORT, not 'somewhere'"),
        ("127.0.0.1:1", "no Ray cluster answers"),
    ],
)
def test_an_address_where_nobody_answers_is_told(address: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(Unreachable, match=text):
        explore(Lamps(), engine="native", cluster=address)


def test_a_cluster_that_has_ended_without_a_word_is_not_the_one_that_runs_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asked(Exception):
        pass

    def init(address: str, **how: Any) -> None:
        raise Asked(address)

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    written = tmp_path / "ray" / "ray_current_cluster"
    written.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        written.write_text(f"127.0.0.1:{server.getsockname()[1]}\n")
        with pytest.raises(Asked, match=written.read_text().strip()):
            Cluster("auto")
    with pytest.raises(Asked, match="local"):
        Cluster("auto")
    written.unlink()
    with pytest.raises(Asked, match="local"):
        Cluster("auto")
