"""``docs/adapters.md`` is as it runs: its conversation, its suite and its test."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from javascript import needs_node

from quiesce_checks.suite import load_suite

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "adapters"
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def conversation() -> list[tuple[str, object]]:
    """Each request as it stands there, and its answer."""
    found = re.search(r"```transcript\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    lines = found[1].splitlines()
    assert [line[0] for line in lines] == ["→", "←"] * (len(lines) // 2)
    return [(ask[2:], json.loads(answer[2:])) for ask, answer in zip(lines[::2], lines[1::2], strict=True)]


def answers(command: list[str]) -> list[object]:
    asked = "".join(f"{request}\n" for request, _ in conversation())
    done = subprocess.run(command, cwd=EXAMPLES, input=asked, capture_output=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_conversation_is_had_with_the_example_in_python():
    assert len(conversation()) == 9
    assert answers([sys.executable, "-S", "gate_adapter.py"]) == [answer for _, answer in conversation()]


@needs_node
def test_the_example_in_javascript_says_the_same_in_its_own_words():
    def without_words(data: object) -> object:
        text = json.dumps(data)
        text = re.sub(r'"(refused|message|name)": "(?:\\.|[^"\\])*"', r'"\1": ""', text)
        return json.loads(text)

    got, expected = answers(["node", "gate_adapter.js"]), [answer for _, answer in conversation()]
    assert [without_words(answer) for answer in got[:-1]] == [without_words(answer) for answer in expected[:-1]]
    assert "fits" in json.dumps(got[-1])  # it has no use for such moments, and says so


def block(name: str) -> str:
    found = re.search(rf"```\w+\n# {re.escape(name)}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_its_suite_and_its_test_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "specs").mkdir()
    suite = tmp_path / "specs" / "gate.toml"
    suite.write_text(block("specs/gate.toml"))
    (check,) = load_suite(suite).checks
    assert check.job.pairing is not None
    assert check.job.pairing.adapter == "python gate_adapter.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    test = block("test_gate.py").replace('"python gate_adapter.py"', repr(f"{sys.executable} -S gate_adapter.py"))
    assert "-S" in test
    names: dict[str, Any] = {}
    exec(test, names)
    names["TestGate"].settings = settings(max_examples=3, deadline=None, database=None)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(names["TestGate"]).run(result)
    assert (result.testsRun, result.wasSuccessful()) == (1, True)


def test_every_failure_that_it_names_is_one_that_is_told():
    sources = "".join(
        (ROOT / "checks" / "quiesce_checks" / "lockstep" / name).read_text()
        for name in ("stdio.py", "stdio_child.py", "question.py", "tour.py")
    )
    for words in (
        "without an answer to",
        "gave no answer to",
        "was ended by",
        "flaky",
        "its reset leaves something behind",
    ):
        assert words in PAGE
        assert words in sources
