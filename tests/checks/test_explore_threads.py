"""Several owners on threads find what one search finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explored_alike import alike, random_machine, states_of, told
from explored_at_random import at_random
from explored_machines import Cells, Counter, Idle, Lamps, Nothing, Overflow, Signs, Stuck, Trap
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import levels, owner, owner_kernel, room, threads
from quiesce_checks.engines.checkpoints import Checkpoints, Unusable
from quiesce_checks.engines.control import Slot
from quiesce_checks.engines.explore import Limits, Progress, Stop, explore
from quiesce_checks.engines.program import program
from quiesce_checks.engines.search import WHY_STOPPED
from quiesce_checks.engines.ways import threads_for
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine

ZOO = (Nothing(), Idle(), Stuck(), Counter(), Trap(), Overflow(), Signs(), Lamps(), Cells(size=13), Cells(size=60))
SMALL, BASE = SCOPES["small"], SCOPES["base"]
PLAIN: dict[str, Any] = {"engine": "interpreted"}
TWO: dict[str, Any] = {"engine": "native", "threads": 2}
THREE: dict[str, Any] = {"engine": "native", "threads": 3}


def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes that are full after each batch, and no level that is too small to be shared out."""
    good = levels.Levels.plan
    monkeypatch.setattr(levels.Levels, "plan", lambda self: replace(good(self), box=1))  # type: ignore[misc]
    monkeypatch.setattr(threads, "FEW", 0)


@pytest.fixture
def as_if_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that drop what was sent lately, as processes do."""
    monkeypatch.setattr(threads.Threads, "near", False)


@pytest.fixture(params=["as it is", "tiny boxes and tables"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "as it is":
        tiny(monkeypatch)
        monkeypatch.setattr(room, "FIRST_TABLE", 10)
        monkeypatch.setattr(room, "COARSE", 10)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("machine", ZOO[-4:], ids=lambda m: type(m).__name__)
def test_three_owners_find_what_the_plain_search_does(machine: Machine) -> None:
    assert alike(relation(machine), PLAIN, THREE, deadlock=True)


@pytest.mark.usefixtures("sizes", "as_if_sent")
@pytest.mark.parametrize("machine", [Lamps(), Cells(size=13)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("count", [2, 3])
def test_what_is_not_sent_again_is_not_missed(machine: Machine, count: int) -> None:
    assert alike(relation(machine), PLAIN, {"engine": "native", "threads": count}, deadlock=True)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("machine", ZOO, ids=lambda m: type(m).__name__)
def test_two_owners_find_what_the_plain_search_does(machine: Machine) -> None:
    assert alike(relation(machine), PLAIN, TWO, deadlock=True)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", range(3))
def test_random_relations_are_searched_alike(seed: int) -> None:
    assert alike(at_random(seed), PLAIN, TWO, deadlock=True)
    assert alike(at_random(seed), PLAIN, THREE, deadlock=True)


@pytest.mark.parametrize("seed", range(4))
def test_random_machines_are_searched_alike_and_traces_confirmed(seed: int) -> None:
    machine = random_machine(seed)
    one = explore(machine, engine="native", deadlock=True, limits=Limits(depth=6))
    two = explore(machine, engine="native", threads=2, deadlock=True, limits=Limits(depth=6))
    assert told(one) == told(two)
    assert sorted(states_of(one)) == sorted(states_of(two))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 120))
def test_many_more_random_machines_are_searched_alike(seed: int) -> None:
    test_random_machines_are_searched_alike_and_traces_confirmed(seed)
    assert alike(at_random(seed), PLAIN, TWO, deadlock=True)


@pytest.mark.usefixtures("sizes")
def test_the_published_counts() -> None:
    found = explore(yardstick(SMALL), confirm=None, **TWO)
    counts = (found.statistics.distinct, found.statistics.generated, found.statistics.depth)
    assert counts == (SMALL.distinct, SMALL.generated, SMALL.depth)
    assert found.verdict("waits_within_backoff").outcome is Outcome.HOLDS


@pytest.mark.slow
def test_the_planted_bug_lies_28_steps_deep() -> None:
    found = explore(yardstick(SCOPES["large"], bug=True), stop="first", confirm=None, **TWO)
    assert found.traces["waits_within_backoff"].length == 28


def test_two_runs_number_their_states_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(monkeypatch)
    one, two = (explore(yardstick(SCOPES["base"]), confirm=None, **TWO) for _ in range(2))
    assert one.searched is not None
    assert two.searched is not None
    assert states_of(one) == states_of(two)
    parents = [[found.states.parent(2 * i) for i in range(found.counts[0])] for found in (one.searched, two.searched)]
    assert parents[0] == parents[1]


def test_both_owners_have_their_share() -> None:
    found = explore(yardstick(SMALL), confirm=None, **TWO).searched
    assert found is not None
    assert sum(found.counts) == SMALL.distinct
    assert min(found.counts) > 0.48 * SMALL.distinct


@pytest.mark.slow
def test_a_state_with_its_parent_takes_little_more_than_on_one_thread() -> None:
    found = explore(yardstick(SCOPES["large"]), confirm=None, **TWO).statistics
    assert (found.distinct, found.generated) == (SCOPES["large"].distinct, SCOPES["large"].generated)
    assert found.bytes / found.distinct <= 27


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (Limits(states=5_000), Stop.STATES),
        (Limits(seconds=0.0), Stop.SECONDS),
        (Limits(memory=600_000), Stop.MEMORY),
        (Limits(depth=7), Stop.DEPTH),
    ],
    ids=lambda value: str(value) if isinstance(value, Stop) else "",
)
def test_limits_end_it_inconclusive(limits: Limits, stop: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEW", 0)
    found = explore(yardstick(SMALL), limits=limits, confirm=None, **TWO)
    assert found.stop is stop
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE
    assert WHY_STOPPED[stop] in found.verdict("waits_within_backoff").how


@pytest.mark.parametrize("depth", [2, 5])
def test_a_search_that_ends_between_levels_knows_where_each_action_was_first_taken(depth: int) -> None:
    assert alike(relation(Lamps()), PLAIN, TWO, limits=Limits(depth=depth))


@pytest.mark.parametrize("few", [0, 1 << 30])
def test_ctrl_c_ends_with_what_is_known(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEW", few)

    def interrupt(beat: Progress) -> None:
        if beat.states > 3_000:
            raise KeyboardInterrupt

    found = explore(yardstick(SMALL), progress=interrupt, confirm=None, **TWO)
    assert found.stop is Stop.INTERRUPTED
    assert found.statistics.distinct > 3_000


def test_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (threads_for(1), threads_for(5)) == (1, 5)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert threads_for("auto") == 4
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3})
    assert threads_for("auto") == 1


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"threads": 0}, "threads is a whole number from 1 to 1024, not 0"),
        ({"processes": 2000}, "processes is a whole number from 1 to 1024, not 2000"),
        ({"threads": 2, "processes": 2}, "threads and processes are different ways to part a search"),
        ({"threads": 2, "spill": True}, "leave out one of spill and threads"),
        ({"processes": 2, "keep_graph": True}, "leave out one of keep_graph and processes"),
    ],
)
def test_what_does_not_go_together_is_told(how: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        explore(Counter(), **how)


def test_auto_gives_way_to_what_one_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    found = explore(Lamps(), engine="native", threads="auto", keep_graph=True, confirm=None)
    assert found.graph is not None


# Checkpoints of several owners


def saved(folder: Path, depth: int, **how: Any) -> None:
    saving = Checkpoints(folder, every=0)
    found = explore(yardstick(BASE), confirm=None, checkpoints=saving, limits=Limits(depth=depth), **{**TWO, **how})
    assert found.stop is Stop.DEPTH


def resumed(folder: Path, **how: Any) -> Any:
    return explore(yardstick(BASE), confirm=None, checkpoints=Checkpoints(folder, resume=True), **{**TWO, **how})


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("read", [relation(Lamps()), relation(Cells(size=13))], ids=["one word", "several words"])
def test_a_resumed_search_is_the_search(read: Relation, tmp_path: Path) -> None:
    saving = Checkpoints(tmp_path, every=0)
    explore(read, checkpoints=saving, limits=Limits(depth=7), confirm=None, **THREE)
    found = explore(read, checkpoints=Checkpoints(tmp_path, resume=True), confirm=None, **THREE)
    whole = explore(read, confirm=None, **THREE)
    assert told(found) == told(whole)
    assert states_of(found) == states_of(whole)
    traces = [[v.trace and v.trace.states for v in one.verdicts] for one in (found, whole)]
    assert traces[0] == traces[1]


def test_two_checkpoints_are_kept_with_all_their_parts(tmp_path: Path) -> None:
    saved(tmp_path, 9)
    names = [f"{n:06d}.{end}" for n in (6, 7) for end in ("checkpoint", "owner-0", "owner-1")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_damaged_part_makes_all_go_back_to_the_checkpoint_before(tmp_path: Path) -> None:
    saved(tmp_path, 9)
    (tmp_path / "000007.owner-1").write_bytes(b"")
    assert told(resumed(tmp_path)) == told(explore(yardstick(BASE), engine="native", confirm=None))
    (tmp_path / "000006.owner-0").unlink()
    (tmp_path / "000007.owner-1").write_bytes(b"")
    with pytest.raises(Unusable, match=r"owner-1 is damaged; .*owner-0 cannot be read: No such file"):
        resumed(tmp_path)


def test_a_part_of_another_checkpoint_is_no_part_of_this_one(tmp_path: Path) -> None:
    saved(tmp_path, 9)
    (tmp_path / "000006.owner-1").replace(tmp_path / "000007.owner-1")
    with pytest.raises(Unusable, match="owner-1 is damaged"):
        resumed(tmp_path)


def test_another_number_of_owners_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, 5)
    for how in ({"threads": 3}, {"threads": 1}):
        with pytest.raises(Unusable, match=r"by 2 owners \(threads 2, or processes 2\): resume it with as many"):
            resumed(tmp_path, **how)


def test_owners_do_not_resume_the_search_of_one(tmp_path: Path) -> None:
    saved(tmp_path, 5, threads=1)
    with pytest.raises(Unusable, match="by one thread: resume it with as many"):
        resumed(tmp_path)


def test_a_folder_that_cannot_be_written_ends_it_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    found = explore(yardstick(BASE), checkpoints=Checkpoints(tmp_path, every=0), confirm=None, **TWO)
    assert found.stop is Stop.DISK


@pytest.mark.usefixtures("as_if_sent")
def test_when_owners_have_gone_only_states_of_traces_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "FEW_STATES", 0)
    found = explore(Lamps(), **TWO)
    assert [v.trace and v.trace.length for v in found.verdicts] == [
        v.trace and v.trace.length for v in explore(Lamps(), engine="native").verdicts
    ]
    assert found.searched is not None
    with pytest.raises(LookupError, match="only those of traces were kept"):
        states_of(found)


# Each part broken: the comparison has to see it.


@pytest.fixture
def lamps() -> Relation:
    return relation(Lamps())


@pytest.mark.parametrize("way", [TWO, THREE], ids=["two", "three"])
def test_a_successor_lost_on_the_way_is_noticed(
    lamps: Relation, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = threads.parcels_for

    def bad(*given: Any) -> Sequence[owner.Parcel]:
        return [replace(found, words=found.words[:-1], parents=found.parents[:-1]) for found in good(*given)]

    monkeypatch.setattr(threads, "parcels_for", bad)
    assert not alike(lamps, PLAIN, way)


@pytest.mark.parametrize("way", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("slot", ["OWNER", "ORIGIN"])
def test_a_parent_with_the_wrong_owner_is_noticed(
    lamps: Relation, slot: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = owner_kernel.read

    def bad(out: Any, wanted: Slot, type_: str = "i64") -> str:
        return "1" if wanted.name == slot else good(out, wanted, type_)

    if slot == "OWNER":  # only what is kept with a state, not which states are kept
        monkeypatch.setattr(owner_kernel, "narrow", lambda out, number: "1")
    else:
        monkeypatch.setattr(owner_kernel, "read", bad)
    assert not alike(lamps, PLAIN, way)


@pytest.mark.parametrize("way", [TWO, THREE], ids=["two", "three"])
def test_owners_that_disagree_on_who_owns_a_state_are_noticed(
    lamps: Relation, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = owner.Owner.set

    def bad(self: owner.Owner, slot: Slot, value: int) -> None:
        good(self, slot, self.number if slot is Slot.TURN else value)

    monkeypatch.setattr(owner.Owner, "set", bad)
    assert not alike(lamps, PLAIN, way)


def test_parents_that_are_not_sent_along_are_noticed(lamps: Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_kernel, "replace", lambda arrays, **new: replace(arrays, words=new["words"]))  # type: ignore[misc]
    assert not alike(lamps, PLAIN, TWO)


@pytest.mark.usefixtures("as_if_sent")
def test_a_memory_of_what_was_sent_that_begins_with_anything_is_noticed(
    lamps: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, made = owner.Owner.forget, program(lamps)
    reached = states_of(explore(lamps, confirm=None, **PLAIN))[5]

    def bad(self: owner.Owner) -> None:
        good(self)
        self.sent_states[:] = made.layout.pack(reached)

    monkeypatch.setattr(owner.Owner, "forget", bad)
    assert not alike(lamps, PLAIN, TWO)


@pytest.mark.parametrize("what", ["NEXT", "GENERATED", "LEVEL_END"])
def test_a_number_that_is_not_restored_is_noticed(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path, 9)
    monkeypatch.setattr(owner, "NUMBERS", tuple(slot for slot in owner.NUMBERS if slot.name != what))
    assert told(resumed(tmp_path)) != told(explore(yardstick(BASE), engine="native", confirm=None))
