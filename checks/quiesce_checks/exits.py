"""What the command's exit status says."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from .verdict import Outcome


class Exit(IntEnum):
    """One code for each kind of ending. A run of many parts ends with the worst of theirs (:func:`worst`)."""

    AS_EXPECTED = 0
    VIOLATED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    VACUOUS = 4
    SUBJECT = 5
    BUG = 70
    INTERRUPTED = 130


WORST_FIRST = (
    Exit.INTERRUPTED,
    Exit.BUG,
    Exit.USAGE,
    Exit.SUBJECT,
    Exit.VIOLATED,
    Exit.VACUOUS,
    Exit.INCONCLUSIVE,
    Exit.AS_EXPECTED,
)
"""An interrupted run knows least; after it, what makes the other answers of the run worth less comes first.
"""

OF_OUTCOME = {
    Outcome.HOLDS: Exit.AS_EXPECTED,
    Outcome.PROVED: Exit.AS_EXPECTED,
    Outcome.VIOLATED: Exit.VIOLATED,
    Outcome.INCONCLUSIVE: Exit.INCONCLUSIVE,
    Outcome.VACUOUS: Exit.VACUOUS,
    Outcome.AGREES: Exit.AS_EXPECTED,
    Outcome.DIVERGES: Exit.VIOLATED,
    Outcome.FAILED: Exit.SUBJECT,
}


def worst(codes: Iterable[Exit]) -> Exit:
    """The code that stands first in :data:`WORST_FIRST`; of none, 0."""
    return min(codes, key=WORST_FIRST.index, default=Exit.AS_EXPECTED)
