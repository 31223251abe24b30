"""The example board: two terminals as processes, a real server, and what each of them shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from store_crash import Server, free_port

BOARD = Path(__file__).parents[2] / "examples" / "board" / "board.py"


class Terminal:
    """A running example: lines in, lines out."""

    def __init__(self, name: str, port: int) -> None:
        command = [sys.executable, str(BOARD), name, "--url", f"ws://127.0.0.1:{port}/sync"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def type(self, line: str) -> None:
        """A line and the return key."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def wait_for(self, line: str) -> None:
        """Read until a line is shown."""
        assert self._process.stdout is not None
        for shown in self._process.stdout:
            if shown.rstrip("\n") == line:
                return
        raise AssertionError(f"the terminal ended without showing {line!r}")

    def end(self) -> int:
        """Quit, and how it ended."""
        self.type("quit")
        self._process.communicate(timeout=30)
        return self._process.returncode


def test_two_terminals_share_a_board(tmp_path: Path) -> None:
    port = free_port()
    server = Server(tmp_path, port)
    server.start()
    ann, ben = Terminal("ann", port), Terminal("ben", port)
    try:
        ann.wait_for("done")
        ben.wait_for("done")
        ann.type("add buy milk")
        ben.wait_for("   1  buy milk  (ann)")
        ben.wait_for("done")
        ben.type("move 1 done")
        ann.wait_for("done")
        ann.wait_for("   1  buy milk  (ann)")
        ann.type("nonsense")
        ann.wait_for("add TEXT · move N todo|doing|done · drop N · quit")
    finally:
        assert ann.end() == 0
        assert ben.end() == 0
        server.kill()
