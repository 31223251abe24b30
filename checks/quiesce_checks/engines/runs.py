"""Sorted runs of 128-bit fingerprints in files: a set that is only added to and asked in bulk.

Duplicates are detected late (Stern and Dill, *Using magnetic disk instead of main memory in the Murphi verifier*,
1998): candidates are collected, sorted, and held against every run in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

MOST = 8
"""Runs at a time: where there are more, the small ones are merged into one."""


@dataclass(frozen=True)
class Prints:
    """Fingerprints by their halves, both arrays of one length."""

    first: Words
    second: Words

    def __len__(self) -> int:
        return len(self.first)

    def take(self, at: NDArray[Any]) -> Prints:
        return Prints(self.first[at], self.second[at])


def order(prints: Prints) -> NDArray[np.intp]:
    """The stable order by both halves. The second decides so seldom that it is looked at only where it has to."""
    found = np.argsort(prints.first, kind="stable")
    first, second = prints.first[found], prints.second[found]
    if bool(np.any((first[1:] == first[:-1]) & (second[1:] != second[:-1]))):
        return np.lexsort((prints.second, prints.first))
    return found


def earliest(prints: Prints) -> NDArray[np.intp]:
    """In the order of fingerprints, where each stands first: duplicates are left out."""
    found = order(prints)
    first, second = prints.first[found], prints.second[found]
    new = np.ones(len(found), dtype=np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return found[new]


def known(run: Prints, sorted_: Prints) -> NDArray[np.bool_]:
    """Which of some sorted fingerprints are in a run."""
    size = len(run)
    if not size:
        return np.zeros(len(sorted_), dtype=np.bool_)
    place = np.searchsorted(run.first, sorted_.first)
    found = np.zeros(len(sorted_), dtype=np.bool_)
    left = np.arange(len(sorted_))
    while len(left):
        left = left[place[left] < size]
        left = left[run.first[place[left]] == sorted_.first[left]]
        same = run.second[place[left]] == sorted_.second[left]
        found[left[same]] = True
        left = left[~same]
        place[left] += 1
    return found


class Runs:
    """The set, in a folder of its own. ``room`` is how many fingerprints may be in memory while runs are merged."""

    def __init__(self, folder: Path, room: int) -> None:
        self.folder = folder
        self.room = room
        self.made = 0
        self.runs: list[Prints] = []
        self.files: list[tuple[Path, Path]] = []

    @property
    def bytes(self) -> int:
        return sum(16 * len(run) for run in self.runs)

    def new(self, sorted_: Prints) -> NDArray[np.bool_]:
        """Which of some sorted fingerprints, all different, are in no run."""
        found = np.zeros(len(sorted_), dtype=np.bool_)
        for run in self.runs:
            found |= known(run, sorted_)
        return ~found

    def add(self, sorted_: Prints) -> None:
        """Keep fingerprints that are sorted and new. Raises OSError if the disk is full."""
        if not len(sorted_):
            return
        self.keep([sorted_])
        if len(self.runs) > MOST:
            self.merge()

    def keep(self, pieces: Sequence[Prints]) -> None:
        self.made += 1
        files = self.folder / f"{self.made}.first", self.folder / f"{self.made}.second"
        with files[0].open("wb") as first, files[1].open("wb") as second:
            for piece in pieces:
                first.write(piece.first.data)
                second.write(piece.second.data)
        self.opened(files)

    def opened(self, files: tuple[Path, Path]) -> None:
        halves = [np.memmap(file, dtype=np.uint64, mode="r") for file in files]
        self.runs.append(Prints(*halves))
        self.files.append(files)

    def merge(self) -> None:
        """The small runs into one: all that are together no smaller than the next larger one, so that a fingerprint is
        written again only a few times. Fingerprints are spread evenly, so equal stretches of them are equally full."""
        found = sorted(zip(self.runs, self.files, strict=True), key=lambda pair: -len(pair[0]))
        sizes = [len(run) for run, _ in found]
        first = next((n for n in range(len(found) - 2) if sizes[n] <= sum(sizes[n + 1 :])), len(found) - 2)
        self.runs, self.files = [run for run, _ in found[:first]], [files for _, files in found[:first]]
        old, files = [run for run, _ in found[first:]], [files for _, files in found[first:]]
        total = sum(len(run) for run in old)
        stretches = max(1, -(-2 * total // self.room))
        ends = [(number << 64) // stretches for number in range(1, stretches)]
        cuts = [
            np.concatenate(([0], np.searchsorted(run.first, np.array(ends, dtype=np.uint64)), [len(run)]))
            for run in old
        ]
        self.made += 1
        made = self.folder / f"{self.made}.first", self.folder / f"{self.made}.second"
        with made[0].open("wb") as first, made[1].open("wb") as second:
            for number in range(stretches):
                parts = [slice(int(cut[number]), int(cut[number + 1])) for cut in cuts]
                piece = Prints(
                    np.concatenate([run.first[part] for run, part in zip(old, parts, strict=True)]),
                    np.concatenate([run.second[part] for run, part in zip(old, parts, strict=True)]),
                )
                piece = piece.take(order(piece))
                first.write(piece.first.data)
                second.write(piece.second.data)
        self.opened(made)
        for pair in files:
            for file in pair:
                file.unlink()
