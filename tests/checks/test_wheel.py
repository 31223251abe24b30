"""The wheel, installed alone: what a person has who installs the runtime and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUILD = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", BUILD, str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / built.stdout.split()[-1]


def test_the_wheel_has_the_three_packages_and_says_that_they_are_typed(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"quiesce", "quiesce_model", "quiesce_checks"}
    for package in tops:
        assert f"{package}/py.typed" in names


@pytest.mark.slow
def test_the_wheel_alone_has_help_and_says_what_is_missing(wheel: Path, tmp_path: Path):
    """Installs the base dependencies from the package index."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", ROOT / "constraints.txt", wheel], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def quiesce(*words: str) -> subprocess.CompletedProcess[str]:
        command = [tmp_path / "venv" / "bin" / "quiesce", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    installed = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert not {"z3-solver", "llvmlite", "numpy", "hypothesis", "networkx"} & set(installed.split())
    shown = quiesce("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "The main job:" in shown.stdout
    ended = quiesce("prove", "echo_loop")
    assert ended.returncode == 2
    assert ended.stderr == "proving needs z3-solver, which is not installed\ntry     pip install 'quiesce[check]'\n"
