"""What each random walk likes to do: swarm testing, by numbers that depend on the seed and the walk alone.

A walk that takes every possible action with the same likelihood never leaves the neighbourhood of an action that cannot
be undone. So most walks switch actions off, or weigh them, each walk in its own way (Groce et al., *Swarm testing*,
2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = (1 << 64) - 1

LIKELY = 1 << 16
OFF = 1
"""What is switched off keeps this weight, so that a walk that can do nothing else goes on: 1 in 65,536 otherwise."""

WEIGHTS = (OFF, LIKELY // 20, LIKELY * 3 // 10, LIKELY)


def mixed(z: int) -> int:
    """64 well mixed bits (splitmix64)."""
    z = ((z ^ (z >> 30)) * FIRST) & WORD
    z = ((z ^ (z >> 27)) * SECOND) & WORD
    return z ^ (z >> 31)


def mixed_all(z: Words) -> Words:
    """:func:`mixed` of each."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


class Swarm:
    """The weights and the seeds of walks. ``names`` are the action's name of each move that a walk can choose."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self.seed = mixed(seed & WORD)
        found = list(dict.fromkeys(names))
        self.group = np.array([found.index(name) for name in names], dtype=np.intp)
        self.groups = len(found)

    def draws(self, first: int, runs: int, count: int, stream: int) -> Words:
        """Random words, one row for each walk: the same whichever walks are asked for together."""
        start = mixed(self.seed ^ stream)
        rows = mixed_all(np.arange(first, first + runs, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(start))
        return mixed_all(rows[:, None] + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN))

    def seeds(self, first: int, runs: int) -> NDArray[np.int64]:
        """What each walk's choices are drawn from."""
        return self.draws(first, runs, 1, 1)[:, 0].astype(np.int64)

    def weights(self, first: int, runs: int) -> NDArray[np.uint32]:
        """For each walk and move its weight.

        One walk in eight weighs all alike. Of the others half switch off each action with probability one half, and
        half give each a weight of 0, 5, 30 or 100 percent; half do so by the action's name, half with its arguments.
        """
        style = self.draws(first, runs, 1, 2)
        by_name = self.draws(first, runs, max(1, self.groups), 3)[:, self.group] if len(self.group) else style[:, :0]
        by_move = self.draws(first, runs, max(1, len(self.group)), 4)[:, : len(self.group)]
        drawn = np.where(bit(style, 0), by_name, by_move)
        switched = np.where(bit(drawn, 0), LIKELY, OFF)
        weighed = np.array(WEIGHTS)[(drawn >> np.uint64(1) & np.uint64(3)).astype(np.intp)]
        chosen = np.where(bit(style, 1), switched, weighed)
        alike = (style >> np.uint64(2) & np.uint64(7)) == 0
        return np.where(alike, LIKELY, chosen).astype(np.uint32)


def bit(words: Words, number: int) -> NDArray[Any]:
    return (words >> np.uint64(number) & np.uint64(1)).astype(bool)
