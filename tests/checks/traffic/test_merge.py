"""One text out of concurrent edits."""

from __future__ import annotations

import pytest

from quiesce_checks.traffic.merge import ConcurrentEdit, Patch, linear_patches
from quiesce_checks.traffic.typing_sessions import SESSIONS, load_session


def edit(writer: int, parents: tuple[int, ...], *patches: tuple[int, int, str]) -> ConcurrentEdit:
    return ConcurrentEdit(writer, parents, tuple(Patch(*patch) for patch in patches))


def text_of(edits: list[ConcurrentEdit]) -> str:
    text = ""
    for patches in linear_patches(edits):
        for patch in patches:
            text = patch.apply(text)
    return text


START = edit(0, (), (0, 0, "one two"))


def test_edits_one_after_another_apply_as_they_are() -> None:
    assert text_of([START, edit(1, (0,), (3, 1, "-")), edit(0, (1,), (7, 0, "!"))]) == "one-two!"


def test_a_position_means_the_text_that_its_writer_saw() -> None:
    ahead, behind = edit(0, (0,), (0, 0, ">> ")), edit(1, (0,), (7, 0, "!"))
    assert text_of([START, ahead, behind]) == text_of([START, behind, ahead]) == ">> one two!"


def test_what_two_delete_is_deleted_once() -> None:
    both = [edit(0, (0,), (0, 4, "")), edit(1, (0,), (2, 2, ""))]
    assert text_of([START, *both]) == text_of([START, *reversed(both)]) == "two"


def test_two_who_type_at_one_place_are_ordered_by_writer_and_not_mixed() -> None:
    low, high = edit(0, (0,), (3, 0, "AA")), edit(1, (0,), (3, 0, "BB"))
    assert text_of([START, low, high]) == text_of([START, high, low]) == "oneAABB two"


def test_an_insertion_into_what_another_deletes_stays() -> None:
    assert text_of([START, edit(0, (0,), (0, 3, "")), edit(1, (0,), (2, 0, "x"))]) == "x two"


def test_after_a_merge_positions_mean_the_merged_text() -> None:
    edits = [START, edit(0, (0,), (0, 0, ">")), edit(1, (0,), (7, 0, "!")), edit(0, (1, 2), (8, 0, "?"))]
    assert text_of(edits) == ">one two?!"


def test_an_edit_on_an_old_version_is_found_behind_later_merges() -> None:
    edits = [START, edit(0, (0,), (0, 0, "a")), edit(0, (1,), (1, 0, "b")), edit(1, (0,), (0, 1, "O"))]
    assert text_of(edits) == "abOne two"


def test_an_edit_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="edit 0 has a parent that is not before it; order the edits causally"):
        text_of([edit(0, (1,), (0, 0, "x")), START])


@pytest.mark.parametrize(
    ("name", "writers", "count", "timed"), [(SESSIONS[0], 3, 23_136, True), (SESSIONS[1], 2, 26_078, False)]
)
def test_a_recording_in_the_order_of_its_times_makes_its_final_text(
    name: str, writers: int, count: int, timed: bool
) -> None:
    session = load_session(name)  # which checks the text
    assert (session.writers, len(session.edits), session.timed) == (writers, count, timed)
    instants = [edit.at for edit in session.edits]
    assert instants == sorted(instants)
    assert len(session.final_text) > 20_000
