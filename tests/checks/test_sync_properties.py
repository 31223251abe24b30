"""Each property of the machines of several sessions fails once: without a rule, or in a machine with a mistake."""

from __future__ import annotations

import pytest
from broken import named, violated

from quiesce_model import Machine
from quiesce_model.cadence import Cadence
from quiesce_model.crossing import Crossing
from quiesce_model.fan_out import FanOut
from quiesce_model.fast_input import FastInput
from quiesce_model.language import action
from quiesce_model.many_replicas import ManyReplicas
from quiesce_model.many_sessions import ManySessions
from quiesce_model.one_against_one import OneAgainstOne
from quiesce_model.scheduler import Status
from quiesce_model.sync import Fate, Layer, Version

# pyright: reportOptionalMemberAccess=false


class Ahead(ManyReplicas):
    """Answers carry a number that was not given out."""

    def answer(self, s: int, document: int) -> None:
        head = self.server.head[document].version
        self.seat[s].pulled[document] = Version(seq=min(head.seq + 1, self.most), value=head.value)


class Unasked(ManyReplicas):
    """What nobody may ask for is answered."""

    @action(s="sessions", document="documents")
    def pull(self, s: int, document: int) -> None:
        self.require(self.seat[s].pulled[document] is None)
        self.answer(s, document)


class Nameless(ManyReplicas):
    """The server takes every head for session 0's."""

    @action()
    def usurp(self) -> None:
        self.server.head[0].writer = 0


class Gappy(ManyReplicas):
    """A first layer is put into the second place."""

    @action(s="sessions", document="documents", read="documents", value="values")
    def write(self, s: int, document: int, read: int, value: int) -> None:
        self.require(self.replica[s].pending() == 0)
        self.replica[s].layer[1] = Layer(
            document=document,
            value=value,
            read=read,
            basis=0,
            under=0,
            doomed=False,
            fate=Fate.SENT,
            seq=0,
            learnt=False,
            covered=0,
            saw=0,
            needs=0,
            applied=0,
        )


class Mute(ManyReplicas):
    """No commit gets a verdict."""

    @action(s="sessions", place="layers")
    def accept(self, s: int, place: int) -> None:
        self.require(self.server.seq > self.most)

    @action(s="sessions", place="layers")
    def refuse(self, s: int, place: int) -> None:
        self.require(self.server.seq > self.most)


class Ungated(ManySessions):
    """The gate does not follow the pair."""

    def regate(self, s: int) -> None:
        pass


class Causeless(ManySessions):
    """Why a node is to run is forgotten."""

    @action(s="sessions")
    def forget_why(self, s: int) -> None:
        self.member[s].node.cause[0] = False


class Lossy(ManySessions):
    """A window is lost."""

    @action(s="sessions")
    def lose(self, s: int) -> None:
        self.member[s].window = None


class Stale(ManySessions):
    """The server takes a session that it owes a window for one that it does not."""

    @action(s="sessions")
    def forget_news(self, s: int) -> None:
        self.member[s].behind = False


class Late(ManySessions):
    """A session that has gone is sent something."""

    @action(s="sessions")
    def send(self, s: int) -> None:
        self.member[s].behind = True


class Idle(ManySessions):
    """A node that is to run is called clean."""

    @action(s="sessions")
    def settle(self, s: int) -> None:
        self.member[s].node.status = Status.CLEAN


class Unnamed(ManySessions):
    """What is typed is taken for a run of the derivation."""

    @action(s="sessions")
    def mistake(self, s: int) -> None:
        draft = self.member[s].draft
        self.require(draft is not None)
        draft.by_document = True


class Backed(ManySessions):
    """A pass backs a node off that has not exhausted it."""

    @action(s="sessions")
    def back_off(self, s: int) -> None:
        self.member[s].node.gates.back_off(self)


class Hasty(OneAgainstOne):
    """A pair forgets what it has counted."""

    @action(s="sessions")
    def forget_count(self, s: int) -> None:
        self.member[s].pair.clear()


class Haunted(OneAgainstOne):
    """A node that ran is taken for one that did not."""

    @action(s="sessions")
    def bear(self, s: int) -> None:
        self.member[s].node.ran = False


class Mirrored(OneAgainstOne):
    """A session is sent what it wrote itself."""

    @action(s="sessions")
    def reflect(self, s: int) -> None:
        self.member[s].window = self.document


class Settling(OneAgainstOne):
    """Pairs settle without the repair."""

    @action(s="sessions")
    def settle(self, s: int) -> None:
        self.member[s].pair.settling.start()


class Open(FanOut):
    """No gate is ever shut."""

    def regate(self) -> None:
        pass


class Untimed(FanOut):
    """Nobody knows since when an instance has been due."""

    @action(i="instances")
    def change(self, i: int) -> None:
        self.require(not self.instance[i].due)
        self.instance[i].due = True


class Selective(FanOut):
    """A turn serves one user."""

    def may_run(self, i: int) -> bool:
        others = any(self.instance[n].due for n in range(self.instances) if n < i)
        return self.instance[i].due and not others and self.gates.rest(self) == 0


class Jumpy(Crossing):
    """There are echo steps of nothing."""

    @action(s=2)
    def jump(self, s: int) -> None:
        self.side[s].pair.echo(self)


class Forgetful(FastInput):
    """Nobody tries again what was refused."""

    @action()
    def refuse(self) -> None:
        self.require(self.draft is not None and self.behind)
        self.draft = None
        self.behind = False
        self.sees = self.input


class Groundless(FastInput):
    """Why the node is to run is forgotten."""

    @action()
    def forget_why(self) -> None:
        self.node.cause[0] = False
        self.node.cause[1] = False


class Reverting(FastInput):
    """The repair is on, and something is taken back all the same."""

    @action()
    def take_back(self) -> None:
        self.node.cause[1] = True


ASKED = {"most": 2, "may_pull": True, "may_watch": True, "may_fail": True}
LOOP = {"threshold": 2, "window": 1, "base": 1, "cap": 1, "quiet": 2}
LONGER = {"threshold": 2, "window": 1, "base": 1, "cap": 2, "quiet": 3}


PROMISES: list[tuple[str, Machine]] = [
    ("a_number_is_one_version", ManyReplicas(without=["SYN-1"])),
    ("windows_join", ManyReplicas(without=["SYN-14"], **ASKED)),
    ("at_rest_all_agree", ManyReplicas(without=["SYN-13"], **ASKED)),
    ("no_deadlock", Mute(most=2)),
    ("at_rest_all_agree", Lossy(may_agree=True, **LOOP)),
    ("every_rerun_has_a_cause", Causeless(**LOOP)),
    ("gate_is_the_deadline", Ungated(**LOOP)),
    ("starts_wait_for_the_backoff", Ungated(bound=7, **LOOP)),
    ("refusals_while_time_stands", ManySessions(sessions=3, storm=1, **LOOP)),
    ("two_thresholds_and_one", Hasty(**LOOP)),
    ("nobody_waits_longer_than_the_cap", Selective(**LONGER)),
    ("nothing_is_counted", Jumpy(**LONGER)),
    ("what_settles_is_not_counted", Jumpy(agreeing=True, **LONGER)),
    ("at_rest_the_output_is_right", Forgetful(**LONGER)),
    ("every_rerun_has_a_cause", Groundless(**LONGER)),
    ("a_window_holds_fewer_than_twice", Cadence(without=["BRK-13"], threshold=3, window=2, cap=1, quiet=3)),
]

LEMMAS: list[tuple[str, Machine]] = [
    ("numbers_are_given_out", Ahead(**ASKED)),
    ("copies_of_the_newest_are_alike", ManyReplicas(without=["SYN-1"])),
    ("a_head_is_its_writers", Nameless(most=1)),
    ("windows_lie_end_to_end", ManyReplicas(without=["SYN-14"], **ASKED)),
    ("layers_have_no_gap", Gappy(layers=2, most=1)),
    ("verdicts_follow_decisions", ManyReplicas(without=["SYN-2"], layers=2, most=1)),
    ("own_commits_are_layers", ManyReplicas(without=["SYN-9"], most=1)),
    ("windows_before_a_commit_end_before_it", ManyReplicas(without=["SYN-12"], most=1)),
    ("layers_lie_over_what_is_older", ManyReplicas(without=["SYN-12"], layers=2, most=2)),
    ("only_what_is_asked_for_is_answered", Unasked(most=1)),
    ("a_refusal_comes_with_its_reason", ManyReplicas(without=["SYN-16"], **ASKED)),
    ("what_is_not_stale_was_read", ManyReplicas(without=["SYN-5"], layers=2, most=2)),
    ("who_is_away_has_nothing", Late(may_leave=True, **LOOP)),
    ("nodes_are_effects_without_other_gates", Backed(**LOOP)),
    ("deadlines_run_from_the_last_echo", ManySessions(without=["BRK-17"], **LONGER)),
    ("who_is_not_behind_is_up_to_date", Lossy(**LOOP)),
    ("a_window_under_way_is_the_newest_if_no_other_follows", Stale(sessions=3, **LOOP)),
    ("what_is_typed_has_no_cause", Unnamed(may_type=True, **LOOP)),
    ("what_is_due_has_a_reason", Causeless(**LOOP)),
    ("a_retry_is_due", Idle(sessions=3, **LOOP)),
    ("what_is_clean_is_as_wanted", Idle(**LOOP)),
    ("each_makes_what_it_counts", Hasty(**LOOP)),
    ("a_first_commit_is_the_first", Haunted(**LOOP)),
    ("who_is_told_is_told_of_the_other", Mirrored(**LOOP)),
    ("nothing_else_happens", Settling(**LOOP)),
    ("gates_are_the_deadlines", Open(**LONGER)),
    ("deadlines_run_from_the_last_echo", FanOut(without=["BRK-17"], **LONGER)),
    ("who_is_due_waits", Untimed(**LONGER)),
    ("the_output_is_no_cause", Reverting(own_revert_skipped=True, **LONGER)),
]


@pytest.mark.parametrize(("broken", "machine"), PROMISES, ids=named(PROMISES))
def test_the_promise_fails_where_something_is_wrong(broken: str, machine: Machine) -> None:
    assert violated(machine, broken)


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "machine"), LEMMAS, ids=named(LEMMAS))
def test_the_lemma_fails_where_something_is_wrong(broken: str, machine: Machine) -> None:
    assert violated(machine, broken)
