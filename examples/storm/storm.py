"""A storm, live: two processes that each write their own tag into one document, and what the breaker does about it.

    python examples/storm/storm.py                    with the breaker, for twenty seconds
    python examples/storm/storm.py --without          the same loop in a runtime that never trips
    python examples/storm/storm.py --sessions 2       two processes a side: races decide whether it is held
    python examples/storm/storm.py --sessions 2 --repair

It starts a server of its own on a free port and prints its health page's address. Each line is one second: commits in
it, and what the sessions report. Everything stays on this machine and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import urllib.request
from typing import Any

import quiesce
from quiesce.counts import Counts
from quiesce.scheduler.breaker_policy import BreakerPolicy

NEVER = 10**9
SERVE = "from quiesce.cli import serve; serve()"


async def side(url: str, tag: str, policy: BreakerPolicy) -> None:
    """One session that wants the document to say what it says."""
    async with quiesce.connect(url, space="storm", token=tag, counts=Counts(quiet=True), policy=policy) as session:
        shared = session.cell("shared", default="")

        @session.effect(name=f"write {tag[0]}")
        def write() -> None:
            if shared.get() != tag[0]:
                shared.set(tag[0])

        await asyncio.Event().wait()


def health(url: str) -> dict[str, Any]:
    address = url.replace("ws://", "http://") + "/api/health/stats"
    request = urllib.request.Request(address, headers={"Authorization": "Bearer watcher"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


async def watch(url: str, seconds: int) -> None:
    """Print what the server tells, once a second."""
    before, told = 0, 0
    print(f"{'second':>6} {'commits':>8}  the health page: {url.replace('ws://', 'http://')}/")
    for second in range(1, seconds + 1):
        await asyncio.sleep(1)
        space = (await asyncio.to_thread(health, url))["spaces"].get("storm")
        if space is None:
            continue
        commits, before = space["sequence"] - before, space["sequence"]
        reports = space["sessionReports"]
        news = [
            f"{report['principal']}: {report['event']} of '{report['action']}' over {report['document']}"
            + (f", ended by {report['reason']}" if report["reason"] else "")
            for report in sorted(reports, key=lambda report: report["at"])[told:]
        ]
        told = len(reports)
        print(f"{second:>6} {commits:>8}  {'#' * min(60, commits)} {'; '.join(news)}".rstrip(), flush=True)


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def address_of(server: subprocess.Popen[str]) -> str:
    said: list[str] = []
    for line in server.stdout or ():
        said.append(line)
        if " on ws://" in line:
            return line.split(" on ")[1].strip().removesuffix("/sync")
    raise SystemExit("the server did not start: " + "".join(said[-3:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=1, choices=[1, 2], help="processes a side")
    parser.add_argument("--without", action="store_true", help="constants with which the breaker never trips")
    parser.add_argument("--repair", action="store_true", help="the breaker's variant clear_when_settled")
    parser.add_argument("--side", nargs=2, metavar=("URL", "TAG"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    policy = BreakerPolicy(
        echo_trip_threshold=NEVER if chosen.without else BreakerPolicy().echo_trip_threshold,
        clear_when_settled=chosen.repair,
    )
    if chosen.side:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(side(*chosen.side, policy))
        return
    options = [*(["--without"] if chosen.without else []), *(["--repair"] if chosen.repair else [])]
    with tempfile.TemporaryDirectory() as directory:
        server = start("-c", SERVE, "--db", directory, "--port", "0", "--dev", "--synchronous", "OFF")
        sides: list[subprocess.Popen[str]] = []
        try:
            url = address_of(server)
            tags = [f"{name}{number}" for number in range(chosen.sessions) for name in ("ann", "ben")]
            sides.extend(start(__file__, *options, "--side", url, tag) for tag in tags)
            asyncio.run(watch(url, chosen.seconds))
        except KeyboardInterrupt:
            pass
        finally:
            for process in (*sides, server):
                process.terminate()
                process.wait(10)


if __name__ == "__main__":
    main()
