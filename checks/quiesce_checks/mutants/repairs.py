"""Mutants of the named repairs: each broken where it is on, and on where it should be off."""

from __future__ import annotations

from .mutant import Mutant
from .places import BREAKER, PAIRS, POLICY


def repair(name: str, of: str, file: str, old: str, new: str, what: str, equivalent: str | None = None) -> Mutant:
    return Mutant(name, "repair", of, file, old, new, what, equivalent)


CLEAR_WHEN_SETTLED = (
    repair(
        "settles_always",
        "clear_when_settled",
        BREAKER,
        "if not self.policy.clear_when_settled:",
        "if False:",
        "a pair settles although the repair is off",
    ),
    repair(
        "settles_never",
        "clear_when_settled",
        BREAKER,
        "if not self.policy.clear_when_settled:",
        "if True:",
        "a convergence step forgets the pair at once although the repair is on",
    ),
    repair(
        "settling_lifts_nothing",
        "clear_when_settled",
        BREAKER,
        "        pair.owner.deadlines.discard(pair)\n        # Every period",
        "        # Every period",
        "a convergence step starts the settling period, but the backoff stands",
    ),
    repair(
        "settling_outlives_an_echo",
        "clear_when_settled",
        BREAKER,
        "        self._cycles += 1\n        self._settling.pop(pair, None)\n",
        "        self._cycles += 1\n",
        "an echo step does not end the settling period",
    ),
    repair(
        "settling_runs_from_the_first",
        "clear_when_settled",
        BREAKER,
        "self._settling[pair] = now + self.policy.echo_backoff_max_ms",
        "self._settling.setdefault(pair, now + self.policy.echo_backoff_max_ms)",
        "another convergence step does not start the settling period anew",
    ),
    repair(
        "settling_order_of_the_first",
        "clear_when_settled",
        BREAKER,
        "        self._settling.move_to_end(pair)\n",
        "",
        "a pair that settles anew keeps its old place among those that settle, and holds up the others",
    ),
    repair(
        "settling_starts_over",
        "clear_when_settled",
        BREAKER,
        "        self._cycles += 1\n        self._settling.pop(pair, None)\n",
        "        self._cycles += 1\n"
        "        if self._settling.pop(pair, None) is not None:\n            pair.step_ms = 0\n",
        "an echo step within the settling period starts the backoff over",
    ),
    repair(
        "never_settled",
        "clear_when_settled",
        BREAKER,
        "        settling = next(iter(self._settling), None)\n",
        "        settling = None\n",
        "a settling period never ends",
    ),
    repair(
        "dropped_pair_settles_on",
        "clear_when_settled",
        BREAKER,
        "        self._table.remove(pair)\n        self._settling.pop(pair, None)\n",
        "        self._table.remove(pair)\n",
        "a pair that is gone is cleared once more when its settling period would have ended",
    ),
    repair(
        "quiet_hides_settling",
        "clear_when_settled",
        BREAKER,
        "if due is None or quiet_at < due[0]:",
        "if True:",
        "a pair that has settled waits for a tripped pair that has not been quiet long enough",
    ),
    repair(
        "settling_hides_quiet",
        "clear_when_settled",
        BREAKER,
        "if due is None or quiet_at < due[0]:",
        "if due is None:",
        "a pair that has been quiet too long waits for one that settles",
    ),
)

KICKOFF_ORDER = (
    repair(
        "order_always",
        "kickoff_order",
        BREAKER,
        "return self.policy.kickoff_order and (step.kickoff, step.number) < pair.last_kickoff",
        "return (step.kickoff, step.number) < pair.last_kickoff",
        "a step that was overtaken is ignored although the repair is off",
    ),
    repair(
        "order_never",
        "kickoff_order",
        BREAKER,
        "return self.policy.kickoff_order and (step.kickoff, step.number) < pair.last_kickoff",
        "return False",
        "a step that was overtaken counts although the repair is on",
    ),
    repair(
        "order_backwards",
        "kickoff_order",
        BREAKER,
        "return self.policy.kickoff_order and (step.kickoff, step.number) < pair.last_kickoff",
        "return self.policy.kickoff_order and (step.kickoff, step.number) > pair.last_kickoff",
        "what is ignored is the later step",
    ),
    repair(
        "order_of_echoes_forgotten",
        "kickoff_order",
        BREAKER,
        "        pair.last_echo = now\n        pair.last_kickoff = step.kickoff, step.number\n",
        "        pair.last_echo = now\n",
        "an echo step does not tell the pair its kickoff",
    ),
    repair(
        "order_of_agreement_forgotten",
        "kickoff_order",
        BREAKER,
        "            return\n        pair.last_kickoff = step.kickoff, step.number\n",
        "            return\n",
        "a convergence step does not tell the pair that it keeps its kickoff",
    ),
    repair(
        "overtaken_echo_counts",
        "kickoff_order",
        BREAKER,
        "        elif self._is_out_of_order(pair, step):\n            return\n        self._cycles",
        "        self._cycles",
        "an echo step that was overtaken counts",
    ),
    repair(
        "overtaken_agreement_counts",
        "kickoff_order",
        BREAKER,
        "        if pair is None or self._is_out_of_order(pair, step):\n",
        "        if pair is None:\n",
        "a convergence step that was overtaken clears",
    ),
)

EVICT_UNTRIPPED_FIRST = (
    repair(
        "evicts_the_oldest",
        "evict_untripped_first",
        PAIRS,
        "return heads[0] if untripped_first else min(",
        "return min(",
        "the oldest pair makes room although the repair is on",
    ),
    repair(
        "spares_the_untripped",
        "evict_untripped_first",
        PAIRS,
        "return heads[0] if untripped_first else min(",
        "return heads[-1] if untripped_first else min(",
        "the repair spares what it should not: the oldest tripped pair makes room",
    ),
)

CAUSES = (
    repair(
        "local_causes_count",
        "remote_causes_only",
        POLICY,
        "            return frozenset({Origin.REMOTE})\n",
        "            return frozenset({Origin.REMOTE, Origin.LOCAL})\n",
        "a change of this session's own counts although the repair is on",
    ),
    repair(
        "own_reverts_are_remote",
        "remote_causes_only",
        POLICY,
        "            return frozenset({Origin.REMOTE})\n",
        "            return frozenset({Origin.REMOTE, Origin.OWN_REVERT})\n",
        "the revert of the action's own commit counts although the repair is on",
    ),
    repair(
        "remote_causes_always",
        "remote_causes_only",
        POLICY,
        "        if self.remote_causes_only:\n",
        "        if True:\n",
        "only remote changes count although the repair is off",
    ),
    repair(
        "own_reverts_count",
        "ignore_own_reverts",
        POLICY,
        "            return ALL_ORIGINS - {Origin.OWN_REVERT}\n",
        "            return ALL_ORIGINS\n",
        "the revert of the action's own commit counts although the repair is on",
    ),
    repair(
        "all_local_causes_ignored",
        "ignore_own_reverts",
        POLICY,
        "            return ALL_ORIGINS - {Origin.OWN_REVERT}\n",
        "            return ALL_ORIGINS - {Origin.OWN_REVERT, Origin.LOCAL}\n",
        "with the reverts of its own commit every change of this session's is ignored",
    ),
    repair(
        "own_reverts_never_count",
        "ignore_own_reverts",
        POLICY,
        "        return ALL_ORIGINS\n",
        "        return ALL_ORIGINS - {Origin.OWN_REVERT}\n",
        "the revert of the action's own commit is ignored although the repair is off",
    ),
    repair(
        "origins_ignored",
        "remote_causes_only",
        "scheduler/echo.py",
        "        if cause.origin in counted:\n            paths",
        "        if cause.origin:\n            paths",
        "the classifier counts causes of every origin",
    ),
    repair(
        "origins_not_handed_on",
        "remote_causes_only",
        BREAKER,
        "            counted=self.policy.counted_origins,\n",
        "",
        "the breaker does not tell the classifier which origins count",
    ),
)

REPAIRS = (*CLEAR_WHEN_SETTLED, *KICKOFF_ORDER, *EVICT_UNTRIPPED_FIRST, *CAUSES)
