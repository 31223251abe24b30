"""What the serving arm promises, for random applications, demands and changes; and that each promise can be broken."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving_plays import Come, Derivation, Die, Move, Need, Play, Rest, Spec, Write, moves, specs

from quiesce.address import Scope
from quiesce.commits import Document
from quiesce.serving.delegation import Delegation
from quiesce.serving.plan import Plan
from quiesce.serving.seat import Seat, SeatRules, SeatTransaction
from quiesce.storage.transaction import Transaction

BRIEFLY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def play(spec: Spec, made: list[Move], *, static: bool, seed: int | None = None) -> None:
    """Every move is checked when everything has come to rest. ``seed``: of the order of deliveries and runs."""
    stage = Play(spec, static, None if seed is None else Random(seed))
    for move in made:
        stage.make(move)


@BRIEFLY
@given(specs(dynamic=False), moves(deaths=False), st.integers(0, 9_999))
def test_each_instance_has_its_function_s_value_and_nothing_runs_twice_for_one_wave(
    spec: Spec, made: list[Move], seed: int
) -> None:
    play(spec, made, static=True, seed=seed)


@BRIEFLY
@given(specs(dynamic=True), moves(deaths=True), st.integers(0, 9_999))
def test_values_and_privacy_hold_while_reads_change_and_runtimes_come_and_go(
    spec: Spec, made: list[Move], seed: int
) -> None:
    play(spec, made, static=False, seed=seed)


@pytest.mark.slow
@LONG
@given(specs(dynamic=False), moves(deaths=False), st.integers(0, 9_999))
def test_the_first_for_longer(spec: Spec, made: list[Move], seed: int) -> None:
    play(spec, made, static=True, seed=seed)


@pytest.mark.slow
@LONG
@given(specs(dynamic=True), moves(deaths=True), st.integers(0, 9_999))
def test_the_second_for_longer(spec: Spec, made: list[Move], seed: int) -> None:
    play(spec, made, static=False, seed=seed)


# -- each of these is noticed

DIAMOND: Spec = (Derivation(("title",), ()), Derivation(("mine", "title"), (0,)))
"""The second reads what everybody writes twice: itself, and through the first."""
PRIVATE: Spec = (Derivation(("preference",), ()), Derivation(("title",), (0,)))
WROTE: list[Move] = [Write(0, "title"), Write(0, "mine"), Write(0, "preference"), Need(0, 1), Need(1, 1)]
THEN: list[Move] = [Write(1, "title"), Write(1, "preference"), Write(1, "mine"), Come("ann"), Need(2, 1), Rest(), Die()]


@pytest.mark.parametrize("spec", [DIAMOND, PRIVATE], ids=["diamond", "private"])
def test_the_plays_that_notice_hold_as_it_is(spec: Spec) -> None:
    play(spec, [*WROTE, *THEN], static=True)


def test_what_was_narrowed_for_the_space_is_out_of_sight_for_a_user_s_seat_too() -> None:
    """Put away, and got out again by a write that makes the second derivation read what is a session's own: the third
    runs for the user, and has to find out."""
    spec: Spec = (
        Derivation(("preference", "title"), (), True),
        Derivation(("switch", "mine"), (), True),
        Derivation(("title",), (1, 0)),
    )
    made: list[Move] = [Come("bob"), Need(2, 0), Need(2, 2), Need(0, 0), Rest(), Write(2, "switch")]
    play(spec, made, static=False)


def broken(monkeypatch: pytest.MonkeyPatch, spec: Spec) -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        play(spec, [*WROTE, *THEN], static=True)


def test_seats_that_do_not_wait_for_wider_ones_run_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seat, "waits_for", lambda self, wider: False)
    broken(monkeypatch, DIAMOND)


SHARED: list[Move] = [*WROTE, Write(1, "title"), Write(0, "title"), Write(1, "title")]


def play_often(times: int) -> None:
    for seed in range(times):
        play(DIAMOND, SHARED, static=True, seed=seed)


def test_in_whatever_order_things_arrive_one_write_is_one_wave() -> None:
    play_often(5)


@pytest.mark.parametrize(
    "ignored", ["what has still to run", "what has not arrived there", "what has not arrived here"]
)
def test_each_thing_that_a_seat_waits_for_is_needed(monkeypatch: pytest.MonkeyPatch, ignored: str) -> None:
    def waits_for(self: Seat, wider: Seat) -> bool:
        knows, known = self.client.replica.synced, wider.client.replica.synced
        reasons = {
            "what has still to run": not wider.quiet,
            "what has not arrived there": known < knows,
            "what has not arrived here": wider.last_seq > knows,
        }
        return any(holds for reason, holds in reasons.items() if reason != ignored)

    monkeypatch.setattr(Seat, "waits_for", waits_for)
    with pytest.raises(AssertionError):
        play_often(40)


def test_seats_that_read_on_where_they_see_nothing_derive_the_wrong_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeatRules, "refuses", lambda self, document: None)
    broken(monkeypatch, PRIVATE)


def test_a_plan_that_forgets_narrowness_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrower(self: Plan, id: str, instance: object) -> Scope | None:
        return None

    monkeypatch.setattr(Plan, "narrower", narrower)
    monkeypatch.setattr(Plan, "narrow", lambda self, id, instance, scope: False)
    broken(monkeypatch, PRIVATE)


def test_sessions_that_leave_nothing_alone_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Delegation, "place", lambda self, derived: None)
    broken(monkeypatch, DIAMOND)


def test_sessions_that_say_nothing_of_what_they_need_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Delegation, "demands", lambda self: ())
    with pytest.raises(AssertionError, match="its function's value"):
        play(DIAMOND, WROTE, static=True)


def test_a_seat_that_writes_what_it_reads_where_everybody_sees_it_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The placement wrong on purpose: a user's value in the space's document."""

    def write(self: SeatTransaction, document: Document, path: tuple[str, ...], value: object) -> None:
        if document.scope is Scope.USER:
            Transaction.write(self, Document(document.id), (), {"value": value})
        else:
            Transaction.write(self, document, path, value)

    monkeypatch.setattr(SeatTransaction, "write", write)
    broken(monkeypatch, PRIVATE)
