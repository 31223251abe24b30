"""A plugin for pytest (``-p trace_each``): every test's schedulers write into a file of that test's own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def trace_each(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid)[-150:]
    monkeypatch.setenv("QUIESCE_TRACE", str(Path(os.environ["TRACE_FOLDER"], f"{name}.ndjson")))
