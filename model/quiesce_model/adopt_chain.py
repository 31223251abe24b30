"""A chain of two derivations in each session: what the first writes, the second reads."""

from __future__ import annotations

from .adoption import Adoption
from .language import constant


class AdoptChain(Adoption):
    """Action 0 negates document 0 into document 1, action 1 negates that into document 2."""

    documents: int = constant(3)

    def output(self, n: int) -> int:
        return n + 1

    def looks(self, s: int, n: int, document: int) -> bool:
        return document == n or document == n + 1

    def wants(self, s: int, n: int) -> int:
        seen = self.session[s].sees(0) if n == 0 else self.session[s].sees(1)
        return 1 - min(seen, 1)

    def is_input(self, document: int) -> bool:
        return document == 0
