"""A subject in another process, in any language: JSON-RPC 2.0, one message a line. See ``docs/adapters.md``.

The subject asks, the adapter answers, one request at a time. Each answer is judged before anything is made of it, and
what is wrong with one is said with the line itself. A child that failed is ended; the failure was raised, so a walk
is reported, and the next reset begins with a new child.
"""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from quiesce_model.language.machine import Machine, Step

from .adapter_values import Fields, Misspelled, shown, spelled
from .described import Described, described
from .stdio_child import Child, cut, visible
from .subject import Description, Observation, Refused

PROTOCOL = 1
"""The version of the protocol. It rises when an adapter that was right would no longer be."""

TIMEOUT = 5.0
"""Seconds that an adapter has for an answer."""

START = 10.0
"""Seconds that it has at least for its first one: some languages take their time to start."""


class StdioSubject:
    """An adapter's implementation, driven over its standard input and output.

    ``machine`` says which fields are leaves of the model, and of which kind. ``tick`` is how many ms a unit of the
    model's time is, as the adapter is told; ``timeout`` is for one answer, in seconds; ``folder`` is where the
    command is run. Every failure is a :class:`~.subject.SubjectFailed`; a command that cannot be started, a
    :class:`~.stdio_child.CannotStart`.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        machine: Machine,
        *,
        tick: int = 1,
        timeout: float = TIMEOUT,
        folder: Path | None = None,
    ) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.machine, self.tick, self.timeout, self.folder = machine, tick, timeout, folder
        self.child: Child | None = None
        self.number = 0
        self.fields: Fields | None = None
        self.seen: tuple[int, Observation] | None = None
        self.pending: deque[tuple[int, str]] = deque()
        self.brings: set[str] = set()  # which kinds of answers have brought along what is seen
        self.lacks: set[str] = set()  # and which have not
        self.words: dict[Step, str] = {}

    # The four methods.

    def describe(self) -> Description:
        said = self.described()
        actions = {name: self.in_order(name, parameters) for name, parameters in said.actions.items()}
        return Description(actions, self.reader().leaves)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        if self.pending:  # a walk that ended early: what it had asked ahead is not waited for
            self.close()
        if self.fields is None:
            self.described()
        self.seen = None
        given = {name: spelled(value) for name, value in constants.items()}
        self.keep(0, self.ask("reset", {"constants": given, "tick": self.tick}), "reset")

    def step(self, step: Step, at: int) -> None:
        """The observation that an answer brings along saves the question for it."""
        self.seen = None
        result = self.ask("step", self.told(step, at), step.action)
        self.keep(at, result, "refused" if "refused" in result else "step")
        if "refused" in result:
            reason = result["refused"]
            if not isinstance(reason, str):
                self.wrong(f"refused the step {step.action} with {shown(reason)}: the reason has to be a text")
            raise Refused(visible(reason))

    def observe(self, at: int) -> Observation:
        if self.seen is not None and self.seen[0] == at:
            found, self.seen = self.seen[1], None
            return found
        result = self.ask("observe", f'{{"at":{time(at)}}}')
        if "seen" not in result:
            self.wrong(f'answered observe with {shown(result)}, which has no "seen"')
        return self.read(result["seen"], "observe")

    def ahead(self, turns: Sequence[tuple[Step | None, int]], *, refusals: bool) -> None:
        """Ask already for what is going to be asked: steps, or None where only time passes, each with its moment;
        ``refusals`` says whether some are to be refused. The answers are taken as the questions come, in just this
        order. Nothing is asked where an answer of a kind has not yet been seen to bring along what is seen."""
        if self.child is None or self.lacks or not self.brings >= {"step", *(["refused"] if refusals else [])}:
            return
        requests: list[str] = []
        for step, at in turns:
            method, told = ("observe", f'{{"at":{time(at)}}}') if step is None else ("step", self.told(step, at))
            requests.append(self.request(method, told))
            self.pending.append((self.number, method + told))
        try:
            self.child.silence()
            self.child.deliver("".join(requests).encode(), "several at once", self.timeout)
        except BaseException:
            self.drop()
            raise

    # What they are made of.

    def told(self, step: Step, at: int) -> str:
        """The parameters of a step."""
        words = self.words.get(step)
        if words is None:
            args = {name: spelled(value) for name, value in step.args}
            words = self.words[step] = f'{{"action":{json.dumps(step.action)},"args":{json.dumps(args)},"at":'
        return f"{words}{time(at)}}}"

    def request(self, method: str, told: str) -> str:
        self.number += 1
        return f'{{"jsonrpc":"2.0","id":{self.number},"method":"{method}","params":{told}}}\n'

    def described(self) -> Described:
        """What the adapter says of itself, names as it says them."""
        result = self.ask("describe", {"protocol": PROTOCOL})
        try:
            said = described(result, PROTOCOL)
            if self.fields is None or tuple(said.fields) != tuple(field.name for field in self.fields.fields):
                self.fields = Fields(self.machine, said.fields)
        except Misspelled as error:
            self.wrong(f"answered describe wrongly: {error}")
        return said

    def reader(self) -> Fields:
        assert self.fields is not None
        return self.fields

    def in_order(self, action: str, parameters: tuple[str, ...]) -> tuple[str, ...]:
        """Parameters in the model's order: they are given by name, so that an adapter's own order means nothing."""
        from quiesce_model.language.machine import ActionInfo, all_marked

        info = dict(all_marked(type(self.machine))).get(action)
        known = tuple(name for name, _ in info.domains) if isinstance(info, ActionInfo) else ()
        return known if sorted(known) == sorted(parameters) else parameters

    def keep(self, at: int, result: dict[str, Any], kind: str) -> None:
        if "seen" in result:
            self.brings.add(kind)
            self.seen = (at, self.read(result["seen"], "reset" if kind == "reset" else "step"))
        elif kind != "reset":
            self.lacks.add(kind)

    def read(self, seen: Any, method: str) -> Observation:
        try:
            return self.reader().read(seen)
        except Misspelled as error:
            self.wrong(f"answered {method} wrongly: {error}")

    def ask(self, method: str, params: dict[str, Any] | str, what: str = "") -> dict[str, Any]:
        """Put one request and return the result of its answer, which is an object."""
        told = params if isinstance(params, str) else json.dumps(params)
        name = f"{method} {what}".rstrip()
        child, timeout = self.child, self.timeout
        if child is None:
            child = self.child = Child(self.command, self.folder)
            timeout = max(timeout, START)
        try:
            if self.pending:
                number, expected = self.pending.popleft()
                line = child.await_line(name, timeout)
            else:
                request = self.request(method, told)
                number, expected = self.number, method + told
                line = child.ask(request.encode(), name, timeout)
        except BaseException:
            self.drop()
            raise
        if expected != method + told:
            self.wrong(f'brought "seen" along with earlier steps, and not with the one before {name}')
        return self.result(line, name, number)

    def drop(self) -> Child | None:
        """Forget the child and all that it was asked."""
        child, self.child = self.child, None
        self.pending.clear()
        return child

    def result(self, line: bytes, name: str, number: int) -> dict[str, Any]:
        """The result in a line of answer; what is no such line is a failure."""
        try:
            answer: Any = json.loads(line, parse_constant=no_json)
        except (ValueError, RecursionError):
            self.wrong(f"answered {name} with what is not JSON: {cut(line) or 'an empty line'}")
        if not isinstance(answer, dict) or cast("dict[str, Any]", answer).get("jsonrpc") != "2.0":
            self.wrong(f'answered {name} with what is no JSON-RPC 2.0 (an object with "jsonrpc": "2.0"): {cut(line)}')
        record = cast("dict[str, Any]", answer)
        if record.get("id") != number or isinstance(record["id"], bool):
            said = "without an id" if "id" not in record else f"with the id {shown(record['id'])}"
            self.wrong(f"answered {name} {said}, where {number} was asked: {cut(line)}")
        if "error" in record:
            self.wrong(f"answered {name} with an error: {error_text(record['error'])}")
        result = record.get("result")
        if not isinstance(result, dict):
            self.wrong(f"answered {name} without a result that is an object: {cut(line)}")
        return cast("dict[str, Any]", result)

    def wrong(self, text: str) -> NoReturn:
        """The adapter cannot be relied on after this: it is ended."""
        child = self.drop()
        assert child is not None
        raise child.failed(text)

    def close(self) -> None:
        """End the adapter."""
        child = self.drop()
        if child is not None:
            child.finish()


def time(at: int) -> str:
    return json.dumps(spelled(at))


def no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def error_text(error: Any) -> str:
    """``-32602 no action 'x'`` of an error object."""
    if isinstance(error, dict):
        record = cast("dict[str, Any]", error)
        if isinstance(record.get("message"), str):
            return f"{record['message']} (code {shown(record.get('code'))})"
    return f"{shown(error)}, which has no code and message"
