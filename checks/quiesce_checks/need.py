"""Whether each rule is needed, as its table says: an entry of a suite with ``engine = "ablate"``.

Each of the entry's rules is switched off alone. As expected is: a property fails that the rule's table
names, in as many steps as the table says, if it says so; or nothing fails, and the table calls the rule
redundant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .ablate import Ablation, Kill, ablate
from .job import Engine, Job, Runner, Watcher
from .report.figures import plural
from .rules import Rule
from .verdict import Outcome, Verdict

WITHOUT = "without "


def verdicts(
    job: Job, rules: dict[str, Rule], runner: Runner, watcher: Watcher | None
) -> Iterator[tuple[Verdict, bool, str]]:
    """For each rule a verdict named ``without BRK-9``, whether it is as expected, and what is wrong if it
    is not.

    ``violated`` is said of a rule that is needed, ``holds`` of one without which nothing fails.
    """
    explore = replace(job, engine=Engine.EXPLORE, rules=())
    named_by = {rule.id: rule.properties for rule in rules.values()}
    for ablation in ablate(explore, runner, job.rules, watcher, named_by):
        rule = rules.get(ablation.rule)
        named = kill_of(ablation, rule)
        outcome = Outcome.VIOLATED if ablation.killed else Outcome.HOLDS
        if not ablation.killed and ablation.undecided:
            outcome = Outcome.INCONCLUSIVE
        verdict = Verdict(
            machine=job.machine.__name__,
            property=WITHOUT + ablation.rule,
            outcome=outcome,
            engine=Engine.ABLATE.value,
            how=told(ablation, named),
            seconds=ablation.seconds,
            trace=named.trace if named is not None else None,
        )
        wrong = mistake(ablation, named, rule)
        yield verdict, not wrong, wrong


def kill_of(ablation: Ablation, rule: Rule | None) -> Kill | None:
    """The shortest failure of a property that the table names; without a table, of any."""
    named = rule.properties if rule is not None and rule.properties else None
    return next((kill for kill in ablation.kills if named is None or kill.fails in named), None)


def told(ablation: Ablation, named: Kill | None) -> str:
    if named is not None:
        end = "is never reached" if named.steps is None else f"fails in {plural(named.steps, 'step')}"
        return f"{named.fails} {end}"
    if ablation.kills:
        return f"{ablation.kills[0].fails} fails"
    if ablation.undecided:
        return f"{plural(ablation.undecided, 'property', 'properties')} without an answer"
    return f"only a domain is left: {ablation.fault}" if ablation.fault else "nothing fails"


def mistake(ablation: Ablation, named: Kill | None, rule: Rule | None) -> str:
    """What is not as the table says; empty if all is."""
    if rule is not None and rule.is_redundant:
        return f"the table calls {rule.id} redundant" if ablation.killed else ""
    if not ablation.killed:
        return f"nothing needs {ablation.rule}"
    if named is None:
        return f"the table names {', '.join(rule.properties)}" if rule is not None else ""
    lengths = steps_in(rule.need) if rule is not None else set[int]()
    if named.steps is not None and lengths and named.steps not in lengths:
        return f"the table says {' or '.join(str(steps) for steps in sorted(lengths))}"
    return ""


def steps_in(need: str) -> set[int]:
    """``fails in 4; 14`` names the shortest traces of several machines."""
    found = re.search(r"\bin ((?:\d+(?:; |, )?)+)", need)
    return {int(number) for number in re.findall(r"\d+", found[1])} if found is not None else set()
