"""What has to hold of one node with all its gates: when it runs, what wakes it, and who waits for idle."""

from __future__ import annotations

from .language import invariant, reachable, step_property
from .node_life import NodeLife
from .scheduler import Status


class OneNode(NodeLife):
    """One node in an environment that does what it likes."""

    # When runs start.

    @step_property("GAT-1", "GAT-3", on="run")
    def runs_follow_the_last_change(self, before: OneNode) -> bool:
        """A re-run starts no earlier than one debounce after the last change that calls for it."""
        since = before.since_change
        return not since.running or since >= self.debounce

    @step_property("GAT-5", "GAT-6", on="run")
    def runs_are_a_throttle_apart(self, before: OneNode) -> bool:
        """A run starts no earlier than one throttle after the last one was completed, unless a retry is owed."""
        since = before.since_run
        return not since.running or since >= self.throttle

    @step_property("GAT-7", "GAT-18", on="run")
    def starts_wait_for_the_backoff(self, before: OneNode) -> bool:
        """No run starts before the pass that last backed the node off plus the backoff, a retry neither."""
        since = before.since_deferral
        return not since.running or since >= before.node.gates.step

    @step_property("GAT-13", "GAT-14", "GAT-19", on="run")
    def starts_wait_for_the_echo_backoff(self, before: OneNode) -> bool:
        """No run starts before the end of the breaker's backoff, a retry neither."""
        since = before.since_echo
        return not since.running or since >= before.echo_backoff

    @step_property("GAT-21", on="run")
    def runs_wait_for_the_hold(self, before: OneNode) -> bool:
        """While what it reads is fetched, a node runs only after the hold's time."""
        since = before.since_hold
        return not since.running or since >= self.resume

    @invariant("GAT-2", "GAT-16", "GAT-17", "GAT-20")
    def nothing_else_defers(self) -> bool:
        """A node is eligible as soon as every reason to put it off has ended: at the deadline, not after it."""
        if not self.node.due(self) or self.held:
            return True
        debounced = self.since_change.running and self.since_change < self.debounce
        throttled = self.since_run.running and self.since_run < self.throttle
        backed_off = self.since_deferral.running and self.since_deferral < self.node.gates.step
        echoing = self.since_echo.running and self.since_echo < self.echo_backoff
        return debounced or throttled or backed_off or echoing or self.node.gates.eligible(self)

    @invariant()
    def no_change_waits_for_long(self) -> bool:
        """However many changes follow it, the debounce puts a change off for a bounded time (longest_debounce)."""
        return self.node.gates.debounce.over or self.postponed <= self.longest_wait

    @step_property("SCH-3", on="run")
    def dormant_nodes_do_not_run(self, before: OneNode) -> bool:
        """A node that nobody reads does not run, unless a retry is to make good what it had written."""
        return before.node.live() or before.node.owed

    # The backoff of what does not converge.

    @step_property("GAT-8", on="end_pass")
    def every_backoff_is_one_step_longer(self, before: OneNode) -> bool:
        was = before.node.gates.step
        now = self.node.gates.step
        if not before.node.runnable(before):
            return True
        return now == (self.base if was == 0 else min(2 * was, self.cap))

    @step_property("GAT-24", on="end_pass")
    def every_deferral_counts(self, before: OneNode) -> bool:
        """A pass that backs the node off is one of those for which it may hold idle."""
        was = before.node.gates.holds
        return not before.node.runnable(before) or self.node.gates.holds == min(was + 1, self.hold_passes)

    @invariant("GAT-9")
    def backoff_between_base_and_cap(self) -> bool:
        step = self.node.gates.step
        return step == 0 or self.base <= step <= self.cap

    @step_property("GAT-10", "GAT-11", on="end_pass")
    def a_clean_node_starts_afresh(self, before: OneNode) -> bool:
        """A pass that ends with the node clean leaves no backoff, no escalation and no hold passes."""
        gates = self.node.gates
        clean = self.node.status is Status.CLEAN
        return not clean or (gates.backoff.over and gates.step == 0 and gates.holds == 0)

    @invariant("SCH-6")
    def a_pass_is_bounded(self) -> bool:
        return self.node.runs <= self.budget

    @step_property("SCH-7", on="end_pass")
    def backed_off_for_runs_alone(self, before: OneNode) -> bool:
        """A node is backed off only when it has had as many runs as a pass allows."""
        return before.node.runs >= self.budget or self.node.gates.step <= before.node.gates.step

    # Gates are cleared one by one.

    @step_property("GAT-14", on="end_pass")
    def converging_lifts_no_echo_backoff(self, before: OneNode) -> bool:
        return self.node.gates.echo.remaining == before.node.gates.echo.remaining

    @step_property("GAT-15", on="lift")
    def lifting_lifts_no_other_backoff(self, before: OneNode) -> bool:
        return self.node.gates.backoff.remaining == before.node.gates.backoff.remaining

    @step_property("GAT-18", "GAT-19", on="caught_up")
    def a_retry_releases_no_backoff(self, before: OneNode) -> bool:
        """It releases the debounce and the throttle, and neither backoff."""
        now = self.node.gates
        was = before.node.gates
        bounded = now.backoff.remaining >= was.backoff.remaining and now.echo.remaining == was.echo.remaining
        return bounded and now.debounce.over and now.throttle.over

    @step_property(on="release_hold")
    def releasing_the_hold_keeps_the_backoff(self, before: OneNode) -> bool:
        """A node that did not converge waits for its backoff, whatever else it waited for (hold_apart)."""
        since = self.since_deferral
        return not since.running or since >= self.node.gates.step or not self.node.gates.backoff.over

    @invariant("GAT-22", "GAT-23")
    def nothing_outlives_the_registration(self) -> bool:
        gates = self.node.gates
        return self.node.registered or (gates.debounce.over and gates.echo.over)

    @step_property(on="register")
    def a_registration_inherits_nothing(self, before: OneNode) -> bool:
        """The next registration of an action waits for nothing that the last one did (retire_all)."""
        gates = self.node.gates
        return (gates.throttle.over and gates.backoff.over and gates.echo.over) or self.held

    # Retries.

    @invariant("GAT-12")
    def a_retry_is_owed_a_run(self) -> bool:
        """What is owed is run, whoever reads it."""
        return not self.node.owed or self.node.due(self)

    @invariant("GAT-16", "GAT-17", "GAT-20")
    def a_retry_waits_for_no_freshness(self) -> bool:
        """While a retry is owed, its node is neither debounced nor throttled, whatever changes."""
        return not self.node.owed or (self.node.gates.debounce.over and self.node.gates.throttle.over)

    @invariant()
    def failing_runs_while_time_stands(self) -> bool:
        """However often others are faster, a node does not fail again and again in one instant."""
        return self.failed <= self.storm

    @invariant()
    def each_wake_allows_one_run(self) -> bool:
        """While a breaker's backoff is being served, no second run starts before the first one's commit is decided."""
        return not self.since_echo.running or self.woken <= 1

    # The wake.

    @invariant("GAT-30", "GAT-32", "GAT-33", "GAT-34", "GAT-35", "GAT-36")
    def what_is_due_has_a_wake(self) -> bool:
        """A pass is queued or under way, or the wake is due no later than the node is eligible."""
        if not self.node.due(self) or self.queued or self.passing:
            return True
        return self.wake.armed and self.wake.rest.remaining <= self.node.gates.rest(self)

    @step_property("GAT-37")
    def dormant_nodes_arm_no_wake(self, before: OneNode) -> bool:
        return before.wake.armed or not self.wake.armed or self.node.due(self)

    # Who waits for idle.

    @step_property("GAT-38", on="resolve_idle")
    def idle_waits_for_what_runs(self, before: OneNode) -> bool:
        return not (before.running or before.passing or before.queued or before.node.runnable(before))

    @step_property("GAT-27", on="resolve_idle")
    def idle_waits_for_what_converges(self, before: OneNode) -> bool:
        """A live node that is backed off is waited for, for as many passes as hold idle."""
        node = before.node
        backed_off = node.live() and node.due(self) and not node.gates.backoff.over
        return not backed_off or node.gates.holds >= self.hold_passes

    @step_property("GAT-28", on="resolve_idle")
    def idle_waits_for_effects(self, before: OneNode) -> bool:
        """An effect that is debounced or throttled is waited for."""
        node = before.node
        fresh = not node.gates.debounce.over or not node.gates.throttle.over
        return not (node.effect and node.due(before) and fresh) or node.gates.holds >= self.hold_passes

    @step_property("GAT-39", on="resolve_idle")
    def idle_waits_for_awaited_runs(self, before: OneNode) -> bool:
        """The first run of a computation that its creator awaits is waited for."""
        node = before.node
        fresh = not node.gates.debounce.over or not node.gates.throttle.over
        return (
            not (node.due(before) and node.provisional and not node.ran and fresh)
            or node.gates.holds >= self.hold_passes
        )

    @invariant("GAT-25")
    def dormant_nodes_hold_no_idle(self) -> bool:
        return self.node.live() or not self.node.holds_idle(self)

    @invariant("GAT-26")
    def idle_is_held_for_few_passes(self) -> bool:
        """A node that does not converge holds idle for so many passes and no more."""
        return self.node.gates.holds < self.hold_passes or not self.node.holds_idle(self)

    @invariant("GAT-29")
    def freshness_of_a_rerun_holds_no_idle(self) -> bool:
        """A computation that ran before and is debounced or throttled holds no idle."""
        node = self.node
        rerun = not node.effect and node.ran and node.gates.backoff.over and node.gates.hold.over
        return not rerun or not node.holds_idle(self)

    @invariant("GAT-31")
    def an_echo_backoff_holds_no_idle(self) -> bool:
        """A node that only the breaker puts off holds no idle, an effect neither."""
        gates = self.node.gates
        others = gates.debounce.over and gates.throttle.over and gates.backoff.over and gates.hold.over
        return not others or not self.node.holds_idle(self)

    @step_property(on="resolve_idle")
    def idle_means_own_changes_are_served(self, before: OneNode) -> bool:
        """When idle resolves, no effect has yet to see a change of this session (own_changes_hold_idle)."""
        node = before.node
        return not (node.effect and node.due(self) and node.own) or node.gates.holds >= self.hold_passes

    @step_property(on="resolve_idle")
    def idle_resolved_stays_resolved(self, before: OneNode) -> bool:
        """When nothing has happened since, whoever waits for idle again is told at once (stay_resolved)."""
        return self.is_idle()

    # What the proofs of the above rest on.

    @invariant()
    def bodies_run_in_passes(self) -> bool:
        return not self.running or (self.passing and self.node.registered)

    @invariant()
    def a_retry_is_asked_for(self) -> bool:
        """A run is asked for exactly while a retry is owed, and then there is something to run."""
        owed = self.node.registered and self.node.status is not Status.CLEAN
        return self.node.pending == self.node.owed and (owed or not self.node.owed)

    @invariant()
    def nobody_wants_the_retired(self) -> bool:
        """A node that is not registered has no reader, no retry, and no commit that still counts."""
        wanted = self.node.demanded or self.node.provisional or self.node.owed or self.catching_up
        counts = self.flight is not None and not self.flight.outlived
        return self.node.registered or not (wanted or counts)

    @invariant()
    def all_gates_are_retired(self) -> bool:
        """A node that is not registered waits for nothing (with ``retire_all``)."""
        gates = self.node.gates
        return self.node.registered or not self.retire_all or self.held or (gates.throttle.over and gates.backoff.over)

    @invariant()
    def debounce_is_timed(self) -> bool:
        """The debounce is shut for what is left of it since the last change, and (``debounce_kept``) no less.

        With ``longest_debounce`` for that at most.
        """
        gates = self.node.gates
        left = self.debounce - gates.debounce.remaining
        if self.longest_debounce > 0:
            return gates.debounce.over or (self.since_change.running and self.since_change <= left)
        if gates.debounce.over:
            return not self.debounce_kept or not self.since_change.running or self.since_change >= self.debounce
        return self.since_change.running and self.since_change == left

    @invariant()
    def throttle_is_timed(self) -> bool:
        """The throttle is shut for what is left of it since the last run's end."""
        if self.node.gates.throttle.over:
            return not self.since_run.running or self.since_run >= self.throttle
        return self.since_run.running and self.since_run == self.throttle - self.node.gates.throttle.remaining

    @invariant()
    def backoff_is_timed(self) -> bool:
        """The backoff is shut for what is left of it since the last deferral (without a hold in the same field)."""
        gates = self.node.gates
        if self.resume > 0 and not self.hold_apart:
            return True
        if gates.backoff.over:
            return not self.since_deferral.running or self.since_deferral >= gates.step
        return self.since_deferral.running and self.since_deferral == gates.step - gates.backoff.remaining

    @invariant()
    def echo_backoff_is_timed(self) -> bool:
        """The breaker's gate is shut for what is left of its backoff."""
        if self.node.gates.echo.over:
            return not self.since_echo.running or self.since_echo >= self.echo_backoff
        return self.since_echo.running and self.since_echo == self.echo_backoff - self.node.gates.echo.remaining

    @invariant()
    def hold_is_timed(self) -> bool:
        """A hold of its own is shut for what is left of it, and only while something is fetched."""
        hold = self.node.gates.hold
        if not self.held:
            return hold.over and not self.since_hold.running
        if hold.over:
            return self.resume > 0 and (not self.hold_apart or self.since_hold >= self.resume)
        return self.resume > 0 and self.since_hold.running and self.since_hold == self.resume - hold.remaining

    @invariant()
    def a_disarmed_wake_has_no_time(self) -> bool:
        return self.wake.armed or self.wake.rest.over

    # That there is something to check.

    @reachable("GAT-1")
    def is_debounced(self) -> bool:
        return self.node.deferred(self) and not self.node.gates.debounce.over

    @reachable("GAT-8")
    def backs_off_at_the_cap(self) -> bool:
        return self.node.gates.step == self.cap and not self.node.gates.backoff.over

    @reachable("GAT-26")
    def stops_holding_idle(self) -> bool:
        return self.is_idle() and self.node.due(self) and not self.node.gates.backoff.over

    @reachable("GAT-31")
    def is_idle_behind_the_breaker(self) -> bool:
        return self.is_idle() and self.node.due(self) and not self.node.gates.echo.over

    @reachable()
    def is_eligible_at_the_deadline(self) -> bool:
        return self.node.runnable(self) and self.since_change.running and self.since_change == self.debounce
