"""One node of the real scheduler beside its model: every transition of projections, walks at production constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from quiesce_checks.lockstep.pairing import Pairing
from quiesce_checks.lockstep.tour import tour
from quiesce_checks.lockstep.walk import production_walks
from quiesce_checks.subjects import PRODUCTION
from quiesce_checks.subjects.one_node import NOT_THERE, OneNodeSubject, one_node_pairing
from quiesce_model.language.outcome import Misuse

SMALL = {"debounce": 0, "throttle": 0, "longest_echo": 0, "cap": 1, "budget": 1, "hold_passes": 1}


@pytest.mark.parametrize(
    ("scope", "transitions"),
    [
        ({"effect": True, "debounce": 1, "throttle": 1, "longest_echo": 1}, 10_138),
        ({"effect": True, "conflicts": True, "may_retire": True}, 9_475),
    ],
)
def test_every_transition_of_a_projection_agrees(scope: Mapping[str, Any], transitions: int) -> None:
    found = tour(one_node_pairing(tick=1, **(SMALL | scope)))
    assert found.divergence is None
    assert found.exhausted
    assert found.transitions == transitions


@pytest.mark.parametrize("kind", [{"effect": True}, {"awaited": True}])
def test_walks_at_production_constants_agree(kind: dict[str, bool]) -> None:
    walked = production_walks(one_node_pairing(tick=1, **(PRODUCTION["one_node"] | kind)), walks=25, length=80)
    assert walked.divergence is None
    assert walked.steps > 1_000
    assert {which for which, _ in walked.edges} == {-1, 0, 1}


class Forgetful(OneNodeSubject):
    """A scheduler that is not told of one kind of step."""

    def __init__(self, deaf: str) -> None:
        super().__init__(1)
        setattr(self, deaf, lambda *args: None)


@pytest.mark.parametrize(
    ("deaf", "field"),
    [
        ("change", "node.status"),
        ("caught_up", "node.owed"),
        ("demand", "live"),
        ("resolve_idle", "node.gates.holds"),
    ],
)
def test_what_it_is_not_told_of_is_seen(deaf: str, field: str) -> None:
    scope = SMALL | {"debounce": 1, "conflicts": deaf == "caught_up", "budget": 1}
    pairing: Pairing = replace(one_node_pairing(tick=1, **scope), subject=lambda: Forgetful(deaf))
    found = tour(pairing).divergence
    assert found is not None
    assert field in {name for name, _, _ in found.differs}


@pytest.mark.parametrize("name", NOT_THERE)
def test_what_only_the_model_has_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match=f"the runtime has no {name}"):
        one_node_pairing(**{name: 1})
