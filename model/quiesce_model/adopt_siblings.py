"""Two derivations that write fields of one document: what it costs that currency is judged by document."""

from __future__ import annotations

from .adoption import Adoption
from .language import constant, initial, step_property


class AdoptSiblings(Adoption):
    """Actions 0 and 1 both read document 0; what they write is numbered 1 and 2.

    With ``together`` these are two fields of one document: runs and conflicts know them apart, but a replica has one
    number for both.
    """

    documents: int = constant(3)
    together: bool = constant(True)

    def output(self, n: int) -> int:
        return n + 1

    def looks(self, s: int, n: int, document: int) -> bool:
        return document == 0 or document == n + 1

    def wants(self, s: int, n: int) -> int:
        return 1 - min(self.session[s].sees(0), 1)

    def is_input(self, document: int) -> bool:
        return document == 0

    def number(self, s: int, document: int) -> int:
        confirmed = self.session[s].confirmed
        if self.together and document > 0:
            return max(confirmed[1].seq, confirmed[2].seq)
        return confirmed[document].seq

    @initial
    def all_is_current(self) -> None:
        for d in range(1, 3):
            self.store.head[d].value = 1
        for s, me in enumerate(self.session):
            for d in range(1, 3):
                me.confirmed[d].value = 1
            for n, node in enumerate(me.node):
                for d in range(self.documents):
                    node.trigger[d] = self.looks(s, n, d)

    @step_property(on="deliver")
    def all_of_a_window_is_adopted(self, before: Adoption, s: int) -> bool:
        """An action whose row has come, and of which a run would change nothing, is not left to run."""
        me = self.session[s]
        return all(
            not before.session[s].window.row[n].kept
            or not me.node[n].dirty
            or me.outbox.on_way
            or self.wants(s, n) != me.sees(n + 1)
            for n in range(self.actions)
        )
