"""What ``quiesce replay`` prints and draws."""

from __future__ import annotations

import builtins
import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quiesce_checks.traffic.command import replay


def run(*arguments: str) -> Result:
    return CliRunner().invoke(replay, arguments)


STORMS_AND_QUIET = """\
breaker: 12 echoes in 60,000 ms trip, then 500 … 30,000 ms

Storms: one session's side of a loop
  cadence                    to trip let through  commits  without  at the cap
  60 in 10 s                   1.9 s          12       36    3,601    0.0333/s
  30 in 10 s                   3.7 s          12       36    1,801    0.0333/s
  12 in 10 s                   9.0 s          12       36      721    0.0333/s
  6 in 10 s                   17.5 s          12       36      361    0.0333/s
  3 in 10 s                   37.2 s          12       35      181    0.0333/s
  12 in 40 s, three hours     36.2 s          12      375    3,241    0.0333/s
  steady, just fits           60.0 s          12      134      661    0.0333/s
  steady, just misses          never         660      660      660           –
Never tripped: steady, just misses.

Quiet weeks: 3 weeks of 20 documents, 35,939 changes, all taken for echoes
No trip; the busiest window held 10 of 12.
"""

TYPING = """\
breaker: 12 echoes in 60,000 ms trip, then 500 … 30,000 ms

People typing, each commit a round trip of 60 ms
  derivation rule                     runs echoes  conv. highest trips  held
clownschool, one of the writers: 1,500 edits in 4 min
  trim       as given                 1487    253    246       2     0    0%
  trim       clear_when_settled        116     23     84      12     1   76%
  trim       remote_causes_only       1487    138    138       1     0    0%
  heading    as given                   28     25      0      12     1   93%
  heading    remote_causes_only         36     25      0      12     1   94%
A repair that is not listed changed nothing there.
Tripped on people typing in 3 of these 5, the soonest after 7.3 s:
  heading in clownschool.
"""


def test_storms_and_quiet_weeks_as_text() -> None:
    result = run("storms", "quiet")
    assert result.output == STORMS_AND_QUIET
    assert max(map(len, result.output.splitlines())) <= 80


def test_typing_as_text() -> None:
    result = run(
        *("traces", "--session", "clownschool", "--table", "among", "--edits", "1500", "--each-repair"),
        *("--derivation", "trim", "--derivation", "heading"),
    )
    assert result.output == TYPING
    assert max(map(len, result.output.splitlines())) <= 80


def test_the_same_as_json() -> None:
    arguments = ("traces", "--session", "clownschool", "--edits", "200", "--derivation", "heading", "--json")
    cases = json.loads(run(*arguments).output)["typing"]
    assert [(case["table"], case["rule"], case["trips"]) for case in cases] == [
        ("among", "as given", 1),
        ("alone", "as given", 1),
    ]


def test_a_repair_and_a_constant_can_be_given() -> None:
    output = run("quiet", "--threshold", "8", "--repair", "kickoff_order").output
    assert output.startswith("breaker: 8 echoes in 60,000 ms trip, then 500 … 30,000 ms\nwith kickoff_order\n")
    assert "No trip" not in output


def test_constants_that_make_no_breaker_are_a_usage_error_of_one_sentence() -> None:
    result = run("quiet", "--cap", "100")
    assert result.exit_code == 2
    assert "Error: echo_backoff_base_ms (500) is above echo_backoff_max_ms (100);" in result.output


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "replay.png"
    assert run("storms", "quiet", "--plot", str(picture)).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_plot_that_cannot_be_written_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    result = run("quiet", "--plot", str(tmp_path / "nowhere" / "replay.png"))
    assert result.exit_code == 1
    assert result.output.startswith("Error: the plot cannot be written to ")
    assert len(result.output.splitlines()) == 1


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("quiet", "--plot", str(tmp_path / "replay.png"))
    assert (result.exit_code, result.output) == (
        1,
        "Error: matplotlib is not installed, so the plot cannot be drawn: pip install 'quiesce[plot]'\n",
    )


def test_nothing_of_the_replay_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_print(*_: object, **__: object) -> None:
        raise AssertionError("something printed")

    monkeypatch.setattr(builtins, "print", no_print)
    assert run("storms").exit_code == 0


def test_the_recordings_come_with_their_source_and_licence() -> None:
    licence = files("quiesce_checks.traffic").joinpath("data", "LICENCE.md").read_text()
    assert "CC BY 4.0" in licence
    assert "josephg/editing-traces" in licence
