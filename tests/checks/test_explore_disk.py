"""Past the limit on memory the search goes on in files, and finds what it would have found."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from explored_alike import random_machine, states_of, told
from explored_at_random import at_random
from explored_machines import Cells, Counter, Idle, Lamps, Nothing, Overflow, Signs, Stuck, Trap
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import disk, disk_kernel, runs
from quiesce_checks.engines.disk import OnDisk
from quiesce_checks.engines.explore import Exploration, Limits, Progress, Stop, explore
from quiesce_checks.engines.native import Native
from quiesce_checks.engines.runs import Prints, Runs
from quiesce_checks.engines.search import Watchman
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.trace import Disagreement
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine

ZOO = (Nothing(), Idle(), Stuck(), Counter(), Trap(), Overflow(), Signs(), Lamps(), Cells(size=13), Cells(size=60))
SMALL = SCOPES["small"]
NEED = SMALL.distinct * 12 + (4 << 17)
"""Bytes that the search of the small yardstick takes in memory."""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is at its end before the first state is expanded."""
    monkeypatch.setattr(Native, "room", lambda self, load: 0)  # type: ignore[misc]
    monkeypatch.setattr(Native, "make_room", lambda self: Stop.MEMORY)


def on_disk(read: Relation | Machine, **how: Any) -> Exploration:
    return explore(read, engine="native", **{"spill": True, "limits": Limits(memory=1), "confirm": None, **how})


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("machine", ZOO, ids=lambda m: type(m).__name__)
def test_the_zoo_is_searched_alike(machine: Machine) -> None:
    read = relation(machine)
    on_disk_ = on_disk(read, deadlock=True)
    in_memory = explore(read, engine="interpreted", deadlock=True, confirm=None)
    assert told(on_disk_) == told(in_memory)
    assert states_of(on_disk_) == states_of(in_memory)


@pytest.mark.parametrize("seed", range(3))
def test_random_relations_are_searched_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST", 2)
    other = explore(at_random(seed), engine="native", deadlock=True, confirm=None)
    monkeypatch.setattr(Native, "room", lambda self, load: 0)  # type: ignore[misc]
    monkeypatch.setattr(Native, "make_room", lambda self: Stop.MEMORY)
    one = on_disk(at_random(seed), deadlock=True)
    assert told(one) == told(other)
    assert states_of(one) == states_of(other)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", range(2))
def test_traces_of_random_machines_are_confirmed(seed: int) -> None:
    machine = random_machine(seed)
    limits = Limits(memory=1, depth=6)
    found = explore(machine, engine="native", spill=True, limits=limits)
    plain = explore(machine, engine="interpreted", limits=Limits(depth=6))
    assert told(found) == told(plain)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 80))
def test_many_more_are_searched_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    test_random_relations_are_searched_alike(seed, monkeypatch)
    test_traces_of_random_machines_are_confirmed(seed)


def test_a_search_that_needs_four_times_the_limit_gives_the_same_counts(tmp_path: Path) -> None:
    found = on_disk(yardstick(SMALL), spill=tmp_path, limits=Limits(memory=NEED // 4))
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (SMALL.distinct, SMALL.generated, SMALL.depth)
    assert found.statistics.bytes <= NEED // 4
    verdict = found.verdict("waits_within_backoff")
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.how.endswith("1.9 MB on disk, exact: the fingerprint of a state of 64 bits is the state")
    assert list(tmp_path.iterdir())
    del found, verdict
    assert not list(tmp_path.iterdir()), "the files go away with the states"


def test_without_it_the_limit_is_inconclusive() -> None:
    found = explore(yardstick(SMALL), engine="native", limits=Limits(memory=NEED // 4), confirm=None)
    assert found.stop is Stop.MEMORY
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE


def test_a_search_with_enough_memory_writes_nothing(tmp_path: Path) -> None:
    found = explore(yardstick(SMALL), engine="native", spill=tmp_path / "nowhere", confirm=None)
    assert found.stop is Stop.EXHAUSTED
    assert "disk" not in found.verdict("waits_within_backoff").how


@pytest.mark.slow
def test_the_planted_bug_is_as_deep_on_disk() -> None:
    limits = Limits(memory=2_000_000)
    found = on_disk(yardstick(SCOPES["large"], bug=True), stop="first", limits=limits)
    assert found.traces["waits_within_backoff"].length == 28
    assert found.searched is not None
    assert found.searched.engine == disk.ENGINE


@pytest.mark.usefixtures("at_once")
def test_wide_states_say_the_chance_of_a_miss() -> None:
    found = on_disk(relation(Cells(size=60)))
    assert found.searched is not None
    count = found.searched.distinct
    assert f"missed with a chance of at most {count * count / 2.0**129:.0e}" in found.verdict("not_all_full").how or (
        found.verdict("not_all_full").trace is not None
    )
    assert "128-bit fingerprints" in found.verdict("no_fault").how


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (Limits(memory=NEED // 4, states=40_000), Stop.STATES),
        (Limits(memory=NEED // 4, depth=20), Stop.DEPTH),
    ],
    ids=["states", "depth"],
)
def test_other_limits_end_it(limits: Limits, stop: Stop) -> None:
    found = on_disk(yardstick(SMALL), limits=limits)
    assert found.stop is stop
    assert found.searched is not None
    assert found.searched.engine == disk.ENGINE
    if stop is Stop.DEPTH:
        assert told(found)["counts"] == told(explore(yardstick(SMALL), limits=Limits(depth=20), confirm=None))["counts"]


def test_more_states_than_indexes_end_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "INDEXES", 50_000)
    found = on_disk(yardstick(SMALL), limits=Limits(memory=NEED // 4))
    assert found.stop is Stop.INDEXES
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE


def test_a_limit_on_time_ends_it_in_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnDisk, "take_over", late_after(OnDisk.take_over, monkeypatch))
    found = on_disk(yardstick(SMALL), limits=Limits(memory=NEED // 4))
    assert found.stop is Stop.SECONDS
    assert found.searched is not None
    assert found.searched.engine == disk.ENGINE
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE


def late_after(what: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Does something, and then the time is over."""

    def done(self: OnDisk) -> None:
        what(self)
        monkeypatch.setattr(Watchman, "overdue", lambda self: True)  # type: ignore[misc]

    return done


def test_ctrl_c_ends_with_what_is_known() -> None:
    def interrupt(beat: Progress) -> None:
        if beat.states > 50_000:
            raise KeyboardInterrupt

    found = on_disk(yardstick(SMALL), limits=Limits(memory=NEED // 4), progress=interrupt)
    assert found.stop is Stop.INTERRUPTED
    assert found.statistics.distinct > 50_000


def test_a_full_disk_is_inconclusive_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    good = disk.Growing.append

    def full(self: disk.Growing, data: Any) -> None:
        if self.count > 50_000:
            raise OSError(28, "No space left on device")
        good(self, data)

    monkeypatch.setattr(disk.Growing, "append", full)
    found = on_disk(yardstick(SMALL), limits=Limits(memory=NEED // 4))
    assert found.stop is Stop.DISK
    assert "the disk may be full" in found.verdict("waits_within_backoff").how


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValueError, match="keeps no graph"):
        explore(Counter(), spill=True, keep_graph=True)
    with pytest.raises(ValueError, match="plain Python does not work with files"):
        explore(Counter(), spill=True, engine="interpreted")


# The set of fingerprints


def prints(random: Random, size: int, halves: int) -> Prints:
    drawn = [[random.randrange(halves) for _ in range(size)] for _ in range(2)]
    return Prints(*(np.array(half, dtype=np.uint64) for half in drawn))


def pairs(found: Prints) -> list[tuple[int, int]]:
    return list(zip(found.first.tolist(), found.second.tolist(), strict=True))


@pytest.mark.parametrize("halves", [3, 40, 1 << 63])
def test_runs_are_a_set_that_remembers_the_earliest(
    halves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST", 3)
    random = Random(halves)
    kept, seen = Runs(tmp_path, 64), set[tuple[int, int]]()
    for _ in range(30):
        batch = prints(random, random.randrange(60), halves)
        at = runs.earliest(batch)
        new = kept.new(batch.take(at))
        expected: list[int] = []
        for place, pair in enumerate(pairs(batch)):
            if pair not in seen:
                seen.add(pair)
                expected.append(place)
        assert sorted(at[new].tolist()) == expected
        kept.add(batch.take(at[new]))
        assert len(kept.runs) <= 4
    assert sorted(pair for run in kept.runs for pair in pairs(run)) == sorted(seen)
    assert len(list(tmp_path.iterdir())) == 2 * len(kept.runs)


def test_no_file_is_written_more_than_a_few_times(tmp_path: Path) -> None:
    kept = Runs(tmp_path, 10_000)
    written = 0
    opened = Runs.opened

    def noted(self: Runs, files: tuple[Path, Path]) -> None:
        nonlocal written
        written += files[0].stat().st_size // 8
        opened(self, files)

    kept.opened = noted.__get__(kept)  # type: ignore[method-assign]
    for number in range(400):
        batch = np.arange(number * 50, number * 50 + 50, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        sorted_ = Prints(np.sort(batch), np.zeros(50, dtype=np.uint64))
        kept.add(sorted_)
    assert sum(len(run) for run in kept.runs) == 20_000
    assert written < 6 * 20_000


# Each part broken: the comparison has to see it.


MIX, SECOND = disk_kernel.mix, disk_kernel.second_print


def with_prints(monkeypatch: pytest.MonkeyPatch, first: str, second: str) -> None:
    monkeypatch.setattr(disk_kernel, "mix", lambda out, words: out.op(f"and i64 {MIX(out, words)}, {first}"))
    monkeypatch.setattr(
        disk_kernel, "second_print", lambda out, words: out.op(f"and i64 {SECOND(out, words)}, {second}")
    )


@pytest.mark.usefixtures("at_once")
def test_first_halves_that_agree_are_told_apart_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(explore(relation(Cells(size=13)), engine="interpreted", confirm=None))
    with_prints(monkeypatch, "7", "-1")
    assert told(on_disk(relation(Cells(size=13)))) == expected
    with_prints(monkeypatch, "-1", "0")
    assert told(on_disk(relation(Cells(size=13)))) == expected


@pytest.mark.usefixtures("at_once")
def test_fingerprints_that_agree_lose_states(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(explore(relation(Lamps()), engine="interpreted", confirm=None))
    with_prints(monkeypatch, "7", "7")
    assert told(on_disk(relation(Lamps()))) != expected


@pytest.mark.usefixtures("at_once")
def test_a_run_that_is_not_asked_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(explore(relation(Lamps()), engine="interpreted", confirm=None))
    limits = Limits(memory=1, states=20_000)
    assert told(on_disk(relation(Lamps()), limits=limits)) == expected
    monkeypatch.setattr(runs, "known", lambda run, sorted_: np.zeros(len(sorted_), dtype=np.bool_))  # type: ignore[misc]
    assert told(on_disk(relation(Lamps()), limits=limits)) != expected


@pytest.mark.usefixtures("at_once")
def test_states_that_are_not_looked_at_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = told(explore(relation(Counter()), engine="interpreted", confirm=None))
    monkeypatch.setattr(
        disk_kernel.DiskKernel, "judge", lambda self: "define void @judge(ptr %c, i64 %a, i64 %b) { ret void }"
    )  # type: ignore[misc]
    assert told(on_disk(relation(Counter()))) != expected


@pytest.mark.usefixtures("at_once")
def test_a_parent_that_is_another_state_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = disk.Growing.append

    def bad(self: disk.Growing, data: Any) -> None:
        good(self, np.zeros_like(data) if self.path.name == "parents" else data)

    monkeypatch.setattr(disk.Growing, "append", bad)
    with pytest.raises(Disagreement, match="no action leads from"):
        on_disk(relation(Lamps()))
