"""Pages that are run: files are written, commands are called, and what the page shows is what they print.

A block of code whose first line is ``# name.py`` is a file of a project; an indented block that begins with ``$`` is a
command and its output.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from golden import timeless

DOCS = Path(__file__).parent.parent.parent / "docs"

FILE = r"```(?:python|toml)\n# (?P<file>\S+)\n(?P<text>.*?)```"
CALL = r"^    \$ (?P<call>[^\n]*)(?P<out>(?:\n    (?!\$ )[^\n]*|\n(?=\n+    (?!\$ )))*)"
PART = re.compile(f"{FILE}|{CALL}", re.DOTALL | re.MULTILINE)


def hold_page(name: str, folder: Path, request: pytest.FixtureRequest) -> None:
    """Run a page in a folder and compare; ``--update-golden`` writes what was printed into the page."""
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    ran = PART.sub(lambda found: part(found, folder), text)
    if request.config.getoption("--update-golden"):
        page.write_text(ran, encoding="utf-8")
        text = ran
    assert comparable(ran) == comparable(text)


def part(found: re.Match[str], folder: Path) -> str:
    if found["file"]:
        path = folder / found["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found["text"], encoding="utf-8")
        return found[0]
    printed = call(found["call"], folder).rstrip("\n").split("\n")
    lines = [f"    $ {found['call']}", *(f"    {line}".rstrip() for line in printed)]
    return "\n".join(lines)


def call(words: str, folder: Path) -> str:
    program, *arguments = shlex.split(words)
    modules = {"quiesce": ["-m", "quiesce_checks.cli"], "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"]}
    command = [sys.executable, *modules[program], *arguments] if program in modules else [program, *arguments]
    environment = {**os.environ, "COLUMNS": "96", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):  # under CI pytest says more than it does to a person
        environment.pop(name, None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def comparable(text: str) -> str:
    """Without times and rates, and without where lines are broken, which a rate's digits may decide."""
    flat = re.sub(r"\s+", " ", timeless(text))
    return re.sub(r"[\d,]+ steps/s", "R", re.sub(r"\bin [\d.]+s( \([\d:]+\))?", "in T", flat))
