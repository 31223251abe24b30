"""Where a machine's source names its rules."""

from __future__ import annotations

from quiesce_model.language.machine import Machine, steps

from .relation.relation import Site

KNOWN: dict[tuple[type[Machine], frozenset[str]], dict[str, tuple[Site, ...]]] = {}
"""What was read before: the rules of a class, as long as the same actions are possible at all."""


def rule_sites(machine: Machine) -> dict[str, tuple[Site, ...]]:
    """The rules that the machine's own source names, and where, in the order of their numbers."""
    key = type(machine), frozenset(step.action for step in steps(machine))
    if key not in KNOWN:
        KNOWN[key] = sites_read(machine)
    return KNOWN[key]


def sites_read(machine: Machine) -> dict[str, tuple[Site, ...]]:
    from .relation.build import relation

    found: dict[str, list[Site]] = {}
    for rule, site in relation(machine).rules:
        sites = found.setdefault(rule, [])
        if site not in sites:
            sites.append(site)
    return {rule: tuple(found[rule]) for rule in sorted(found, key=rule_key)}


def rule_key(rule: str) -> tuple[str, int, str]:
    """``BRK-9`` before ``BRK-10``."""
    name, _, number = rule.partition("-")
    digits = "".join(character for character in number if character.isdigit())
    return name, int(digits or 0), number
