"""The points of the protocol, one function each, in the order in which they are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..report.figures import plural
from .adapter import compare
from .adapter_values import SAFE, Fields, shown, spelled
from .conformance import Check, Exam, NotAsked, Talk, Wrong, blocked_by
from .pairing import Mismatch
from .stdio_child import GRACE, lasting
from .subject import Refused

NOT_JSON, NO_METHOD, NO_PARAMS = -32700, -32601, -32602
"""Codes of JSON-RPC."""


def describes(exam: Exam) -> str:
    said = exam.said = exam.subject().described()
    hides = f", {len(said.hidden)} hidden with a reason" if said.hidden else ""
    acts, shows = plural(len(said.actions), "action"), plural(len(said.fields), "field")
    return f"protocol 1: {acts}, {shows}{hides}; refuses by {plural(len(said.refuses), 'rule')}"


def names_the_model(exam: Exam) -> str:
    assert exam.said is not None
    machine, said = exam.machine, exam.said
    try:
        compare("it", machine, said, Fields(machine, said.fields), Fields(machine, said.hidden))
    except Mismatch as error:
        raise Wrong(str(error)) from None
    return f"its actions, fields and rules are those of {type(machine).__name__}"


def describes_the_same_again(exam: Exam) -> str:
    subject = exam.subject()
    first = subject.described()
    exam.walk(subject)
    if subject.described() != first:
        raise Wrong("describes itself otherwise after a walk: describe has to be the same at any time")
    return "after a walk, too"


def shows_its_fields(exam: Exam) -> str:
    subject = exam.subject()
    subject.reset(exam.constants)
    seen = subject.observe(0)
    return "at the start: " + ", ".join(f"{n} = {shown(v)}" for n, v in zip(subject.reader().leaves, seen, strict=True))


def starts_afresh(exam: Exam) -> str:
    subject = exam.subject()
    first, second = exam.walk(subject), exam.walk(subject)
    differing(exam, first, second, "after a reset the same walk is seen otherwise", "its reset leaves something behind")
    return f"a walk of {plural(len(exam.turns), 'turn')} is the same after a reset"


def does_the_same_again(exam: Exam) -> str:
    first, second = exam.walk(exam.subject()), exam.walk(exam.subject())
    hint = "take its clock and its random source into the adapter"
    differing(exam, first, second, "the same walk is seen otherwise by another run of it", hint)
    return "so it is in another run of it"


def looking_changes_nothing(exam: Exam) -> str:
    first, second = exam.walk(exam.subject()), exam.walk(exam.subject(), looks=3)
    differing(
        exam, first, second, "the same walk is seen otherwise if it is looked at three times", "observe changes it"
    )
    return "nor is it otherwise if it is looked at more often"


def differing(exam: Exam, first: list[Any], second: list[Any], what: str, why: str) -> None:
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            told = ", ".join(str(part) for part in one), ", ".join(str(part) for part in other)
            raise Wrong(f"{what} {exam.turn(number)}: {told[0]}, then {told[1]}: {why}")


def steps_bring_what_is_seen(exam: Exam) -> str:
    subject = exam.subject()
    subject.reset(exam.constants)
    brought = lacked = 0
    for number, (step, at) in enumerate(exam.turns, 1):
        if step is None:
            continue
        with suppress(Refused):
            subject.step(step, at)
        if subject.seen is not None:
            with_it, subject.seen = subject.seen[1], None
            brought += 1
            if subject.observe(at) != with_it:
                raise Wrong(f'what step says is "seen" is not what observe says {exam.turn(number)}')
        else:
            lacked += 1
    if not brought:
        raise NotAsked('its steps bring no "seen" along; where they do, observe need not be asked')
    if lacked:
        raise Wrong(f'{plural(brought, "step")} brought "seen" along and {lacked} did not: all have to, or none')
    return f"{plural(brought, 'step')} brought along what observe says"


def refuses(exam: Exam) -> str:
    assert exam.said is not None
    if not exam.said.refuses:
        raise NotAsked('its "refuses" is empty: what the model forbids is never asked of it')
    found = blocked_by(exam, exam.said.refuses)
    if found is None:
        raise NotAsked("the walk comes to no step that the model forbids by one of its rules")
    number, step = found
    talk = exam.begun()
    at = 0
    for taken, at in exam.turns[:number]:
        if taken is not None:
            talk.ask("step", params(taken, at))
    before = talk.seen(at)
    answer = talk.ask("step", params(step, at))
    result = answer.get("result")
    if not isinstance(result, dict):
        told = f"answered {step}, which the model forbids, with {shown(answer.get('error'))}"
        raise Wrong(f'{told}: a refusal is no error, but {{"result": {{"refused": "the reason"}}}}')
    if "refused" not in result:
        return f"{step} was done, though the model forbids it: lockstep will tell"
    if not isinstance(result["refused"], str):
        raise Wrong(f'"refused" is the reason, in words, and not {shown(result["refused"])}')  # pyright: ignore[reportUnknownArgumentType]
    if talk.seen(at) != before:
        raise Wrong(f"refused {step} {exam.turn(number)}, but shows something else afterwards")
    return f"{step} {exam.turn(number)}, and is as it was"


def params(step: Any, at: int) -> dict[str, Any]:
    return {"action": step.action, "args": {name: spelled(value) for name, value in step.args}, "at": spelled(at)}


def answers_an_unknown_action_with_an_error(exam: Exam) -> str:
    talk = exam.begun()
    return unchanged(talk, lambda: talk.ask("step", {"action": "no_such_action", "args": {}, "at": 0}), NO_PARAMS)


def answers_wrong_arguments_with_an_error(exam: Exam) -> str:
    assert exam.said is not None
    action = next((name for name, parameters in exam.said.actions.items() if parameters), None)
    if action is None:
        raise NotAsked("no action has a parameter")
    talk = exam.begun()
    answer = talk.ask("step", {"action": action, "args": {}, "at": 0})
    result = answer.get("result")
    if isinstance(result, dict) and "refused" in result:  # it looked at what is possible before it looked at these
        return f"{action}() is refused"
    return f"{action}(): {unchanged(talk, lambda: answer, NO_PARAMS)}"


def answers_an_unknown_method_with_an_error(exam: Exam) -> str:
    talk = exam.begun()
    return unchanged(talk, lambda: talk.ask("no_such_method", {}), NO_METHOD)


def answers_what_is_not_json_with_an_error(exam: Exam) -> str:
    talk = exam.begun()
    return unchanged(
        talk, lambda: talk.line('{"jsonrpc": "2.0", "id": 9, "method"', "what is not JSON"), NOT_JSON, None
    )


def unchanged(talk: Talk, ask: Any, code: int, number: Any = ...) -> str:
    """Asked what it cannot answer, it answers with an error and goes on as it was."""
    before = talk.seen()
    answer: Mapping[str, Any] = ask()
    error: Any = answer.get("error")
    if not isinstance(error, dict):
        raise Wrong(f"answered with {shown(dict(answer))}: it has to be an error ({code})")
    got: Any = error.get("code")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    message: Any = error.get("message")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(got, int) or not isinstance(message, str):
        raise Wrong(f'an error has a whole number as "code" and a text as "message", not {shown(error)}')
    if number is None and answer.get("id") is not None:
        raise Wrong(f"the error has the id {shown(answer.get('id'))}: where no id can be read, it is null")
    if talk.seen() != before:
        raise Wrong("answered with an error, but shows something else afterwards")
    usual = "" if got == code else f"; the usual code is {code}"
    return f"{message} ({got}), and goes on as it was{usual}"


def leaves_unknown_keys_alone(exam: Exam) -> str:
    talk = exam.begun()
    answer = talk.ask("observe", {"at": 0, "no_such_key": {"later": True}})
    if "result" not in answer:
        raise Wrong(f"answered a request with one more key with {shown(answer)}: a later version may have more of them")
    return "so a later version of the protocol may have more of them"


def repeats_ids(exam: Exam) -> str:
    talk = exam.begun()
    for number in ("größe 𝔘 \u2028", 2**31 + 1, "0"):
        for text in (json.dumps(number), json.dumps(number, ensure_ascii=False)):
            request = f'{{"jsonrpc":"2.0","id":{text},"method":"observe","params":{{"at":0}}}}'
            answer = talk.line(request, f"observe with the id {text}")
            got: Any = answer.get("id")
            if type(got) is not type(number) or got != number:
                raise Wrong(f"the id {text} came back as {shown(answer.get('id'))}")
    return "texts and numbers, as UTF-8 and escaped"


def reads_lines_however_they_come(exam: Exam) -> str:
    talk = exam.begun()
    first, second = (
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "observe", "params": {"at": 0}}) for n in (901, 902)
    )
    child = talk.child
    both = f"{first}\n{second}\n".encode()
    child.deliver(both, "two requests at once", talk.timeout)
    lines = [child.await_line("two requests at once", talk.timeout) for _ in range(2)]
    answers = [talk.answer(line, "two requests at once").get("id") for line in lines]
    if answers != [901, 902]:
        raise Wrong(f"answered two requests that came at once in the order {shown(answers)}, not [901, 902]")
    half = len(first) // 2
    child.deliver(first[:half].encode(), "half a request", talk.timeout)
    child.deliver(f"{first[half:]}\n".encode(), "half a request", talk.timeout)
    if (
        talk.answer(child.await_line("a request in two pieces", talk.timeout), "a request in two pieces").get("id")
        != 901
    ):
        raise Wrong("did not answer a request that came in two pieces")
    long = talk.ask("observe", {"at": 0, "no_such_key": "x" * 200_000})
    if "result" not in long:
        raise Wrong(f"answered a request of 200,000 bytes with {shown(long)}")
    return "two at once, one in two pieces, one of 200,000 bytes"


def knows_long_times(exam: Exam) -> str:
    talk = exam.begun()
    talk.seen(2**31 + 1)
    talk.seen(2**40)
    return "moments beyond 32 bits"


def knows_large_numbers(exam: Exam) -> str:
    talk = exam.begun()
    answer = talk.ask("observe", {"at": {"#bigint": str(SAFE + 2)}})
    if "result" not in answer and "error" not in answer:
        raise Wrong(f"answered a moment beyond 2^53 with {shown(answer)}: it has to be a result or an error")
    talk.seen(0)
    return "answers them" if "result" in answer else f"says that it does not: {shown(answer['error'])}"


def ends_with_its_input(exam: Exam) -> str:
    talk = exam.begun()
    code = talk.child.finish()
    if code is None:
        raise Wrong(f"still runs {lasting(GRACE)} after its input has ended: it has to end then")
    if code != 0:
        raise Wrong(f"ends with {code} as its input ends: nothing went wrong, so it has to be 0")
    return "with exit code 0"


POINTS: dict[str, Check] = {
    "describes itself": describes,
    "names what the model has": names_the_model,
    "describes itself the same again": describes_the_same_again,
    "shows its fields": shows_its_fields,
    "starts afresh after a reset": starts_afresh,
    "does the same again": does_the_same_again,
    "looking changes nothing": looking_changes_nothing,
    "steps bring what is seen": steps_bring_what_is_seen,
    "refuses what its rules forbid": refuses,
    "an unknown action is an error": answers_an_unknown_action_with_an_error,
    "missing arguments are an error": answers_wrong_arguments_with_an_error,
    "an unknown method is an error": answers_an_unknown_method_with_an_error,
    "what is not JSON is an error": answers_what_is_not_json_with_an_error,
    "unknown keys are left alone": leaves_unknown_keys_alone,
    "ids come back": repeats_ids,
    "reads lines however they come": reads_lines_however_they_come,
    "knows long times": knows_long_times,
    "knows large numbers": knows_large_numbers,
    "ends with its input": ends_with_its_input,
}

FIRST = ("describes itself", "names what the model has", "shows its fields")
"""Without these nothing else can be asked."""
