"""The document that people type into while a derivation reads and perhaps rewrites it, and the derivations.

Recorded positions count what the writers typed. What the derivation takes away from the text is
therefore left in place as a mark that nobody sees, so that later positions still mean the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from quiesce.address import Address, Entity
from quiesce_checks.traffic.merge import Patch

DOCUMENT = Entity("home", "space", "text")
TEXT = Address(DOCUMENT, ("value", "text"))
COUNT = Address(DOCUMENT, ("value", "count"))
SUMMARY = Address(Entity("home", "space", "summary"), ("value",))

_PENDING, _GONE = "\x01", "\x00"  # a trimmed space: in a commit on its way, and for good


def _unmarked(typed: str) -> str:
    return typed.replace(_GONE, "").replace(_PENDING, "")


def _trimmed(line: str) -> str:
    kept = line.rstrip(f" {_PENDING}{_GONE}")
    return kept + line[len(kept) :].replace(" ", _PENDING)


class Derivation(StrEnum):
    """What the derivation does with the text that it reads."""

    SUMMARY = "summary"
    """Writes the number of characters to another document."""
    FIELD = "field"
    """Writes it to another field of the text's document."""
    TRIM = "trim"
    """Takes the spaces off the ends of the lines of the text itself."""
    HEADING = "heading"
    """Keeps the number of characters in a first line of the text itself."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write detail, as the runtime's classifier takes it."""

    address: Address
    previous: str | int
    value: str | int


class SharedText:
    """What one session sees of the document, with at most one commit of the derivation on its way."""

    def __init__(self, derivation: Derivation) -> None:
        self._derivation = derivation
        self._typed = ""  # with marks
        self._seen = ""  # without
        self._heading = self._heading_before = ""
        self._count = self._count_before = 0

    def edit(self, patches: tuple[Patch, ...]) -> bool:
        """Apply a writer's edit; whether it changed what is seen."""
        before = self._seen
        for patch in patches:
            start, end = patch.position, patch.position + patch.deleted
            removed = _unmarked(self._typed[start:end])
            hidden = self._typed.count(_GONE, 0, start) + self._typed.count(_PENDING, 0, start)
            self._seen = Patch(start - hidden, len(removed), patch.inserted).apply(self._seen)
            self._typed = patch.apply(self._typed)
        return self._seen != before

    def text(self) -> str:
        """The text as everybody sees it."""
        return self._heading + self._seen

    def derive(self) -> tuple[Write, ...]:
        """Run the derivation and show its writes at once. An equal value makes no write, as storage has
        it."""
        match self._derivation:
            case Derivation.SUMMARY | Derivation.FIELD:
                count = len(self.text())
                if count == self._count:
                    return ()
                self._count_before, self._count = self._count, count
                address = SUMMARY if self._derivation is Derivation.SUMMARY else COUNT
                return (Write(address, self._count_before, count),)
            case Derivation.TRIM:
                before = self._seen
                if " \n" not in before and not before.endswith(" "):
                    return ()
                self._typed = "\n".join(_trimmed(line) for line in self._typed.split("\n"))
                self._seen = _unmarked(self._typed)
                return (Write(TEXT, before, self.text()),)
            case Derivation.HEADING:
                before = self.text()
                heading = f"{len(self._seen)} characters\n"
                if heading == self._heading:
                    return ()
                self._heading_before, self._heading = self._heading, heading
                return (Write(TEXT, before, self.text()),)

    def accept(self) -> None:
        """The commit on its way has been accepted."""
        self._typed = self._typed.replace(_PENDING, _GONE)

    def reject(self) -> None:
        """The commit on its way has been rejected: what it showed is taken back."""
        if _PENDING in self._typed:
            self._typed = self._typed.replace(_PENDING, " ")
            self._seen = _unmarked(self._typed)
        self._heading, self._count = self._heading_before, self._count_before
