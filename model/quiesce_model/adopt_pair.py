"""What an action reads depends on what it reads, so a session need not even watch all that another one read."""

from __future__ import annotations

from .adoption import Adoption
from .language import action, constant, initial


class AdoptPair(Adoption):
    """Action 0 reads document 0, and document 1 only if that is not 0; document 2 becomes what document 1 is, or 0.

    A session watches document 1 while it needs it; with ``needed`` all do from the start. With ``shallow`` the action
    reads it as a list of keys. With ``may_shrink`` the server stops sending what the session's interest no longer
    reaches, and does not say so.
    """

    documents: int = constant(3)
    actions: int = constant(1)
    needed: bool = constant(False)
    shallow: bool = constant(False)
    may_shrink: bool = constant(False)

    def output(self, n: int) -> int:
        return 2

    def looks(self, s: int, n: int, document: int) -> bool:
        return document in (0, 2) or (document == 1 and self.session[s].sees(0) > 0)

    def is_shallow(self, document: int) -> bool:
        return self.shallow and document == 1

    def wants(self, s: int, n: int) -> int:
        me = self.session[s]
        return me.sees(1) if me.sees(0) > 0 else 0

    def is_input(self, document: int) -> bool:
        return document != 2

    @initial
    def all_is_current(self) -> None:
        """Every session has run the action, and knows of document 1 only if it had to."""
        start = 1 if self.needed else 0
        self.store.head[0].value = start
        for s, me in enumerate(self.session):
            me.confirmed[0].value = start
            me.watched[1] = self.needed
            me.held[1] = self.needed
            for d in range(self.documents):
                me.node[0].trigger[d] = self.looks(s, 0, d)

    @action(s="sessions", document="documents")
    def ask(self, s: int, document: int) -> None:
        """A run of session ``s`` needs a document that it does not watch: it does from now on, and is sent it."""
        me = self.session[s]
        self.require(me.present and me.online)
        self.require(not me.watched[document])
        self.require(me.node[0].dirty and self.looks(s, 0, document))
        me.watched[document] = True
        me.asked[document] = True

    @action(s="sessions")
    def shrink(self, s: int) -> None:
        """What session ``s`` watches does not reach document 1 any more."""
        me = self.session[s]
        self.require(self.may_shrink)
        self.require(me.present and me.online)
        self.require(me.watched[1] and me.sees(0) == 0 and not me.node[0].dirty)
        me.watched[1] = False
        me.asked[1] = False
