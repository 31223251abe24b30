"""Which of several owners a state belongs to."""

from __future__ import annotations

OWNER_BITS = 15
"""Bits of the hash that say who owns a state: as many as the smallest table leaves over."""

OWNERS = 1 << 10
"""The most owners: with more, shares would differ by more than a few in a hundred."""


def owner_of(h: int, owners: int) -> int:
    """The owner that a hash says, before they are moved on so that the initial state is the first one's."""
    return ((h & ((1 << OWNER_BITS) - 1)) * owners) >> OWNER_BITS
