"""Running totals of one server, as plain numbers; metrics and the health page read them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from quiesce.commits import Outcome

RATE_MS = 10_000.0
"""The time constant of commit rates: what happened longer ago hardly counts."""


class Rate:
    """Events a second, averaged with exponential decay; two numbers, however many events."""

    __slots__ = ("_at", "_weight")

    def __init__(self) -> None:
        self._weight = 0.0
        self._at = 0.0

    def mark(self, now: float) -> None:
        """One event, at ``now`` milliseconds."""
        self._weight = self._decayed(now) + 1
        self._at = now

    def per_second(self, now: float) -> float:
        """The rate at ``now``."""
        return self._decayed(now) * 1000 / RATE_MS

    def _decayed(self, now: float) -> float:
        return self._weight * math.exp(-max(0.0, now - self._at) / RATE_MS)


@dataclass(slots=True)
class Tally:
    """Counts since the server started. ``batches`` are durable transactions, ``windows`` those queued to
    send.
    """

    verdicts: Counter[str] = field(default_factory=Counter[str])
    replays: int = 0
    batches: int = 0
    windows: int = 0
    received: int = 0
    received_bytes: int = 0
    problems: Counter[str] = field(default_factory=Counter[str])
    breaker_reports: Counter[str] = field(default_factory=Counter[str])

    def verdict(self, outcome: Outcome, *, replayed: bool) -> None:
        """Count a verdict that was given, or given again."""
        if replayed:
            self.replays += 1
        else:
            self.verdicts[outcome.value] += 1
