"""Traces in the Informal Trace Format, both ways, against another reader and writer of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import itf_py
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamps import Board, Colour, Zoo

from quiesce_checks.formats.itf import Document, dumps, loads, trace_of, value
from quiesce_checks.problems import Problem
from quiesce_checks.trace import Failure, Trace, replay
from quiesce_model.language.machine import Step, leaves, state


def run() -> Trace:
    steps = (
        Step("put", (("r", 0), ("colour", Colour.BLUE))),
        Step("elapse", (("d", 2),)),
        Step("take", (("r", 0),)),
    )
    return replace(replay(Zoo(), steps), failure=Failure("few", "too many"), loop=1, notes=("a note",))


@st.composite
def zoo_states(draw: st.DrawFn) -> tuple[int, ...]:
    """Any state within the domains, absent values at their start."""
    found: list[int] = []
    absent = ""
    for leaf in leaves(Zoo()):
        gone = absent and (leaf.name == absent or leaf.name.startswith((f"{absent}.", f"{absent}?")))
        high = 10**12 if leaf.high is None else leaf.high
        found.append(leaf.start if gone else draw(st.integers(leaf.low, high)))
        if not gone:
            absent = leaf.name[:-1] if leaf.name.endswith("?") and found[-1] == 0 else ""
    return tuple(found)


@given(st.lists(zoo_states(), min_size=1, max_size=4))
def test_every_state_comes_back_as_it_was(states: list[tuple[int, ...]]):
    steps = tuple(Step("elapse", (("d", n + 1),)) for n in range(len(states) - 1))
    trace = Trace(Zoo(), tuple(states), steps)
    assert trace_of(loads(dumps(trace)), Zoo).states == trace.states


def test_a_trace_comes_back_whole():
    trace = run()
    back = trace_of(loads(dumps(trace)), Zoo)
    assert (back.states, back.steps, back.loop, back.notes) == (trace.states, trace.steps, trace.loop, trace.notes)
    assert back.failure == trace.failure
    assert back.machine.constants_ == trace.machine.constants_


def test_arguments_come_back_as_members_of_their_enum():
    back = trace_of(loads(dumps(run())), Zoo)
    assert dict(back.steps[0].args)["colour"] is Colour.BLUE


def test_switched_off_rules_and_dropped_assumptions_come_back():
    machine = Zoo(without=["ZOO-1"], rooms=3)
    back = trace_of(loads(dumps(Trace(machine, (state(machine),), ()))), Zoo)
    assert back.machine.without_ == {"ZOO-1"}
    assert back.machine.constants_["rooms"] == 3


def test_a_fault_keeps_the_attempt_that_it_ends_with():
    attempted = Step("put", (("r", 1), ("colour", Colour.RED)))
    trace = replace(run(), failure=Failure("no_fault", "seen: 7 is outside 0..5", attempted=attempted))
    back = trace_of(loads(dumps(trace)), Zoo)
    assert back.failure is not None
    assert back.failure.attempted == attempted


def test_the_text_is_the_same_every_time():
    assert dumps(run()) == dumps(run())


def test_each_state_has_a_line_of_its_own():
    lines = dumps(run()).splitlines()
    assert sum('"index"' in line for line in lines) == run().length + 1


def painted() -> Trace:
    """A trace without optional values: the other reader knows no variant that holds a number, nor one called None."""
    return replay(Board(), (Step("paint", (("n", 1), ("colour", Colour.BLUE))), Step("elapse", (("d", 7),))))


def test_another_reader_reads_it():
    read = itf_py.trace_from_json(json.loads(dumps(replace(painted(), loop=1))))
    assert read.vars == ["colour", "level", "since", "grid", "best"]
    assert read.params == ["size", "loud"]
    assert read.loop == 1
    first, second, third = (one.values for one in read.states)
    assert (first["size"], first["loud"], first["colour"], first["since"]) == (2, True, "GREEN", -1)
    assert (second["colour"], second["level"], second["grid"]) == ("BLUE", -2, [[0, 0], [0, 3]])
    assert (third["since"], third["best"].weight, third["best"].colour) == (7, 3, "BLUE")
    assert [one.meta["index"] for one in read.states] == [0, 1, 2]
    assert read.states[1].meta["action"] == "paint"


def test_what_another_writer_makes_of_it_reads_the_same():
    trace = painted()
    other: Any = itf_py.trace_to_json(itf_py.trace_from_json(json.loads(dumps(trace))))
    back = trace_of(loads(json.dumps(other)), Board)
    assert back.states == trace.states
    assert back.steps == trace.steps


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"#bigint": "-42"}, -42),
        (7, 7),
        (True, True),
        ({"#set": [{"#bigint": "3"}, {"#bigint": "1"}]}, [1, 3]),
        ({"#map": [["a", {"#bigint": "1"}]]}, {"a": 1}),
        ({"#tup": ["a", False]}, ["a", False]),
        ({"tag": "None", "value": {"#tup": []}}, None),
        ({"tag": "None"}, None),
        ({"tag": "Some", "value": {"#bigint": "1"}}, 1),
        ({"tag": "Other", "value": {"#bigint": "1"}}, {"tag": "Other", "value": 1}),
        ({"#unserializable": "Int"}, "Int"),
        ({"x": [{"#bigint": "1"}]}, {"x": [1]}),
    ],
)
def test_expressions_of_other_tools_are_read(data: Any, expected: Any):
    assert value(data) == expected


def test_the_action_of_a_quint_trace_is_found():
    text = json.dumps({"vars": ["x"], "states": [{"x": 1}, {"x": 2, "mbt::actionTaken": "step"}]})
    assert loads(text).actions == (("step", {}),)


def test_a_trace_of_a_machine_that_has_changed_is_refused():
    text = dumps(run()).replace('"best"', '"bets"')
    with pytest.raises(Problem, match="state 0 of the trace is not one of Zoo"):
        trace_of(loads(text), Zoo)


def test_an_action_with_an_argument_that_it_does_not_take_is_refused():
    text = dumps(run()).replace('"params": {"r": {"#bigint": "0"}, "colour": "BLUE"}', '"params": {"colour": "PINK"}')
    with pytest.raises(Problem, match="put takes no r = None"):
        trace_of(loads(text), Zoo)


def test_constants_are_given_once():
    document: Document = loads(dumps(run()))
    assert document.constants == {"rooms": 2, "loud": True}
    assert sum('"loud": true' in line for line in dumps(run()).splitlines()) == 2  # about the trace, and in state 0
