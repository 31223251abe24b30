"""A space whose sessions share what their actions come to, and what those actions are.

A machine with other actions says what each reads, where it writes, and what it comes to.
"""

from __future__ import annotations

from .adoption_session import Difference, Session
from .language import constant, counter, each, ghost, initial, one_of, part
from .observation import ObservationSettings, Store


class AdoptionSpace(ObservationSettings):
    """One space and its sessions, all at rest, and the program that every session runs.

    ``writes`` is how many writes of users an exploration goes to. ``parked``: a session takes its own commit for
    pending until a window covers it; otherwise the server's answer, which may overtake a window, settles it. With
    ``base_read`` a write reads what it replaces. Without ``rows`` no window carries any.

    With ``may_leave`` a session may go for good, with ``may_fail`` connections die, with ``may_pull`` a session may ask
    for a document by itself, with ``may_drop`` the server may lose any row, with ``may_throw`` runs may fail, and with
    ``foreign`` users write outputs too. ``answer_awaited`` is a repair: what a session has just asked for counts as
    absent until the answer is there.
    """

    writes: int = constant(1)
    parked: bool = constant(True)
    may_leave: bool = constant(False)
    may_fail: bool = constant(False)
    may_pull: bool = constant(False)
    may_drop: bool = constant(False)
    may_throw: bool = constant(False)
    foreign: bool = constant(False)
    base_read: bool = constant(True)
    rows: bool = constant(True)
    answer_awaited: bool = constant(False)

    store: Store = part(Store)
    session: list[Session] = each("sessions", Session)
    written: int = counter(lambda c: c.writes)
    difference: Difference = ghost(one_of(Difference))

    # What the actions are: action 0 negates document 0 into document 1, action 1 shows document 1.

    def looks(self, s: int, n: int, document: int) -> bool:
        """Whether action n, if session s ran it now, would read the document. A write reads what it replaces."""
        if n == 0:
            return document == 0 or (document == 1 and self.base_read)
        return document == 1

    def wants(self, s: int, n: int) -> int:
        """What action n comes to, from what session s sees."""
        me = self.session[s]
        return 1 - min(me.sees(0), 1) if n == 0 else me.sees(1)

    def is_input(self, document: int) -> bool:
        """Whether users write it; those that no action reads are there to make commits."""
        return document != 1

    def is_effect(self, n: int) -> bool:
        return self.output(n) == self.documents

    def is_shallow(self, document: int) -> bool:
        """Whether actions read the document as a list of keys, not for what is under them."""
        return False

    def is_registered(self, s: int, n: int) -> bool:
        """Whether session ``s`` has action n."""
        return True

    def is_called_for(self, s: int, n: int) -> bool:
        """Whether session ``s``, as it sees things, should have action n."""
        return True

    def coordinates(self, n: int) -> bool:
        """Whether action n is registered as one that always runs, since it starts others."""
        return False

    def lacks_a_child(self, s: int, n: int) -> bool:
        """Whether action n, if session ``s`` ran it now, would start an action or stop one."""
        return False

    @initial
    def all_is_current(self) -> None:
        """Every session has run everything, on documents that have always been there."""
        self.store.head[1].value = 1
        for s, me in enumerate(self.session):
            me.confirmed[1].value = 1
            for n, node in enumerate(me.node):
                node.screen = self.wants(s, n) if self.is_effect(n) else 0
                for d in range(self.documents):
                    node.trigger[d] = self.looks(s, n, d)
