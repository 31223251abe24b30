"""``quiesce adapter check``: each point of the protocol is asked, and an adapter that breaks it is told so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from golden import hold_against, timeless
from javascript import needs_node

from quiesce_checks.cli import run
from quiesce_checks.lockstep import stdio_child
from quiesce_checks.lockstep.conformance import Exam, NotAsked, Wrong
from quiesce_checks.lockstep.conformance_points import POINTS
from quiesce_checks.lockstep.subject import SubjectFailed
from quiesce_checks.machines import find_machine

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "adapters"


def exam(fault: str) -> Exam:
    """Of an adapter that has described itself."""
    machine = find_machine("gate_model.py:Gate", (EXAMPLES,))()
    made = Exam(machine, [sys.executable, "-S", str(HERE / "unruly.py"), fault])
    POINTS["describes itself"](made)
    return made


@pytest.mark.parametrize(
    ("fault", "point", "said"),
    [
        ("other field", "names what the model has", "Gate has no field 'colour'"),
        ("describes otherwise", "describes itself the same again", "describe has to be the same at any time"),
        ("no numbers", "shows its fields", "step is a whole number, not null"),
        ("leaves", "starts afresh after a reset", "its reset leaves something behind"),
        ("own start", "does the same again", "the same walk is seen otherwise by another run of it at the start"),
        ("counts looks", "looking changes nothing", "observe changes it"),
        ("shows what was", "steps bring what is seen", 'what step says is "seen" is not what observe says at turn'),
        ("shows now and then", "steps bring what is seen", "did not: all have to, or none"),
        ("refusals are errors", "refuses what its rules forbid", "a refusal is no error"),
        ("odd refusals", "refuses what its rules forbid", '"refused" is the reason, in words, and not 1'),
        ("changes on a refusal", "refuses what its rules forbid", "but shows something else afterwards"),
        ("does anything", "an unknown action is an error", "it has to be an error (-32602)"),
        ("changes on an error", "an unknown action is an error", "but shows something else afterwards"),
        ("no codes", "an unknown action is an error", "it has to be an error (-32602)"),
        ("does anything", "missing arguments are an error", "it has to be an error (-32602)"),
        ("answers any method", "an unknown method is an error", "it has to be an error (-32601)"),
        ("dies of what is not JSON", "what is not JSON is an error", "ended (exit code 1) without an answer"),
        ("strict", "unknown keys are left alone", "a later version may have more of them"),
        ("ids are numbers", "ids come back", "came back as 0"),
        ("last first", "reads lines however they come", "in the order [902, 901], not [901, 902]"),
        ("short reads", "reads lines however they come", "request"),  # which of the two that are long, chance decides
        ("32 bits", "knows long times", "did not answer observe any more"),
        ("no large numbers", "knows large numbers", "ended (exit code 1) without an answer to observe"),
        ("stays", "ends with its input", "still runs 0.2 s after its input has ended"),
        ("ends badly", "ends with its input", "ends with 1 as its input ends"),
    ],
)
def test_a_broken_point_is_told(fault: str, point: str, said: str, monkeypatch: pytest.MonkeyPatch):
    asked = exam(fault)
    if fault == "stays":
        monkeypatch.setattr("quiesce_checks.lockstep.conformance_points.GRACE", 0.2)
        monkeypatch.setattr(stdio_child.Child.finish, "__defaults__", (0.2,))
    with pytest.raises((Wrong, SubjectFailed)) as wrong:
        POINTS[point](asked)
    assert said in str(wrong.value)


def test_what_talks_on_its_standard_output_has_no_chance():
    with pytest.raises(SubjectFailed, match=r'no JSON-RPC 2.0 .*: "asked something"'):
        exam("talks")


@pytest.mark.parametrize(
    ("fault", "point", "said"),
    [
        ("shows little", "steps bring what is seen", 'bring no "seen" along'),
        ("refuses nothing", "refuses what its rules forbid", 'its "refuses" is empty'),
    ],
)
def test_what_does_not_apply_is_not_asked(fault: str, point: str, said: str):
    with pytest.raises(NotAsked, match=said):
        POINTS[point](exam(fault))


def examined(words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("COLUMNS", "100")
    code = run(["adapter", "check", *words])
    return code, timeless(capsys.readouterr().out.replace(sys.executable, "python"))


def test_the_example_in_python_keeps_every_point(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    words = ["gate_model.py:Gate", "--", sys.executable, "gate_adapter.py"]
    code, out = examined(words, capsys, monkeypatch)
    assert code == 0
    hold_against("adapter-check", out, request)


@needs_node
def test_the_example_in_javascript_keeps_every_point(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    code, out = examined(["gate_model.py:Gate", "node gate_adapter.js"], capsys, monkeypatch)
    assert code == 0
    assert out.endswith("19 right, 0 wrong\n")


def test_where_it_does_not_describe_the_model_nothing_else_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    words = ["gate_model.py:Gate", "--json", "--", sys.executable, str(HERE / "unruly.py"), "other field"]
    code, out = examined(words, capsys, monkeypatch)
    data = json.loads(out)
    assert code == data["exit"] == 5
    outcomes = [point["outcome"] for point in data["points"]]
    assert outcomes == ["right", "wrong", *["not asked"] * 17]
    assert data["points"][2]["text"] == "needs 'names what the model has' to be right"


def test_a_command_that_cannot_be_started_is_a_mistake_in_the_call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(EXAMPLES)
    assert run(["adapter", "check", "gate_model.py:Gate", "nonesuch"]) == 2
    assert capsys.readouterr().err == "nonesuch cannot be started: No such file or directory\n"
