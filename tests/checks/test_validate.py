"""``quiesce validate`` on logs of a small desk: what is explained, what is refused and why, and what is no log."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from golden import hold_against, timeless
from pages import hold_page

from quiesce_checks.cli import run

EXAMPLE = Path(__file__).parents[2] / "examples" / "logs"
TICKETS = "--machine tickets.py --mapping tickets_mapping.py"

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def quiesce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in a folder with the example's files."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def command(words: str) -> tuple[int, str, str]:
        code = run(words.split())
        written = capsys.readouterr()
        return code, written.out, written.err

    return command


def log(*events: dict[str, Any], name: str = "log.ndjson") -> str:
    Path(name).write_text("".join(json.dumps(event) + "\n" for event in events))
    return name


def sold(at: float, **more: Any) -> dict[str, Any]:
    return {"at": at, "event": "sold", **more}


def mapping(body: str, name: str = "other_mapping.py") -> str:
    Path(name).write_text(f"from quiesce_checks.logs import Did, Either, Mapping, Saw\n\nmapping = Mapping({body})\n")
    return f"--machine tickets.py --mapping {name}"


SOLD = '"sold": lambda e: Did("sell", seen={"sold": e["total"]} if "total" in e else {})'

# What is explained and what is refused.


def test_a_log_that_the_model_explains(quiesce: Command, request: pytest.FixtureRequest):
    code, out, err = quiesce(f"validate day.ndjson {TICKETS}")
    assert (code, err) == (0, "")
    hold_against("validate_explained", timeless(out), request)


def test_a_line_that_comes_one_millisecond_early_is_refused(quiesce: Command, request: pytest.FixtureRequest):
    text = Path("day.ndjson").read_text()
    Path("early.ndjson").write_text(text.replace('"at": 2900', '"at": 2899'))
    code, out, _ = quiesce(f"validate early.ndjson {TICKETS}")
    assert code == 1
    hold_against("validate_refused", timeless(out), request)


def test_a_difference_names_both_values_and_how_the_states_differ(quiesce: Command, request: pytest.FixtureRequest):
    code, out, _ = quiesce(f"validate {log(sold(0), sold(10, total=1))} {TICKETS}")
    assert code == 1
    hold_against("validate_differs", timeless(out), request)


def test_all_that_was_possible_stays_alive_until_the_log_says_more(quiesce: Command):
    code, out, _ = quiesce(f"validate {log(sold(0), sold(1, total=2))} {TICKETS} --json")
    data = json.loads(out)["logs"][0]
    assert (code, data["outcome"], data["alive"]) == (0, "holds", 2)


def test_a_step_that_the_log_leaves_out_is_found_if_it_is_declared_hidden(quiesce: Command):
    file = log(sold(0, total=2), sold(0, total=3), sold(2000, total=1))
    assert quiesce(f"validate {file} {TICKETS}")[0] == 0
    assert quiesce(f"validate {file} {mapping(f'events={{{SOLD}}}')}")[0] == 1


def test_the_rule_in_words_stands_beside_the_guard(quiesce: Command):
    Path("specs").mkdir()
    Path("specs/tickets.md").write_text("| id | rule |\n| --- | --- |\n| TKT-1 | No more are sold than there are. |\n")
    _, out, _ = quiesce(f"validate {log(sold(0, total=2), sold(1), sold(2), sold(2))} {TICKETS}")
    assert "TKT-1 forbids it  tickets.py:17" in out
    assert "No more are sold than there are." in out


def test_what_was_never_exercised_is_told(quiesce: Command):
    _, out, _ = quiesce(f"validate {log(sold(0))} {TICKETS}")
    assert "never taken   open, close" in out
    assert "never used    TKT-2, TKT-3" in out


def test_the_answer_as_data(quiesce: Command):
    code, out, _ = quiesce(f"validate {log(sold(0, total=2), sold(5, total=1))} {TICKETS} --json")
    data = json.loads(out)
    assert (code, data["exit"], data["command"]) == (1, 1, "validate")
    failure = data["logs"][0]["machines"][0]["failure"]
    assert (failure["line"], failure["last"], failure["at"]) == (2, 1, 5)
    assert failure["alive"] == [{"sold": 2, "rest": 0}]
    assert {tried["step"]: (tried["rule"], tried["differs"]) for tried in failure["tried"]} == {
        "sell(n=1)": (None, [{"place": "sold", "log": 1, "model": 3}]),
        "sell(n=2)": ("TKT-1", []),
    }
    assert data["logs"][0]["coverage"]["actions"] == {"sell": 1, "open": 0, "close": 0}


def test_the_worst_of_several_logs_decides(quiesce: Command):
    bad = log(sold(0, total=3), sold(1), name="bad.ndjson")
    code, out, _ = quiesce(f"validate day.ndjson {bad} {TICKETS}")
    assert code == 1
    assert out.count("explained") == 1


def test_constants_come_from_the_scope(quiesce: Command):
    file = log(sold(0, total=2), sold(1, total=3), sold(501))
    assert quiesce(f"validate {file} {TICKETS}")[0] == 1
    assert quiesce(f"validate {file} {TICKETS} --scope pause=500")[0] == 0


# What a mapping can say.


def test_a_line_can_be_a_look_a_sequence_or_one_of_several(quiesce: Command):
    options = mapping(
        'events={"look": lambda e: Saw({"sold": e["sold"]}), "both": lambda e: [Did("sell", n=1), Did("sell", n=2)], '
        '"maybe": lambda e: Either(Did("sell", n=2), None)}'
    )
    both, maybe = {"at": 0, "event": "both"}, {"at": 0, "event": "maybe"}

    def look(total: int) -> dict[str, Any]:
        return {"at": 1, "event": "look", "sold": total}

    assert quiesce(f"validate {log(both, look(3))} {options}")[0] == 0
    assert quiesce(f"validate {log(both, look(2))} {options}")[0] == 1
    assert [quiesce(f"validate {log(maybe, look(n))} {options}")[0] for n in (0, 1, 2)] == [4, 1, 0]


def test_views_and_tests_of_a_value(quiesce: Command):
    options = mapping(
        'events={"sold": lambda e: Did("sell", seen={"left": e["left"], "sold": lambda sold: sold < 3})}, '
        'views={"left": lambda machine: machine.most - machine.sold}'
    )
    assert quiesce(f"validate {log(sold(0, left=1))} {options}")[0] == 0
    assert quiesce(f"validate {log(sold(0, left=3))} {options}")[0] == 1
    code, out, _ = quiesce(f"validate {log(sold(0, left=1), sold(0, left=0))} {options}")
    assert code == 1
    assert "the log says another value, the model 3" in out


def test_a_log_of_many_things_is_held_against_a_machine_for_each(quiesce: Command):
    options = mapping(f'events={{{SOLD}}}, key="desk"')
    lines = [sold(0, desk="a", total=2), sold(1, desk="b", total=1), sold(2, desk="a", total=3)]
    code, out, _ = quiesce(f"validate {log(*lines, sold(3, desk='b', total=1))} {options} --json")
    machines = json.loads(out)["logs"][0]["machines"]
    assert code == 1
    assert [(one["key"], one["outcome"], one["matched"]) for one in machines] == [
        ("a", "holds", 2),
        ("b", "violated", 1),
    ]


def test_a_coarser_unit_refuses_what_lies_between_unless_it_may_round(quiesce: Command):
    file = log(sold(0, total=2), sold(999.9, total=3), sold(3100, total=1))
    options = mapping(f'events={{{SOLD}}}, unit=1000, hidden=("open",)')
    code, _, err = quiesce(f"validate {file} {options} --scope pause=2")
    assert code == 2
    assert "log.ndjson:2" in err
    assert "no whole number of units of 1000 ms" in err
    rounding = mapping(f'events={{{SOLD}}}, unit=1000, rounded=True, hidden=("open",)', "rounding_mapping.py")
    assert quiesce(f"validate {file} {rounding} --scope pause=2")[0] == 0


# Bounds are never a pass, nor a refusal.


def test_a_refusal_after_a_bound_on_hidden_steps_is_inconclusive(quiesce: Command, request: pytest.FixtureRequest):
    options = mapping('events={"closed": "close"}, hidden=("sell",), most_hidden=1')
    code, out, _ = quiesce(f"validate {log({'at': 0, 'event': 'closed'}, {'at': 1, 'event': 'closed'})} {options}")
    assert code == 0, out  # it could close before anything was sold
    more = mapping('events={"opened": "open"}, hidden=("sell",), most_hidden=1', "more_mapping.py")
    code, out, _ = quiesce(f"validate {log({'at': 0, 'event': 'opened'})} {more}")
    assert code == 3
    hold_against("validate_inconclusive", timeless(out), request)
    enough = mapping('events={"opened": "open"}, hidden=("sell",), most_hidden=3', "enough_mapping.py")
    Path("log.ndjson").write_text('{"at": 0, "event": "opened"}\n')
    assert quiesce(f"validate log.ndjson {enough} --scope pause=0")[0] == 0


def test_more_states_than_allowed_is_inconclusive(quiesce: Command):
    code, out, _ = quiesce(f"validate {log(sold(0), sold(1))} {TICKETS} --limit-states 1")
    assert code == 3
    assert "more than 1 state alive at line 1" in out


# What is no log, and what is no mapping.


def test_a_line_that_a_crash_cut_off_is_told_and_the_rest_judged(quiesce: Command):
    text = Path("day.ndjson").read_text()
    Path("torn.ndjson").write_text(text[: text.index("5200") + 2])
    code, out, _ = quiesce(f"validate torn.ndjson {TICKETS}")
    assert code == 0
    assert "line 7 was cut off, as by a crash: what comes before it was judged" in out
    Path("refused.ndjson").write_text(text.replace("2900", "2899")[: text.index("5200")])
    assert quiesce(f"validate refused.ndjson {TICKETS}")[0] == 1


def test_a_whole_last_line_without_a_line_feed_counts(quiesce: Command):
    Path("log.ndjson").write_text(json.dumps(sold(0, total=9)))
    assert quiesce(f"validate log.ndjson {TICKETS}")[0] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"at": 0, "event": "sold"}\nnonsense\n{"at": 1, "event": "sold"}\n', "log.ndjson:2:1  this line is not JSON"),
        ('{"at": 0, "event": "sold"}\n[1]\n{"at": 1, "event": "sold"}\n', "log.ndjson:2  this line is no JSON object"),
        ('{"at": 0, "event": "refunded"}\n', "log.ndjson:1  the mapping has no event 'refunded'"),
        ('{"at": 0, "kind": "sold"}\n', "log.ndjson:1  this line has no field 'event'"),
        ('{"event": "sold"}\n', "log.ndjson:1  this line has no field 'at'"),
        ('{"at": "0", "event": "sold"}\n', "log.ndjson:1  this line has no number 'at'"),
        ('{"at": 1e999, "event": "sold"}\n', "log.ndjson:1  this line has no number 'at'"),
        ('{"at": 5, "event": "sold"}\n{"at": 3, "event": "sold"}\n', "log.ndjson:2  the clock goes backwards"),
        ('{"at": 0, "event": "printer"}\n{"at": 5, "event": "sold", "total": []}\n', None),
    ],
)
def test_what_is_no_log_is_one_sentence_with_its_line(quiesce: Command, text: str, said: str | None):
    Path("log.ndjson").write_text(text)
    code, _, err = quiesce(f"validate log.ndjson {TICKETS}")
    if said is None:
        assert code == 1  # a strange value is a value that no state has
    else:
        assert code == 2
        assert said in err
        assert "Traceback" not in err


def test_bytes_that_are_no_text(quiesce: Command):
    Path("log.ndjson").write_bytes(b'{"at": 0, "event": "sold"}\n\xff\xfe\n{}\n')
    code, _, err = quiesce(f"validate log.ndjson {TICKETS}")
    assert code == 2
    assert "it is not UTF-8" in err


def test_a_line_of_many_megabytes_is_no_line(quiesce: Command):
    with Path("log.ndjson").open("w") as file:
        file.write('{"at": 0, "event": "sold", "noise": "')
        for _ in range(17):
            file.write("x" * 1024 * 1024)
        file.write('"}\n')
    code, _, err = quiesce(f"validate log.ndjson {TICKETS}")
    assert code == 2
    assert "a line of more than 16 MB" in err
    assert len(err) < 2_000


@pytest.mark.parametrize("text", ["", "\n\n", '{"at": 0, "event": "printer"}\n', '{"at": 0, "ev'])
def test_a_log_in_which_nothing_happens_is_vacuous(quiesce: Command, text: str):
    Path("log.ndjson").write_text(text)
    code, out, _ = quiesce(f"validate log.ndjson {TICKETS}")
    assert code == 4
    assert "nothing was judged" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--mapping tickets_mapping.py", "needs a machine"),
        ("--machine tickets.py --mapping nowhere.py", "there is no file nowhere.py"),
        ("--machine tickets.py --mapping tickets.py", "tickets.py has no mapping"),
        ("--machine tickets.py --mapping tickets_mapping.py:other", "has no mapping 'other'"),
        ("--machine tickets.py --mapping pears", "quiesce has no mapping 'pears': did you mean 'pair'?"),
        ("--machine tickets.py --mapping tickets_mapping.py --scope most=0x", "most is given as a whole number"),
    ],
)
def test_a_mistake_in_the_call(quiesce: Command, options: str, said: str):
    code, _, err = quiesce(f"validate day.ndjson {options}")
    assert code == 2
    assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('events={"sold": "buy"}', "Tickets has no action 'buy'"),
        ('events={"sold": "sell"}, hidden=("ope",)', "Tickets has no action 'ope': did you mean 'open'?"),
        ('events={"sold": lambda e: Did("sell", m=1)}', "the action sell has no parameter 'm'"),
        ('events={"sold": lambda e: Did("sell", seen={"sale": 1})}', "Tickets has no field 'sale'"),
        ('events={"sold": lambda e: e["total"]}', "the mapping cannot read this line: KeyError: 'total'"),
        ('events={"sold": lambda e: 7}', "the mapping reads this line as 7"),
        ('events={"sold": lambda e: [7]}', "the mapping reads this line as 7"),
        ('events={"sold": "sell"}, time=None', "Tickets has time, and the mapping says that the log has none"),
        ('events={"sold": "sell"}, unit=0', "a unit of the model's time is so many ms, not 0"),
        ('events={"sold": "sell"}, key="desk"', "this line has no field 'desk' that says what it is about"),
    ],
)
def test_a_mistake_in_the_mapping(quiesce: Command, body: str, said: str):
    code, _, err = quiesce(f"validate {log(sold(0))} {mapping(body)}")
    assert code == 2
    assert said in " ".join(err.split())


def test_a_missing_log_and_a_folder(quiesce: Command):
    assert "there is no file nothing.ndjson" in quiesce(f"validate nothing.ndjson {TICKETS}")[2]
    assert "is a folder" in quiesce(f"validate . {TICKETS}")[2]


def test_compressed_logs_whole_and_cut(quiesce: Command):
    packed = gzip.compress(Path("day.ndjson").read_bytes())
    Path("day.ndjson.gz").write_bytes(packed)
    assert quiesce(f"validate day.ndjson.gz {TICKETS}")[0] == 0
    Path("cut.ndjson.gz").write_bytes(packed[:-20])
    code, out, _ = quiesce(f"validate cut.ndjson.gz {TICKETS}")
    assert code in (0, 4)
    assert "was cut off" in out


def test_standard_input(quiesce: Command, monkeypatch: pytest.MonkeyPatch):
    data = Path("day.ndjson").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert quiesce(f"validate - {TICKETS}")[0] == 0
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x\n" + data)))
    code, _, err = quiesce(f"validate - {TICKETS}")
    assert code == 2
    assert "standard input:1:1" in err


def test_the_page_about_logs_is_as_it_runs(tmp_path: Path, request: pytest.FixtureRequest):
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    hold_page("logs.md", tmp_path, request)
    shown = (tmp_path / "tickets_mapping.py").read_text()  # the page's own, which it has written by now
    assert shown.strip() in (EXAMPLE / "tickets_mapping.py").read_text()
