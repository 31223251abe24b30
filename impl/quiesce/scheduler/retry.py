"""What a commit's result means for the action that made it."""

from __future__ import annotations

from enum import StrEnum

from quiesce.storage.transaction import Result, Settled

MAX_RETRIES_FOR_REACTIVE = 10
"""Attempts in a row, the first included, before an action waits for its inputs to change."""

STALE_WARNING_INTERVAL = 100
"""Conflicts in a row between two warnings. They are never charged to the budget above."""


class Fate(StrEnum):
    """What is done next."""

    SUCCESS = "success"
    STALE = "stale"
    """Run again: what it read has changed, or nobody knows what became of it."""
    REFUSED = "refused"
    """Never run again unchanged."""


def fate_of(result: Result) -> Fate:
    """What to do after a commit has settled.

    A commit whose session was lost may have been accepted. Its action runs again against what is there, and writes
    nothing if it was.
    """
    if result.settled is Settled.COMMITTED:
        return Fate.SUCCESS
    if result.settled in (Settled.STALE, Settled.LOST):
        return Fate.STALE
    return Fate.REFUSED
