"""Running totals of one server, as plain numbers; metrics and the health page read them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from quiesce.commits import Outcome


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
