"""A subject in another process, in any language: JSON-RPC 2.0, one message a line. See ``docs/adapters.md``.

The subject asks, the adapter answers, one request at a time. Each answer is judged before anything is made of it, and
what is wrong with one is said with the line itself. A child that failed is ended; the failure was raised, so a walk
is reported, and the next reset begins with a new child.
"""

from __future__ import annotations

import json
import shlex
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
        self.words: dict[Step, str] = {}

    # The four methods.

    def describe(self) -> Description:
        said = self.described()
        actions = {name: self.in_order(name, parameters) for name, parameters in said.actions.items()}
        return Description(actions, self.reader().leaves)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        if self.fields is None:
            self.described()
        self.seen = None
        given = {name: spelled(value) for name, value in constants.items()}
        self.keep(0, self.ask("reset", {"constants": given, "tick": self.tick}), "reset")

    def step(self, step: Step, at: int) -> None:
        """The observation that an answer brings along saves the question for it."""
        words = self.words.get(step)
        if words is None:
            args = {name: spelled(value) for name, value in step.args}
            words = self.words[step] = f'{{"action":{json.dumps(step.action)},"args":{json.dumps(args)},"at":'
        self.seen = None
        result = self.ask("step", f"{words}{time(at)}}}", step.action)
        self.keep(at, result, "step")
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

    # What they are made of.

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

    def keep(self, at: int, result: dict[str, Any], method: str) -> None:
        if "seen" in result:
            self.seen = (at, self.read(result["seen"], method))

    def read(self, seen: Any, method: str) -> Observation:
        try:
            return self.reader().read(seen)
        except Misspelled as error:
            self.wrong(f"answered {method} wrongly: {error}")

    def ask(self, method: str, params: dict[str, Any] | str, what: str = "") -> dict[str, Any]:
        """Put one request and return the result of its answer, which is an object."""
        child, timeout = self.child, self.timeout
        if child is None:
            child = self.child = Child(self.command, self.folder)
            timeout = max(timeout, START)
        self.number += 1
        told = params if isinstance(params, str) else json.dumps(params)
        request = f'{{"jsonrpc":"2.0","id":{self.number},"method":"{method}","params":{told}}}\n'
        name = f"{method} {what}".rstrip()
        try:
            line = child.ask(request.encode(), name, timeout)
        except BaseException:
            self.child = None
            raise
        return self.result(line, name)

    def result(self, line: bytes, name: str) -> dict[str, Any]:
        """The result in a line of answer; what is no such line is a failure."""
        try:
            answer: Any = json.loads(line, parse_constant=no_json)
        except (ValueError, RecursionError):
            self.wrong(f"answered {name} with what is not JSON: {cut(line) or 'an empty line'}")
        if not isinstance(answer, dict) or cast("dict[str, Any]", answer).get("jsonrpc") != "2.0":
            self.wrong(f'answered {name} with what is no JSON-RPC 2.0 (an object with "jsonrpc": "2.0"): {cut(line)}')
        record = cast("dict[str, Any]", answer)
        if record.get("id") != self.number or isinstance(record["id"], bool):
            said = "without an id" if "id" not in record else f"with the id {shown(record['id'])}"
            self.wrong(f"answered {name} {said}, where {self.number} was asked: {cut(line)}")
        if "error" in record:
            self.wrong(f"answered {name} with an error: {error_text(record['error'])}")
        result = record.get("result")
        if not isinstance(result, dict):
            self.wrong(f"answered {name} without a result that is an object: {cut(line)}")
        return cast("dict[str, Any]", result)

    def wrong(self, text: str) -> NoReturn:
        """The adapter cannot be relied on after this: it is ended."""
        child, self.child = self.child, None
        assert child is not None
        raise child.failed(text)

    def close(self) -> None:
        """End the adapter."""
        child, self.child = self.child, None
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
