"""Fixtures of the runtime's tests.

With ``QUIESCE_CHECKED=1`` in the environment (``make test-checked``) every scheduler of every test compares all that it
keeps incrementally with its definition after each step, those over real sockets and in serving runtimes included.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from store_world import World

from quiesce.scheduler.scheduler import Scheduler


@pytest.fixture(autouse=True, scope="session")
def check_definitions() -> Iterator[None]:
    """Every scheduler is a checked one, if the environment asks for it."""
    if os.environ.get("QUIESCE_CHECKED") != "1":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        make = Scheduler.__init__

        def checked(scheduler: Scheduler, *given: Any, **options: Any) -> None:
            make(scheduler, *given, **{**options, "checked": True})

        patch.setattr(Scheduler, "__init__", checked)
        yield


@pytest.fixture
def world() -> World:
    """A fresh world with default limits."""
    return World()
