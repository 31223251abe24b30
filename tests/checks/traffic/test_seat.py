"""What a derivation does at a table of writers, and what its session's breaker makes of it."""

from __future__ import annotations

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce_checks.traffic.merge import Patch
from quiesce_checks.traffic.seat import Seat, SeatResult
from quiesce_checks.traffic.shared_text import TEXT, Derivation, SharedText, Write
from quiesce_checks.traffic.typing_sessions import Edit


def typed(text: str, *, writer: int = 1, gap: float = 100.0) -> list[Edit]:
    return [Edit(place * gap, writer, (Patch(place, 0, letter),)) for place, letter in enumerate(text)]


def sit(derivation: Derivation, edits: list[Edit], *, round_trip: float = 0, **repairs: bool) -> SeatResult:
    policy = BreakerPolicy(**repairs)
    return Seat(derivation, policy, local=0, round_trip_ms=round_trip).replay(edits)


def test_what_is_trimmed_leaves_recorded_positions_where_they_were() -> None:
    text = SharedText(Derivation.TRIM)
    text.edit((Patch(0, 0, "ab \ncd"),))
    assert text.derive() == (Write(TEXT, "ab \ncd", "ab\ncd"),)
    text.accept()
    assert text.edit((Patch(4, 0, "X"),))
    assert text.text() == "ab\nXcd"
    assert not text.edit((Patch(2, 1, ""),))  # the space that is no longer seen
    assert text.derive() == ()


def test_a_rejected_write_is_taken_back() -> None:
    for derivation in (Derivation.TRIM, Derivation.HEADING):
        text = SharedText(derivation)
        text.edit((Patch(0, 0, "ab "),))
        (write,) = text.derive()
        text.reject()
        assert text.text() == "ab "
        assert text.derive() == (write,)


def test_a_run_that_would_write_the_same_writes_nothing() -> None:
    for derivation in Derivation:
        text = SharedText(derivation)
        text.edit((Patch(0, 0, "ab "),))
        assert len(text.derive()) == 1
        text.accept()
        assert text.derive() == ()


def test_another_document_and_another_field_are_no_echo() -> None:
    for derivation in (Derivation.SUMMARY, Derivation.FIELD):
        result = sit(derivation, typed("nobody minds a reader" * 5))
        assert (result.commits, result.echoes, result.events) == (105, 0, ())


def test_a_trimmed_space_is_an_echo_and_the_next_letter_a_convergence() -> None:
    result = sit(Derivation.TRIM, typed("one two "))
    assert (result.runs, result.echoes, result.convergences, result.most_in_a_row) == (8, 2, 1, 1)


def test_twelve_spaces_in_a_row_trip() -> None:
    result = sit(Derivation.TRIM, typed("a" + " " * 12))
    assert result.most_in_a_row == 12
    assert result.line is not None
    assert result.line.startswith(
        "remote-echo-breaker-tripped action trim of the text rewrote document home/space/text 12 times"
    )


def test_a_heading_that_counts_trips_at_the_twelfth_letter_and_then_lags() -> None:
    result = sit(Derivation.HEADING, typed("a" * 100))
    assert result.events[0].at == 1_100
    assert result.runs == 17  # twelve, then 500, 1,000, 2,000, 4,000 and 8,000 ms apart
    assert result.held_ms > 8_000


def test_as_specified_the_sessions_own_user_counts_as_a_remote_writer() -> None:
    alone = typed("a" * 30, writer=0)
    assert len(sit(Derivation.HEADING, alone).events) == 1
    assert sit(Derivation.HEADING, alone, remote_causes_only=True).events == ()
    assert len(sit(Derivation.HEADING, typed("a" * 30), remote_causes_only=True).events) == 1


def test_settling_adds_up_the_spaces_of_ordinary_prose() -> None:
    prose = typed("a b c d e f g h i j k l m n ")
    assert sit(Derivation.TRIM, prose).events == ()
    assert len(sit(Derivation.TRIM, prose, clear_when_settled=True).events) == 1


def test_an_edit_that_arrives_during_the_round_trip_rejects_the_commit() -> None:
    result = sit(Derivation.SUMMARY, typed("ab", gap=100), round_trip=150)
    assert (result.runs, result.rejected, result.commits) == (2, 1, 1)


def test_a_rejected_commit_is_no_step() -> None:
    result = sit(Derivation.HEADING, typed("abc", gap=100), round_trip=150)
    assert (result.rejected, result.commits, result.echoes) == (2, 1, 1)
