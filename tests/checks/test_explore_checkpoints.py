"""A search goes on from its checkpoint as if nothing had been; whatever moment its process ended at."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from explored_alike import states_of, told
from explored_at_random import at_random
from explored_machines import Cells, Counter, Lamps
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import checkpoints, native, room
from quiesce_checks.engines.checkpoints import Checkpoints, Unusable
from quiesce_checks.engines.explore import Exploration, Limits, Stop, explore
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.trace import Disagreement
from quiesce_model import Machine

SMALL = SCOPES["small"]


def begun(read: Relation | Machine, folder: Path, depth: int, **how: Any) -> Exploration:
    saving = Checkpoints(folder, every=0)
    return explore(read, engine="native", checkpoints=saving, limits=Limits(depth=depth), confirm=None, **how)


def resumed(read: Relation | Machine, folder: Path, **how: Any) -> Exploration:
    return explore(read, engine="native", checkpoints=Checkpoints(folder, resume=True), confirm=None, **how)


def same(one: Exploration, other: Exploration) -> bool:
    """All that a search finds, state by state."""
    traces = [[v.trace and v.trace.states for v in found.verdicts] for found in (one, other)]
    return told(one) == told(other) and states_of(one) == states_of(other) and traces[0] == traces[1]


@pytest.mark.parametrize("depth", [3, 11])
@pytest.mark.parametrize("read", [relation(Lamps()), relation(Cells(size=13))], ids=["one word", "several words"])
def test_a_resumed_search_is_the_search(read: Relation, depth: int, tmp_path: Path) -> None:
    stopped = begun(read, tmp_path, depth)
    assert stopped.stop is Stop.DEPTH
    whole = explore(read, engine="native", confirm=None)
    assert same(resumed(read, tmp_path), whole)


@pytest.mark.parametrize("seed", range(2))
def test_random_relations_are_resumed(seed: int, tmp_path: Path) -> None:
    read = at_random(seed)
    begun(read, tmp_path, 3, deadlock=True)
    if list(tmp_path.iterdir()):
        assert same(resumed(read, tmp_path, deadlock=True), explore(read, engine="native", confirm=None, deadlock=True))


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from explored_yardstick import SCOPES, yardstick
from quiesce_checks.engines.checkpoints import Checkpoints
from quiesce_checks.engines.explore import explore
folder = Path(sys.argv[2])
saving = Checkpoints(folder, every=0, resume=any(folder.glob("*.checkpoint")))
explore(yardstick(SCOPES["mid"]), engine="native", checkpoints=saving, confirm=None)
"""


def test_a_process_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    chance, mid = random.Random(7), SCOPES["mid"]
    for _ in range(3):
        words = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path)]
        process = subprocess.Popen(words, stderr=subprocess.PIPE)
        try:
            process.wait(chance.uniform(1.2, 3.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
    if not any(tmp_path.glob("*.checkpoint")):  # a slow machine: killed each time before there was any
        begun(yardstick(mid), tmp_path, 5)
    found = resumed(yardstick(mid), tmp_path)
    assert found.stop is Stop.EXHAUSTED
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (mid.distinct, mid.generated, mid.depth)
    whole = explore(yardstick(mid), engine="native", confirm=None)
    assert told(found) == told(whole)


def test_checkpoints_stand_between_levels_and_two_are_kept(tmp_path: Path) -> None:
    saving = Checkpoints(tmp_path, every=0)
    found = explore(yardstick(SMALL), engine="native", checkpoints=saving, confirm=None)
    assert saving.written == found.statistics.depth - 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000027.checkpoint", "000028.checkpoint"]
    search = native.Native(*problem(), checkpoints=saving)
    numbers = saving.newest(search.digest).numbers
    assert numbers["LEVEL_END"] == numbers["COUNT"]


def problem() -> tuple[Any, Any]:
    from quiesce_checks.engines.program import program
    from quiesce_checks.engines.search import Watchman

    made = program(yardstick(SMALL))
    return made, Watchman(made, Limits(), stop_at_first=False, required=[0, 1], progress=None, started=0.0)


def test_none_are_written_before_they_are_due(tmp_path: Path) -> None:
    explore(yardstick(SMALL), engine="native", checkpoints=Checkpoints(tmp_path, every=3600), confirm=None)
    assert not list(tmp_path.iterdir())


def damage(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("at", [3, 5_000, -1])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(at: int, tmp_path: Path) -> None:
    begun(yardstick(SMALL), tmp_path, 9)
    old, new = sorted(tmp_path.iterdir())
    damage(new, at)
    assert told(resumed(yardstick(SMALL), tmp_path)) == told(explore(yardstick(SMALL), engine="native", confirm=None))
    damage(old, at)
    with pytest.raises(Unusable, match="is damaged, and so is every older one"):
        resumed(yardstick(SMALL), tmp_path)


def test_a_checkpoint_cut_short_is_passed_over(tmp_path: Path) -> None:
    begun(yardstick(SMALL), tmp_path, 9)
    old, new = sorted(tmp_path.iterdir())
    new.write_bytes(new.read_bytes()[:-100])
    assert resumed(yardstick(SMALL), tmp_path).stop is Stop.EXHAUSTED
    old.write_bytes(b"")
    with pytest.raises(Unusable):
        resumed(yardstick(SMALL), tmp_path)


@pytest.mark.parametrize(
    ("read", "how"),
    [
        (yardstick(SCOPES["base"]), {}),
        (yardstick(SMALL, bug=True), {}),
        (yardstick(SMALL), {"stop": "first"}),
        (yardstick(SMALL), {"properties": ["waits_within_backoff"]}),
        (yardstick(SMALL), {"deadlock": True}),
    ],
    ids=["scope", "property", "stop", "what is asked", "deadlock"],
)
def test_a_checkpoint_of_another_search_is_refused(read: Relation, how: dict[str, Any], tmp_path: Path) -> None:
    begun(yardstick(SMALL), tmp_path, 5)
    with pytest.raises(Unusable, match="is of another search"):
        resumed(read, tmp_path, **how)


def test_no_checkpoint_and_no_room_for_it_are_told(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="there is no checkpoint in"):
        resumed(Counter(), tmp_path)
    begun(yardstick(SMALL), tmp_path, 25)
    with pytest.raises(Unusable, match="more than the limits allow"):
        resumed(yardstick(SMALL), tmp_path, limits=Limits(states=1_000))


def test_a_folder_that_cannot_be_written_ends_it_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    found = explore(yardstick(SMALL), engine="native", checkpoints=Checkpoints(tmp_path, every=0), confirm=None)
    assert found.stop is Stop.DISK


def test_checkpoints_hold_no_graph(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not hold a graph"):
        explore(Counter(), checkpoints=Checkpoints(tmp_path), keep_graph=True)


# Each part broken: a comparison has to see it.


@pytest.mark.parametrize("what", ["NEXT", "GENERATED", "LEVEL"])
def test_a_number_that_is_not_restored_is_noticed(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(relation(Lamps()), tmp_path, 8)
    monkeypatch.setattr(native, "PROGRESS", tuple(slot for slot in native.PROGRESS if slot.name != what))
    assert not same(resumed(relation(Lamps()), tmp_path), explore(Lamps(), engine="native", confirm=None))


def test_a_table_that_is_not_filled_again_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(relation(Lamps()), tmp_path, 8)
    monkeypatch.setattr(room, "range", lambda a, b, c: range(0), raising=False)  # type: ignore[misc]
    assert not same(resumed(relation(Lamps()), tmp_path), explore(Lamps(), engine="native", confirm=None))


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5], ids=["taken", "first levels", "found", "states", "parents"])
def test_an_array_that_is_not_restored_is_noticed(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(relation(Lamps()), tmp_path, 8)
    good = native.Native.restore

    def bad(self: native.Native, saved: Checkpoints) -> None:
        good(self, saved)
        self.arrays()[number][:] = -1 if number == 2 else 0

    monkeypatch.setattr(native.Native, "restore", bad)
    assert noticed(tmp_path)


def noticed(folder: Path) -> bool:
    """Whether what was resumed is another search, or has traces that are none."""
    try:
        return not same(resumed(relation(Lamps()), folder), explore(Lamps(), engine="native", confirm=None))
    except Disagreement:
        return True


def fails(*given: Any) -> None:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("aside", [True, False], ids=["as it is", "written in its place"])
def test_a_write_that_fails_leaves_what_was_there(aside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "000001.checkpoint"
    checkpoints.put(path, "search", {"level": 1}, ())
    monkeypatch.setattr("os.fsync", fails)
    if not aside:
        monkeypatch.setattr(Path, "with_suffix", lambda self, suffix: self)  # type: ignore[misc]
    with pytest.raises(OSError, match="Input/output error"):
        checkpoints.put(path, "search", {"level": 2}, ())
    found = checkpoints.got(path)
    assert (found is not None and found.numbers["level"] == 1) == aside


def test_a_checksum_that_is_not_looked_at_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(relation(Lamps()), tmp_path, 8)
    new = max(tmp_path.iterdir())
    saved = checkpoints.got(new)
    assert saved is not None
    damage(new, new.stat().st_size - checkpoints.SUM - saved.blocks[-1].nbytes - 8)  # one bit of the last state
    assert not noticed(tmp_path)

    def trusting(content: bytes) -> Any:
        body = content[: -checkpoints.SUM]
        return good(body + blake2b(body, digest_size=checkpoints.SUM).digest())

    good = checkpoints.whole
    monkeypatch.setattr(checkpoints, "whole", trusting)
    assert noticed(tmp_path)
