"""What a replica tells about visible changes: which paths of which documents, why, and whose transaction it
was.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from quiesce.address import Address
from quiesce.values import Maybe

if TYPE_CHECKING:
    from quiesce.storage.transaction import Transaction


class NotificationKind(StrEnum):
    """Why visible values changed."""

    COMMIT = "commit"
    """A local transaction took effect, optimistically; emitted inside its ``commit``. ``source`` is it."""
    INTEGRATE = "integrate"
    """A window brought what others wrote."""
    REVERT = "revert"
    """A refused commit's writes were dropped, together with the window that explains it. ``source`` is it."""
    PULL = "pull"
    """The answer to a watch brought documents."""
    RESET = "reset"
    """The session was lost and a new one begins: everything read before must be read again. No changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One changed path of one document; ``before`` and ``after`` are the whole document's visible values.

    The path is a leaf, an array whose length changed, or ``()`` where the document appeared or disappeared
    (``quiesce.values.diff``). ``derived_by``: the holder that serves derivations and whose derived commit, by now
    confirmed, wrote the document; empty if it was anybody else's, or is not known to be.
    """

    address: Address
    before: Maybe
    after: Maybe
    derived_by: str = ""


@dataclass(frozen=True, slots=True)
class Notification:
    """All that became visible in one step of one space. Never empty, except for a reset."""

    kind: NotificationKind
    space: str
    changes: tuple[Change, ...]
    source: Transaction | None = None
