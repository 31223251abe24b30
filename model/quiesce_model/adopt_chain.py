"""A chain of two derivations in each session: what the first writes, the second reads."""

from __future__ import annotations

from .adoption import Adoption
from .language import constant, initial


class AdoptChain(Adoption):
    """Action 0 negates document 0 into document 1, action 1 negates that into document 2, and so on."""

    documents: int = constant(3)

    def output(self, n: int) -> int:
        return n + 1

    def looks(self, s: int, n: int, document: int) -> bool:
        return document == n or document == n + 1

    def wants(self, s: int, n: int) -> int:
        return 1 - min(self.session[s].sees(n), 1)

    def is_input(self, document: int) -> bool:
        return document == 0

    @initial
    def all_is_current(self) -> None:
        """Every session has run everything, on documents that have always been there."""
        for d, head in enumerate(self.store.head):
            head.value = d % 2
        for s, me in enumerate(self.session):
            for d, version in enumerate(me.confirmed):
                version.value = d % 2
            for n, node in enumerate(me.node):
                for d in range(self.documents):
                    node.trigger[d] = self.looks(s, n, d)
