"""Mutants of what the breaker tells others: events, counts, its line, and its constants as they ship."""

from __future__ import annotations

from .mutant import Mutant
from .places import BREAKER, POLICY


def report(name: str, of: str, old: str, new: str, what: str, equivalent: str | None = None) -> Mutant:
    return Mutant(name, "report", of, BREAKER, old, new, what, equivalent)


def default(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"{name}_default", "boundary", "constants", POLICY, old, new, f"{old} ships as {new.split('= ')[1]}")


TOLD = (
    report(
        "quiet_called_agreement",
        "reasons",
        "due = (quiet_at, quiet, ClearReason.QUIET)",
        "due = (quiet_at, quiet, ClearReason.CONVERGENCE)",
        "a quiet pair is reported as one that agreed",
    ),
    report(
        "settled_called_quiet",
        "reasons",
        "due = (self._settling[settling], settling, ClearReason.CONVERGENCE)",
        "due = (self._settling[settling], settling, ClearReason.QUIET)",
        "a settled pair is reported as quiet",
    ),
    report(
        "agreement_called_quiet",
        "reasons",
        "self._clear(pair, ClearReason.CONVERGENCE, now)",
        "self._clear(pair, ClearReason.QUIET, now)",
        "a pair that agreed is reported as quiet",
    ),
    report(
        "retired_called_quiet",
        "reasons",
        "self._clear(pair, ClearReason.RETIRED, now)",
        "self._clear(pair, ClearReason.QUIET, now)",
        "a retired pair is reported as quiet",
    ),
    report(
        "evicted_called_quiet",
        "reasons",
        "self._drop(pair, ClearReason.EVICTED, now)",
        "self._drop(pair, ClearReason.QUIET, now)",
        "an evicted pair that backs off is reported as quiet",
    ),
    report(
        "evicted_open_called_quiet",
        "reasons",
        "self._clear(pair, ClearReason.EVICTED, now)",
        "self._clear(pair, ClearReason.QUIET, now)",
        "an evicted pair whose gate is open is reported as quiet",
    ),
    report(
        "trip_unreported",
        "trips and clears",
        "        self._report(Tripped(label, pair.document, now))\n",
        "",
        "a trip is logged, but not reported",
    ),
    report(
        "clear_of_untripped_reported",
        "trips and clears",
        "        if pair.tripped_at is not None:\n            self._report(\n",
        "        pair.tripped_at = now if pair.tripped_at is None else pair.tripped_at\n"
        "        if pair.tripped_at is not None:\n            self._report(\n",
        "also the end of a pair that never tripped is reported",
    ),
    report(
        "events_told_twice",
        "trips and clears",
        "        self._events.clear()\n",
        "",
        "events that were taken are given again",
    ),
    report("renewals_uncounted", "renewals", "            pair.renewals += 1\n", "", "renewals are not counted"),
    report(
        "trip_counted_as_renewal",
        "renewals",
        "        pair.tripped_at = now\n        self._trips",
        "        pair.tripped_at = now\n        pair.renewals = 1\n        self._trips",
        "the trip counts as the first renewal",
    ),
    report(
        "held_from_the_last_echo",
        "held time",
        "                    now - pair.tripped_at,\n",
        "                    now - pair.last_echo,\n",
        "the held time runs from the last echo step, not from the trip",
    ),
    report("trips_uncounted", "counts", "        self._trips += 1\n", "", "trips are not counted"),
    report(
        "untripped_cycles_uncounted",
        "counts",
        "        self._cycles += 1\n",
        "        self._cycles += pair.tripped_at is not None\n",
        "echo steps before the trip are not counted",
    ),
    report(
        "line_names_the_cap",
        "the line",
        'f"backing off its re-runs, starting at {self.policy.echo_backoff_base_ms}ms"',
        'f"backing off its re-runs, starting at {self.policy.echo_backoff_max_ms}ms"',
        "the line says the longest backoff for the first",
    ),
    report(
        "line_under_another_event",
        "the line",
        'TRIP_EVENT = "remote-echo-breaker-tripped"',
        'TRIP_EVENT = "remote-echo-breaker"',
        "the line is counted under another name",
    ),
)

CONSTANTS = (
    default("window", "echo_window_ms: int = 60_000", "echo_window_ms: int = 59_999"),
    default("threshold", "echo_trip_threshold: int = 12", "echo_trip_threshold: int = 13"),
    default("base", "echo_backoff_base_ms: int = 500", "echo_backoff_base_ms: int = 501"),
    default("cap", "echo_backoff_max_ms: int = 30_000", "echo_backoff_max_ms: int = 30_001"),
    default("quiet", "echo_quiet_reset_ms: int = 120_000", "echo_quiet_reset_ms: int = 119_999"),
    default("capacity", "max_echo_pairs: int = 4_096", "max_echo_pairs: int = 4_095"),
    default("sparing", "evict_untripped_first: bool = False", "evict_untripped_first: bool = True"),
    default("kickoff_order", "kickoff_order: bool = False", "kickoff_order: bool = True"),
    default("settled", "clear_when_settled: bool = False", "clear_when_settled: bool = True"),
    default("remote_causes_only", "remote_causes_only: bool = False", "remote_causes_only: bool = True"),
    default("ignore_own_reverts", "ignore_own_reverts: bool = False", "ignore_own_reverts: bool = True"),
)

REPORTS = (*TOLD, *CONSTANTS)
