"""What a program holds of a session: cells that it reads and writes, and values that are derived from them.

Inside an action ``get`` is a read that makes the action run again when it changes; outside it is only a look. A
derived value is kept in a document of its own, which every session sees, and which is written by whichever session
needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quiesce.address import Path, Scope
from quiesce.commits import Document
from quiesce.frozen import Last, frozen
from quiesce.scheduler.identity import DurableIdentity
from quiesce.scheduler.node import Node
from quiesce.scheduler.run import NotYet
from quiesce.values import ABSENT, Maybe, at, keys_of

if TYPE_CHECKING:
    from quiesce.handles import Sent
    from quiesce.runtime import Session
    from quiesce.scheduler.run import Run

VALUE: Path = ("value",)
REDIRECT: Path = ("redirect",)
NARROWER = {Scope.SPACE: (Scope.USER, Scope.SESSION), Scope.USER: (Scope.SESSION,), Scope.SESSION: ()}


class Readable:
    """What can be read and followed: a cell, or a derived value."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self) -> Any:
        """The value. It is shared with everybody, and refuses to be changed in place."""
        raise TypeError(f"a {type(self).__name__} has no value: use a cell or a derived value")

    @property
    def lasting_name(self) -> str:
        """What it is called in every process."""
        raise TypeError(f"a {type(self).__name__} has no name: use a cell or a derived value")

    def map(self, function: Callable[[Any], Any], *, key: Callable[[Any], str] | None = None) -> Derived:
        """A derived list: ``function`` of each element, called again only for elements that are new or different.

        Elements are known by ``key`` and, among equal keys, by how many came before; without a ``key`` by their
        ``id``, or else by their value.
        """
        return self._session.derive_list(self, function, key, lambda element, made: [made])

    def filter(self, function: Callable[[Any], bool], *, key: Callable[[Any], str] | None = None) -> Derived:
        """A derived list of those elements for which ``function`` is true; it is called as in ``map``."""
        return self._session.derive_list(self, function, key, lambda element, made: [element] if made else [])

    def flat_map(self, function: Callable[[Any], list[Any]], *, key: Callable[[Any], str] | None = None) -> Derived:
        """A derived list of all elements of all lists that ``function`` makes; it is called as in ``map``."""
        return self._session.derive_list(self, function, key, lambda element, made: list(made))


class Cell(Readable):
    """A place in a document. Made by ``Session.cell`` and ``Cell.at``."""

    def __init__(self, session: Session, document: Document, path: Path = (), default: Any = None) -> None:
        super().__init__(session)
        self.document = document
        self.path = path
        self.default = frozen(default)
        self._last = Last()

    def get(self) -> Any:
        """The value, or the default where there is none."""
        run = self._session.current
        found = self._look() if run is None else run.read(self.document, self.path)
        return self.default if found is ABSENT else self._last(found)

    def keys(self) -> tuple[str, ...] | int:
        """An object's keys, or an array's length, without following what is inside; empty where there is none."""
        run = self._session.current
        return keys_of(self._look()) if run is None else run.read_keys(self.document, self.path)

    def at(self, *path: str | int, default: Any = None) -> Cell:
        """The cell at a place inside this one."""
        return Cell(self._session, self.document, (*self.path, *map(str, path)), default)

    def set(self, value: Any) -> Sent:
        """Write. Inside an action it is part of what the action commits; outside it is a commit of its own, visible
        here at once and repeated after a conflict. Raises ``ValueRefused`` for what is not JSON."""
        return self._session.write(lambda run: run.write(self.document, self.path, value))

    def update(self, change: Callable[[Any], Any]) -> Sent:
        """Write what ``change`` makes of the present value. Outside an action it may be called again after a
        conflict."""

        def apply(run: Run) -> None:
            found = run.read(self.document, self.path)
            run.write(self.document, self.path, change(self.default if found is ABSENT else self._last(found)))

        return self._session.write(apply)

    def delete(self) -> Sent:
        """Remove it."""
        return self._session.write(lambda run: run.delete(self.document, self.path))

    @property
    def lasting_name(self) -> str:
        return "/".join((f"cell {self.document}", *self.path))

    def _look(self) -> Maybe:
        return at(self._session.look(self.document), self.path)


class Derived(Readable):
    """A derived value: the document that a derivation derives, and the node that does.

    The document is ``{"value": …}``, or ``{"redirect": scope}`` if the value depends on something that is not the
    same for everybody: then each user or session has a document of its own under the same id.
    """

    def __init__(self, session: Session, id: str, scope: Scope = Scope.SPACE) -> None:
        super().__init__(session)
        self._node: Node | None = None
        self._identity: DurableIdentity | None = None
        self._last = Last()
        self.id = id
        self.scope = scope
        """The widest scope in which it may lie."""

    @property
    def node(self) -> Node:
        """The action that derives it."""
        assert self._node is not None, "set when it is registered"
        return self._node

    @property
    def identity(self) -> DurableIdentity:
        """What the derivation is in every process. ``surface`` is None once a run has touched more than declared."""
        assert self._identity is not None, "set when it is registered"
        return replace(self._identity, surface=self.node.surface)

    def attach(self, node: Node, identity: DurableIdentity) -> None:
        """For the session: this is the node that derives it."""
        self._node, self._identity = node, identity

    @property
    def lasting_name(self) -> str:
        return f"derived {self.id}"

    def get(self) -> Any:
        """The value. Raises ``NotYet`` if it has never been derived: inside an action that is caught, and the action
        runs again when it has been; outside nothing is derived unless an action needs it."""
        found = self.peek(self._session.current)
        if found is ABSENT:
            raise NotYet(f"{self.id} has not been derived yet: read it in an effect, or wait for idle")
        return self._last(found)

    def peek(self, run: Run | None, path: Path = ()) -> Maybe:
        """The value, or what is at a path in it, or ``ABSENT``; a read of ``run`` if there is one."""
        scope = self.scope
        while True:
            document = Document(self.id, scope)
            redirect = self._read(run, document, REDIRECT)
            if not isinstance(redirect, str):
                return self._read(run, document, (*VALUE, *path))
            scope = Scope(redirect)

    @property
    def documents(self) -> list[Document]:
        """Where it may lie, from the widest scope to the narrowest."""
        return [Document(self.id, scope) for scope in (self.scope, *NARROWER[self.scope])]

    def place(self, run: Run, value: Any, scope: Scope) -> None:
        """Write the value where those who share it see it, through the redirect slots above (which are read)."""
        at_scope = self.scope
        while True:
            document = Document(self.id, at_scope)
            redirect = run.read(document, REDIRECT)
            if isinstance(redirect, str):
                at_scope = Scope(redirect)  # once narrowed it stays so
                continue
            if scope in NARROWER[at_scope]:
                run.write(document, (), {"redirect": scope.value})
                at_scope = scope
                continue
            run.write(document, VALUE, value)
            return

    def forget(self, run: Run) -> None:
        """Delete what was derived, wherever it lies."""
        for document in self.documents:
            if run.read(document) is not ABSENT:
                run.forget(document)

    def stop(self) -> None:
        """Derive it no more. What was derived stays."""
        self._session.scheduler.unregister(self.node)

    def _read(self, run: Run | None, document: Document, path: Path) -> Maybe:
        if run is not None:
            return run.read(document, path)
        return at(self._session.look(document), path)


def narrowest(run: Run, own: str) -> Scope:
    """The narrowest scope of what a run read, its own document left out: whoever does not share that does not share
    what was derived from it."""
    rank = {"space": 0, "user": 1, "session": 2}
    log = run.transaction.log()
    seen = [address for address in (*log.reads, *log.shallow_reads) if address.entity.id != own]
    names = [address.entity.instance.partition(":")[0] for address in seen]
    return Scope(max(names, key=lambda name: rank[name], default="space"))
