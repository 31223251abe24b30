"""Mutants that leave a rule of ``specs/gates.md`` about what defers a run out, or get it wrong: debounce, throttle,
backoffs, retries."""

from __future__ import annotations

from .mutant import Mutant, rule
from .places import GATES, RUNNER, SCHEDULER, SETTLE

ALL = "max(self.debounce_ready_at, self.throttle_ready_at, self.backoff_until, self.echo_backoff_until)"
RAN_OR_AWAITED = "and (node.runs > 0 or node.provisional)"

FRESHNESS = (
    rule(
        "debounce_ignored",
        "GAT-1",
        GATES,
        ALL,
        ALL.replace("self.debounce_ready_at, ", ""),
        "a debounce that is shut defers nothing",
    ),
    rule("first_run_debounced", "GAT-2", SCHEDULER, f" {RAN_OR_AWAITED}", "", "a first run waits, whoever awaits it"),
    rule(
        "awaited_run_not_debounced",
        "GAT-2",
        SCHEDULER,
        " or node.provisional)",
        ")",
        "the first run that a creator awaits does not wait",
    ),
    rule(
        "debounce_not_armed_anew",
        "GAT-3",
        GATES,
        "self.debounce_ready_at = now + self.debounce_ms",
        "self.debounce_ready_at = self.debounce_ready_at or now + self.debounce_ms",
        "only the first of several changes starts the debounce",
    ),
    rule(
        "debounce_not_armed_by_registration",
        "GAT-3",
        SCHEDULER,
        "            self.arm_debounce(node, now)\n        self.reconsider(node)\n        if self.trace is not None:\n"
        "            self.trace.registered",
        "            pass\n        self.reconsider(node)\n        if self.trace is not None:\n"
        "            self.trace.registered",
        "a registration is no invalidation",
    ),
    rule(
        "run_end_keeps_debounce",
        "GAT-4",
        RUNNER,
        "        node.gates.debounce_ready_at = 0.0\n        if not node.owed:\n",
        "        if not node.owed:\n",
        "the end of a run does not clear the debounce",
    ),
    rule(
        "throttle_ignored",
        "GAT-5",
        GATES,
        ALL,
        ALL.replace("self.throttle_ready_at, ", ""),
        "a throttle that is shut defers nothing",
    ),
    rule(
        "never_throttled",
        "GAT-6",
        GATES,
        "        if self.throttle_ms > 0:\n",
        "        if self.throttle_ms < 0:\n",
        "a run's end starts no throttle",
    ),
    rule(
        "throttled_from_the_start",
        "GAT-6",
        RUNNER,
        "            node.gates.arm_throttle(now)\n",
        "            node.gates.arm_throttle(run.started)\n",
        "the throttle runs from the start of a run",
    ),
)

BACKOFFS = (
    rule(
        "backoff_ignored",
        "GAT-7",
        GATES,
        ALL,
        ALL.replace("self.backoff_until, ", ""),
        "a convergence backoff defers nothing",
    ),
    rule(
        "backoff_does_not_grow",
        "GAT-8",
        GATES,
        "2 * self.backoff_step_ms if",
        "self.backoff_step_ms if",
        "each backoff is as long as the last",
    ),
    rule(
        "backoff_without_cap",
        "GAT-9",
        GATES,
        "min(policy.backoff_max_ms, doubled)",
        "doubled",
        "backoffs grow without end",
    ),
    rule(
        "backoff_stays",
        "GAT-10",
        GATES,
        "        self.backoff_until = 0.0\n        self.backoff_streak = 0\n",
        "        self.backoff_streak = 0\n",
        "a node that is clean at a pass's end stays backed off",
    ),
    rule(
        "backoffs_never_cleared",
        "GAT-10",
        SETTLE,
        "        for node in [node for node in scheduler.backed_off if node.status is Status.CLEAN]:\n",
        "        for node in [node for node in scheduler.backed_off if node.status is None]:\n",
        "a pass's end clears nobody's backoff",
    ),
    rule(
        "backoff_cleared_of_all",
        "GAT-10",
        SETTLE,
        "for node in scheduler.backed_off if node.status is Status.CLEAN]",
        "for node in scheduler.backed_off]",
        "a pass's end clears the backoff of those that are not clean too",
    ),
    rule(
        "streak_stays",
        "GAT-11",
        GATES,
        "        self.backoff_until = 0.0\n        self.backoff_streak = 0\n",
        "        self.backoff_until = 0.0\n",
        "the next backoff goes on from the last, long after",
    ),
    rule(
        "echo_backoff_ignored",
        "GAT-13",
        GATES,
        ALL,
        ALL.replace(", self.echo_backoff_until", ""),
        "the breaker's backoff defers nothing",
    ),
    rule(
        "converging_lifts_echo",
        "GAT-14",
        GATES,
        "        had = self.backoff_until != 0.0\n",
        "        had = self.backoff_until != 0.0\n        self.echo_backoff_until = 0.0\n",
        "lifting the convergence backoff lifts the echo backoff",
    ),
    rule(
        "lifting_lifts_all",
        "GAT-15",
        SCHEDULER,
        "        node.gates.echo_backoff_until = gate.until or 0.0\n",
        "        node.gates.echo_backoff_until = gate.until or 0.0\n"
        "        if gate.until is None:\n            node.gates.backoff_until = 0.0\n",
        "lifting the echo backoff lifts the convergence backoff",
    ),
    rule(
        "lifted_to_nothing",
        "GAT-15",
        SCHEDULER,
        "        node.gates.echo_backoff_until = gate.until or 0.0\n",
        "        node.gates.echo_backoff_until = 0.0 if gate.move is Move.EARLIER else gate.until or 0.0\n",
        "an echo backoff that ends earlier ends at once",
    ),
    rule(
        "hold_shortens_backoff",
        "GAT-21",
        GATES,
        "self.backoff_until = max(self.backoff_until, until)",
        "self.backoff_until = until",
        "a resume hold that is shorter than a backoff takes its place",
    ),
    rule(
        "debounce_outlives_registration",
        "GAT-22",
        GATES,
        '        """The registration ends. The echo backoff and the debounce must not meet a later one."""\n'
        "        self.debounce_ready_at = 0.0\n",
        '        """The registration ends."""\n',
        "retirement leaves the debounce",
    ),
    rule(
        "echo_outlives_registration",
        "GAT-23",
        GATES,
        "        self.debounce_ready_at = 0.0\n        self.echo_backoff_until = 0.0\n",
        "        self.debounce_ready_at = 0.0\n",
        "retirement leaves the echo backoff",
    ),
    rule(
        "retirement_clears_backoff",
        "GAT-23",
        SCHEDULER,
        "        node.gates.retire()\n",
        "        node.gates.retire()\n        node.gates.clear_backoff()\n",
        "retirement clears the convergence backoff too, which a loop that registers anew escapes",
    ),
)

RETRIES = (
    rule(
        "retry_not_asked_for",
        "GAT-12",
        SCHEDULER,
        "        node.status = Status.INVALID\n        node.pending = True\n",
        "        node.status = Status.INVALID\n",
        "a retry of a node that nobody reads is not run",
    ),
    rule(
        "retry_waits_for_debounce",
        "GAT-16",
        GATES,
        "self.debounce_ready_at = self.throttle_ready_at = 0.0",
        "self.throttle_ready_at = 0.0",
        "a retry that is owed waits for the debounce",
    ),
    rule(
        "retry_waits_for_throttle",
        "GAT-17",
        GATES,
        "self.debounce_ready_at = self.throttle_ready_at = 0.0",
        "self.debounce_ready_at = 0.0",
        "a retry that is owed waits for the throttle",
    ),
    rule(
        "throttled_while_owed",
        "GAT-17",
        RUNNER,
        "        if not node.owed:\n            node.gates.arm_throttle(now)\n",
        "        node.gates.arm_throttle(now)\n",
        "a run that ends while a retry is owed throttles it",
    ),
    rule(
        "retry_releases_backoff",
        "GAT-18",
        GATES,
        "self.debounce_ready_at = self.throttle_ready_at = 0.0",
        "self.debounce_ready_at = self.throttle_ready_at = self.backoff_until = 0.0",
        "a retry runs before its convergence backoff is over",
    ),
    rule(
        "retry_releases_echo",
        "GAT-19",
        GATES,
        "self.debounce_ready_at = self.throttle_ready_at = 0.0",
        "self.debounce_ready_at = self.throttle_ready_at = self.echo_backoff_until = 0.0",
        "a retry runs before its echo backoff is over",
    ),
    rule(
        "debounced_while_owed",
        "GAT-20",
        SCHEDULER,
        "node.gates.debounce_ms > 0 and not node.owed and",
        "node.gates.debounce_ms > 0 and",
        "a change while a retry is owed debounces it",
    ),
    rule(
        "owed_for_ever",
        "GAT-20",
        SCHEDULER,
        "        node.pending = node.owed = False\n        node.pass_runs",
        "        node.pending = False\n        node.pass_runs",
        "once a retry was owed, the node is never debounced or throttled again",
    ),
)

GATE_MUTANTS: tuple[Mutant, ...] = (*FRESHNESS, *BACKOFFS, *RETRIES)
