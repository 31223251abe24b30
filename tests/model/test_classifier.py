"""Which writes reach which triggers, as a table."""

from __future__ import annotations

import pytest

from quiesce_model.classifier import Classifier, at_or_below

WHOLE, LEFT, RIGHT, LEFT_A, LEFT_B = 0, 1, 2, 3, 4


@pytest.mark.parametrize(
    ("trigger", "written", "differs", "echo"),
    [
        (LEFT_A, LEFT_A, "a", True),  # at the path
        (LEFT, LEFT_A, "a", True),  # below it
        (WHOLE, LEFT_B, "b", True),  # the whole document: anything reaches it
        (LEFT_A, LEFT, "a", True),  # above it, and different there
        (LEFT_A, LEFT, "b", False),  # above it, and equal there
        (LEFT_A, WHOLE, "bcd", False),
        (LEFT_A, LEFT_B, "b", False),  # beside it
        (LEFT, RIGHT, "cd", False),
        (LEFT_A, LEFT_A, "", False),  # the value that was there
    ],
)
def test_a_write_reaches_a_trigger(trigger: int, written: int, differs: str, echo: bool) -> None:
    run = Classifier()
    run.cause(instance=0, path=trigger)
    run.read(instance=0)
    run.write(path=written, **{leaf: leaf in differs for leaf in "abcd"})
    run.kick_off()
    assert run.is_echo(0) is echo
    assert run.is_convergence(0) is not echo
    assert run.overwrote(0) is echo


@pytest.mark.parametrize(("caused", "read"), [(False, True), (True, False), (False, False)])
def test_a_document_that_did_not_trigger_or_was_not_read_makes_no_step(caused: bool, read: bool) -> None:
    run = Classifier()
    if caused:
        run.cause(instance=0, path=WHOLE)
    if read:
        run.read(instance=0)
    run.write(path=LEFT_A, a=True, b=False, c=False, d=False)
    run.kick_off()
    assert not run.is_echo(0)
    assert not run.is_convergence(0)


def test_another_scope_instance_of_the_document_is_another_document() -> None:
    run = Classifier()
    run.cause(instance=1, path=LEFT_A)
    run.read(instance=1)
    run.write(path=LEFT_A, a=True, b=False, c=False, d=False)
    run.kick_off()
    assert run.is_convergence(1)
    assert not run.is_echo(0)


def test_paths_lie_as_in_a_heap() -> None:
    assert [path for path in range(7) if at_or_below(path, LEFT)] == [1, 3, 4]
    assert all(at_or_below(path, WHOLE) for path in range(7))
