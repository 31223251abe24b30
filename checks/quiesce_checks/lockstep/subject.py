"""What an implementation has to offer to be walked beside a model. All of lockstep rests on these four methods.

A subject is an adapter: it drives the real code and says what can be seen of it. It never sleeps and never reads a
clock; time is a number of milliseconds that it is given. A minimal one:

    class Counter:
        def describe(self):
            return Description({"add": ("n",)}, ("total",))

        def reset(self, constants):
            self.real = RealCounter(limit=constants["limit"])

        def step(self, step, at):
            if not self.real.add(dict(step.args)["n"]):
                raise Refused("full")

        def observe(self, at):
            return (self.real.total,)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from quiesce_model.language.machine import Step

Value: TypeAlias = int | bool | str | None
"""What is compared: a flag equals 0 or 1, an enum is its member's name, what is absent is None."""

Observation: TypeAlias = tuple[Value, ...]
"""The values of a description's fields, in their order."""


@dataclass(frozen=True)
class Description:
    """What a subject can do and what can be seen of it, in the model's words.

    ``actions`` maps each action to its parameters; time is not among them. ``fields`` name leaves of the model
    (``pair.echoes``) or observations that the pairing derives (see ``pairing.py``). A difference from the model is a
    failure before the first step: a model that no longer describes the code must not go on certifying it.
    """

    actions: Mapping[str, tuple[str, ...]]
    fields: tuple[str, ...]


class Refused(Exception):
    """The subject says that a step is not possible now, where the model's guard should say the same."""


class SubjectFailed(Exception):
    """The subject itself went wrong, in words that need no more: it gave no answer, ended, or said what makes no sense.
    ``wrote`` are the last lines that it wrote to its log. Any other error of a subject is a crash."""

    def __init__(self, text: str, wrote: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.wrote = wrote


class Subject(Protocol):
    """An implementation under test."""

    def describe(self) -> Description:
        """What there is to walk and to see; the same at any time."""
        ...

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        """Start afresh, at 0 ms, with these constants of the model; nothing of an earlier walk may remain."""
        ...

    def step(self, step: Step, at: int) -> None:
        """Take one step at ``at`` ms, at which nothing else happens. Raises Refused; any other error is a crash of
        the subject. The passing of time is no step: ``at`` is simply later."""
        ...

    def observe(self, at: int) -> Observation:
        """What can be seen at ``at`` ms. Looking changes nothing."""
        ...
