"""The whole store against the naive reference, and proof that the comparison sees what it is there to see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from store_schedules import Schedule

import quiesce.overlap
import quiesce.server.decide
import quiesce.server.windows
import quiesce.storage.replica
from quiesce.server.engine import Retention
from quiesce.server.memory import MemoryEngine
from quiesce.server.sqlite import SqliteEngine, SqliteOptions

FLOORS = {
    "accepted": 2_000,
    "accepted on pending": 500,
    "conflict stale-read": 500,
    "conflict dependency-refused": 100,
    "conflict value-differs": 100,
    "permanent document-exists": 20,
    "permanent origin-not-committed": 20,
    "replayed": 200,
    "inconsistent here": 100,
    "notified commit": 3_000,
    "notified integrate": 500,
    "notified revert": 200,
    "notified pull": 80,
    "duplicated up": 200,
    "duplicated down": 200,
    "cut": 500,
    "restarted": 40,
}
"""How often, in 300 schedules, each thing must have happened for the comparison to mean something."""


def play(seeds: range, engine: Callable[[], Any] = MemoryEngine) -> Counter[str]:
    tally: Counter[str] = Counter()
    for seed in seeds:
        try:
            Schedule(seed, tally, engine).run()
        except AssertionError as error:
            raise AssertionError(f"schedule {seed}: {error}") from error
    return tally


def check_floors(tally: Counter[str], scale: float) -> None:
    # A session's own edits, made on what it read, always apply: refused for that, they would be refused for ever.
    assert tally["permanent edit-does-not-apply"] == 0
    short = {name: (tally[name], floor * scale) for name, floor in FLOORS.items() if tally[name] < floor * scale}
    assert not short, f"too rare to mean anything (seen, wanted): {short}"


def test_what_was_read_is_true_and_everybody_agrees_in_the_end() -> None:
    check_floors(play(range(300)), 1.0)


@pytest.mark.slow
def test_thousands_of_schedules() -> None:
    check_floors(play(range(1_000, 11_000)), 10_000 / 300)


def test_schedules_that_once_found_a_fault() -> None:
    for seed in (2, 1_039, 1_789, 1_799, 2_815, 7_267, 8_424):
        assert play(range(seed, seed + 1))["permanent edit-does-not-apply"] == 0, seed


def test_the_same_over_sqlite(tmp_path: Path) -> None:
    paths = iter(tmp_path / f"{number}.sqlite" for number in range(1_000))
    options = SqliteOptions(synchronous="OFF", retention=Retention(writes=12, verdicts=300))
    play(range(500, 530), lambda: SqliteEngine(next(paths), options))


def test_bounded_history_refuses_too_much_and_never_too_little() -> None:
    tally = play(range(2_000, 2_060), lambda: MemoryEngine(Retention(writes=3, verdicts=300)))
    assert tally["conflict stale-read"] > 100


@pytest.mark.parametrize("fault", ["below is no conflict", "shallow sees nothing", "own writes hide others"])
def test_a_wrong_conflict_rule_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = quiesce.overlap.overlaps

    def wrong(touched: Any, path: Any, *, shallow: bool) -> bool:
        if fault == "below is no conflict":
            return any(path[: len(changed)] == changed for changed in touched.paths) or (
                shallow and path in touched.reshaped
            )
        if fault == "shallow sees nothing":
            return not shallow and real(touched, path, shallow=shallow)
        return real(touched, path, shallow=shallow)

    monkeypatch.setattr(quiesce.server.decide, "overlaps", wrong)
    if fault == "own writes hide others":
        stale = quiesce.server.decide._stale_at

        def forgiving(engine: Any, key: Any, path: Any, seq: int, shallow: bool, own: frozenset[int]) -> int | None:
            return None if own else stale(engine, key, path, seq, shallow, own)

        monkeypatch.setattr(quiesce.server.decide, "_stale_at", forgiving)
    with pytest.raises(AssertionError, match=r"read|gone|sees another"):
        play(range(300))


def test_a_forgotten_replay_check_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(MemoryEngine):
        def last_local_seq(self, session: str) -> int:
            return 0

        def recorded(self, session: str, local_seq: int) -> Any:
            found = super().recorded(session, local_seq)
            return None if found is None or found.verdict.outcome == "accepted" else found

    with pytest.raises(AssertionError):
        play(range(100), Forgetful)


def test_eliding_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: Any, session: Any, key: Any, soles: Any, frames: Any) -> bool:
        return real(self, session, key, soles, frames) and not (key in soles and soles[key][0] is session)

    real = quiesce.server.windows.Windows.needs
    monkeypatch.setattr(quiesce.server.windows.Windows, "needs", wrong)
    with pytest.raises(AssertionError):
        play(range(300))


def test_a_revert_before_its_window_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def promote(self: Any, layer: Any) -> None:  # acceptance taken for the confirmed value, wherever it stands
        for document, overlay in layer.overlays.items():
            self._records[document].confirmed = overlay.over(self._records[document].confirmed)
            self._records[document].seq = 10**9

    monkeypatch.setattr(quiesce.storage.replica.Replica, "_promote", promote)
    with pytest.raises(AssertionError):
        play(range(100))
