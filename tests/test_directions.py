"""Which part may import which, and that nothing speaks of a package registry."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"quiesce", "quiesce_model", "quiesce_checks"}
SEES_THE_RUNTIME = ("subjects", "traffic")


def imported(file: Path) -> set[str]:
    """The top-level packages that a file names in an import, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("file", files("model"), ids=str)
def test_the_model_imports_only_the_standard_library_and_itself(file: Path) -> None:
    assert imported(file) <= sys.stdlib_module_names | {"quiesce_model", "__future__"}


@pytest.mark.parametrize("file", files("impl"), ids=str)
def test_the_runtime_imports_nothing_else_of_ours(file: Path) -> None:
    assert imported(file) & OURS <= {"quiesce"}


def test_only_subjects_and_traffic_see_the_runtime() -> None:
    base = ROOT / "checks" / "quiesce_checks"
    seers = {file.relative_to(base).parts[0] for file in files("checks") if "quiesce" in imported(file)}
    assert seers <= {*SEES_THE_RUNTIME, "mutants", "cli.py"}


def test_an_import_in_the_wrong_direction_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("def later():\n    from quiesce.scheduler import breaker\n    import z3\n")
    assert imported(file) == {"quiesce", "z3"}


def test_no_host_of_a_package_registry_stands_anywhere() -> None:
    hosts = ["py" + "pi.org", "python" + "hosted", "npm" + "js", "registry." + "npm", "deb." + "debian"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in tracked:
        file = ROOT / name
        if file.is_file() and file.stat().st_size < 2_000_000:
            text = file.read_bytes()
            assert not any(host.encode() in text for host in hosts), name
