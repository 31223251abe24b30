"""Searches that end early say so, and what they found stays found."""

from __future__ import annotations

import pytest
from explored_machines import Counter, Lamps
from explored_yardstick import SCOPES, yardstick

from quiesce_checks.engines import native, room
from quiesce_checks.engines.explore import Engine, Limits, Progress, Stop, explore
from quiesce_checks.engines.program import program
from quiesce_checks.engines.search import Watchman
from quiesce_checks.relation.relation import Relation
from quiesce_checks.verdict import Outcome

ENGINES: tuple[Engine, ...] = ("native", "interpreted")
SMALL = SCOPES["small"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_on_states_is_inconclusive(engine: Engine) -> None:
    found = explore(yardstick(SMALL), engine=engine, limits=Limits(states=5_000), confirm=None)
    assert found.stop is Stop.STATES
    assert 5_000 < found.statistics.distinct < 6_000
    assert found.statistics.queue > 0
    verdict = found.verdict("waits_within_backoff")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "inconclusive: the limit on states" in verdict.how


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_on_depth_is_inconclusive_and_counts_its_level(engine: Engine) -> None:
    found = explore(yardstick(SMALL), engine=engine, limits=Limits(depth=7), confirm=None)
    assert found.stop is Stop.DEPTH
    assert found.statistics.depth == 7
    assert not found.statistics.exhausted
    deeper = explore(yardstick(SMALL), engine=engine, limits=Limits(depth=8), confirm=None)
    assert deeper.statistics.distinct - found.statistics.distinct == deeper.statistics.queue


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_on_time_is_inconclusive(engine: Engine) -> None:
    found = explore(yardstick(SMALL), engine=engine, limits=Limits(seconds=0.0), confirm=None)
    assert found.stop is Stop.SECONDS
    assert found.verdict("no_fault").outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_on_memory_is_inconclusive_and_no_crash(engine: Engine) -> None:
    found = explore(yardstick(SMALL), engine=engine, limits=Limits(memory=600_000), confirm=None)
    assert found.stop is Stop.MEMORY
    assert found.statistics.bytes < 700_000
    assert "inconclusive: memory" in found.verdict("waits_within_backoff").how


def test_a_table_that_cannot_grow_is_filled_more_densely() -> None:
    need = SMALL.distinct * 12 + (4 << 17)
    found = explore(yardstick(SMALL), engine="native", limits=Limits(memory=need + 50_000), confirm=None)
    assert found.stop is Stop.EXHAUSTED
    assert found.statistics.distinct == SMALL.distinct


def test_a_violation_found_before_a_limit_stays_violated() -> None:
    found = explore(Counter(), limits=Limits(depth=4))
    assert found.stop is Stop.DEPTH
    assert found.verdict("below_four").outcome is Outcome.VIOLATED
    assert found.verdict("in_range").outcome is Outcome.INCONCLUSIVE
    assert found.verdict("beyond").outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_says_engine_property_depth_states_rate_queue_memory(engine: Engine) -> None:
    beats: list[Progress] = []
    explore(yardstick(SMALL), engine=engine, progress=beats.append, confirm=None)
    assert beats
    assert beats[-1].machine == "Yardstick"
    assert beats[-1].engine.startswith("explore")
    assert beats[-1].properties == ("waits_within_backoff", "no_fault")
    assert [b.states for b in beats] == sorted(b.states for b in beats)
    assert beats[-1].depth > 1
    assert min(beats[-1].memory, beats[-1].rate, beats[-1].queue, beats[-1].seconds) > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_with_what_is_known(engine: Engine) -> None:
    def interrupt(beat: Progress) -> None:
        if beat.states > 3_000:
            raise KeyboardInterrupt

    found = explore(yardstick(SMALL), engine=engine, progress=interrupt, confirm=None)
    assert found.stop is Stop.INTERRUPTED
    assert found.statistics.distinct > 3_000
    assert found.verdict("waits_within_backoff").outcome is Outcome.INCONCLUSIVE


def test_ctrl_c_keeps_violations() -> None:
    def interrupt(beat: Progress) -> None:
        if "one_rests" not in beat.properties:
            raise KeyboardInterrupt

    found = explore(Lamps(), engine="native", progress=interrupt)
    assert found.verdict("one_rests").outcome is Outcome.VIOLATED


def test_the_table_may_start_tiny_and_grow_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FIRST_TABLE", 10)
    monkeypatch.setattr(room, "COARSE", 10)
    found = explore(yardstick(SMALL), engine="native", confirm=None)
    assert (found.statistics.distinct, found.statistics.generated) == (SMALL.distinct, SMALL.generated)


def test_more_states_than_indexes_end_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "INDEXES", 20_000)
    found = explore(yardstick(SMALL), engine="native", confirm=None)
    assert found.stop is Stop.INDEXES
    assert "32 bits" in found.verdict("waits_within_backoff").how


def test_the_system_refusing_memory_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    search = native_search(yardstick(SMALL))

    def refuse() -> bool:
        raise MemoryError

    monkeypatch.setattr(search, "grow", refuse)
    assert search.run().stop is Stop.MEMORY


def test_what_the_system_does_not_let_us_reserve_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sparing(room.Reserve):
        def __init__(self, size: int, *, dense: bool = True) -> None:
            if size > 4_000_000:
                raise OSError(12, "Cannot allocate memory")
            super().__init__(size, dense=dense)

    monkeypatch.setattr(room, "Reserve", Sparing)
    found = explore(yardstick(SMALL), engine="native", confirm=None)
    assert found.stop is Stop.EXHAUSTED
    assert found.statistics.distinct == SMALL.distinct


def native_search(read: Relation) -> native.Native:
    problem = program(read)
    watchman = Watchman(problem, Limits(), stop_at_first=False, required=[0], progress=None, started=0.0)
    return native.Native(problem, watchman, keep_graph=False)
