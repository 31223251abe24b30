"""What the suites call holding or proved has been seen to fail, each property once: none is true of any machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_adoption_properties import FAILS as OF_ADOPTION
from test_one_node_properties import FAILS as OF_ONE_NODE
from test_sync_properties import LEMMAS, PROMISES

from quiesce_checks.job import Engine, all_marked, kind_of
from quiesce_checks.rules import read_rules
from quiesce_checks.suite import Check, load_suite
from quiesce_checks.verdict import Outcome
from quiesce_model import Machine

SPECS = Path(__file__).parents[2] / "specs"
SUITES = ("gates", "scheduler", "scheduler_rules", "sync", "sync_sessions", "sync_rules", "adoption", "adoption_rules")
RULES = read_rules(sorted(SPECS.glob("*.md")))
CHECKS = [check for suite in SUITES for check in load_suite(SPECS / f"{suite}.toml").checks]

Property = tuple[type, str]
"""A property and the class that says it: a subclass that inherits it has nothing of its own to show."""


def said_by(machine: type[Machine], name: str) -> Property:
    return next(base for base in machine.__mro__ if name in vars(base)), name


def promised(machine: type[Machine]) -> Iterator[Property]:
    """What has to hold of the machine in each state, or of each step."""
    for name, info in all_marked(machine):
        if kind_of(info) in ("invariant", "step"):
            yield said_by(machine, name)


def broken_in(check: Check) -> Iterator[str]:
    """What fails in an entry as expected. Where a rule's table names several properties, one of them may do."""
    if check.expect is Outcome.VIOLATED:
        yield from check.job.properties or ()
    if check.job.engine is Engine.ABLATE:
        names = {name for _, name in promised(check.job.machine)}
        for rule in RULES:
            named = names.intersection(rule.properties)
            if len(named) == 1 and (not check.job.rules or rule.id in check.job.rules):
                yield from named


@pytest.fixture(scope="module")
def seen() -> set[Property]:
    in_suites = {said_by(check.job.machine, name) for check in CHECKS for name in broken_in(check)}
    in_tests = {
        said_by(type(machine), name)
        for name, machine in [*OF_ADOPTION, *OF_ONE_NODE, *PROMISES, *LEMMAS]
        if name != "no_deadlock"
    }
    return in_suites | in_tests


@pytest.mark.parametrize("machine", sorted({check.job.machine for check in CHECKS}, key=lambda found: found.__name__))
def test_every_property_has_been_seen_to_fail(machine: type[Machine], seen: set[Property]) -> None:
    assert [name for owner, name in promised(machine) if (owner, name) not in seen] == []
