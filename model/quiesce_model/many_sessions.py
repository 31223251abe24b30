"""What has to hold of sessions over one server, each with a node behind its gates and its breaker."""

# A type checker does not see that an element that was found to be there is there a line later.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .crowd_lemmas import CrowdLemmas
from .language import invariant, reachable, step_property
from .scheduler import Status


class ManySessions(CrowdLemmas):
    """Two to four sessions that derive one document, type into it, go away and come back."""

    # What the sessions come to.

    def at_rest(self) -> bool:
        """Nothing is on its way, and nothing is to run."""
        return not any(me.is_stale() or me.draft is not None or me.node.due(self) for me in self.member)

    @invariant("SYN-25")
    def at_rest_all_agree(self) -> bool:
        """At rest every session sees what the server has, and each derivation has what it calls for."""
        return not self.at_rest() or all(
            not me.present or (me.visible() == self.document == self.wish(s)) for s, me in enumerate(self.member)
        )

    @step_property("SYN-22", on="accept")
    def a_commit_does_not_invalidate_its_node(self, before: ManySessions, s: int) -> bool:
        return self.member[s].node.status is before.member[s].node.status

    @step_property("SYN-20", on="run")
    def every_rerun_has_a_cause(self, before: ManySessions, s: int) -> bool:
        """A node that ran before runs because the document changed, what the session wants, or a commit was refused."""
        node = before.member[s].node
        return not node.ran or any(cause for cause in node.cause) or node.owed or before.agreed

    @step_property("SYN-24", on="refuse")
    def causes_outlive_a_refusal(self, before: ManySessions, s: int) -> bool:
        """The retry of a run that the document caused has the document among its causes, and so counts like it."""
        draft = before.member[s].draft
        return draft is None or not draft.by_document or self.member[s].node.cause[0]

    @step_property("SYN-20", on="deliver")
    def an_equal_value_does_nothing(self, before: ManySessions, s: int) -> bool:
        same = self.member[s].visible() == before.member[s].visible()
        return not same or self.member[s].node.status is before.member[s].node.status

    @step_property("SYN-3", on="accept")
    def nothing_unseen_is_overwritten(self, before: ManySessions, s: int) -> bool:
        """What a commit replaces is what its author had seen."""
        return before.document == before.member[s].sees

    @step_property("SYN-23", "SYN-25", on="refuse")
    def a_refused_commit_is_tried_again(self, before: ManySessions, s: int) -> bool:
        """What was typed is sent again, unless it is there; a derivation is owed a retry."""
        was = before.member[s]
        now = self.member[s]
        if was.draft is None:
            return True
        if was.draft.typed:
            return now.sees == was.draft.value or now.draft is not None
        return now.node.owed and now.node.due(self)

    # What the breaker does.

    @step_property("SYN-21", on="accept")
    def what_is_typed_is_not_counted(self, before: ManySessions, s: int) -> bool:
        draft = before.member[s].draft
        return draft is None or not draft.typed or self.member[s].pair == before.member[s].pair

    @step_property(on="run")
    def starts_wait_for_the_backoff(self, before: ManySessions, s: int) -> bool:
        """While a pair stands, no run starts before its last counted step plus its backoff, a retry neither."""
        pair = before.member[s].pair
        return not pair.tripped or pair.settling.running or pair.since_echo >= pair.backoff

    @step_property(on=("run", "accept"))
    def only_agreement_clears(self, before: ManySessions, s: int) -> bool:
        """A pair that has tripped is not forgotten while its loop goes on, whatever else changes (pair_by_field)."""
        was = before.member[s]
        forgotten = was.pair.tripped and not self.member[s].pair.tripped
        agree = was.draft is None and was.node.cause[0] and was.sees == before.wish(s)
        return not forgotten or agree or was.pair.is_quiet(before) or was.pair.is_settled(before)

    @invariant()
    def gate_is_the_deadline(self) -> bool:
        return all(me.node.gates.echo.remaining == me.pair.deadline.remaining for me in self.member if me.present)

    @invariant()
    def commits_while_time_stands(self) -> bool:
        """The loop is bounded, whatever made the sides disagree."""
        return self.commits <= self.bound

    @invariant()
    def refusals_while_time_stands(self) -> bool:
        """So is how often a derivation runs for nothing."""
        return self.refusals <= self.storm

    # That there is something to check.

    @reachable()
    def bound_of_commits_is_met(self) -> bool:
        return self.commits == self.bound

    @reachable()
    def bound_of_refusals_is_met(self) -> bool:
        return self.refusals == self.storm

    @reachable()
    def all_tripped(self) -> bool:
        return all(me.pair.tripped for me in self.member)

    @reachable()
    def comes_to_rest(self) -> bool:
        """All agree, and know it."""
        return self.agreed and self.at_rest() and all(me.node.status is Status.CLEAN for me in self.member)
