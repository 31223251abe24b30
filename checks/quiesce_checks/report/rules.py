"""Rules as text and as data: the table, one rule's reason, and what each ablation found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ablate import Ablation
from ..relation.relation import Site
from ..rules import Rule
from .figures import plural
from .page import Page, columns, flow, hang, words
from .problem import near

Sites = Mapping[str, Sequence[Site]]


def rules_lines(rules: Sequence[Rule], sites: Sites, page: Page) -> list[str]:
    """Each rule with its sentence, and under it where the model has it, what checks it and what it is
    needed for.
    """
    width = max((len(rule.id) for rule in rules), default=0) + 2
    lines: list[str] = []
    for rule in rules:
        lead = page.tone(rule.id, "strong") + " " * (width - len(rule.id))
        lines += hang(lead, words(rule.sentence, page.width - width))
        under = [
            f"model {', '.join(str(site) for site in sites[rule.id])}" if rule.id in sites else "not in the model",
            f"checked by {', '.join(rule.properties)}" if rule.properties else "",
            f"without it: {rule.need}" if rule.need else "",
        ]
        shown = flow([part for part in under if part], page.width - width, " · ")
        lines += [" " * width + page.tone(line, "dim") for line in shown]
    return lines


def rule_data(rule: Rule, sites: Sites) -> dict[str, Any]:
    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "source": rule.source or None,
        "properties": list(rule.properties),
        "without": rule.need or None,
        "file": near(str(rule.file)),
        "line": rule.line,
        "model": [f"{near(site.file)}:{site.line}" for site in sites.get(rule.id, ())],
    }


def ablation_lines(found: Sequence[Ablation], page: Page) -> list[str]:
    """The table: rule, the property that fails without it, in how many steps, and where the rule stands."""
    rows = [
        (ablation.rule, fails(ablation), in_steps(ablation), ", ".join(str(site) for site in ablation.sites))
        for ablation in found
    ]
    return columns(rows, page, ("without", "fails", "in", "rule at"), grow=1)


def fails(ablation: Ablation) -> str:
    if ablation.kills:
        first, *others = ablation.kills
        return first.fails + (f" and {plural(len(others), 'other')}" if others else "")
    if ablation.undecided:
        return f"undecided: {plural(ablation.undecided, 'property', 'properties')} without an answer"
    if ablation.fault:
        return f"no property; the model leaves a domain: {ablation.fault}"
    return "nothing"


def in_steps(ablation: Ablation) -> str:
    if not ablation.kills:
        return "–"
    steps = ablation.kills[0].steps
    return "never reached" if steps is None else plural(steps, "step")


def ablation_data(ablation: Ablation) -> dict[str, Any]:
    return {
        "rule": ablation.rule,
        "killed": ablation.killed,
        "fails": [{"property": kill.fails, "steps": kill.steps} for kill in ablation.kills],
        "fault": ablation.fault or None,
        "undecided": ablation.undecided,
        "sites": [f"{near(site.file)}:{site.line}" for site in ablation.sites],
        "seconds": round(ablation.seconds, 3),
    }


def why_lines(rule: str, found: Rule | None, sites: Sequence[Site], page: Page) -> list[str]:
    """The rule's sentence and where it stands, before it is shown what happens without it."""
    sentence = found.sentence if found is not None else "(no table in specs/ has a sentence for it)"
    lines = hang(page.tone(rule, "strong") + "  ", words(sentence, page.width - len(rule) - 2))
    about = [
        f"model {', '.join(dict.fromkeys(str(site) for site in sites))}" if sites else "",
        f"from {found.source}" if found is not None and found.source else "",
        f"checked by {', '.join(found.properties)}" if found is not None and found.properties else "",
        f"table: {found.need}" if found is not None and found.need else "",
    ]
    shown = flow([part for part in about if part], page.width - len(rule) - 2, " · ")
    return lines + [" " * (len(rule) + 2) + page.tone(line, "dim") for line in shown]
