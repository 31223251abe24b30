"""Mutants that move an edge of the breaker by one, either way."""

from __future__ import annotations

from .mutant import Mutant, edge
from .places import BREAKER, PAIRS


def both(name: str, id: str, what: str, old: str, earlier: str, later: str) -> tuple[Mutant, Mutant]:
    """An edge of the breaker a millisecond, or a count, too early and too late."""
    return (
        edge(f"{name}_early", id, BREAKER, old, earlier, f"{what} one too early"),
        edge(f"{name}_late", id, BREAKER, old, later, f"{what} one too late"),
    )


BOUNDARIES = (
    *both(
        "window",
        "BRK-12",
        "the window runs out",
        "pair.window_opened + self.policy.echo_window_ms < now",
        "pair.window_opened + self.policy.echo_window_ms <= now",
        "pair.window_opened + self.policy.echo_window_ms + 1 < now",
    ),
    *both(
        "threshold",
        "BRK-13",
        "a pair trips",
        "pair.echoes >= self.policy.echo_trip_threshold",
        "pair.echoes >= self.policy.echo_trip_threshold - 1",
        "pair.echoes > self.policy.echo_trip_threshold",
    ),
    *both(
        "base",
        "BRK-16",
        "the first backoff ends",
        "self._back_off(pair, self.policy.echo_backoff_base_ms, now)",
        "self._back_off(pair, self.policy.echo_backoff_base_ms - 1, now)",
        "self._back_off(pair, self.policy.echo_backoff_base_ms + 1, now)",
    ),
    *both(
        "doubling",
        "BRK-16",
        "a renewal below the cap ends",
        "2 * pair.step_ms), now)",
        "2 * pair.step_ms - 1), now)",
        "2 * pair.step_ms + 1), now)",
    ),
    *both(
        "cap",
        "BRK-17",
        "a renewal at the cap ends",
        "min(self.policy.echo_backoff_max_ms, 2 *",
        "min(self.policy.echo_backoff_max_ms - 1, 2 *",
        "min(self.policy.echo_backoff_max_ms + 1, 2 *",
    ),
    *both(
        "gate",
        "BRK-18",
        "the gate opens",
        "return latest if latest is not None and latest > now else None",
        "return latest if latest is not None and latest > now + 1 else None",
        "return latest if latest is not None and latest >= now else None",
    ),
    *both(
        "answered_gate",
        "BRK-18",
        "the gate that observe answers with opens",
        "until = after if after is not None and after > now else None",
        "until = after if after is not None and after > now + 1 else None",
        "until = after if after is not None and after >= now else None",
    ),
    *both(
        "quiet",
        "BRK-21",
        "the quiet stretch is over",
        "quiet_at = quiet.last_echo + self.policy.echo_quiet_reset_ms",
        "quiet_at = quiet.last_echo + self.policy.echo_quiet_reset_ms - 1",
        "quiet_at = quiet.last_echo + self.policy.echo_quiet_reset_ms + 1",
    ),
    edge(
        "due_at_its_last_instant",
        "BRK-21",
        BREAKER,
        "(due := self._next_due()) is not None and due[0] < now",
        "(due := self._next_due()) is not None and due[0] <= now",
        "a pair is cleared at the last instant of its time",
    ),
    *both(
        "housekeeping",
        "BRK-21",
        "the breaker asks to be called",
        "return due[0] + 1 if due is not None else None",
        "return due[0] if due is not None else None",
        "return due[0] + 2 if due is not None else None",
    ),
    *both(
        "capacity",
        "BRK-29",
        "the table is full",
        "len(self._table) >= self.policy.max_echo_pairs",
        "len(self._table) >= self.policy.max_echo_pairs - 1",
        "len(self._table) > self.policy.max_echo_pairs",
    ),
    edge(
        "orphan_early",
        "BRK-31",
        BREAKER,
        "self._orphans[0][0] <= now",
        "self._orphans[0][0] <= now + 1",
        "the deadline of an evicted pair passes a millisecond too early",
    ),
    edge(
        "orphan_late",
        "BRK-31",
        BREAKER,
        "self._orphans[0][0] <= now",
        "self._orphans[0][0] <= now - 1",
        "the deadline of an evicted pair is dropped a millisecond after it has passed",
        "a deadline that is reached holds nothing, so when it is dropped after that makes no difference",
    ),
    edge(
        "evicted_at_its_deadline",
        "BRK-31",
        BREAKER,
        "if deadline is not None and deadline > now:",
        "if deadline is not None and deadline >= now:",
        "a pair evicted at its deadline leaves it behind",
        "a deadline that is reached holds nothing: the gate is open at it, and it is dropped before the next step",
    ),
    edge(
        "evicted_before_its_deadline",
        "BRK-31",
        BREAKER,
        "if deadline is not None and deadline > now:",
        "if deadline is not None and deadline > now + 1:",
        "the last millisecond of a deadline is lost with its pair",
    ),
    edge(
        "active_at_the_deadline",
        "BRK-18",
        PAIRS,
        "if at > now)",
        "if at >= now)",
        "a backoff counts as in force at its deadline",
    ),
    edge(
        "inactive_before_the_deadline",
        "BRK-18",
        PAIRS,
        "if at > now)",
        "if at > now + 1)",
        "a backoff counts as over a millisecond before its deadline",
    ),
    *both(
        "settling",
        "BRK-21",
        "the settling period is over",
        "self._settling[pair] = now + self.policy.echo_backoff_max_ms",
        "self._settling[pair] = now + self.policy.echo_backoff_max_ms - 1",
        "self._settling[pair] = now + self.policy.echo_backoff_max_ms + 1",
    ),
)
