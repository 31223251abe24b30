"""Mutants that leave a rule of ``specs/scheduler.md`` out or get it wrong, what the scheduler does for the breaker, and
what has gone wrong before in schedulers of this kind."""

from __future__ import annotations

from .mutant import Mutant, edge, rule
from .places import AGENDA, INVALIDATION, ORDER, RETRY, RUNNER, SCHEDULER, SETTLE
from .regressions import regression

STATUS = (
    rule(
        "changes_make_nothing_due",
        "SCH-1",
        INVALIDATION,
        "            node.status = Status.INVALID\n        self._scheduler.arm",
        "            pass\n        self._scheduler.arm",
        "a change makes no node invalid",
    ),
    rule(
        "clean_at_the_end",
        "SCH-2",
        RUNNER,
        "        node.gates.debounce_ready_at = 0.0\n        if not node.owed:\n",
        "        node.status = type(node.status).CLEAN\n        node.gates.debounce_ready_at = 0.0\n"
        "        if not node.owed:\n",
        "a node is clean when its run ends, whatever changed meanwhile",
    ),
    rule(
        "dormant_runs",
        "SCH-3",
        AGENDA,
        "node.runnable and node.demanded and",
        "node.runnable and",
        "what nobody needs runs",
    ),
    rule(
        "causes_not_kept",
        "SCH-4",
        INVALIDATION,
        "            node.causes[cause] = None\n",
        "            pass\n",
        "a node does not know why it runs",
    ),
    rule(
        "causes_not_consumed",
        "SCH-4",
        SCHEDULER,
        "if not child.kept])\n        node.causes.clear()\n",
        "if not child.kept])\n",
        "a run leaves its causes to the next",
    ),
    rule(
        "own_commit_counts",
        "SCH-5",
        INVALIDATION,
        "        if source is node:\n            return True\n",
        "",
        "a node's own commit makes it run again",
    ),
    rule(
        "live_and_not_looked_at",
        "SCH-15",
        SCHEDULER,
        "        self.reconsider(node)\n        if not wanted(node) and",
        "        self.agenda.refresh(node)\n        if not wanted(node) and",
        "a node that comes to be needed while it is invalid queues no pass",
    ),
)

PASS = (
    rule(
        "never_exhausted",
        "SCH-6",
        SETTLE,
        "if node.runs_in(self.id) >= scheduler.convergence.run_budget]",
        "if node.runs_in(self.id) > 1_000]",
        "no node uses up its runs",
    ),
    edge(
        "one_run_more",
        "SCH-6",
        SETTLE,
        "if node.runs_in(self.id) >= scheduler.convergence.run_budget]",
        "if node.runs_in(self.id) > scheduler.convergence.run_budget]",
        "a pass allows one run more",
    ),
    edge(
        "one_run_less",
        "SCH-6",
        SETTLE,
        "if node.runs_in(self.id) >= scheduler.convergence.run_budget]",
        "if node.runs_in(self.id) >= scheduler.convergence.run_budget - 1]",
        "a pass allows one run less",
    ),
    rule(
        "unsettled_not_backed_off",
        "SCH-7",
        SETTLE,
        "                self._back_off(exhausted)\n",
        "",
        "what has used up its runs is not backed off",
    ),
    rule(
        "the_clean_backed_off",
        "SCH-7",
        SETTLE,
        "if node.registered and node.runnable and node.demanded and not node",
        "if node.registered and node.demanded and not node",
        "what is clean by the end is backed off too",
        "the end of a pass, right after, lifts the backoff of what is clean",
    ),
    rule(
        "readers_first",
        "SCH-9",
        ORDER,
        "    return list(placed)\n",
        "    return list(placed)[::-1]\n",
        "who reads has its turn before who is read",
    ),
)

COMMITS = (
    rule(
        "retry_without_causes",
        "SCH-11",
        SCHEDULER,
        "{**dict.fromkeys(causes), **node.causes}",
        "{**node.causes}",
        "a retry does not know why it runs",
    ),
    rule(
        "retry_forgets_what_came_since",
        "SCH-11",
        SCHEDULER,
        "{**dict.fromkeys(causes), **node.causes}",
        "dict.fromkeys(causes)",
        "a retry knows only why it ran the first time",
    ),
    rule(
        "conflict_is_final",
        "SCH-12",
        RETRY,
        "if result.settled in (Settled.STALE, Settled.LOST):",
        "if result.settled is Settled.LOST:",
        "a conflict is treated as a refusal for good",
    ),
    rule(
        "conflict_keeps_its_gates",
        "SCH-12",
        RUNNER,
        'owed=result.code != "inconsistent"',
        "owed=False",
        "a retry after a conflict is one like any other",
    ),
    rule(
        "failed_commits_counted",
        "BRK-8",
        RUNNER,
        "            elif fate is Fate.STALE:\n",
        "            elif fate is Fate.STALE:\n                self._succeeded(run)\n",
        "a commit that was refused makes steps too",
    ),
    rule(
        "late_results_count",
        "BRK-25",
        RUNNER,
        "        if node.registration is run.registration:\n",
        "        if True:\n",
        "the result of an older registration sets the gate of the present one",
    ),
    rule(
        "gate_not_set",
        "BRK-18",
        RUNNER,
        "        if steps:\n            scheduler.apply_echo_gate",
        "        if not steps:\n            scheduler.apply_echo_gate",
        "what the breaker says is not applied",
    ),
    rule(
        "steps_timed_at_the_start",
        "BRK-27",
        RUNNER,
        "scheduler.breaker.observe(node, steps, now)",
        "scheduler.breaker.observe(node, steps, run.started)",
        "a step happens when its run began, not when it committed",
    ),
    rule(
        "no_triggers",
        "BRK-1",
        RUNNER,
        "breaker.capture(run.causes, log.writes,",
        "breaker.capture((), log.writes,",
        "the breaker is not told what triggered a run",
    ),
    rule(
        "breaker_not_told_of_the_end",
        "BRK-23",
        SCHEDULER,
        "        self.breaker.retire(node, self.clock())\n",
        "",
        "the breaker keeps the pairs of what is retired",
    ),
    rule(
        "never_housekept",
        "BRK-21",
        SCHEDULER,
        "        self.breaker.housekeep(now)\n",
        "",
        "a pair that has ended is kept until somebody runs",
    ),
    rule(
        "reports_kept",
        "BRK-28",
        SCHEDULER,
        "            self._tell(self._outlets.reported, event)\n",
        "            pass\n",
        "nobody is told of trips and clears",
    ),
)

BEFORE = (
    regression(
        "retry_loses_its_reads",
        "an empty log",
        RUNNER,
        "        scheduler.subscribe(node, ReadSet(log.reads, log.shallow_reads), _surface",
        "        scheduler.subscribe(node, ReadSet(), _surface",
        "a run registers nothing of what it read",
    ),
    regression(
        "own_commit_by_label",
        "a name for an identity",
        INVALIDATION,
        "        if source is node:\n",
        "        if isinstance(source, Node) and source.label == node.label:\n",
        "what another action of the same name commits is taken for the node's own",
    ),
    regression(
        "all_local_commits_skipped",
        "a name for an identity",
        INVALIDATION,
        "        if source is node:\n",
        "        if source is not None:\n",
        "whatever an action of this session commits is skipped",
    ),
    regression(
        "old_wake_kept",
        "a late wake",
        SCHEDULER,
        "(self.wake_at is None or at < self.wake_at)",
        "(self.wake_at is None or at > self.wake_at)",
        "a wake is only ever made later",
    ),
)

PASS_MUTANTS: tuple[Mutant, ...] = (*STATUS, *PASS, *COMMITS, *BEFORE)

LANE = "the lane of events is left out of the walks; tests/impl/scheduler/test_scheduler_events.py"
REFUSED = "refusals for good are left out of the walks; tests/impl/scheduler/test_scheduler_runs.py"

NOT_OF_THE_SCHEDULER = {
    "GAT-30": "a wake that is made later is old_wake_kept",
    "SCH-10": "work is left by a pass only where somebody was late for a round, which the walks leave out",
    "SCH-8": "storage drops equal writes (storage/transaction.py)",
    "SCH-13": REFUSED,
    "SCH-14": REFUSED,
    "SCH-20": LANE,
    "SCH-21": LANE,
    "SCH-22": LANE,
    "SCH-23": LANE,
    "SCH-24": LANE,
}
"""Rules of gates.md and scheduler.md without a mutant, each with the reason or with who asks instead."""
