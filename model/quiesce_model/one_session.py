"""What has to hold of one session: what its passes come to, what becomes of refused commits, and of events."""

from __future__ import annotations

from .language import invariant, reachable, step_property
from .scheduler import Status
from .session_life import SessionLife


class OneSession(SessionLife):
    """Two derivations and a handler of one session, in an environment that does what it likes."""

    # What the passes come to.

    def at_rest(self) -> bool:
        """Nothing is running, queued, deferred or on its way."""
        moving = self.passing or self.queued or self.behind or self.body is not None
        return not (moving or any(node.due(self) for node in self.node) or any(f is not None for f in self.flight))

    @invariant("SCH-1", "SCH-2", "SCH-14")
    def at_rest_all_is_current(self) -> bool:
        """At rest every derivation that someone reads is what its inputs call for, unless it was given up."""
        if not self.at_rest():
            return True
        return all(
            self.value[n + 1] == self.wanted(n) or not self.node[n].live() or self.tries[n] >= self.attempts
            for n in range(self.nodes)
        )

    @step_property("SCH-9", on="run")
    def turns_follow_the_data(self, before: OneSession, n: int) -> bool:
        """Within a round no node runs before one that it depends on and that is to run."""
        return not any(m < n and m >= before.turn and before.node[m].runnable(before) for m in range(before.nodes))

    @step_property("SCH-4", "SCH-11", on="run")
    def every_rerun_has_a_cause(self, before: OneSession, n: int) -> bool:
        """A node that ran before runs for a change of something that it reads, also if it is a retry."""
        node = before.node[n]
        return not node.ran or any(cause for cause in node.cause)

    @step_property("SCH-2", "SCH-5", on="finish")
    def a_commit_does_not_invalidate_its_node(self, before: OneSession) -> bool:
        body = before.body
        return body is None or all(
            body.node != n or self.node[n].status is before.node[n].status for n in range(self.nodes)
        )

    @step_property("SCH-8", on="finish")
    def an_equal_write_does_nothing(self, before: OneSession) -> bool:
        """A run that writes what is there makes no other run necessary."""
        changed = any(self.value[d] != before.value[d] for d in range(self.documents))
        return changed or all(self.node[n].status is before.node[n].status for n in range(self.nodes))

    @invariant("SCH-6")
    def a_pass_is_bounded(self) -> bool:
        return all(node.runs <= self.budget for node in self.node)

    @step_property("SCH-7", on="end_pass")
    def bystanders_are_not_backed_off(self, before: OneSession) -> bool:
        """A pass backs off a node only if that has had as many runs as a pass allows."""
        return all(
            before.node[n].runs >= self.budget
            or self.node[n].gates.backoff.remaining <= before.node[n].gates.backoff.remaining
            for n in range(self.nodes)
        )

    @step_property(on="end_pass")
    def what_goes_on_escalates(self, before: OneSession) -> bool:
        """While a cycle does not settle, each backoff is longer than the last, up to the cap (escalate_together)."""
        return all(
            before.longest == 0
            or self.node[n].gates.backoff.remaining <= before.node[n].gates.backoff.remaining
            or self.node[n].gates.step >= min(2 * before.longest, self.cap)
            for n in range(self.nodes)
        )

    @step_property("SCH-3", on="run")
    def only_what_is_wanted_runs(self, before: OneSession, n: int) -> bool:
        return before.node[n].live() or before.node[n].pending

    @step_property("SCH-12", on="conflict")
    def a_conflict_owes_a_retry(self, before: OneSession, n: int) -> bool:
        return self.node[n].owed and self.node[n].due(self)

    @invariant("SCH-13")
    def refusals_are_bounded(self) -> bool:
        """Unless the input changes, node 0 is refused as often as it may try, and once for a run that was under way.

        That takes a revert that is no cause (own_revert_skipped).
        """
        return self.refused <= self.attempts + 1

    @invariant("GAT-30", "SCH-10", "SCH-15", "SCH-23", "SCH-24")
    def what_is_due_has_a_wake(self) -> bool:
        """A pass is queued or under way, or the wake is due no later than the first that is put off."""
        if self.queued or self.passing:
            return True
        nodes = all(
            not node.due(self) or (self.wake.armed and self.wake.rest.remaining <= node.gates.rest(self))
            for node in self.node
        )
        head = not self.parked or (self.wake.armed and self.wake.rest.remaining <= self.park.remaining)
        return nodes and head and (self.parked or self.behind or not self.lane_waits())

    # The lane of events.

    @step_property("SCH-21", "SCH-22", on="begin_pass")
    def handlers_read_what_is_settled(self, before: OneSession) -> bool:
        """An event is handled only when nothing that its handler reads is to be run first."""
        handled = before.expected != self.expected
        return not handled or all(node.status is Status.CLEAN for node in before.node)

    @step_property("SCH-22", on="begin_pass")
    def the_head_has_run_what_it_reads(self, before: OneSession) -> bool:
        """A pass that neither handles the head nor parks it has a node to run, whoever else reads that."""
        waits = self.lane_waits() and before.expected == self.expected and not self.parked and not self.behind
        return not waits or any(node.runnable(self) for node in self.node)

    @invariant("SCH-20")
    def events_are_handled_in_order(self) -> bool:
        """The head is the oldest event that was not handled."""
        return not self.lane_waits() or all(
            place > 0 or self.lane[place] == self.expected for place in range(self.backlog)
        )

    @invariant()
    def a_parked_head_waits_for_a_gate(self) -> bool:
        """While the head is parked, something that its handler reads is still put off (preflight_again)."""
        if not self.parked or self.park.over or self.queued or self.passing:
            return True
        return any(node.status is not Status.CLEAN and not node.gates.eligible(self) for node in self.node)

    @invariant()
    def a_head_is_parked_a_few_times(self) -> bool:
        """No event waits for backoff after backoff (park_once)."""
        return self.parks <= self.most_parks

    @invariant()
    def the_breaker_holds_no_idle(self) -> bool:
        """When only the breaker puts anything off, idle resolves."""
        if self.passing or self.queued or any(node.runnable(self) for node in self.node):
            return True
        others = any(not node.gates.backoff.over for node in self.node) or (self.lane_waits() and not self.parked)
        return others or self.is_idle()

    @invariant()
    def no_event_is_handled(self) -> bool:
        """Where the two disagree from the start, the handler that would end it never runs (needs ``restless``)."""
        return not self.handled

    # That there is something to check.

    @reachable()
    def comes_to_rest(self) -> bool:
        return self.at_rest() and self.value[self.nodes] == 1

    @reachable()
    def a_head_is_parked(self) -> bool:
        return self.parked
