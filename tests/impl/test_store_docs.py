"""The documents name what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from quiesce.protocol import CLOSE_CODES
from quiesce.server.limits import Limits

ROOT = Path(__file__).parents[2]


def test_every_limit_is_documented() -> None:
    text = (ROOT / "docs" / "store.md").read_text()
    assert [field.name for field in fields(Limits) if f"`{field.name}`" not in text] == []


def test_every_code_is_documented() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text()
    source = "".join(path.read_text() for path in (ROOT / "impl" / "quiesce" / "server").glob("*.py"))
    used = set(re.findall(r'Outcome\.(?:CONFLICT|PERMANENT|TERMINAL),\s*"([a-z-]+)"', source))
    used |= set(re.findall(r'Problem\(\s*"([a-z-]+)"', source))
    assert len(used) > 20
    assert sorted(code for code in used | set(CLOSE_CODES) if f"`{code}`" not in text) == []
