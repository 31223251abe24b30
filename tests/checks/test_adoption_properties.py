"""Each property of the machines of adoption fails once: without a rule, or in a machine with a mistake."""

from __future__ import annotations

import pytest
from broken import named, violated

from quiesce_model import Machine
from quiesce_model.adopt_delivery import AdoptDelivery
from quiesce_model.adopt_one import AdoptOne
from quiesce_model.adopt_or_run import AdoptOrRun
from quiesce_model.adopt_privacy import AdoptPrivacy
from quiesce_model.adopt_tripped import AdoptTripped
from quiesce_model.adoption import Adoption
from quiesce_model.language import action


class Ahead(AdoptOne):
    """The server takes a session to have been sent what is still to come."""

    @action(s="sessions")
    def skip(self, s: int) -> None:
        self.session[s].cursor = self.most


class Twisted(AdoptOne):
    """A replica changes what it was sent."""

    @action(s="sessions")
    def twist(self, s: int) -> None:
        self.session[s].confirmed[0].value = 1 - self.session[s].confirmed[0].value


class Rewound(AdoptOne):
    """The server forgets a window that is on its way."""

    @action(s="sessions")
    def rewind(self, s: int) -> None:
        self.require(self.session[s].window.on_way)
        self.session[s].cursor = self.session[s].window.since


class Shallow(AdoptOne):
    """Runs say of what they read that they have looked at its keys alone."""

    def is_shallow(self, document: int) -> bool:
        return document == 0


class Elsewhere(AdoptOne):
    """An action writes what it reads."""

    def output(self, n: int) -> int:
        return n


class Untold(AdoptOne):
    """The server does not notice that what a run has read is not the newest any more."""

    def overtake(self, document: int) -> None:
        pass


class Unmarked(AdoptPrivacy):
    """A row stays clean, whatever is written."""

    @action(s="sessions")
    def wipe(self, s: int) -> None:
        for row in self.row:
            row.dirty = False


class Numbered(AdoptDelivery):
    """A row is given the last slot of all."""

    @action()
    def number(self) -> None:
        self.slot = self.most + 1


class Hurried(AdoptDelivery):
    """Rows are taken to have been looked up as of what is still to come."""

    @action(s="sessions")
    def hurry(self, s: int) -> None:
        self.seat[s].rows = self.most


class Stuffed(AdoptDelivery):
    """A window carries the row whether it covers its slot or not."""

    @action(s="sessions")
    def stuff(self, s: int) -> None:
        self.require(self.seat[s].on_way)
        self.seat[s].carried = True


SMALL = {"writes": 1, "most": 2}
PLAIN = {"writes": 2, "most": 3, "parked": False}
LOOP = {"threshold": 2, "window": 1, "base": 1, "cap": 1, "quiet": 2}

FAILS: list[tuple[str, Machine]] = [
    ("at_rest_all_agree", Adoption(actions=1, writes=1, may_fail=True, without=["ADO-27"])),
    ("rows_reach_whom_they_speak_of", AdoptPrivacy(kind=1, sessions=2, without=["ADO-28"])),
    ("adopting_is_running", AdoptPrivacy(kind=1, sessions=2, without=["ADO-28"])),
    ("adopting_is_running", Unmarked(kind=0, sessions=2)),
    ("at_rest_all_is_current", AdoptPrivacy(kind=2, sessions=2, without=["ADO-29"])),
    ("rows_change_no_value", AdoptOrRun(actions=1, may_fail=True, without=["ADO-27"], **SMALL)),
    ("a_window_makes_no_step", AdoptTripped(adoption_converges=True, **LOOP)),
    ("adopting_agrees_as_running_does", AdoptTripped(**LOOP)),
    ("no_wait_is_longer_than_the_cap", AdoptTripped(without=["BRK-17"], **LOOP)),
    ("the_backoff_is_at_most_the_cap", AdoptTripped(without=["BRK-17"], **LOOP)),
    ("numbers_are_given_once", Ahead(**SMALL)),
    ("one_number_is_one_value", Twisted(**SMALL)),
    ("windows_leave_nothing_out", AdoptOne(may_fail=True, without=["ADO-27"], **SMALL)),
    ("windows_end_at_the_cursor", Rewound(**SMALL)),
    ("what_is_not_on_its_way_is_empty", AdoptOne(without=["ADO-20"], **SMALL)),
    ("whoever_runs_reads_all", Shallow(**SMALL)),
    ("runs_write_their_output", Elsewhere(**SMALL)),
    ("what_is_not_stale_is_so", Untold(**PLAIN)),
    ("a_row_is_true", AdoptOne(without=["ADO-36"], **PLAIN)),
    ("a_row_on_its_way_is_true", AdoptOne(without=["ADO-35"], **PLAIN)),
    ("a_clean_action_is_current", AdoptOne(without=["ADO-25"], **PLAIN)),
    ("a_slot_is_the_next_one_at_most", Numbered(most=2)),
    ("a_slot_stands_while_the_row_does", AdoptDelivery(most=2, without=["ADO-34"])),
    ("cursors_are_behind", Hurried(most=2)),
    ("what_is_carried_was_due", Stuffed(most=2)),
]


@pytest.mark.parametrize(("broken", "machine"), FAILS, ids=named(FAILS))
def test_the_property_fails_where_something_is_wrong(broken: str, machine: Machine) -> None:
    assert violated(machine, broken)
