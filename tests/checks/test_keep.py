"""Divergences that are kept: files that pytest runs, and that say when they show nothing any more."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import pytest
from golden import hold_against

from quiesce_checks.lockstep.find import find_pairing
from quiesce_checks.lockstep.keep import Kept, keep, kept, literal, load_kept, spelled_out, text_of
from quiesce_checks.lockstep.question import toured
from quiesce_checks.problems import Problem
from quiesce_model import Machine, action, one_of
from quiesce_model.language.machine import Step

HERE = Path(__file__).parent


def found_in(name: str):
    source = find_pairing(f"desks:{name}", (HERE,))
    divergence = toured(source.at({"most": 2})).verdict.divergence
    assert divergence is not None
    return kept(source, {"most": 2}, None, divergence, True), divergence


@pytest.mark.parametrize("name", ["wrong_value", "no_refusal", "crashing"])
def test_what_is_kept_is_a_test(name: str, request: pytest.FixtureRequest):
    made, divergence = found_in(name)
    hold_against(f"kept-{name}", text_of(made, divergence), request)


def test_a_kept_walk_fails_with_the_whole_picture(tmp_path: Path):
    path = keep(*found_in("wrong_value"), tmp_path)
    assert path.name == "test_desk_rest.py"
    with pytest.raises(AssertionError, match="differs: rest  model 2  implementation 3"):
        Kept("desks:wrong_value", load_kept(path).steps, {"most": 2}).agree(__file__)


def test_a_kept_walk_passes_when_the_sides_agree():
    Kept("desks:pairing", (Step("sell"), Step("sell")), {"most": 2}).agree(__file__)


def test_a_kept_file_is_read_again(tmp_path: Path):
    made, divergence = found_in("no_refusal")
    assert load_kept(keep(made, divergence, tmp_path)) == made


def test_another_walk_is_kept_beside_the_first(tmp_path: Path):
    made, divergence = found_in("wrong_value")
    first = keep(made, divergence, tmp_path)
    assert keep(made, divergence, tmp_path) == first
    other = Kept(made.pairing, made.steps, {"most": 2, "pause": 3})
    assert keep(other, divergence, tmp_path).name == "test_desk_rest_2.py"


def test_steps_that_the_model_no_longer_has_are_no_pass():
    stale = Kept("desks:pairing", (Step("open"), Step("sell")))
    with pytest.raises(Problem, match="1 of the 2 steps are no longer possible"):
        stale.agree(__file__)


def test_members_of_enums_are_kept_by_name():
    class Colour(Enum):
        RED = 1
        GREEN = 2

    class Light(Machine):
        colour: Colour = one_of(Colour)

        @action(colour=Colour)
        def show(self, colour: Colour) -> None:
            self.colour = colour

    step = Step("show", (("colour", Colour.GREEN),))
    assert literal(step) == Step("show", (("colour", "GREEN"),))
    assert spelled_out(literal(step), Light()) == step
