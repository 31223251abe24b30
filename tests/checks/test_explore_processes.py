"""Owners in processes find what one search finds, whatever becomes of the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from explored_alike import alike, random_machine, told
from explored_at_random import at_random
from explored_lost import Once
from explored_machines import Cells, Counter, Lamps, Overflow
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import levels, processes
from quiesce_checks.engines.checkpoints import Checkpoints
from quiesce_checks.engines.explore import Exploration, Limits, Progress, Stop, explore
from quiesce_checks.engines.interrupts import held
from quiesce_checks.engines.processes import Processes
from quiesce_checks.engines.transport import Lost
from quiesce_checks.relation.build import relation
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine

SMALL, BASE = SCOPES["small"], SCOPES["base"]
PLAIN: dict[str, Any] = {"engine": "interpreted"}
TWO: dict[str, Any] = {"engine": "native", "processes": 2}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Processes]:
    """The transports of the searches that are begun, the last one last."""
    found: list[Processes] = []
    good = Processes.start

    def start(self: Processes, plan: Any) -> float:
        found.append(self)
        return good(self, plan)

    monkeypatch.setattr(Processes, "start", start)
    return found


@pytest.mark.parametrize(
    ("machine", "count"),
    [(Lamps(), 3), (Cells(size=13), 2), (Overflow(), 2), (Counter(), 1)],
    ids=lambda value: value if isinstance(value, int) else type(value).__name__,
)
def test_processes_find_what_the_plain_search_does(machine: Machine, count: int) -> None:
    assert alike(relation(machine), PLAIN, {**TWO, "processes": count}, deadlock=True)


@pytest.mark.parametrize("seed", [3])
def test_random_machines_are_searched_alike_and_traces_confirmed(seed: int) -> None:
    machine = random_machine(seed)
    limits = Limits(depth=5)
    assert told(explore(machine, limits=limits, **TWO)) == told(explore(machine, limits=limits, **PLAIN))


@pytest.mark.parametrize("seed", range(1))
def test_random_relations_are_searched_alike(seed: int) -> None:
    assert alike(at_random(seed), PLAIN, {**TWO, "processes": 2 + seed}, deadlock=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 80))
def test_many_more_are_searched_alike(seed: int) -> None:
    test_random_machines_are_searched_alike_and_traces_confirmed(seed)
    assert alike(at_random(seed), PLAIN, {**TWO, "processes": 2 + seed % 3}, deadlock=True)


def test_the_published_counts_and_who_searched(started: list[Processes]) -> None:
    found = explore(yardstick(SMALL), confirm=None, **TWO)
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (SMALL.distinct, SMALL.generated, SMALL.depth)
    assert found.verdict("waits_within_backoff").engine == "explore (2 processes)"
    assert started[0].all == []


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return told(explore(yardstick(SMALL), engine="native", confirm=None))


def kill(started: list[Processes], owner: int = 1) -> None:
    started[-1].all[owner].process.kill()


def test_without_checkpoints_a_lost_process_makes_the_search_begin_anew(
    started: list[Processes], whole: dict[str, Any]
) -> None:
    watcher = Once(SMALL.distinct // 2, lambda: kill(started))
    found = explore(yardstick(SMALL), confirm=None, progress=watcher, **TWO)
    assert told(found) == whole
    assert watcher.fell_back_to == 1
    assert found.verdict("waits_within_backoff").how.endswith("an owner was lost once, and its work done again")


def test_with_checkpoints_it_goes_back_to_the_last(
    started: list[Processes], whole: dict[str, Any], tmp_path: Path
) -> None:
    watcher = Once(SMALL.distinct // 2, lambda: kill(started, owner=0))
    found = explore(yardstick(SMALL), confirm=None, progress=watcher, checkpoints=Checkpoints(tmp_path, 0), **TWO)
    assert told(found) == whole
    lost_at = watcher.depths[watcher.at[0] - 1]
    assert watcher.fell_back_to in (lost_at, lost_at + 1)
    assert watcher.fell_back_to > 10


def test_the_shortest_trace_is_as_long_when_a_process_was_lost(started: list[Processes]) -> None:
    planted = yardstick(SMALL, bug=True)
    plain = explore(planted, stop="first", engine="native", confirm=None).traces["waits_within_backoff"]
    watcher = Once(1_000, lambda: kill(started))
    found = explore(planted, stop="first", confirm=None, progress=watcher, **TWO)
    assert watcher.at
    assert found.traces["waits_within_backoff"].length == plain.length


def test_a_process_lost_again_and_again_ends_it_with_a_sentence(started: list[Processes]) -> None:
    watcher = Once(0, lambda: kill(started), times=99)
    with pytest.raises(Lost, match=r"again and again .*: the process of owner 1 was ended by signal 9 \(SIGKILL\)"):
        explore(yardstick(BASE), confirm=None, progress=watcher, **TWO)
    assert len(watcher.at) == levels.LOSSES + 1


def test_processes_that_cannot_take_their_memory_end_it_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_to_be_read(size: int) -> int:
        path = tmp_path / "boxes"
        path.write_bytes(b"")
        os.truncate(path, size)
        return os.open(path, os.O_RDONLY)

    monkeypatch.setattr(processes, "shared", only_to_be_read)
    with pytest.raises(Lost, match=r"2 processes cannot be started: .*Permission denied"):
        explore(yardstick(BASE), confirm=None, **TWO)


def test_a_process_lost_before_it_tells_its_traces(started: list[Processes], monkeypatch: pytest.MonkeyPatch) -> None:
    good, done = levels.Levels.gathered, []

    def gathered(self: levels.Levels, found: Any) -> Any:
        if not done:
            done.append(True)
            kill(started)
        return good(self, found)

    monkeypatch.setattr(levels.Levels, "gathered", gathered)
    assert told(explore(Lamps(), **TWO)) == told(explore(Lamps(), **PLAIN))
    assert done


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (Limits(states=5_000), Stop.STATES),
        (Limits(memory=600_000), Stop.MEMORY),
    ],
    ids=lambda value: str(value) if isinstance(value, Stop) else "",
)
def test_limits_end_it_inconclusive(limits: Limits, stop: Stop) -> None:
    found = explore(yardstick(SMALL), limits=limits, confirm=None, **TWO)
    assert found.stop is stop
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE


def test_ctrl_c_ends_with_what_is_known(started: list[Processes]) -> None:
    def interrupt(beat: Progress) -> None:
        if beat.states > 3_000:
            os.kill(os.getpid(), signal.SIGINT)

    found: Exploration = explore(yardstick(SMALL), progress=interrupt, confirm=None, **TWO)
    assert found.stop is Stop.INTERRUPTED
    assert found.statistics.distinct > 3_000
    assert started[0].all == []


def test_ctrl_c_waits_for_what_was_begun_and_a_second_one_does_not() -> None:
    done: list[str] = []

    def pressed(times: int) -> None:
        with held():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            done.append(f"to the end after {times}")

    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            pressed(times)
    assert done == ["to the end after 1"]


def test_a_process_needs_neither_the_model_nor_its_language() -> None:
    text = (
        "import sys, quiesce_checks.engines.worker; print([n for n in sys.modules if 'model' in n or 'relation' in n])"
    )
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout == b"[]\n"


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from explored_yardstick import SCOPES, yardstick
from quiesce_checks.engines.explore import explore
explore(yardstick(SCOPES["small"]), engine="native", processes=2, progress=lambda beat: print("beat", flush=True))
"""


def test_processes_end_with_the_one_that_asked() -> None:
    words = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)]
    asking = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert asking.stdout is not None
    assert asking.stdout.readline() == b"beat\n"
    asking.kill()
    asking.communicate(timeout=60)  # until nobody holds its output any more, and they all do


def test_what_threads_have_saved_processes_go_on_from(tmp_path: Path, whole: dict[str, Any]) -> None:
    saving = Checkpoints(tmp_path, every=0)
    explore(yardstick(SMALL), engine="native", threads=2, checkpoints=saving, limits=Limits(depth=12), confirm=None)
    watcher = Once(0, lambda: None)
    found = explore(
        yardstick(SMALL), checkpoints=Checkpoints(tmp_path, resume=True), confirm=None, progress=watcher, **TWO
    )
    assert told(found) == whole
    assert watcher.depths[0] == 11


def test_a_mistake_in_a_process_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels.Levels, "set_out", lambda self: self.transport.ask("nothing_of_the_kind"))  # type: ignore[misc]
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        explore(Lamps(), **TWO)


def test_a_state_lost_on_the_way_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = processes.Processes.orders

    def bad(self: Processes, orders: Sequence[tuple[str, Any]]) -> list[Any]:
        less = [
            (order, ([max(0, count - 1) for count in given[0]],) if order == "receive" else given)
            for order, given in orders
        ]
        return good(self, less)

    monkeypatch.setattr(Processes, "orders", bad)
    assert not alike(relation(Lamps()), PLAIN, TWO)


def test_others_that_are_not_sent_back_when_one_is_lost_are_noticed(
    started: list[Processes], whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = levels.Levels.set_out

    def bad(self: levels.Levels) -> None:
        if not self.lost:
            good(self)
            return
        self.transport.ask_one(1, "begin")  # only the one that is new
        self.reports = self.transport.ask("report")

    monkeypatch.setattr(levels.Levels, "set_out", bad)
    watcher = Once(SMALL.distinct // 2, lambda: kill(started))
    assert told(explore(yardstick(SMALL), confirm=None, progress=watcher, **TWO)) != whole
    assert watcher.at
