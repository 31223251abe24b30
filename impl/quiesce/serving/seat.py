"""A seat: a session of the serving runtime that acts for one scope instance, and sees nothing narrower.

What an action reads says for whom it has to run. An action that, run for an instance, touches a document of a narrower
scope is stopped there, writes nothing, and is run for that scope's instances instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from quiesce.address import Path, Scope
from quiesce.cells import Derived
from quiesce.commits import Document
from quiesce.protocol import Acting, Watch
from quiesce.runtime import Function, Session
from quiesce.scheduler.node import Node
from quiesce.scheduler.run import NotYet, Run
from quiesce.serving.delegation import Delegation
from quiesce.serving.instances import Instance
from quiesce.storage.client import Client
from quiesce.storage.replica import Layer, Replica
from quiesce.storage.transaction import CommitHandle, Transaction
from quiesce.values import Maybe

App = Callable[[Session], object]
"""What a program registers: its derivations. The same function is called in every session, served or not."""


class Unservable(ValueError):
    """An application that cannot be served. The message says what to change."""


class TooNarrow(NotYet):
    """A run touched something of a narrower scope than the instance that it ran for. ``scope`` says which."""

    def __init__(self, document: Document, scope: Scope) -> None:
        super().__init__(f"{document} is one {scope.value}'s own: this action runs once for each that needs it")
        self.scope = scope


class SeatTransaction(Transaction):
    """A transaction that stops at what its instance does not see, and then commits nothing."""

    def __init__(self, replica: Replica, source_action: object | None, rules: SeatRules) -> None:
        super().__init__(replica, source_action)
        self.too_narrow: TooNarrow | None = None
        self._rules = rules

    def read(self, document: Document, path: Path = ()) -> Maybe:
        self._admit(document)
        return super().read(document, path)

    def read_keys(self, document: Document, path: Path = ()) -> tuple[str, ...] | int:
        self._admit(document)
        return super().read_keys(document, path)

    def write(self, document: Document, path: Path, value: object) -> None:
        self._admit(document)
        super().write(document, path, value)

    def delete(self, document: Document, path: Path = ()) -> None:
        self._admit(document)
        super().delete(document, path)

    def commit(self) -> CommitHandle:
        if self.too_narrow is not None:
            self.drop_writes()
        return super().commit()

    def _admit(self, document: Document) -> None:
        scope = self._rules.refuses(document)
        if scope is not None:
            self.too_narrow = TooNarrow(document, scope)
            raise self.too_narrow


class SeatRules:
    """What a seat's transactions may touch. ``narrower`` tells of derivations that are found to run for others."""

    def __init__(self, instance: Instance, narrower: Callable[[str], Scope | None]) -> None:
        self._scopes = frozenset(instance.scopes)
        self._narrower = narrower

    def refuses(self, document: Document) -> Scope | None:
        """The narrower scope to which a document belongs, or None if this instance sees it."""
        if document.scope not in self._scopes:
            return document.scope
        return self._narrower(document.id)


class SeatReplica(Replica):
    """A replica whose transactions are a seat's."""

    def __init__(self, space: str, send: Callable[[Layer], None], rules: SeatRules) -> None:
        super().__init__(space, send)
        self._rules = rules

    def make_transaction(self, source_action: object | None) -> Transaction:
        return SeatTransaction(self, source_action, self._rules)


class SeatDelegation(Delegation):
    """What a seat runs is the plan's to say, and not what the server tells everybody."""

    changed: Callable[[], None] = staticmethod(lambda: None)
    """Called when the plan has to be looked at again."""

    def __init__(self, session: Session) -> None:
        pass

    def place(self, derived: Derived) -> None:
        """Nothing here runs before the plan says so."""
        self.changed()

    def needed(self) -> None:
        """Something that runs for a wider instance is needed here from now on, or not any more."""
        self.changed()


class SeatSession(Session):
    """A session in which an application's derivations are run for somebody else."""

    def make_delegation(self) -> SeatDelegation:
        """For the session."""
        self.delegated = SeatDelegation(self)
        return self.delegated

    def effect(self, function: Any = None, /, **options: Any) -> NoReturn:  # type: ignore[override]
        """Refused: an effect acts on somebody's own world."""
        raise Unservable(
            "an application that is served registers an effect: let it register derivations only, and register effects "
            "where they are to act"
        )

    def handler(self, function: Any = None, /, **options: Any) -> NoReturn:  # type: ignore[override]
        """Refused: an event is somebody's own."""
        raise Unservable(
            "an application that is served registers a handler: let it register derivations only, and register "
            "handlers where their events are sent"
        )

    def call(self, run: Run, function: Function, finish: Callable[[Any], None]) -> Awaitable[None] | None:
        """As in every session; but a body that swallowed that it was stopped has come to no result."""

        def checked(made: Any) -> None:
            stopped = too_narrow(run)
            if stopped is not None:
                raise stopped
            finish(made)

        return super().call(run, function, checked)


def too_narrow(run: Run) -> TooNarrow | None:
    """What stopped a run of a seat, if it was stopped."""
    transaction = run.transaction
    return transaction.too_narrow if isinstance(transaction, SeatTransaction) else None


class Seat:
    """One instance's session with the server, and once that stands, its derivations.

    ``last_seq`` is the sequence of the latest commit of its own that was accepted.
    """

    def __init__(
        self,
        instance: Instance,
        client: Callable[[Callable[[str, Callable[[Layer], None]], Replica], Acting], Client],
        key: str,
        narrower: Callable[[str], Scope | None],
    ) -> None:
        self.instance = instance
        self.session: SeatSession | None = None
        self.last_seq = 0
        self.looked_at: tuple[frozenset[str], int] | None = None
        """What was asked of it, and the plan's version, when its derivations were last placed."""
        self.out_of_sight: set[str] = set()
        """Derivations that run for narrower instances than this one."""
        self.failed: str | None = None
        rules = SeatRules(instance, narrower)
        acting = Acting(key, instance.principal or None, instance.session or None)
        self.client = client(lambda space, send: SeatReplica(space, send, rules), acting)
        self.watched = self.client.watch(*(Watch("", scope, prefix=True) for scope in instance.scopes))

    def open(self, session: SeatSession, app: App) -> None:
        """Its documents are here: register the application. Raises what the application raises."""
        app(session)
        self.session = session

    @property
    def ended(self) -> bool:
        """Whether its session with the server is over for good."""
        return self.client.ended or self.watched.problem is not None

    @property
    def quiet(self) -> bool:
        """Whether nothing is to be run or decided now. A backoff of the breaker is nothing that is waited for."""
        return self.session is not None and self.session.scheduler.is_idle(durable=True)

    def waits_for(self, wider: Seat) -> bool:
        """Whether a wider seat may still bring something for what this one already knows."""
        knows, known = self.client.replica.synced, wider.client.replica.synced
        return not wider.quiet or known < knows or wider.last_seq > knows

    def close(self) -> None:
        """Say goodbye to the server, and run nothing any more."""
        if self.session is not None:
            self.session.scheduler.dispose()
        self.client.close()


def derivations_that_stop(node: Node, ids: dict[Node, str]) -> list[str]:
    """The derivations that cannot run where a node was stopped: it itself, or those that rest on it first."""
    if node in ids:
        return [ids[node]]
    seen: dict[Node, None] = {node: None}
    found: dict[str, None] = {}
    for reached in (queue := [node]):
        for reader in reached.downstream:
            if reader in seen:
                continue
            seen[reader] = None
            if reader in ids:
                found[ids[reader]] = None
            else:
                queue.append(reader)
    return list(found)
