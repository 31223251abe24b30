"""A short run of the crash check; ``make crash`` runs the long one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from store_crash import crash


def test_killed_servers_lose_nothing_that_they_acknowledged(tmp_path: Path) -> None:
    outcome = asyncio.run(crash(tmp_path, kills=3, seed=7))
    assert outcome.stored >= 10
