"""Names and fingerprints that last, and the surface that an author declares."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from api_world import ApiWorld, SessionPeer

from quiesce.scheduler.identity import action_name, implementation_fingerprint


def describe(value: object) -> str | None:
    return "a cell" if isinstance(value, bytearray) else None


def closure_over(value: object) -> Callable[[], object]:
    def body() -> object:
        return value

    return body


def helper() -> int:
    return 1


class Thing:
    def method(self) -> None: ...


@pytest.mark.parametrize("value", [1, "a", None, (1, 2), bytearray(), helper, Thing, sys, len])
def test_what_was_captured_and_has_a_name_makes_a_lasting_one(value: object) -> None:
    one, other = action_name(closure_over(value), describe), action_name(closure_over(value), describe)
    assert one.lasting
    assert one == other
    assert one.id.startswith(f"{__name__}:closure_over.<locals>.body:")
    assert one.id != action_name(closure_over("something else"), describe).id


@pytest.mark.parametrize("value", [object(), [], {}, Thing()])
def test_what_was_captured_and_has_no_name_is_said(value: object) -> None:
    name = action_name(closure_over(value), describe)
    assert not name.lasting
    assert "it captured value" in name.why


def test_plain_functions_partials_methods_and_lambdas() -> None:
    assert action_name(helper, describe).id == f"{__name__}:helper"
    assert action_name(functools.partial(helper, 1), describe) != action_name(functools.partial(helper, 2), describe)
    assert not action_name(functools.partial(helper, object()), describe).lasting
    assert not action_name(Thing().method, describe).lasting
    assert not action_name(Thing, describe).lasting
    first, second, again = (lambda: 1), (lambda: 2), (lambda: 1)
    names = [action_name(function, describe).id.replace("<lambda>", "") for function in (first, second, again)]
    assert names[0] == names[2] != names[1]


def test_a_fingerprint_is_of_the_code_and_its_defaults() -> None:
    def make(source: str) -> Callable[..., object]:
        space: dict[str, Callable[..., object]] = {}
        exec(source, space)
        return space["f"]

    base = implementation_fingerprint(make("def f(a=1):\n    return a + 1"))
    assert base == implementation_fingerprint(make("def f(a=1):\n    return a + 1"))
    for other in ("def f(a=2):\n    return a + 1", "def f(a=1):\n    return a + 2", "def f(a=1):\n    return a - 1"):
        assert base != implementation_fingerprint(make(other))
    nested = "def f():\n    return [lambda: {}]"
    assert implementation_fingerprint(make(nested.format(1))) != implementation_fingerprint(make(nested.format(2)))


PROGRAM = """
import asyncio, sys, quiesce
from quiesce.counts import Counts
async def main():
    async with quiesce.open(sys.argv[1], counts=Counts(quiet=True)) as session:
        title = session.cell("title", default="")
        shout = session.computed(lambda: title.get().upper())
        print(shout.identity)
asyncio.run(main())
"""


def test_the_identity_is_the_same_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = [
        subprocess.run(
            [sys.executable, str(program), str(tmp_path / f"{number}.db")], capture_output=True, text=True, check=True
        ).stdout
        for number in range(2)
    ]
    assert said[0] == said[1]
    assert "lasting=True" in said[0]


EVERY_KIND = """
import asyncio, functools, sys, quiesce
from quiesce.counts import Counts

def join(left, right):
    return f"{left.get()} {right.get()}"

async def main():
    counts = Counts(quiet=True)
    async with quiesce.open(sys.argv[1], counts=counts) as session:
        title, words = session.cell("title", default="plan"), session.cell("words", default=["a", "b", "a"])
        def closure():
            return title.get() in {"plan", "other", "third"}
        @session.computed
        def decorated():
            return len(title.get())
        mine = [object()]
        derived = [
            decorated,
            session.computed(closure),
            session.computed(closure),
            session.computed(lambda: title.get() * 2),
            session.computed(lambda: title.get() * 3),
            session.computed(functools.partial(join, title, decorated)),
            session.computed(name="given")(lambda: len(mine)),
            words.map(lambda word: word + "!"),
            words.filter(lambda word: word == "a"),
        ]
        session.effect(lambda: [one.get() for one in derived])
        handler = session.handler(lambda event: title.set(event))
        await session.idle()
        for one in derived:
            print(one.identity)
        print(handler.node.label, *sorted(node.label for node in session.scheduler.nodes), sep="\\n")
        opaque = session.computed(lambda: len(mine))
        print(opaque.identity.lasting, opaque.scope, counts.counts_breakdown()["session"], session.replica.synced)
asyncio.run(main())
"""


def test_every_kind_of_action_is_known_again_after_a_restart_and_elsewhere(tmp_path: Path) -> None:
    """Two processes on one file, one after the other, and one on another file; hashes differ from process to process.
    The second finds all that the first derived and writes nothing."""
    program = tmp_path / "program.py"
    program.write_text(EVERY_KIND)
    said: list[list[str]] = []
    for number, database in enumerate(("one.db", "one.db", "two.db")):
        command = [sys.executable, str(program), str(tmp_path / database)]
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        said.append(run.stdout.splitlines())
    assert said[0] == said[1] == said[2]
    identities = [line for line in said[0] if line.startswith("DurableIdentity")]
    assert len(set(identities)) == len(identities) == 9
    assert all("lasting=True" in line for line in identities)
    assert sum(line.endswith(("/=a", "/=a#1", "/=b")) for line in said[0]) == 6, "key and occurrence, of two lists"
    assert said[0][-1].startswith("False session {'action-without-lasting-name': 1} ")


def test_a_declared_surface_stands_while_no_run_goes_beyond_it(world: ApiWorld, alice: SessionPeer) -> None:
    session = alice.session
    board, other = session.cell("board", default={}), session.cell("other", default=0)
    title, switch = board.at("title", default=""), board.at("title", "deep", default=0)
    derived = session.computed(name="d", surface=[title])(lambda: (title.get(), other.get() if switch.get() else 0))
    session.effect(lambda: derived.get())
    world.settle()
    board.set({"title": {"deep": 0}})
    world.settle()
    surface = derived.identity.surface
    assert surface is not None
    assert surface.implementation == derived.identity.implementation
    switch.set(1)
    world.settle()
    assert derived.identity.surface is None
    assert alice.counts.counts_breakdown()["scheduler"]["surface-exceeded"] == 1
    switch.set(0)
    world.settle()
    assert derived.identity.surface is None, "once is for good"
    assert derived.get() == [{"deep": 0}, 0]
