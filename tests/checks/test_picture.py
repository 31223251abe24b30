"""Traces as pictures: whose step it is, what goes where, that all stays on the card, and the pictures that are kept."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from golden import hold_against
from lamps import Colour, Zoo, project

from quiesce_checks.cli import run
from quiesce_checks.formats.itf import dumps, read, trace_of
from quiesce_checks.machines import find_machine
from quiesce_checks.problems import Problem
from quiesce_checks.report.chart import WHOLE, Chart, Event, Note, Row, Telling, Word, chart
from quiesce_checks.report.lanes import Lanes, lanes_in, lanes_of
from quiesce_checks.report.picture import picture
from quiesce_checks.report.shape import Atom, Fields, Items, matcher
from quiesce_checks.report.story import Story, tell
from quiesce_checks.report.svg import Ink, wide, wrap
from quiesce_checks.trace import Failure, Trace, replay
from quiesce_model.breaker import Breaker
from quiesce_model.breaker_table import BreakerTable
from quiesce_model.classifier import Classifier
from quiesce_model.echo_loop import EchoLoop
from quiesce_model.language.machine import Machine, Step
from quiesce_model.one_node import OneNode

ROOT = Path(__file__).parents[2]
FINDINGS = sorted((ROOT / "specs" / "findings").glob("*.itf.json"))
SVG = "{http://www.w3.org/2000/svg}"


def finding(name: str) -> Trace:
    document = read(ROOT / "specs" / "findings" / f"{name}.itf.json")
    return trace_of(document, find_machine(document.source))


def charted(trace: Trace, *show: str, telling: Telling = WHOLE) -> Chart:
    return chart(tell(trace), lanes_of(trace.machine), matcher(show, ()), telling)


def steps_of(drawn: Chart) -> list[Row]:
    return [row for row in drawn.rows if isinstance(row, Row)]


def notes_of(drawn: Chart) -> list[str]:
    return [row.text for row in drawn.rows if isinstance(row, Note)]


def step(action: str, **args: Any) -> Step:
    return Step(action, tuple(args.items()))


# Whose step it is.


@pytest.mark.parametrize(
    ("machine", "lanes"),
    [
        (EchoLoop(sessions=4), Lanes("session", (("session",),), "s", 4)),
        (EchoLoop(sessions=1), Lanes("session", (("session",),), "s", 1)),
        (Breaker(), Lanes("flight", (("flight",),), "place", 2)),
        (Classifier(), Lanes("instance", (("instance",),), "instance", 2)),
        (
            BreakerTable(actions=1, documents=3),
            Lanes("document", (("node", "pair"), ("node", "place")), "d", 3),
        ),
        (BreakerTable(actions=2, documents=3), Lanes("node", (("node",),), "a", 2)),
        (Zoo(), Lanes("room", (("room",),), "r", 2)),
        (OneNode(), None),
    ],
    ids=lambda given: type(given).__name__,
)
def test_lanes_are_the_indexes_that_actions_name(machine: Machine, lanes: Lanes | None):
    assert lanes_of(machine) == lanes


def test_lanes_can_be_asked_for():
    machine = Classifier()
    assert lanes_of(machine, "overwritten") == Lanes("path", (("write_at",), ("overwritten",)), "path", 7)
    assert lanes_of(Breaker(), "flight") == lanes_of(Breaker())
    assert lanes_of(machine, "changed") == Lanes("changed", (("changed",),), "", 4)
    with pytest.raises(Problem, match="the fields that have one are: instance, write_at, changed, overwritten"):
        lanes_of(machine, "sessions")


def test_lanes_are_found_without_a_machine():
    start = Fields((("level", Atom("0")), ("on", Items((Atom("no"),) * 2)), ("lamp", Items((Atom("no"),) * 3))))
    assert lanes_in(start, [{"d": 1}, {"lamp": 2}]) == Lanes("lamp", (("lamp",),), "lamp", 3)
    assert lanes_in(start, [{"d": 1}, {"l": 3}]) is None
    assert lanes_in(start, [{"d": 1}], "on") == Lanes("on", (("on",),), "", 2)
    with pytest.raises(Problem, match="the fields that have one are: on, lamp"):
        lanes_in(start, [], "level")


# What a chart says.


def test_a_step_stands_in_its_lane_and_reaches_others():
    commit = steps_of(charted(finding("agreeing-sessions"), "document", "session.behind", "session.pair"))[1]
    assert (commit.label, commit.actor) == ("commit", 2)
    assert commit.cells[0].changes == (Word("document 0→1"),)
    assert [cell.changes for cell in commit.cells[1:]] == [
        (Word("behind: yes"),),
        (Word("echoes 0→1"), Word("opened: 0")),
        (Word("behind: yes"),),
        (Word("behind: yes"),),
    ]


def test_what_is_over_is_faint():
    deliver, run = steps_of(charted(finding("agreeing-sessions"), "session.behind", "session.pending"))[2:4]
    assert deliver.cells[0].changes == (Word("behind: no", faint=True),)
    assert run.cells[0].changes == (Word("pending: (value 0, by_document, by_remote)"),)


def test_trips_and_clears_are_events():
    rows = steps_of(charted(finding("agreeing-sessions"), "session.pair.echoes"))
    events = {row.first: cell.events for row in rows for cell in row.cells if cell.events}
    assert events == {
        13: (Event("pair cleared", alarm=False),),
        **{step: (Event("pair tripped", alarm=True),) for step in (14, 23, 26, 29)},
    }
    assert [cell.tripped for cell in rows[-1].cells] == [True, True, True, True]


def test_an_event_of_hidden_fields_is_hidden():
    rows = steps_of(charted(finding("agreeing-sessions"), "document"))
    assert not any(cell.events for row in rows for cell in row.cells)


def test_time_that_passes_is_one_row_of_nobody():
    row = next(row for row in steps_of(charted(finding("slow-commit"))) if row.elapsed)
    assert (row.first, row.last, row.elapsed, row.actor) == (6, 9, 4, None)
    assert Word("gate 1→0") in row.cells[0].changes


def test_rules_at_work_are_named():
    assert steps_of(charted(finding("agreeing-sessions")))[12].rules == ("BRK-14",)


def test_the_first_row_shows_what_will_change():
    first = charted(finding("agreeing-sessions"), "document", "agreed", "session.triggered").first
    assert [cell.changes for cell in first] == [
        (Word("document 0"),),
        (),
        (Word("triggered: yes"),),
        (),
        (Word("triggered: yes"),),
    ]


def test_a_trace_without_steps_shows_the_state():
    drawn = charted(replay(EchoLoop(), ()), "document", "session.triggered", "session.sees")
    assert [cell.changes for cell in drawn.first] == [
        (Word("document 0"),),
        (Word("sees 0"),),
        (Word("sees 0"), Word("triggered: yes")),
    ]
    assert drawn.rows == ()


def test_a_part_of_a_trace_says_what_is_left_out():
    drawn = charted(finding("agreeing-sessions"), "document", "session.sees", telling=Telling(5, 9))
    assert [row.first for row in steps_of(drawn)] == [5, 6, 7, 8, 9]
    assert notes_of(drawn) == ["steps 10–29 are left out"]
    assert drawn.opening == "after steps 1–4, which are left out"
    assert drawn.first[0].changes == (Word("document 1"),)


def test_a_round_that_repeats_is_told_once():
    step_of = (step("put", r=0, colour=Colour.RED), step("take", r=0))
    trace = replay(Zoo(), (*step_of * 4, step("put", r=1, colour=Colour.RED)))
    drawn = charted(trace, "room.open", "room.parcel.weight", "room.parcel.colour")
    assert [row.first for row in steps_of(drawn)] == [1, 2, 3, 8, 9]  # only the first step opens the room
    assert notes_of(drawn) == ["steps 2–3 again, 2 times: up to step 7"]


def test_a_round_is_not_folded_where_its_changes_differ():
    trace = finding("agreeing-sessions")
    assert notes_of(charted(trace)) == []
    assert [row.first for row in steps_of(charted(trace))] == list(range(1, 30))


def test_a_machine_without_lanes_has_one():
    drawn = charted(replay(OneNode(), (step("change", own=False),)))
    assert [lane.name for lane in drawn.lanes] == ["one_node"]
    assert [row.actor for row in steps_of(drawn)] == [0]


def test_lanes_in_which_nothing_happens_are_none():
    drawn = charted(finding("agreeing-sessions"), "agreed", telling=Telling(3, 3))
    assert [lane.name for lane in drawn.lanes] == ["shared", "session 0", "session 1", "session 2", "session 3"]
    drawn = charted(replay(EchoLoop(may_agree=True), (step("elapse", d=1),)), "agreed", "commits")
    assert [lane.name for lane in drawn.lanes] == ["echo_loop"]


def test_nothing_shared_no_lane_for_it():
    drawn = charted(finding("agreeing-sessions"), "session.sees")
    assert [lane.name for lane in drawn.lanes] == ["session 0", "session 1", "session 2", "session 3"]
    assert [row.actor for row in steps_of(drawn)][:3] == [1, 1, 0]


# What the picture is.


def texts(drawn: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter(f"{SVG}text"))


def assert_inside(drawn: str) -> None:
    """Every text ends before the card does, by the upper bound of its width."""
    root = ElementTree.fromstring(drawn)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for one in texts(drawn):
        ink = Ink(float(one.attrib["font-size"]), "", one.get("font-weight") == "700")
        assert float(one.attrib["x"]) + wide(one.text or "", ink) <= width - 8, one.text
        assert 12 <= float(one.attrib["y"]) <= height - 8, one.text


def drawn_from(trace: Trace, width: int = 900) -> str:
    story: Story = tell(trace)
    return picture(story, chart(story, lanes_of(trace.machine)), width=width)


@pytest.mark.parametrize("width", [900, 320])
@pytest.mark.parametrize("file", FINDINGS, ids=lambda file: file.name.split(".")[0])
def test_every_finding_is_drawn_whole(file: Path, width: int):
    trace = finding(file.name.removesuffix(".itf.json"))
    drawn = drawn_from(trace, width)
    assert_inside(drawn)
    story = tell(trace)
    told = [one.text or "" for one in ElementTree.fromstring(drawn).iter(f"{SVG}title")][1:]
    folded = notes_of(charted(trace))
    assert folded or [title.split("; ")[0] for title in told] == [f"{beat.first} {beat.label}" for beat in story.beats]
    shown = "".join(one.text or "" for one in texts(drawn)).replace(" ", "")
    assert all(step.action in shown for step in trace.steps if step.action != "elapse")
    assert all(said in shown for said in (story.headline, story.promised, *("fails:" for _ in story.fails)))


def test_a_picture_stands_alone():
    drawn = drawn_from(finding("agreeing-sessions"))
    names = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(drawn).iter()}
    assert names <= {"svg", "title", "g", "rect", "line", "circle", "polygon", "text"}
    assert not re.search(r"href|url\(|@import|style=", drawn)


def test_texts_that_mean_something_to_xml_are_escaped():
    story = replace(tell(finding("slow-commit")), promise='<b> & "c" is > d')
    drawn = picture(story, chart(story, None), title="a < b & c")
    assert any(one.text == 'Promised: <b> & "c" is > d' for one in texts(drawn))
    assert next(ElementTree.fromstring(drawn).iter(f"{SVG}title")).text == "a < b & c"


def test_a_word_that_is_too_long_is_broken():
    ink = Ink(12, "")
    assert wrap("commits_while_time_stands now", ink, 90) == ["commits_", "while_time_", "stands now"]
    assert all(wide(line, ink) <= 60 for line in wrap("x" * 40, ink, 60))
    assert wrap("", ink, 60) == [""]


def lamp_trace() -> Trace:
    lamp = find_machine("lamp.py:Lamp")
    steps = (step("switch", n=0), step("elapse", d=1), step("elapse", d=1), step("switch", n=1))
    return replace(replay(lamp(), steps), failure=Failure("few_on", "few lamps are on"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project(tmp_path))
    (tmp_path / "lamp.itf.json").write_text(dumps(lamp_trace(), "lamp.py:Lamp"), encoding="utf-8")
    return tmp_path


def test_a_small_picture(folder: Path, request: pytest.FixtureRequest):
    drawn = drawn_from(lamp_trace(), 480)
    assert_inside(drawn)
    hold_against("picture-lamp", drawn, request)


def test_a_step_can_be_spoken_of(folder: Path):
    words = "The second lamp goes on while the first one still is, and so there are more than there may be."
    story = tell(lamp_trace())
    for width in (900, 320):
        drawn = picture(
            story,
            chart(story, lanes_of(find_machine("lamp.py:Lamp")()), telling=Telling(said=((4, words),))),
            width=width,
        )
        assert_inside(drawn)
        assert "The second lamp goes on" in " ".join(one.text or "" for one in texts(drawn))


def test_a_run_for_ever_says_where_it_goes_back_to(folder: Path):
    drawn = drawn_from(replace(lamp_trace(), loop=1))
    assert any(one.text == "and again from the state after step 1, for ever" for one in texts(drawn))


# The command.


def test_the_picture_is_beside_the_trace(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["trace", "picture", "lamp.itf.json"]) == 0
    assert capsys.readouterr().out == "drawn  lamp.svg\n"
    drawn = (folder / "lamp.svg").read_text(encoding="utf-8")
    assert drawn == drawn_from(lamp_trace())


def test_the_picture_can_go_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["trace", "picture", "lamp.itf.json", "--out", "-", "--about", "1", "in the hall"]) == 0
    shown = [one.text for one in texts(capsys.readouterr().out)]
    assert {"on 0", "on 1", "in the hall"} <= set(shown)


def test_a_trace_whose_machine_is_gone_is_drawn_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "lamp.py").unlink()
    assert run(["trace", "picture", "lamp.itf.json", "--lanes", "on"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("drawn as the file has it: ")
    assert said.endswith("drawn  lamp.svg\n")
    shown = [one.text for one in texts((folder / "lamp.svg").read_text(encoding="utf-8"))]
    assert {"on 0", "on 1", "switch(n=0)", "on: yes", "2 units of time pass"} <= set(shown)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--lanes lamps", "lamps is no field with a value for each index: the fields that have one are: on"),
        ("--about 2 hall", "there is no lane 2 to say a word about: the lanes are shared, 0, 1"),
        ("--to 3 --say 4 late", "there is no step 4 in the picture to say something of"),
        ("--from 9", "lamp.itf.json has 4 steps, so none to show from step 9 on"),
        ("--from 3 --to 2", "there is no step from 3 to 2"),
        ("--out lamp.py/lamp.svg", "lamp.py/lamp.svg cannot be written: "),
    ],
)
def test_what_cannot_be_drawn_is_said(folder: Path, options: str, said: str, capsys: pytest.CaptureFixture[str]):
    assert run(["trace", "picture", "lamp.itf.json", *options.split()]) == 2
    assert said in capsys.readouterr().err


def kept_pictures() -> list[list[str]]:
    """The commands in docs/traces.md that draw a picture which is kept."""
    page = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = [shlex.split(line) for line in page.splitlines() if line.startswith("    quiesce trace picture ")]
    return [words for words in commands if any(word.startswith("docs/images/") for word in words)]


@pytest.mark.parametrize("command", kept_pictures(), ids=lambda words: Path(words[words.index("--out") + 1]).stem)
def test_a_kept_picture_is_what_its_command_draws(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(ROOT)
    out = command.index("--out") + 1
    assert run([*command[1:out], "-", *command[out + 1 :]]) == 0
    drawn = capsys.readouterr().out
    assert_inside(drawn)
    assert drawn == Path(command[out]).read_text(encoding="utf-8")


def test_every_kept_picture_has_a_command():
    names = {Path(words[words.index("--out") + 1]).name for words in kept_pictures()}
    assert "agreeing-sessions.svg" in names
