"""What an attempted step can come to, besides a new state."""

from __future__ import annotations


class Blocked(Exception):
    """A guard of the action does not hold: there is no such step from this state, and the state is unchanged.

    ``rule`` is the id given to the failed ``require``, or None.
    """

    def __init__(self, rule: str | None = None) -> None:
        super().__init__(f"blocked by {rule or 'a guard without a rule'}")
        self.rule = rule


class Fault(Exception):
    """The model itself is wrong here: a value leaves its domain, an absent value is used, an index is out of range.

    A fault is an outcome of its own, never a step; every reading of a model reports the same one.
    ``kind`` is ``domain``, ``absent``, ``index`` or ``division``; ``place`` names the field as the model does.
    """

    def __init__(self, kind: str, place: str, detail: str) -> None:
        super().__init__(f"{place}: {detail}")
        self.kind = kind
        self.place = place
        self.detail = detail


class Misuse(Exception):
    """The language is used in a way that has no meaning; the text says what to write instead."""
