"""What has to hold of sessions over one server: nothing is lost, nothing goes back, and at rest all agree."""

# A type checker does not see that an element that was found to be there is there a line later.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .language import invariant, reachable, step_property, terminal
from .sync import Fate
from .sync_lemmas import SyncLemmas


class ManyReplicas(SyncLemmas):
    """Sessions that read and write the documents of one server, in an environment that does what it likes."""

    # What sessions see.

    def at_rest(self, s: int) -> bool:
        """Session ``s`` has nothing on its way, in either direction."""
        seat = self.seat[s]
        quiet = seat.connected and seat.sent == self.server.seq and seat.under_way() == 0 and not self.is_owed(s)
        return quiet and self.replica[s].pending() == 0 and all(version is None for version in seat.pulled)

    @invariant("SYN-8", "SYN-9", "SYN-13", "SYN-14")
    def at_rest_all_agree(self) -> bool:
        """A session with nothing on its way sees of each document that it watches what the server has."""
        return all(
            self.replica[s].visible(self, d) == self.server.head[d].version.value
            or not self.seat[s].tracked[d]
            or not self.at_rest(s)
            for s in range(self.sessions)
            for d in range(self.documents)
        )

    @invariant("SYN-8", "SYN-9", "SYN-13", "SYN-14")
    def nothing_is_lost(self) -> bool:
        """What a connected session watches and does not have is on its way, a layer of its own, or to be sent."""
        return all(self.has_or_gets(s, d) for s in range(self.sessions) for d in range(self.documents))

    def has_or_gets(self, s: int, d: int) -> bool:
        seat = self.seat[s]
        me = self.replica[s]
        newest = self.server.head[d].version.seq
        if not (seat.connected and seat.tracked[d]) or me.confirmed[d].seq == newest or seat.held[d] != newest:
            return True
        answered = seat.pulled[d] is not None and seat.pulled[d].seq == newest
        coming = any(window.version[d] is not None and window.version[d].seq == newest for window in seat.way)
        own = any(layer is not None and layer.document == d and layer.seq == newest for layer in me.layer)
        return answered or coming or own

    @invariant("SYN-10")
    def readers_are_told(self) -> bool:
        """Whoever reads a document in a session was told of what the session sees of it."""
        return all(me.shown[d] == me.visible(self, d) for me in self.replica for d in range(self.documents))

    @step_property("SYN-5", on="write")
    def own_writes_are_seen_at_once(self, before: ManyReplicas, s: int, document: int, read: int, value: int) -> bool:
        return self.replica[s].visible(self, document) == value

    @invariant("SYN-9")
    def own_commits_stay(self) -> bool:
        """A session never goes back behind its own commits: it has each as a layer, or that version or a later one."""
        return all(
            me.confirmed[d].seq >= me.mine[d]
            or any(layer is not None and layer.document == d and layer.seq >= me.mine[d] for layer in me.layer)
            for me in self.replica
            for d in range(self.documents)
        )

    @step_property("SYN-8")
    def nothing_goes_back(self, before: ManyReplicas) -> bool:
        """The version that a session has of a document never becomes an older one."""
        return all(
            self.replica[s].confirmed[d].seq >= before.replica[s].confirmed[d].seq
            for s in range(self.sessions)
            for d in range(self.documents)
        )

    @step_property("SYN-14", on="deliver")
    def windows_join(self, before: ManyReplicas, s: int) -> bool:
        """Each window begins where the last one that was applied has ended: no number is left out, none comes twice."""
        return before.seat[s].way[0].since == before.replica[s].seen

    @invariant("SYN-1")
    def a_number_is_one_version(self) -> bool:
        """A session that has the number of the newest version has its value."""
        return all(
            me.confirmed[d].seq != head.version.seq or me.confirmed[d].value == head.version.value
            for me in self.replica
            for d, head in enumerate(self.server.head)
        )

    # What becomes of a commit.

    @step_property("SYN-1", on="accept")
    def every_commit_has_the_next_number(self, before: ManyReplicas, s: int, place: int) -> bool:
        return self.server.seq == before.server.seq + 1

    @step_property("SYN-3", "SYN-4", on="accept")
    def accepted_reads_are_current(self, before: ManyReplicas, s: int, place: int) -> bool:
        """What the transaction of an accepted commit had read is what the server has when it is accepted."""
        layer = before.replica[s].layer[place]
        return layer is None or before.server.head[layer.read].version.value == layer.saw

    @step_property("SYN-2", on=("accept", "refuse"))
    def commits_are_decided_in_order(self, before: ManyReplicas, s: int, place: int) -> bool:
        return all(
            layer is None or layer.fate is not Fate.SENT or p >= place
            for p, layer in enumerate(before.replica[s].layer)
        )

    @invariant("SYN-15")
    def a_commit_is_applied_once(self) -> bool:
        """However often it is sent."""
        return all(layer is None or layer.applied <= 1 for me in self.replica for layer in me.layer)

    @invariant("SYN-15")
    def both_sides_know_the_same_fate(self) -> bool:
        """What the server calls refused it has not applied."""
        return all(
            layer is None or layer.fate is not Fate.REFUSED or layer.applied == 0
            for me in self.replica
            for layer in me.layer
        )

    def gone(self, before: ManyReplicas, s: int) -> int:
        """How many layers of session ``s`` a step has taken away; they are the oldest."""
        return before.replica[s].pending() - self.replica[s].pending()

    @step_property("SYN-6", "SYN-16")
    def a_refusal_is_known_with_its_reason(self, before: ManyReplicas) -> bool:
        """When a refused layer goes, the session has what the commit had not read, so that a retry reads it."""
        return all(
            layer is None
            or p >= self.gone(before, s)
            or layer.fate is not Fate.REFUSED
            or self.replica[s].confirmed[layer.read].seq >= layer.needs
            for s in range(self.sessions)
            for p, layer in enumerate(before.replica[s].layer)
        )

    @step_property("SYN-11", on="deliver")
    def a_layer_goes_when_its_verdict_is_known(self, before: ManyReplicas, s: int) -> bool:
        """A commit is either accepted or refused, and the session knows which before it lets go of it."""
        was = before.replica[s]
        return all(layer is None or p >= self.gone(before, s) or layer.learnt for p, layer in enumerate(was.layer))

    @terminal
    def no_commit_is_left(self) -> bool:
        """The scope has no further commit. Before that something is always possible: each commit gets its verdict."""
        return self.server.seq == self.most

    # That there is something to check.

    @reachable()
    def comes_to_rest(self) -> bool:
        """All is sent, decided and applied, after the last commit that the scope has."""
        return self.server.seq == self.most and all(self.at_rest(s) for s in range(self.sessions))

    @reachable()
    def a_commit_is_refused(self) -> bool:
        return any(layer is not None and layer.fate is Fate.REFUSED for me in self.replica for layer in me.layer)
