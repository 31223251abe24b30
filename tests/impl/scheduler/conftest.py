"""Fixtures of tests that see the runtime as a program does. Those of the scheduler alone have their own."""

from __future__ import annotations

import pytest
from api_world import ApiWorld, SessionPeer


@pytest.fixture
def world() -> ApiWorld:
    """A fresh world of sessions."""
    return ApiWorld()


@pytest.fixture
def alice(world: ApiWorld) -> SessionPeer:
    """A session in it."""
    return world.session("alice")
