"""What the proofs about sessions over one server rest on: how numbers, layers and windows lie."""

# A type checker does not see that an element that was found to be there is there a line later.
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

from .language import invariant
from .sync import Fate, Layer
from .sync_life import SyncLife


class SyncLemmas(SyncLife):
    """Facts of every reachable state that nobody would call a promise."""

    @invariant()
    def numbers_are_given_out(self) -> bool:
        """Nothing carries a number that the server has not given out to that document."""
        if self.server.seq > self.most or any(head.version.seq > self.server.seq for head in self.server.head):
            return False
        return all(self.is_behind(s, d) for s in range(self.sessions) for d in range(self.documents))

    def is_behind(self, s: int, d: int) -> bool:
        newest = self.server.head[d].version.seq
        seat = self.seat[s]
        me = self.replica[s]
        if me.confirmed[d].seq > newest or seat.held[d] > newest or seat.foreign[d] > newest or me.mine[d] > newest:
            return False
        sent = all(window.version[d] is None or window.version[d].seq <= newest for window in seat.way)
        answered = seat.pulled[d] is None or seat.pulled[d].seq <= newest
        layers = all(layer is None or self.is_layer_behind(layer, d) for layer in me.layer)
        return sent and answered and layers

    def is_layer_behind(self, layer: Layer, d: int) -> bool:
        newest = self.server.head[d].version.seq
        wrote = layer.document != d or (layer.seq <= newest and layer.under <= newest)
        return wrote and (layer.read != d or (layer.basis <= newest and layer.needs <= newest))

    @invariant()
    def copies_of_the_newest_are_alike(self) -> bool:
        """Whatever carries the number of the newest version carries its value."""
        return all(self.is_alike(s, d) for s in range(self.sessions) for d in range(self.documents))

    def is_alike(self, s: int, d: int) -> bool:
        head = self.server.head[d].version
        seat = self.seat[s]
        me = self.replica[s]
        sent = all(
            window.version[d] is None or window.version[d].seq != head.seq or window.version[d].value == head.value
            for window in seat.way
        )
        pulled = seat.pulled[d]
        answered = pulled is None or pulled.seq != head.seq or pulled.value == head.value
        here = me.confirmed[d].seq != head.seq or me.confirmed[d].value == head.value
        own = all(
            layer is None or layer.document != d or layer.seq == 0 or layer.seq != head.seq or layer.value == head.value
            for layer in me.layer
        )
        return sent and answered and here and own

    @invariant()
    def a_head_is_its_writers(self) -> bool:
        """The newest version is the last of the session's own, or the last of the others', whichever is later."""
        return all(
            self.server.head[d].version.seq == max(self.seat[s].foreign[d], self.replica[s].mine[d])
            and (self.server.head[d].writer == s) == (self.replica[s].mine[d] > self.seat[s].foreign[d])
            for s in range(self.sessions)
            for d in range(self.documents)
            if self.server.head[d].version.seq > 0
        )

    @invariant()
    def windows_lie_end_to_end(self) -> bool:
        """From what was seen to what was sent; without a connection none is on its way."""
        return all(self.end_to_end(s) for s in range(self.sessions))

    def end_to_end(self, s: int) -> bool:
        seat = self.seat[s]
        end = self.replica[s].seen
        over = False
        for window in seat.way:
            if window.on_way:
                if over or window.since != end or window.to < window.since:
                    return False
                end = window.to
            else:
                over = True
                if window.to > 0 or any(version is not None for version in window.version):
                    return False
        if seat.sent > self.server.seq:
            return False
        return end == seat.sent if seat.connected else (seat.under_way() == 0 and end <= seat.sent)

    @invariant()
    def layers_have_no_gap(self) -> bool:
        return all(
            me.layer[p] is not None or me.layer[p + 1] is None for me in self.replica for p in range(self.layers - 1)
        )

    @invariant()
    def verdicts_follow_decisions(self) -> bool:
        """Decided before learnt or covered; covered by a window that is on its way, the older ones first."""
        return all(self.in_order(s) for s in range(self.sessions))

    def in_order(self, s: int) -> bool:
        decided = True
        learnt = True
        last = 1
        for layer in self.replica[s].layer:
            if layer is not None:
                sent = layer.fate is Fate.SENT
                if (not sent and not decided) or (layer.learnt and not learnt) or (sent and layer.learnt):
                    return False
                if layer.covered > 0 and (sent or layer.covered < last or last == 0):
                    return False
                if layer.covered > self.seat[s].under_way():
                    return False
                if (layer.fate is Fate.ACCEPTED) != (layer.seq > 0) or layer.applied != (1 if layer.seq > 0 else 0):
                    return False
                decided = not sent
                learnt = layer.learnt
                last = layer.covered
        return True

    @invariant()
    def own_commits_are_layers(self) -> bool:
        """Of a session's accepted layers on a document the last is its newest commit of that, and each is in order."""
        return all(self.in_layers(s, d) for s in range(self.sessions) for d in range(self.documents))

    def in_layers(self, s: int, d: int) -> bool:
        me = self.replica[s]
        last = 0
        for layer in me.layer:
            if layer is not None and layer.document == d and layer.fate is Fate.ACCEPTED:
                if layer.seq <= last or layer.under >= layer.seq:
                    return False
                last = layer.seq
        return last in (0, me.mine[d]) and (last > 0 or me.confirmed[d].seq >= me.mine[d])

    @invariant()
    def windows_before_a_commit_end_before_it(self) -> bool:
        """A window that does not cover an accepted layer ends before its number, and so does what it carries."""
        return all(self.ends_before(s) for s in range(self.sessions))

    def ends_before(self, s: int) -> bool:
        me = self.replica[s]
        for place, window in enumerate(self.seat[s].way):
            if any(version is not None and version.seq > window.to for version in window.version):
                return False
            for layer in me.layer:
                accepted = layer is not None and layer.fate is Fate.ACCEPTED
                uncovered = layer is not None and (layer.covered == 0 or layer.covered > place + 1)
                if accepted and uncovered and window.on_way and window.to >= layer.seq:
                    return False
        return all(layer is None or layer.fate is not Fate.ACCEPTED or me.seen < layer.seq for layer in me.layer)

    @invariant()
    def layers_lie_over_what_is_older(self) -> bool:
        """Without answers that overtake windows, no version is here that is newer than an accepted layer over it."""
        return (
            self.may_pull
            or self.may_watch
            or all(
                layer is None
                or layer.fate is not Fate.ACCEPTED
                or layer.document != d
                or me.confirmed[d].seq < layer.seq
                for me in self.replica
                for layer in me.layer
                for d in range(self.documents)
            )
        )

    @invariant()
    def only_what_is_asked_for_is_answered(self) -> bool:
        return (
            self.may_pull
            or self.may_watch
            or (
                all(version is None for seat in self.seat for version in seat.pulled)
                and all(tracked for seat in self.seat for tracked in seat.tracked)
            )
        )

    @invariant()
    def a_refusal_comes_with_its_reason(self) -> bool:
        """The window that covers a refused layer carries what the commit had not read."""
        return all(
            layer is None
            or layer.fate is not Fate.REFUSED
            or layer.covered != place + 1
            or any(
                layer.read == d and window.version[d] is not None and window.version[d].seq >= layer.needs
                for d in range(self.documents)
            )
            for s in range(self.sessions)
            for layer in self.replica[s].layer
            for place, window in enumerate(self.seat[s].way)
        )

    @invariant()
    def what_is_not_stale_was_read(self) -> bool:
        """A commit that may be accepted has read what the server will have when its turn comes."""
        if (self.may_pull or self.may_watch) and not self.basis_of_the_layer:
            return True
        return all(self.has_read(s, place) for s in range(self.sessions) for place in range(self.layers))

    def has_read(self, s: int, place: int) -> bool:
        layer = self.replica[s].layer[place]
        if layer is None or layer.fate is not Fate.SENT or layer.doomed:
            return True
        if self.seat[s].foreign[layer.read] > layer.basis:
            return True
        value = self.server.head[layer.read].version.value
        for p in range(self.layers):
            other = self.replica[s].layer[p]
            if p < place and other is not None and other.document == layer.read and other.fate is Fate.SENT:
                value = other.value
        return value == layer.saw
