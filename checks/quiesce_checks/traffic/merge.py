"""One text out of concurrent edits: each edit's positions, moved to where they are in the merged text.

An edit's positions mean the text that its writer saw, which is the merge of the edit's ancestors and
not of everything that came before it in the file. The edits are walked once, in a causal order. Every
character keeps the neighbours that it was typed between, and for each edit the characters that its
writer had not seen are hidden and those that he had not seen deleted are shown, so the positions mean
what they meant to him. Concurrent insertions at one place are ordered by those neighbours and then by
writer.

Where one edit has all before it as ancestors and is an ancestor of all after it, nothing on one side is
concurrent with anything on the other, so the walk forgets the characters there and starts again on
plain text. People who type together meet often: the pieces in between are short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Patch:
    """Remove ``deleted`` characters at ``position``, then insert there."""

    position: int
    deleted: int
    inserted: str

    def apply(self, text: str) -> str:
        return text[: self.position] + self.inserted + text[self.position + self.deleted :]


@dataclass(frozen=True, slots=True)
class ConcurrentEdit:
    """An edit as its writer made it, on the merge of ``parents`` (positions of edits in the sequence)."""

    writer: int
    parents: tuple[int, ...]
    patches: tuple[Patch, ...]


def linear_patches(edits: Sequence[ConcurrentEdit]) -> Iterator[tuple[Patch, ...]]:
    """For each edit, in order, its patches on the text merged so far; none where another deleted the
    same before.

    Parents come before their children; raises ``ValueError`` where they do not.
    """
    earliest_parent = len(edits)  # of this edit and of all after it
    meets: list[bool] = []
    for number, edit in reversed(tuple(enumerate(edits))):
        if any(not 0 <= parent < number for parent in edit.parents):
            raise ValueError(f"edit {number} has a parent that is not before it; order the edits causally")
        earliest_parent = min((earliest_parent, *edit.parents))
        meets.append(earliest_parent == number - 1)
    walk = _Walk(0)
    tips: set[int] = set()
    for number, edit in enumerate(edits):
        if meets.pop() and len(tips) == 1:
            walk = _Walk(number)
        tips.difference_update(edit.parents)
        tips.add(number)
        yield tuple(walk.add(number, edit))


@dataclass(eq=False, slots=True)
class _Run:
    """Characters that lie together: one that was typed, or a stretch of the text that the walk began on.

    ``seen`` is what the current edit's writer has of it: 0 not yet there, 1 there, more: deleted that often.
    """

    length: int
    first: int | None  # offset in the text begun on; None if typed
    writer: int = -1
    left: _Spot | None = None
    right: _Spot | None = None
    seen: int = 1
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class _Spot:
    """A character that stays findable when the stretch that it lies in is cut."""

    typed: _Run | None
    offset: int = 0


@dataclass(slots=True)
class _Done:
    ancestors: int  # one bit an edit of this walk
    typed: list[_Run] = field(default_factory=list[_Run])
    removed: list[_Run] = field(default_factory=list[_Run])


_ENDLESS = 1 << 60
"""The text that a walk begins on: how long it is need not be known."""


class _Walk:
    def __init__(self, start: int) -> None:
        self._start = start
        self._runs = [_Run(_ENDLESS, 0)]
        self._done: list[_Done] = []
        self._version = 0

    def add(self, number: int, edit: ConcurrentEdit) -> Iterator[Patch]:
        ancestors = 0
        for parent in edit.parents:
            if parent >= self._start:
                ancestors |= self._done[parent - self._start].ancestors | 1 << (parent - self._start)
        self._go_to(ancestors)
        done = _Done(ancestors)
        self._done.append(done)
        for patch in edit.patches:
            yield from self._remove(patch, done)
            yield from self._insert(patch, edit.writer, done)
        self._version = ancestors | 1 << (number - self._start)

    def _go_to(self, version: int) -> None:
        for done in (self._done[bit] for bit in _bits(self._version & ~version)):
            for run in done.typed:
                run.seen -= 1
            for run in done.removed:
                run.seen -= 1
        for done in (self._done[bit] for bit in _bits(version & ~self._version)):
            for run in done.typed:
                run.seen += 1
            for run in done.removed:
                run.seen += 1
        self._version = version

    def _remove(self, patch: Patch, done: _Done) -> Iterator[Patch]:
        for _ in range(patch.deleted):
            index, merged = self._cut(patch.position)
            while self._runs[index].seen != 1:
                merged += self._shown(index)
                index += 1
            self._split(index, 1)
            run = self._runs[index]
            run.seen += 1
            done.removed.append(run)
            if not run.deleted:
                run.deleted = True
                yield Patch(merged, 1, "")

    def _insert(self, patch: Patch, writer: int, done: _Done) -> Iterator[Patch]:
        for offset, character in enumerate(patch.inserted):
            index, merged = self._cut(patch.position + offset)
            right = next((run for run in self._runs[index:] if run.seen > 0), None)
            left = self._runs[index - 1] if index else None
            new = _Run(1, None, writer, _last_of(left), _first_of(right), seen=1)
            index, merged = self._place(new, index, merged)
            self._runs.insert(index, new)
            done.typed.append(new)
            yield Patch(merged, 0, character)

    def _cut(self, position: int) -> tuple[int, int]:
        """Just behind the ``position``th character that the writer sees: index of the next run, merged
        position."""
        index = merged = 0
        while position > 0:
            run = self._runs[index]
            if run.seen == 1:
                if run.length > position:
                    self._split(index, position)
                    run = self._runs[index]
                position -= run.length
            merged += self._shown(index)
            index += 1
        return index, merged

    def _place(self, new: _Run, index: int, merged: int) -> tuple[int, int]:
        """Among characters at the same place that the writer had not seen, where the new one goes."""
        left, right = self._find(new.left, -1), self._find(new.right, len(self._runs))
        scan, scan_merged, skipping = index, merged, False
        while scan < len(self._runs) and self._runs[scan].seen == 0:
            other = self._runs[scan]
            other_left = self._find(other.left, -1)
            if other_left < left:
                break
            if other_left == left:
                other_right = self._find(other.right, len(self._runs))
                if other_right == right and new.writer < other.writer:
                    break
                skipping = other_right < right
            scan_merged += self._shown(scan)
            scan += 1
            if not skipping:
                index, merged = scan, scan_merged
        return index, merged

    def _find(self, spot: _Spot | None, otherwise: int) -> int:
        if spot is None:
            return otherwise
        for index, run in enumerate(self._runs):
            if run is spot.typed:
                return index
            if spot.typed is None and run.first is not None and 0 <= spot.offset - run.first < run.length:
                return index
        raise LookupError("a neighbour is not among the characters of its walk")

    def _shown(self, index: int) -> int:
        run = self._runs[index]
        return 0 if run.deleted else run.length

    def _split(self, index: int, length: int) -> None:
        """Make the run at ``index`` that long. Only a stretch of the text begun on is ever longer, and
        unharmed."""
        run = self._runs[index]
        if run.length > length:
            assert run.first is not None
            self._runs.insert(index, _Run(length, run.first))
            run.first += length
            run.length -= length


def _last_of(run: _Run | None) -> _Spot | None:
    if run is None:
        return None
    return _Spot(run) if run.first is None else _Spot(None, run.first + run.length - 1)


def _first_of(run: _Run | None) -> _Spot | None:
    if run is None:
        return None
    return _Spot(run) if run.first is None else _Spot(None, run.first)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
