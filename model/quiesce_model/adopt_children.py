"""Actions that start others: a coordinator registers a child for each element of a list."""

from __future__ import annotations

from .adoption import Adoption
from .language import constant, each, flag, initial, invariant, reachable


class AdoptChildren(Adoption):
    """Action 0 maps the list in document 0 into document 2; action 1, its child, negates document 1 into document 3.

    The child is there while the coordinator last found an element in the list. Unless the coordinator is ``marked``
    as one that always runs, it is a computation like any other, such as one that returns a pattern.
    """

    documents: int = constant(4)
    actions: int = constant(2)
    marked: bool = constant(True)

    child: list[bool] = each("sessions", flag())  # registered

    def output(self, n: int) -> int:
        return n + 2

    def looks(self, s: int, n: int, document: int) -> bool:
        return document in (n, n + 2) and (n == 0 or self.child[s])

    def is_shallow(self, document: int) -> bool:
        return document == 0

    def wants(self, s: int, n: int) -> int:
        me = self.session[s]
        return me.sees(0) if n == 0 else 1 - min(me.sees(1), 1)

    def is_input(self, document: int) -> bool:
        return document < 2

    @initial
    def all_is_current(self) -> None:
        """The list is empty, and the coordinator has found that everywhere."""
        for s, me in enumerate(self.session):
            for d in range(self.documents):
                me.node[0].trigger[d] = self.looks(s, 0, d)

    def ran(self, s: int, n: int) -> None:
        """The coordinator registers what the list calls for."""
        me = self.session[s]
        if n == 0:
            called_for = me.sees(0) > 0
            if called_for and not self.child[s]:
                self.child[s] = True
                me.node[1].dirty = True
            elif not called_for and self.child[s]:
                self.child[s] = False
                me.node[1].dirty = False
                for d in range(self.documents):
                    me.node[1].trigger[d] = False

    def is_registered(self, s: int, n: int) -> bool:
        return n == 0 or self.child[s]

    def coordinates(self, n: int) -> bool:
        return n == 0 and self.marked

    def lacks_a_child(self, s: int, n: int) -> bool:
        return n == 0 and (self.session[s].sees(0) > 0) != self.child[s]

    def gone(self, s: int) -> None:
        self.child[s] = False

    def is_called_for(self, s: int, n: int) -> bool:
        return n == 0 or self.session[s].sees(0) > 0

    @invariant("ADO-14")
    def at_rest_every_element_has_its_child(self) -> bool:
        """At rest no element of a list is without the action that serves it."""
        return not self.quiescent() or all(
            not me.present or self.child[s] == (me.sees(0) > 0) for s, me in enumerate(self.session)
        )

    @reachable()
    def both_have_the_child(self) -> bool:
        return self.quiescent() and all(child for child in self.child)
