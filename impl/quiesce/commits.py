"""A commit as data: what was read, what is written, on which conditions, and what the store answered.

These records travel on the wire and reach the store as they are. Documents are named by id and declared
scope; the server resolves the scope against the authenticated session, so that a client cannot name another's
instance.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from quiesce.address import Path, Scope

Seq: TypeAlias = int
"""A position in a space's one sequence of accepted commits; 0 is before the first."""


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The base of everything that is sent: immutable, camelCase on the wire, defaults left out."""


class Document(Record, frozen=True):
    """A document by declared scope."""

    id: str
    scope: Scope = Scope.SPACE

    def __str__(self) -> str:
        return self.id if self.scope is Scope.SPACE else f"{self.scope.value}:{self.id}"


class Read(Record, frozen=True):
    """A read of confirmed state: ``path`` of the document had this value as of ``seq``.

    ``shallow`` saw only the container's type with its keys or length. ``seq`` is 0 for a document never seen.
    """

    id: str
    scope: Scope = Scope.SPACE
    path: Path = ()
    seq: Seq = 0
    shallow: bool = False


class PendingRead(Record, frozen=True):
    """A read that lay on this session's own unconfirmed writes.

    ``layers`` names, ascending, the local sequence of every own pending commit under the read; ``basis`` is
    the confirmed sequence beneath them.
    """

    id: str
    layers: tuple[int, ...]
    scope: Scope = Scope.SPACE
    path: Path = ()
    basis: Seq = 0
    shallow: bool = False


class Put(Record, frozen=True, tag_field="edit", tag="put"):
    """Set the value at ``path``. The parent exists; an array's own length as position appends."""

    path: Path
    value: Any


class Remove(Record, frozen=True, tag_field="edit", tag="remove"):
    """Remove what is at ``path``; later elements of an array move up."""

    path: Path


Edit: TypeAlias = Put | Remove


class SetDocument(Record, frozen=True, tag_field="op", tag="set"):
    """Replace a whole document."""

    id: str
    value: Any
    scope: Scope = Scope.SPACE


class PatchDocument(Record, frozen=True, tag_field="op", tag="patch"):
    """Apply edits in order to a document that exists."""

    id: str
    edits: tuple[Edit, ...]
    scope: Scope = Scope.SPACE


class DeleteDocument(Record, frozen=True, tag_field="op", tag="delete"):
    """Remove a whole document; deleting an absent one is allowed."""

    id: str
    scope: Scope = Scope.SPACE


Operation: TypeAlias = SetDocument | PatchDocument | DeleteDocument


class DocumentAbsent(Record, frozen=True, tag_field="when", tag="absent"):
    """Holds while the document does not exist. Failing is permanent."""

    id: str
    scope: Scope = Scope.SPACE


class DocumentIs(Record, frozen=True, tag_field="when", tag="hash"):
    """Holds while the document's value has this ``quiesce.values.value_hash``. Failing is a conflict."""

    id: str
    hash: str
    scope: Scope = Scope.SPACE


class OriginCommitted(Record, frozen=True, tag_field="when", tag="origin"):
    """Holds if this session's earlier commit ``local_seq`` was accepted. Failing is permanent."""

    local_seq: int


Precondition: TypeAlias = DocumentAbsent | DocumentIs | OriginCommitted


class CommitClass(StrEnum):
    """What made a commit, as its session says. It is told to whoever gets the document, and grants nothing."""

    EVENT = "event"
    """A handler, or a write from outside an action."""
    DERIVED = "derived"
    """An action that ran because something that it reads had changed."""


class Place(Record, frozen=True):
    """A place in a document by declared scope, with all that lies below it."""

    id: str
    scope: Scope = Scope.SPACE
    path: Path = ()

    def __str__(self) -> str:
        return "/".join((str(Document(self.id, self.scope)), *self.path))


class Certificate(Record, frozen=True):
    """All that an action reads and writes, as its author declares it, bound to the code that it was declared with."""

    action: str
    implementation: str
    runtime: str
    reads: tuple[Place, ...] = ()
    writes: tuple[Place, ...] = ()

    @property
    def name(self) -> str:
        """What commits call it: a digest of all of it."""
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=12).hexdigest()


class Commit(Record, frozen=True, tag_field="type", tag="commit"):
    """One atomic change, named by its session and ``local_seq`` (counted up by the client from 1)."""

    local_seq: int
    reads: tuple[Read, ...] = ()
    pending: tuple[PendingRead, ...] = ()
    operations: tuple[Operation, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    commit_class: CommitClass = CommitClass.EVENT
    certificate: str = ""
    """The name of its action's declared surface, if it has one."""


class Outcome(StrEnum):
    """What became of a commit, told apart by what the client must do."""

    ACCEPTED = "accepted"
    """Durable. Nothing to do."""
    CONFLICT = "conflict"
    """Something it read was overwritten: take the window that covers this verdict, then run again."""
    PERMANENT = "permanent"
    """A condition or an edit did not hold: running it again unchanged cannot help."""
    TERMINAL = "terminal"
    """Not allowed, or not a possible commit: a fault of the program or of its rights. Never retry."""


class Verdict(Record, frozen=True, tag_field="type", tag="verdict"):
    """The store's answer to ``local_seq``. ``seq`` is its place in the sequence when accepted, else the head.

    ``code`` is stable and for programs, ``message`` for people. ``documents`` are those in conflict; their
    current state is in the window that covers this verdict. ``certified``: all that the commit touched is in the
    declared surface that it named.
    """

    local_seq: int
    outcome: Outcome
    seq: Seq
    code: str = ""
    message: str = ""
    documents: tuple[Document, ...] = ()
    certified: bool = False
