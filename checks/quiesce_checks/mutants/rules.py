"""Mutants that leave a rule of ``specs/breaker.md`` out, or get it wrong."""

from __future__ import annotations

from .classifying import WHICH_RUNS_COUNT
from .mutant import rule
from .places import BREAKER, PAIRS

COUNTING = (
    rule(
        "window_from_kickoff",
        "BRK-27",
        BREAKER,
        "Pair(held, step.document, window_opened=now,",
        "Pair(held, step.document, window_opened=step.kickoff,",
        "the window opens when the first counted run was kicked off",
    ),
    rule(
        "window_never_lapses",
        "BRK-12",
        BREAKER,
        "            if pair.window_opened + self.policy.echo_window_ms < now:\n",
        "            if pair.window_opened + self.policy.echo_window_ms < 0:\n",
        "the first window lasts for ever",
    ),
    rule(
        "window_slides",
        "BRK-12",
        BREAKER,
        "            pair.echoes += 1\n            if",
        "            pair.window_opened = now\n            pair.echoes += 1\n            if",
        "the window is counted from the last echo step, not from the first",
    ),
    rule(
        "new_window_keeps_count",
        "BRK-12",
        BREAKER,
        "                pair.window_opened = now\n                pair.echoes = 0\n",
        "                pair.window_opened = now\n",
        "a new window goes on with the old count",
    ),
    rule(
        "new_window_is_empty",
        "BRK-12",
        BREAKER,
        "                pair.window_opened = now\n                pair.echoes = 0\n",
        "                pair.window_opened = now\n                pair.echoes = -1\n",
        "the echo step that opens a new window is not counted in it",
    ),
    rule(
        "old_window_stays",
        "BRK-12",
        BREAKER,
        "                pair.window_opened = now\n                pair.echoes = 0\n",
        "                pair.echoes = 0\n",
        "the count starts anew, but in the window that has run out",
    ),
    rule(
        "never_trips",
        "BRK-13",
        BREAKER,
        "                self._trip(pair, now)\n",
        "                pair.echoes -= 1\n",
        "the threshold trips nothing",
    ),
    rule(
        "trips_at_the_threshold_only",
        "BRK-13",
        BREAKER,
        "pair.echoes >= self.policy.echo_trip_threshold",
        "pair.echoes == self.policy.echo_trip_threshold",
        "a count above the threshold does not trip",
        "a count grows by one and trips at the threshold, so an untripped pair never counts above it",
    ),
    rule(
        "agreement_counts_on",
        "BRK-14",
        BREAKER,
        "        if not self.policy.clear_when_settled:\n            self._clear(",
        "        if not self.policy.clear_when_settled:\n            pair.tripped_at is None or self._clear(",
        "a convergence step leaves an untripped pair as it was",
    ),
)

BACKING_OFF = (
    rule(
        "renewed_by_a_burst",
        "BRK-15",
        BREAKER,
        "            self._back_off(pair, min(self.policy.echo_backoff_max_ms, 2 * pair.step_ms), now)\n",
        "            pair.echoes += 1\n            if pair.echoes % self.policy.echo_trip_threshold == 0:\n"
        "                self._back_off(pair, min(self.policy.echo_backoff_max_ms, 2 * pair.step_ms), now)\n",
        "a tripped pair takes another threshold of echo steps for each renewal",
    ),
    rule(
        "renewed_from_the_deadline",
        "BRK-15",
        BREAKER,
        "        pair.owner.deadlines.set(pair, now + step_ms)\n",
        "        pair.owner.deadlines.set(pair, max(now, pair.owner.deadlines[pair] or now) + step_ms)\n",
        "a renewal is added to the deadline that stands instead of running from the echo step",
    ),
    rule(
        "first_trip_at_once",
        "BRK-15",
        BREAKER,
        "            if pair.echoes >= self.policy.echo_trip_threshold:\n",
        "            if pair.echoes >= self.policy.echo_trip_threshold or self._trips:\n",
        "after the first trip of any pair every pair trips with its first echo step",
    ),
    rule(
        "never_longer",
        "BRK-16",
        BREAKER,
        "2 * pair.step_ms), now)",
        "pair.step_ms), now)",
        "every renewal is as long as the first",
    ),
    rule(
        "linear",
        "BRK-16",
        BREAKER,
        "2 * pair.step_ms), now)",
        "pair.step_ms + self.policy.echo_backoff_base_ms), now)",
        "every renewal is one base longer than the last",
    ),
    rule(
        "no_cap",
        "BRK-17",
        BREAKER,
        "min(self.policy.echo_backoff_max_ms, 2 * pair.step_ms)",
        "2 * pair.step_ms",
        "backoffs double without end",
    ),
    rule(
        "gate_stays_open",
        "BRK-18",
        BREAKER,
        "        return latest if latest is not None and latest > now else None\n",
        "        return latest if latest is not None and latest < now else None\n",
        "runs start whatever the deadline",
    ),
    rule(
        "lines_for_renewals",
        "BRK-28",
        BREAKER,
        "            pair.renewals += 1\n",
        '            pair.renewals += 1\n            self._log.error(TRIP_EVENT, "renewed")\n',
        "every renewal is logged",
    ),
    rule(
        "no_line",
        "BRK-28",
        BREAKER,
        "        self._log.error(\n",
        "        str(\n",
        "a trip crashes instead of logging its line",
    ),
)

ENDS = (
    rule(
        "agreement_lifts_nothing",
        "BRK-19",
        BREAKER,
        "            self._clear(pair, ClearReason.CONVERGENCE, now)\n            return\n",
        "            self._drop(pair, ClearReason.CONVERGENCE, now)\n            return\n",
        "a convergence step clears a tripped pair, but its backoff stands",
    ),
    rule(
        "tripped_ignore_agreement",
        "BRK-19",
        BREAKER,
        "        if not self.policy.clear_when_settled:\n            self._clear(",
        "        if not self.policy.clear_when_settled:\n            pair.tripped_at is not None or self._clear(",
        "a convergence step leaves a tripped pair as it was",
    ),
    rule(
        "never_forgotten",
        "BRK-21",
        BREAKER,
        "        quiet = self._table.oldest_tripped()\n",
        "        quiet = None\n",
        "a quiet pair is kept for ever",
    ),
    rule(
        "window_resets_the_tripped",
        "BRK-22",
        BREAKER,
        "quiet_at = quiet.last_echo + self.policy.echo_quiet_reset_ms",
        "quiet_at = quiet.last_echo + self.policy.echo_window_ms",
        "a tripped pair is cleared when its window has run out",
    ),
    rule(
        "late_housekeeping_continues",
        "BRK-26",
        BREAKER,
        "        self.housekeep(now)\n        held = self._actions.get(id(action))\n        before",
        "        held = self._actions.get(id(action))\n        before",
        "an echo step goes on where a quiet pair was, if housekeeping has not come yet",
    ),
    rule(
        "retired_pairs_stay",
        "BRK-23",
        BREAKER,
        "for pair in sorted(held.pairs.values(), key=lambda pair: pair.order):",
        "for pair in tuple[Pair, ...]():",
        "the pairs of a retired registration stay in the table",
    ),
    rule(
        "one_retired_pair_goes",
        "BRK-23",
        BREAKER,
        "for pair in sorted(held.pairs.values(), key=lambda pair: pair.order):",
        "for pair in sorted(held.pairs.values(), key=lambda pair: pair.order)[:1]:",
        "only the oldest pair of a retired registration is dropped",
    ),
    rule(
        "retired_gate_stays",
        "BRK-24",
        BREAKER,
        "        held = self._actions.pop(id(action), None)\n        if held is None:\n"
        "            return Gate(None, Move.KEPT)\n        before = held.deadlines.latest()\n"
        "        for pair in sorted(held.pairs.values(), key=lambda pair: pair.order):\n"
        "            self._clear(",
        "        held = self._actions.get(id(action))\n        if held is None:\n"
        "            return Gate(None, Move.KEPT)\n        before = held.deadlines.latest()\n"
        "        for pair in sorted(held.pairs.values(), key=lambda pair: pair.order):\n"
        "            self._drop(",
        "the deadlines of a retired registration hold the next one back",
    ),
)

TABLE_AND_GATE = (
    rule(
        "unbounded",
        "BRK-29",
        BREAKER,
        "            self._evict(now)\n",
        "            pass\n",
        "a full table takes another pair",
    ),
    rule(
        "newest_evicted",
        "BRK-29",
        PAIRS,
        "heads[0] if untripped_first else min(heads, key=lambda pair: pair.order)",
        "heads[0] if untripped_first else max(self, key=lambda pair: pair.order)",
        "the youngest pair makes room",
    ),
    rule(
        "oldest_untripped_evicted",
        "BRK-29",
        PAIRS,
        "heads[0] if untripped_first else min(heads, key=lambda pair: pair.order)",
        "heads[0]",
        "an untripped pair makes room, also without the repair that says so",
    ),
    rule(
        "first_come_first_evicted",
        "BRK-30",
        PAIRS,
        "        pair.order = self._touches\n",
        "        pair.order = pair.order or self._touches\n",
        "a pair is as old as its first echo step",
    ),
    rule(
        "kinds_keep_their_order",
        "BRK-30",
        PAIRS,
        "        self.remove(pair)\n        self._touches += 1\n",
        "        if pair.tripped_at is not None:\n            self._untripped.pop(pair, None)\n"
        "        self._touches += 1\n",
        "an echo step does not move its pair among the others of its kind",
    ),
    rule(
        "evicted_deadline_lifted",
        "BRK-31",
        BREAKER,
        "            self._drop(pair, ClearReason.EVICTED, now)\n",
        "            self._clear(pair, ClearReason.EVICTED, now)\n",
        "making room opens the gate of the pair that goes",
    ),
    rule(
        "evicted_deadline_stays",
        "BRK-31",
        BREAKER,
        "            orphan.owner.deadlines.discard(orphan)\n",
        "            orphan.owner.deadlines.set(orphan, now + 1)\n",
        "the deadline of an evicted pair never passes",
    ),
    rule(
        "last_deadline_only",
        "BRK-32",
        PAIRS,
        "        self._at[pair] = at\n",
        "        self._at = {pair: at}\n",
        "the gate goes by the deadline that was set last",
    ),
    rule(
        "agreement_lifts_all",
        "BRK-32",
        PAIRS,
        "        self._at.pop(pair, None)\n",
        "        self._at.clear()\n",
        "clearing one document's pair lifts the backoff of every other",
    ),
    rule(
        "earliest_deadline",
        "BRK-32",
        PAIRS,
        "            if self._at.get(pair) == -negated:\n                return -negated\n",
        "            if self._at.get(pair) == -negated:\n                return min(self._at.values())\n",
        "the gate goes by the earliest deadline",
    ),
    rule(
        "first_step_only",
        "BRK-33",
        BREAKER,
        "        for step in steps:\n",
        "        for step in tuple(steps)[:1]:\n",
        "of a run with several steps only the first counts",
    ),
    rule(
        "echoes_only",
        "BRK-33",
        BREAKER,
        "                self._converge(action, step, now)\n",
        "                continue\n",
        "convergence steps do nothing",
    ),
    rule(
        "echo_ends_the_run",
        "BRK-33",
        BREAKER,
        "                self._echo(action, step, now)\n            else",
        "                self._echo(action, step, now)\n                break\n            else",
        "what comes after an echo step of the same run is left out",
    ),
)

RULES = (*WHICH_RUNS_COUNT, *COUNTING, *BACKING_OFF, *ENDS, *TABLE_AND_GATE)

NOT_OF_THE_BREAKER = {
    "BRK-8": "the scheduler hands only successful commits on (runner.py); in lockstep the adapter plays the scheduler",
    "BRK-20": "a retry is a run that the scheduler starts (retry.py), and waits at the one gate that BRK-18 is about",
    "BRK-25": "the scheduler compares registrations (runner.py); the breaker only hands the token back",
}
"""Rules that the mutated files do not implement, each with what does."""
