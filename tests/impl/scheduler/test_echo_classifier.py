"""Which steps a run makes (seed §1, *Echo and convergence steps*)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from echo_stand_ins import Reads, Write, doc, made, place, remote, write

from quiesce.address import Address, Entity, Identity, Scope, entity
from quiesce.scheduler.echo import (
    ALL_ORIGINS,
    Cause,
    EchoCapture,
    Origin,
    Step,
    StepKind,
    capture_run,
    form_steps,
)
from quiesce.values import ABSENT

READ = Reads(deep=(place("value"),))


def steps_of(
    causes: list[Cause],
    writes: list[Write],
    reads: Reads = READ,
    *,
    tracked: bool = False,
    counted: frozenset[Origin] = ALL_ORIGINS,
) -> list[tuple[Entity, StepKind]]:
    capture = capture_run(causes, writes, kickoff=0, counted=counted)
    return [(step.document, step.kind) for step in form_steps(capture, reads, tracked=tracked)]


ECHO = [(doc(), StepKind.ECHO)]
CONVERGENCE = [(doc(), StepKind.CONVERGENCE)]


def test_a_run_that_overwrites_what_triggered_it_is_an_echo() -> None:
    assert steps_of([remote("value", "title")], [write("value", "title")]) == ECHO


def test_a_run_that_wrote_nothing_is_a_convergence_for_a_tracked_action() -> None:
    assert steps_of([remote("value", "title")], [], tracked=True) == CONVERGENCE


def test_a_run_that_wrote_nothing_makes_no_step_for_an_untracked_action() -> None:
    assert steps_of([remote("value", "title")], []) == []


def test_a_write_of_an_equal_value_overwrites_nothing() -> None:
    same = write("value", "title", previous="theirs", value="theirs")
    assert steps_of([remote("value", "title")], [same], tracked=True) == CONVERGENCE


def test_an_output_that_did_not_trigger_the_run_is_no_candidate() -> None:
    output = doc("summary")
    reads = Reads(deep=(place(), place(of=output)))
    assert steps_of([remote("value")], [write("value", of=output)], reads, tracked=True) == CONVERGENCE


def test_a_trigger_that_the_run_did_not_read_makes_no_step() -> None:
    causes, writes, reads = [remote("value")], [write("value")], Reads(deep=(place(of=doc("other")),))
    assert steps_of(causes, writes, reads) == []
    assert steps_of(causes, writes, reads, tracked=True) == []


def test_a_shallow_read_is_a_read() -> None:
    assert steps_of([remote("value")], [write("value")], Reads(shallow=(place("value"),))) == ECHO


def test_reads_are_matched_by_document_and_not_by_path() -> None:
    assert steps_of([remote("value", "a")], [write("value", "a")], Reads(deep=(place("value", "b"),))) == ECHO


@pytest.mark.parametrize(
    ("trigger", "written", "previous", "value", "reaches"),
    [
        pytest.param(("value", "a"), ("value", "a"), 1, 2, True, id="at the path"),
        pytest.param(("value", "a"), ("value", "a"), 1, 1.0, False, id="at it, equal as JSON"),
        pytest.param(("value", "a"), ("value", "a"), 1, True, True, id="at it, another JSON type"),
        pytest.param(("value", "a"), ("value", "a"), None, ABSENT, True, id="at it, removed"),
        pytest.param(("value", "a"), ("value", "a", "b"), 1, 2, True, id="below"),
        pytest.param(("value", "a"), ("value", "a", "b"), 1, 1, False, id="below, equal"),
        pytest.param(("value", "a"), ("value",), {"a": 1, "b": 1}, {"a": 2, "b": 1}, True, id="above, differs"),
        pytest.param(("value", "a"), ("value",), {"a": 1, "b": 1}, {"a": 1, "b": 2}, False, id="above, equal"),
        pytest.param(("value", "a"), ("value",), {"a": 1}, {"a": True}, True, id="above, another JSON type"),
        pytest.param(("value", "a"), ("value",), {"a": None}, {}, True, id="above, removed there"),
        pytest.param(("value", "a"), ("value",), {"b": 1}, ABSENT, False, id="above, absent there before too"),
        pytest.param(("value", "a"), (), {"value": {"a": 1}}, {"value": {"a": 2}}, True, id="root, differs there"),
        pytest.param(("value", "a"), (), ABSENT, {"value": {"b": 2}}, False, id="root, equal there"),
        pytest.param(("value", "0"), ("value",), ["x", "y"], ["z", "y"], True, id="above an element that differs"),
        pytest.param(("value", "0"), ("value",), ["x", "y"], ["x"], False, id="above an element that is equal"),
        pytest.param(("value", "a"), ("value", "b"), 1, 2, False, id="beside"),
        pytest.param(("value", "a"), ("value", "ab"), 1, 2, False, id="beside, with a longer name"),
        pytest.param(("value", "a"), ("cfc", "a"), 1, 2, False, id="another facet"),
        pytest.param((), ("value", "b"), 1, 2, True, id="whole document, any changing write"),
        pytest.param((), ("value", "b"), 1, 1, False, id="whole document, a write that changes nothing"),
        pytest.param((), (), ABSENT, {"value": 1}, True, id="whole document, made"),
    ],
)
def test_a_write_reaches_a_trigger(
    trigger: tuple[str, ...],
    written: tuple[str, ...],
    previous: object,
    value: object,
    reaches: bool,
) -> None:
    detail = write(*written, previous=previous, value=value)  # type: ignore[arg-type]
    assert capture_run([remote(*trigger)], [detail], kickoff=0).overwritten == ({doc()} if reaches else set())


def test_one_id_in_two_spaces_is_two_documents() -> None:
    here, there = doc(space="home"), doc(space="work")
    reads = Reads(deep=(place(of=here), place(of=there)))
    assert steps_of([remote("value", of=here)], [write("value", of=there)], reads) == []


def test_two_session_instances_of_one_document_are_two_documents() -> None:
    tab, other = Identity("ann", "tab-1"), Identity("ann", "tab-2")
    mine, theirs = (entity("home", Scope.SESSION, "note", who) for who in (tab, other))
    reads = Reads(deep=(place(of=mine), place(of=theirs)))
    assert steps_of([remote("value", of=theirs)], [write("value", of=mine)], reads) == []
    assert steps_of([remote("value", of=mine)], [write("value", of=mine)], reads) == [(mine, StepKind.ECHO)]


def test_several_triggering_paths_of_a_document_make_one_step() -> None:
    causes = [remote("value", "a"), remote("value", "b")]
    assert steps_of(causes, [write("value", "b")]) == ECHO
    assert steps_of(causes, [write("value", "a"), write("value", "b")]) == ECHO
    assert steps_of(causes, [write("value", "c")], tracked=True) == CONVERGENCE


def test_one_write_above_is_held_against_every_triggering_path() -> None:
    causes = [remote("value", "a"), remote("value", "b")]
    above = write("value", previous={"a": 1, "b": 1}, value={"a": 1, "b": 2})
    assert steps_of(causes, [above]) == ECHO


def test_a_tracked_action_gets_a_step_for_every_trigger_that_it_read() -> None:
    first, second, unread = doc("first"), doc("second"), doc("unread")
    causes = [remote("value", of=document) for document in (first, second, unread)]
    reads = Reads(deep=(place(of=first),), shallow=(place(of=second),))
    assert steps_of(causes, [write("value", of=second)], reads, tracked=True) == [
        (first, StepKind.CONVERGENCE),
        (second, StepKind.ECHO),
    ]
    assert steps_of(causes, [write("value", of=second)], reads) == [(second, StepKind.ECHO)]


def test_steps_carry_the_kickoff_and_the_capture_the_registration() -> None:
    token = object()
    capture = capture_run([remote("value")], [write("value")], kickoff=1_250, registration=token)
    assert form_steps(capture, READ, tracked=False) == (Step(doc(), StepKind.ECHO, 1_250),)
    assert capture.registration is token


def test_a_write_that_makes_the_document_overwrites_an_empty_trigger() -> None:
    assert steps_of([remote()], [made("value", value={"title": "mine"})]) == ECHO


@dataclass
class CountingReads:
    """Reads that say how many of them were looked at."""

    addresses: list[Address]
    looked_at: int = 0

    @property
    def deep(self) -> Iterator[Address]:
        for address in self.addresses:
            self.looked_at += 1
            yield address

    @property
    def shallow(self) -> Iterator[Address]:
        yield from ()


def test_an_untracked_run_that_overwrote_no_trigger_has_no_read_looked_at() -> None:
    reads = CountingReads([place(of=doc(f"d{number}")) for number in range(1_000)])
    capture = capture_run([remote("value", "a")], [write("value", "b")], kickoff=0)
    assert form_steps(capture, reads, tracked=False) == ()
    assert reads.looked_at == 0


def test_the_scan_of_the_reads_stops_when_all_candidates_are_found() -> None:
    reads = CountingReads([place(), *(place(of=doc(f"d{number}")) for number in range(1_000))])
    capture = capture_run([remote("value")], [write("value")], kickoff=0)
    assert form_steps(capture, reads, tracked=True) == (Step(doc(), StepKind.ECHO, 0),)
    assert reads.looked_at == 1


def test_a_run_without_causes_has_no_write_looked_at() -> None:
    def no_write() -> Iterator[Write]:
        raise AssertionError("a write was looked at")
        yield write()

    assert capture_run([], no_write(), kickoff=0) == EchoCapture((), frozenset(), 0)


def test_a_cause_of_an_origin_that_does_not_count_is_no_cause() -> None:
    local = Cause(place("value", "a"), Origin.LOCAL)
    only_remote = frozenset({Origin.REMOTE})
    mine = [write("value", "a")]
    assert steps_of([local], mine, counted=only_remote) == []
    assert steps_of([local], mine, tracked=True, counted=only_remote) == []
    assert steps_of([local, remote("value", "a")], mine, counted=only_remote) == ECHO
    assert steps_of([local, remote("value", "b")], mine, tracked=True, counted=only_remote) == CONVERGENCE
