"""Real sessions in an echo loop beside their model: every transition of small scopes, walks at production constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from quiesce.address import Scope
from quiesce.commits import Document
from quiesce.protocol import Upsert, Window
from quiesce_checks.lockstep.drive import walk
from quiesce_checks.lockstep.tour import tour
from quiesce_checks.lockstep.walk import production_walks
from quiesce_checks.subjects import PRODUCTION
from quiesce_checks.subjects.echo_sessions import EchoSubject, Session, echo_loop_pairing, joined
from quiesce_model.language.machine import Step
from quiesce_model.language.outcome import Misuse

TINY = {"threshold": 1, "window": 1, "base": 1, "cap": 1, "quiet": 2}


@pytest.mark.parametrize(
    ("scope", "transitions"),
    [
        ({"threshold": 2}, 580),
        ({"may_agree": True, "clear_when_settled": True}, 1_000),
    ],
)
def test_every_transition_of_two_sessions_agrees(scope: Mapping[str, Any], transitions: int) -> None:
    found = tour(echo_loop_pairing(tick=1, **(TINY | scope)))
    assert found.divergence is None
    assert (found.exhausted, found.transitions) == (True, transitions)
    assert found.refusals > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "transitions"), [({"may_agree": True, "may_leave": True}, 2_066), ({"sessions": 3}, 10_062)]
)
def test_every_transition_of_larger_loops_agrees(scope: Mapping[str, Any], transitions: int) -> None:
    found = tour(echo_loop_pairing(tick=1, **(TINY | scope)))
    assert found.divergence is None
    assert (found.exhausted, found.transitions) == (True, transitions)


@pytest.mark.parametrize("repair", [{}, pytest.param({"clear_when_settled": True}, marks=pytest.mark.slow)])
def test_walks_at_production_constants_agree(repair: dict[str, bool]) -> None:
    walked = production_walks(echo_loop_pairing(tick=1, **(PRODUCTION["echo_loop"] | repair)), walks=12, length=60)
    assert walked.divergence is None
    assert walked.steps > 100


def test_what_was_changed_while_a_commit_was_on_its_way_is_not_lost_with_it() -> None:
    """A change of another input is a cause still, after the commit that was made before it has been refused."""
    steps = [
        Step("type", (("s", 1), ("value", 2))),
        Step("run", (("s", 2),)),
        Step("agree"),
        Step("refuse", (("s", 2),)),
        Step("run", (("s", 2),)),
    ]
    scope = {"sessions": 3, "values": 3, "may_type": True, "may_agree": True}
    found, taken = walk(echo_loop_pairing(tick=1, **(TINY | scope)), steps)
    assert (found, taken) == (None, 5)


def nothing(self: EchoSubject, session: Session) -> None:
    """The session is not told."""


def early(self: EchoSubject, session: Session) -> None:
    """What is on its way is delivered before it is asked for."""
    session.wire.settle()
    for other in self.sessions:
        other.wire.settle()


def unlogged(self: EchoSubject, session: Session) -> None:
    session.wire.settle()
    session.counts.logger("scheduler").error("remote-echo-breaker-tripped")


@pytest.mark.parametrize(
    ("action", "instead", "fields"),
    [
        ("deliver", nothing, {"session[0].behind", "session 0 sees"}),
        ("commit", early, {"session[0].triggered", "session[0].behind"}),
        ("commit", unlogged, {"session 1 lines"}),
        ("refuse", nothing, {"session[0].pending?", "session[1].pending?"}),
    ],
)
def test_a_session_that_does_otherwise_is_seen(
    action: str, instead: Callable[[EchoSubject, Session], None], fields: set[str]
) -> None:
    kind = type("Other", (EchoSubject,), {action: instead})
    pairing = replace(
        echo_loop_pairing(tick=1, **(TINY | {"threshold": 2, "may_agree": True})), subject=lambda: kind(1, 2)
    )
    found = tour(pairing).divergence
    assert found is not None
    assert fields & {name for name, _, _ in found.differs}


def test_windows_that_follow_each_other_are_one_with_the_newest_of_each_document() -> None:
    first = Window(3, 4, (Upsert("a", 4, value=1), Upsert("b", 4, value=1)), caught_up=2)
    second = Window(4, 6, (Upsert("a", 6, value=2),), (Document("c", Scope.SPACE),), caught_up=1)
    one = joined(first, second)
    assert {upsert.id: upsert.value for upsert in one.upserts} == {"a": 2, "b": 1}
    assert (one.from_seq, one.to_seq, one.caught_up, len(one.removes)) == (3, 6, 2, 1)


def test_the_repair_that_asks_who_wrote_first_is_refused() -> None:
    with pytest.raises(Misuse, match="leave remote_causes_only out"):
        echo_loop_pairing(remote_causes_only=True)
