"""One run of a node, from the causes that it takes to what became of its commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiesce.address import Address, Path
from quiesce.commits import Document
from quiesce.scheduler.echo import Cause, EchoCapture
from quiesce.scheduler.node import Node, Registration
from quiesce.storage.notification import Notification
from quiesce.storage.transaction import CommitHandle, Transaction, TransactionLog
from quiesce.values import Maybe

if TYPE_CHECKING:
    from quiesce.scheduler.loads import Loads


class NotYet(Exception):
    """Raised in a body that reads what has never been derived: the run ends here, without being an error, and
    there is another when it has been."""


class NotLoaded(NotYet):
    """Raised by a read of a document that is not here yet and has been asked for. The run leaves nothing behind, and
    there is another when the document has arrived."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"{document} is being loaded: wait with `await session.load(…)`, or read it in an action")
        self.document = document


class LoadRefused(LookupError):
    """A document that is not followed cannot be followed. The message says why."""


class RunAgain(Exception):
    """Raised in a body to throw its writes away and run again at once. Counts against the reactive budget."""


@dataclass(eq=False, slots=True)
class Run:
    """A run in progress: what a body reads and writes through.

    ``payload`` is the event that a handler is run for; ``started`` is when its body began, in ms.
    """

    node: Node
    registration: Registration
    transaction: Transaction
    causes: tuple[Cause, ...] = ()
    payload: object = None
    started: float = 0.0
    attempted: dict[tuple[Document, Path], None] = field(default_factory=dict[tuple[Document, Path], None])
    forgotten: set[Document] = field(default_factory=set[Document])
    """Documents deleted for good, which it is not to be known for writing."""
    meanwhile: list[Notification] = field(default_factory=list[Notification])
    """What became visible while the body ran."""
    children: list[Node] = field(default_factory=list[Node])
    error: BaseException | None = None
    log: TransactionLog | None = None
    capture: EchoCapture | None = None
    handle: CommitHandle | None = None
    loads: Loads | None = None
    """What sees to documents that are not here, if not all of them are followed."""
    over: bool = False
    """Its body has ended: whoever still holds it acts outside it."""
    committed: bool | None = None
    """Whether what it wrote is durable; None while that is open."""
    _on_fate: list[Callable[[bool], None]] = field(default_factory=list[Callable[[bool], None]])

    def on_fate(self, listener: Callable[[bool], None]) -> None:
        """Call ``listener`` once it is known whether this attempt has committed; at once if it is."""
        if self.committed is not None:
            listener(self.committed)
        else:
            self._on_fate.append(listener)

    def decide(self, committed: bool) -> None:
        """For those who run it: this is what became of the attempt. The first time counts."""
        if self.committed is None:
            self.committed = committed
            listeners, self._on_fate = self._on_fate, []
            for listener in listeners:
                listener(committed)

    def read(self, document: Document, path: Path = ()) -> Maybe:
        """The value at ``path``, or ``ABSENT``; a deep read."""
        self._need(document, path)
        return self.transaction.read(document, path)

    def read_keys(self, document: Document, path: Path = ()) -> tuple[str, ...] | int:
        """An object's keys, or an array's length; no keys where there is none. A shallow read."""
        self._need(document, path)
        return self.transaction.read_keys(document, path)

    def write(self, document: Document, path: Path, value: object) -> None:
        """Set the value at ``path``. A value that is there already leaves no write."""
        self._need(document, path)
        self.attempted[document, path] = None
        self.transaction.write(document, path, value)

    def delete(self, document: Document, path: Path = ()) -> None:
        """Remove what is at ``path``."""
        self._need(document, path)
        self.attempted[document, path] = None
        self.transaction.delete(document, path)

    def forget(self, document: Document) -> None:
        """Delete a document that nobody will look for here again: it becomes no part of what the action is known to
        write, which would grow with all that ever came and went."""
        self._need(document, ())
        self.forgotten.add(document)
        self.transaction.delete(document)

    def _need(self, document: Document, path: Path) -> None:
        if self.loads is None:
            return
        try:
            self.loads.need(self, document)
        except NotLoaded:
            self.transaction.read(document, path)  # whoever derives it is needed from now on
            raise

    def surface(self, log: TransactionLog) -> tuple[Address, ...]:
        """What it wrote or tried to write, and did not forget."""
        replica = self.transaction.replica
        gone = {replica.entity(document) for document in self.forgotten}
        tried = tuple(Address(replica.entity(document), path) for document, path in self.attempted)
        return tried + tuple(detail.address for detail in log.writes if detail.address.entity not in gone)


# -- what one step of the scheduler was


@dataclass(frozen=True, slots=True)
class Began:
    """A pass began."""

    pass_id: int


@dataclass(frozen=True, slots=True)
class Awaiting:
    """A body has to be awaited. Nothing moves until ``Scheduler.body_done`` is told of its end."""

    run: Run
    awaitable: object


@dataclass(frozen=True, slots=True)
class Ran:
    """A node ran, and its commit, if it is to have one, is on its way."""

    run: Run


@dataclass(frozen=True, slots=True)
class Ended:
    """A pass ended. ``wake`` is what the single wake is armed for, in milliseconds; None while there is work."""

    pass_id: int
    wake: float | None


Step = Began | Awaiting | Ran | Ended


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that a program has to hear of: a body that raised, a commit that will not be tried again.

    ``code`` is ``body-failed``, ``commit-refused``, ``retries-exhausted``, ``commit-did-not-converge``, or the
    server's.
    """

    label: str
    code: str
    message: str
    error: BaseException | None = None
