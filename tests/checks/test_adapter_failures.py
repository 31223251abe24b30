"""Every way in which an adapter can go wrong has words of its own, the exit code 5, and a walk that is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import desks
import pytest
from golden import hold_against, timeless

from quiesce_checks.cli import run
from quiesce_checks.lockstep import replays
from quiesce_checks.lockstep.adapter import adapter_pairing, adapter_source
from quiesce_checks.lockstep.keep import load_kept
from quiesce_checks.lockstep.question import toured
from quiesce_checks.lockstep.stdio import StdioSubject
from quiesce_checks.lockstep.stdio_child import Child
from quiesce_checks.lockstep.subject import Refused, SubjectFailed
from quiesce_checks.problems import Problem
from quiesce_checks.verdict import Outcome
from quiesce_model.language.machine import Step

HERE = Path(__file__).parent
OPEN, SELL = Step("open"), Step("sell")
SCOPE = {"most": 2, "pause": 2}


def command(fault: str = "") -> list[str]:
    return [sys.executable, "-S", str(HERE / "adapters.py"), fault]


def line(fault: str = "") -> str:
    return f"{sys.executable} -S adapters.py '{fault}'"


def desk(fault: str = "", timeout: float = 5.0) -> StdioSubject:
    """A subject that has sold once."""
    subject = StdioSubject(command(fault), desks.Tickets(), timeout=timeout)
    subject.describe()
    subject.reset(SCOPE)
    subject.step(SELL, 0)
    return subject


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


def test_an_adapter_that_is_right_agrees():
    compared = toured(adapter_pairing(desks.Tickets(), command()))
    assert compared.verdict.outcome is Outcome.AGREES
    assert compared.toured is not None
    assert (compared.toured.transitions, compared.toured.refusals) == (9, 5)


def test_a_refusal_is_an_answer():
    subject = desk()
    subject.step(SELL, 0)
    with pytest.raises(Refused, match="sold out"):
        subject.step(SELL, 0)
    assert subject.observe(1) == (2, 1)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("ends", "ended (exit code 3) without an answer to step open"),
        ("killed", "was ended by SIGKILL without an answer to step open"),
        ("closes", "closed its output, though it still runs, without an answer to step open"),
        ("part", 'ended (exit code 0) in the middle of a line of its answer to step open: {"jsonrpc"'),
        ("long", "answered step open with a line of more than 1,048,576 bytes, which begins xxx"),
        ("garbage", r"answered step open with what is not JSON: opening \x1b[1m now"),
        ("empty", "answered step open with what is not JSON: an empty line"),
        ("not text", r"answered step open with what is not JSON: \xff\xfe"),
        ("not a number", 'answered step open with what is not JSON: {"jsonrpc"'),
        ("list", "answered step open with what is no JSON-RPC 2.0"),
        ("version", "answered step open with what is no JSON-RPC 2.0"),
        ("other id", "answered step open with the id 4711, where 4 was asked"),
        ("text id", 'answered step open with the id "4", where 4 was asked'),
        ("no id", "answered step open without an id, where 4 was asked"),
        ("error", r"answered step open with an error: no one\nsits here (code 7)"),
        ("odd error", 'answered step open with an error: "no", which has no code and message'),
        ("no result", "answered step open without a result that is an object"),
        ("odd refusal", "refused the step open with true: the reason has to be a text"),
        ("text", 'answered step wrongly: sold is a whole number, not "1"'),
        ("fraction", "answered step wrongly: sold is a whole number, not 0.5"),
        ("flag", "answered step wrongly: sold is a whole number, not true"),
        ("lacks", "answered step wrongly: what is seen lacks rest, which describe names"),
        ("extra", "answered step wrongly: what is seen has colour, which describe does not name"),
        ("sees nothing", "answered step wrongly: what is seen is an object with a value for each field, not null"),
    ],
)
def test_each_fault_has_words_of_its_own(fault: str, said: str):
    subject = desk(fault)
    with pytest.raises(SubjectFailed) as failure:
        subject.step(OPEN, 0)
    assert str(failure.value).startswith(said)
    assert subject.child is None  # it is ended: nothing is asked of it any more


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("silent", "gave no answer to step open within 0.05 s"),
        ("begins", 'gave no answer to step open within 0.05 s; it wrote no more of the line than {"jsonrpc"'),
    ],
)
def test_who_gives_no_answer_is_not_waited_for(fault: str, said: str):
    subject = desk(fault)
    subject.timeout = 0.05
    with pytest.raises(SubjectFailed) as failure:
        subject.step(OPEN, 0)
    assert str(failure.value) == said


def test_a_line_that_nothing_asked_for_is_told_before_the_next_question():
    subject = desk("twice")
    subject.step(OPEN, 0)
    with pytest.raises(
        SubjectFailed, match=r"(wrote a line that nothing had asked for|with the id 4, where 5 was asked)"
    ):
        subject.observe(0)


def test_an_adapter_that_ended_between_two_questions_is_told_at_the_next_and_then_started_anew():
    subject = desk()
    child = subject.child
    assert child is not None
    child.process.kill()
    child.process.wait()
    with pytest.raises(SubjectFailed, match="was ended by SIGKILL before it was asked"):
        subject.reset(SCOPE)
    subject.reset(SCOPE)
    assert subject.observe(0) == (0, 0)
    assert subject.child is not child


def test_what_it_wrote_to_its_log_is_shown():
    subject = desk("ends")
    with pytest.raises(SubjectFailed) as failure:
        subject.step(OPEN, 0)
    assert failure.value.wrote == ("Traceback (most recent call last):", "  nobody sits here")


def test_a_log_without_end_blocks_nothing_and_its_end_is_kept():
    program = (
        "import sys\n"
        "for line in sys.stdin:\n"
        "    for n in range(3_000): print(n, 'x' * 100, file=sys.stderr)\n"
        "    print('{}', flush=True)\n"
    )
    child = Child([sys.executable, "-S", "-c", program])
    assert child.ask(b"{}\n", "something", 20.0) == b"{}"
    assert len(child.wrote()) <= 6
    assert child.finish() == 0


def test_a_request_that_is_not_read_does_not_block_either():
    child = Child([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    with pytest.raises(SubjectFailed, match=r"did not read all of the request \(a long one\) within 0.05 s"):
        child.ask(b"x" * 1_000_000, "a long one", 0.05)
    assert child.process.returncode == -9


def test_a_child_that_is_dropped_ends():
    subject = desk()
    child = subject.child
    assert child is not None
    process = child.process
    del subject, child
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("dies", 5, "the adapter ended (exit code 1) without an answer to describe (it wrote: no such desk)"),
        ("old", 5, 'the adapter answered describe wrongly: "protocol" has to be 1, not 0'),
        ("no refusals", 5, 'the adapter answered describe wrongly: it has no "refuses"'),
        ("field twice", 5, 'the adapter answered describe wrongly: "fields" has sold twice'),
        ("hides without a reason", 5, '"hidden"."rest" has to be the reason, in words, not ""'),
        ("other action", 4, "Tickets has no action 'opens': did you mean 'open'?"),
        ("no action", 4, "a desk does not describe the action open, which Tickets has"),
        ("other parameter", 4, "a desk takes open(n), and Tickets open()"),
        ("other field", 4, "Tickets has no field 'rests': did you mean 'rest'?"),
        ("no field", 4, "a desk neither shows rest of Tickets nor says why not"),
        ("other rule", 4, "Tickets has no rule 'TKT-9': did you mean 'TKT-2'?"),
    ],
)
def test_what_it_says_of_itself_is_held_against_the_model(fault: str, code: int, said: str):
    source = adapter_source("desks:Tickets", line(fault), (HERE,))
    with pytest.raises(Problem) as problem:
        source.at({})
    assert int(problem.value.exit) == code
    assert said in problem.value.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nonesuch --port 7", "nonesuch cannot be started: No such file or directory"),
        ("'node", "the adapter is given as a command line: No closing quotation"),
        (" ", "the adapter is given as a command line, and this one is empty"),
    ],
)
def test_a_command_that_is_none_is_a_mistake_in_the_call(words: str, said: str):
    with pytest.raises(Problem) as problem:
        adapter_source("desks:Tickets", words, (HERE,)).at({})
    assert (problem.value.text, int(problem.value.exit)) == (said, 2)


def quiesce(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(words)
    written = capsys.readouterr()
    return code, written.out, written.err


def test_a_crash_is_shown_with_its_log_and_kept_as_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
):
    monkeypatch.chdir(HERE)
    monkeypatch.setenv("COLUMNS", "100")
    words = ["lockstep", "desks:Tickets", "--adapter", line("ends"), "--keep", str(tmp_path)]
    code, out, _ = quiesce(words, capsys)
    assert code == 5
    hold_against(
        "adapter-ends", timeless(out.replace(str(tmp_path), "tests").replace(sys.executable, "python")), request
    )
    kept = load_kept(tmp_path / "test_tickets_open_failed.py")
    again = kept.walk(kept.made(HERE))
    assert again is not None
    assert again.turns[-1].subject.text == "ended (exit code 3) without an answer to step open"
    with pytest.raises(AssertionError, match="it wrote: Traceback"):
        kept.agree(__file__)


def test_a_time_out_is_a_verdict_with_a_walk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replays, "TIMES", 1)
    verdict = toured(adapter_pairing(desks.Tickets(), command("silent"), timeout=0.3)).verdict
    assert verdict.outcome is Outcome.FAILED
    assert "failed at step 2" in verdict.how
    assert "gave no answer to step open within 0.3 s" in verdict.how
    assert verdict.divergence is not None
    assert verdict.divergence.steps == (SELL, OPEN)


@pytest.mark.parametrize(
    ("every", "right", "said"),
    [
        (
            4,
            2,
            "flaky, at step 2, found in 11 steps; "
            "of 10 replays of 2 steps 7 ended like this, 0 otherwise, and 3 agreed",
        ),
        (3, 1, "the subject differed once on a walk of 11 steps and on 7 of 10 replays: it is not deterministic"),
    ],
)
def test_who_answers_otherwise_on_replay_is_flaky_with_the_numbers(every: int, right: int, said: str, tmp_path: Path):
    words = [*command("chance"), str(tmp_path / "lives"), str(every), str(right)]
    verdict = toured(adapter_pairing(desks.Tickets(), words)).verdict
    assert verdict.outcome is Outcome.FAILED
    assert verdict.how.startswith(said)
