"""Fixtures of the store's tests."""

from __future__ import annotations

import pytest
from store_world import World


@pytest.fixture
def world() -> World:
    """A fresh world with default limits."""
    return World()
