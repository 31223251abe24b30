"""Each property of one node with its gates fails once that no rule of the tables is there for."""

from __future__ import annotations

import pytest
from broken import named, violated

from quiesce_model import Machine
from quiesce_model.language import action
from quiesce_model.one_node import OneNode


class Impatient(OneNode):
    """A pass may end at any time."""

    @action()
    def end_pass(self) -> None:
        self.require(self.passing and not self.running)
        self.node.end_pass(self)
        self.passing = False


class Interrupted(OneNode):
    """A pass ends while a body runs."""

    @action()
    def interrupt(self) -> None:
        self.passing = False


class Wanted(OneNode):
    """Somebody comes to read a node that is not there."""

    @action()
    def demand(self) -> None:
        self.node.demanded = True


class Throttled(OneNode):
    """A throttle begins by itself."""

    @action()
    def throttle_again(self) -> None:
        self.node.gates.throttle.set(self.throttle)


class Held(OneNode):
    """A hold begins, and nobody knows of it."""

    @action()
    def hold(self) -> None:
        self.since_hold.start()


class Armed(OneNode):
    """The wake counts down before it is armed."""

    @action()
    def count_down(self) -> None:
        self.wake.rest.set(1)


SMALL = {"debounce": 0, "throttle": 0, "longest_echo": 0, "cap": 1, "budget": 1, "hold_passes": 1}

FAILS: list[tuple[str, Machine]] = [
    ("runs_wait_for_the_hold", OneNode(**{**SMALL, "resume": 1}, without=["GAT-7"])),
    ("backoff_between_base_and_cap", OneNode(**{**SMALL, "cap": 2}, without=["GAT-9"])),
    ("backed_off_for_runs_alone", Impatient(**{**SMALL, "budget": 2}, without=["SCH-7"])),
    ("releasing_the_hold_keeps_the_backoff", OneNode(**{**SMALL, "resume": 1})),
    ("bodies_run_in_passes", Interrupted(**SMALL)),
    ("a_retry_is_asked_for", OneNode(**SMALL, conflicts=True, without=["GAT-12"])),
    ("nobody_wants_the_retired", Wanted(**SMALL, may_retire=True)),
    ("all_gates_are_retired", Throttled(**{**SMALL, "throttle": 1}, may_retire=True, retire_all=True)),
    ("debounce_is_timed", OneNode(**{**SMALL, "debounce": 2}, without=["GAT-3"])),
    ("throttle_is_timed", OneNode(**{**SMALL, "throttle": 1}, without=["GAT-6"])),
    ("backoff_is_timed", OneNode(**{**SMALL, "longest_echo": 1}, without=["GAT-15"])),
    ("echo_backoff_is_timed", OneNode(**{**SMALL, "longest_echo": 1}, without=["GAT-14"])),
    ("hold_is_timed", Held(**SMALL)),
    ("a_disarmed_wake_has_no_time", Armed(**SMALL)),
]


@pytest.mark.parametrize(("broken", "machine"), FAILS, ids=named(FAILS))
def test_the_property_fails_where_something_is_wrong(broken: str, machine: Machine) -> None:
    assert violated(machine, broken)
