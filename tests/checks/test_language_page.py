"""The example of docs/language.md is a model that is read, explored and ablated."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from quiesce_checks.engines.explore import explore
from quiesce_checks.verdict import Outcome

PAGE = Path(__file__).parents[2] / "docs" / "language.md"


@pytest.fixture
def client(tmp_path: Path) -> Any:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    file = tmp_path / "client.py"
    file.write_text(found.group(1))
    spec = importlib.util.spec_from_file_location("client_of_the_page", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Client


def test_the_example_holds(client: Any) -> None:
    assert {v.outcome for v in explore(client(servers=2, pause=3)).verdicts} == {Outcome.HOLDS}


def test_its_guard_is_needed(client: Any) -> None:
    found = explore(client(servers=1, pause=3, without={"CLI-1"})).verdict("rests_only_with_a_clean_count")
    assert found.outcome is Outcome.VIOLATED
