"""A judged log as text and as data: how much of it was matched and what it exercised, or where it stops being a
behaviour of the model, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quiesce_model.language.machine import ActionInfo, Machine, Step, all_marked, is_timed, layout, leaves

from ..machines import short_name, shown
from ..relation.errors import ModelError
from ..relation.relation import Site
from ..report.figures import count, plural, seconds
from ..report.page import Page, Tone, flow, hang, pad, series, wide, words
from ..report.problem import near
from ..report.shape import Node, changes, entries, select, shape
from ..verdict import Outcome
from .search import Coverage
from .seen import Differs, State
from .validation import Failure, Judged, Validation
from .why import Guard, Tried

STATES = 4
"""How many of the states alive are shown."""

MOST_TRIED = 8
"""How many attempts are told."""

MOST_FAILED = 10
"""How many of the machines that a log does not fit are named."""

SAYS: dict[Outcome, tuple[str, Tone]] = {
    Outcome.HOLDS: ("explained", "good"),
    Outcome.VIOLATED: ("refused", "bad"),
    Outcome.INCONCLUSIVE: ("inconclusive", "odd"),
    Outcome.VACUOUS: ("vacuous", "odd"),
}

Sentences = Mapping[str, str]
"""Rules in words."""


def validation_lines(found: Validation, page: Page, name: str, sentences: Sentences) -> list[str]:
    """Everything that is told of a log. ``name`` is what it was held against."""
    head = f"{found.log}  {name}"
    lines = [page.tone(pad(head, page.width - 8), "strong") + f"  {seconds(found.seconds)}"]
    lines += [f"    {line}" for line in flow(summary(found), page.width - 4, " ")]
    word, tone = SAYS[found.outcome]
    first, *more = verdict(found)
    lines += [f"  {page.tone(word, tone)}  {first}", *(f"    {line}" for line in more)]
    failed = [one for one in found.judged if one.outcome is not Outcome.HOLDS]
    lines += [f"    {line}" for note in notes(found) for line in words(note, page.width - 8)]
    if failed:
        worst = next((one for one in failed if one.outcome is found.outcome), failed[0])
        if worst.failure is not None:
            lines += ["", *failure_lines(worst, worst.failure, found, page, sentences)]
        if len(failed) > 1:
            named = [f"{one.key} (line {one.failure.line.number if one.failure else '?'})" for one in failed]
            lines += ["", *hang(f"  {len(failed)} in all: ", series(named[:MOST_FAILED], page.width - 12))]
    if found.matched:
        lines += coverage_lines(found, page)
    return lines


def notes(found: Validation) -> list[str]:
    """Why some machines were not judged to the end, each reason once."""
    reasons: dict[str, list[Judged]] = {}
    for one in found.judged:
        if one.note:
            reasons.setdefault(one.note, []).append(one)
    return [
        f"{plural(len(those), 'machine')} not to the end: {reason} ({those[0].key}, line {those[0].judged_to:,})"
        for reason, those in reasons.items()
    ]


def summary(found: Validation) -> list[str]:
    """``1,204 lines, 1,198 matched;`` and so on, in parts."""
    coverage = found.coverage
    parts = [f"{plural(found.lines, 'line')},", f"{count(found.matched)} matched"]
    if len(found.judged) > 1:
        parts[-1] += f" in {plural(len(found.judged), 'machine')}"
    most = max((one.most for one in found.judged), default=0)
    parts[-1] += ";"
    parts.append(f"at most {plural(most, 'state')} alive;")
    parts.append(f"{plural(sum(coverage.actions.values()), 'step')},")
    parts.append(f"{plural(sum(coverage.hidden.values()), 'hidden step')}")
    return parts


def verdict(found: Validation) -> list[str]:
    torn = f"line {found.torn} was cut off, as by a crash: what comes before it was judged" if found.torn else ""
    match found.outcome:
        case Outcome.HOLDS:
            said = "every line is what the model could have done"
        case Outcome.VACUOUS if not found.lines or (found.torn == found.lines):
            said = "the log is empty: nothing was judged"
        case Outcome.VACUOUS:
            said = "no line stands for a step of the model: nothing was judged"
        case Outcome.VIOLATED:
            said = "the model could not have done this"
        case _:
            why = next((one.why for one in found.judged if one.outcome is Outcome.INCONCLUSIVE and one.why), "")
            said = why or "not everything was tried"
    return [said, *([torn] if torn else [])]


def failure_lines(one: Judged, failure: Failure, found: Validation, page: Page, sentences: Sentences) -> list[str]:
    machine, log = one.machine, found.log
    about = f" of {one.key}" if one.key else ""
    what = "REFUSED" if one.outcome is Outcome.VIOLATED else "NOT EXPLAINED"
    lines = [page.tone(f"{what}  {log}:{failure.line.number}  is no step of {short_name(type(machine))}{about}", "bad")]
    constants = [f"{name}={shown(value)}" for name, value in machine.constants_.items()]
    timed = [f"a unit of time is {found.unit:g} ms"] if is_timed(machine) else []
    lines += hang("  with ", series([*constants, *timed], page.width - 7)) if constants or timed else []
    if failure.last is not None:
        lines += hang(f"  last matched  {failure.last.number}: ", words(failure.last.short, page.width - 22))
    else:
        lines.append("  last matched  none: it is the first")
    lines += hang(f"  refused       {failure.line.number}: ", words(failure.line.short, page.width - 22))
    states = failure.refusal.states or failure.alive
    lines.append(f"  {plural(len(states), 'state')} alive then, at {failure.at:,}")
    lines += [f"    {line}" for line in alive_lines(machine, states, page)]
    tried = failure.refusal.tried
    lines.append("  what it could have been")
    for attempt in tried[:MOST_TRIED]:
        lines += [f"    {line}" for line in tried_lines(attempt, len(states), page, sentences)]
    if len(tried) > MOST_TRIED:
        lines.append(f"    … and {len(tried) - MOST_TRIED} more")
    if failure.refusal.hidden:
        lines.append("  hidden steps before it")
        for attempt in failure.refusal.hidden[:MOST_TRIED]:
            lines += [f"    {line}" for line in tried_lines(attempt, len(states), page, sentences)]
    return lines


def alive_lines(machine: Machine, states: Sequence[State], page: Page) -> list[str]:
    """The first state, what of it is at its start left out, and how the others differ from it."""
    hidden = {leaf.name for leaf in leaves(machine) if leaf.ghost}

    def tree(state: State) -> Node:
        return select(shape(layout(machine), iter(state)), lambda path: path not in hidden)

    start = {entry.path: entry.value for entry in entries(tree(tuple(leaf.start for leaf in leaves(machine))))}
    first = tree(states[0])
    told = [f"{e.path} = {e.value}" for e in entries(first) if start.get(e.path) != e.value]
    all_told = len(told) == len(entries(first))
    rest = [] if all_told else ["(the rest as at the start)" if told else "as at the start"]
    lines = hang("1  ", flow([*told, *rest], page.width - 8))
    for number, state in enumerate(states[1:STATES], 2):
        differ = [f"{change.path} = {change.after}" for change in changes(first, tree(state))]
        lines += hang(f"{number}  but ", flow(differ, page.width - 12))
    if len(states) > STATES:
        lines.append(f"… and {len(states) - STATES} more")
    return lines


def tried_lines(tried: Tried, states: int, page: Page, sentences: Sentences) -> list[str]:
    """One attempt: its name, and what is in its way."""
    name = call(tried.step)
    where = f"  in {tried.states} of {states}" if states > 1 and tried.states != states else ""
    room = page.width - 8
    if tried.guard is not None:
        return guard_lines(name, tried.guard, where, room, page, sentences)
    if tried.fault:
        return hang(f"{name}  ", words(f"the model itself goes wrong here: {tried.fault}{where}", room - wide(name)))
    return hang(f"{name}  ", [*(differs_text(differs) for differs in tried.differs[:-1]), *last(tried, where)])


def last(tried: Tried, where: str) -> list[str]:
    return [differs_text(tried.differs[-1]) + where] if tried.differs else [f"nothing is in its way{where}"]


def guard_lines(name: str, guard: Guard, where: str, room: int, page: Page, sentences: Sentences) -> list[str]:
    site = f"  {near(guard.site.file)}:{guard.site.line}" if guard.site else ""
    head = f"{guard.rule or 'a guard'} forbids it{site}{where}"
    lines = [f"{name}  {page.tone(head, 'strong')}"]
    for condition in guard.conditions:
        values = f"   ({condition.values})" if condition.values else ""
        lines += [f"  fails: {line}" if n == 0 else f"    {line}" for n, line in
                  enumerate(words(f"{condition.text}{values}", room))]  # fmt: skip
    if not guard.conditions and guard.text:
        lines.append(f"  fails: {guard.text}")
    sentence = sentences.get(guard.rule or "")
    if sentence:
        lines += [f"  {line}" for line in words(sentence, room)]
    return lines


def differs_text(differs: Differs) -> str:
    wanted = test_text(differs.wanted) if callable(differs.wanted) else value_text(differs.wanted)
    return f"differs: {differs.place}  the log says {wanted}, the model {value_text(differs.model)}"


def test_text(test: Any) -> str:
    """A test of a value that can say what it is, or that it is one."""
    return str(test) if type(test).__str__ is not object.__str__ else "another value"


def value_text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def call(step: Step | None) -> str:
    return str(step) if step is not None else "as it was seen"


def coverage_lines(found: Validation, page: Page) -> list[str]:
    """What the log exercised, and what it never did."""
    coverage = found.coverage
    machine = found.judged[0].machine
    actions, rules = everything(machine)
    lines = [""]
    taken = {**coverage.actions}
    for action, number in coverage.hidden.items():
        taken[action] = taken.get(action, 0) + number
    room = page.width - 18
    lines += listed("actions taken", [f"{a} {count(taken[a])}" for a in actions if a in taken], room)
    lines += listed("never taken", [a for a in actions if a not in taken], room)
    if rules:
        lines += listed("rules used", [r for r in rules if r in coverage.rules], room)
        lines += listed("never used", [r for r in rules if r not in coverage.rules], room)
    return lines


def listed(head: str, names: Sequence[str], room: int) -> list[str]:
    return hang(f"  {pad(head, 14)}", series(list(names), room) if names else ["–"])


def everything(machine: Machine) -> tuple[list[str], list[str]]:
    """All actions and all rules of a machine."""
    from ..sites import rule_sites

    actions = [name for name, info in all_marked(type(machine)) if isinstance(info, ActionInfo)]
    flags: dict[str, Any] = {name: value for name, value in machine.constants_.items() if isinstance(value, bool)}
    try:  # at a small scope: an action may have as many arguments as there are microseconds in a minute
        return actions, list(rule_sites(type(machine)(**flags)))
    except ModelError:  # it runs as Python, which is all that a log needs
        return actions, []


# Data


def validation_data(found: Validation, name: str, exit: int) -> dict[str, Any]:
    coverage = found.coverage
    actions, rules = everything(found.judged[0].machine) if found.judged else ([], [])
    return {
        "log": found.log,
        "against": name,
        "unit": found.unit,
        "outcome": found.outcome.value,
        "why": verdict(found)[0],
        "lines": found.lines,
        "matched": found.matched,
        "torn": found.torn or None,
        "alive": max((one.most for one in found.judged), default=0),
        "steps": sum(coverage.actions.values()),
        "hidden": sum(coverage.hidden.values()),
        "seconds": round(found.seconds, 3),
        "machines": [judged_data(one) for one in found.judged],
        "coverage": coverage_data(coverage, actions, rules),
        "exit": exit,
    }


def coverage_data(coverage: Coverage, actions: Sequence[str], rules: Sequence[str]) -> dict[str, Any]:
    taken = coverage.actions + coverage.hidden
    return {
        "actions": {action: taken.get(action, 0) for action in actions},
        "rules": {rule: coverage.rules.get(rule, 0) for rule in rules},
    }


def judged_data(one: Judged) -> dict[str, Any]:
    return {
        "key": one.key,
        "machine": short_name(type(one.machine)),
        "scope": dict(one.machine.constants_),
        "outcome": one.outcome.value,
        "why": one.why or None,
        "note": one.note or None,
        "judged_to": one.judged_to or None,
        "matched": one.matched,
        "alive": one.most,
        "failure": failure_data(one, one.failure) if one.failure is not None else None,
    }


def failure_data(one: Judged, failure: Failure) -> dict[str, Any]:
    from quiesce_model.language.machine import plain

    from .why import machine_in

    states = failure.refusal.states or failure.alive
    return {
        "line": failure.line.number,
        "text": failure.line.text,
        "last": failure.last.number if failure.last else None,
        "last_text": failure.last.text if failure.last else None,
        "at": failure.at,
        "alive": [plain(machine_in(one.machine, state)) for state in states],
        "tried": [tried_data(tried) for tried in failure.refusal.tried],
        "hidden": [tried_data(tried) for tried in failure.refusal.hidden],
    }


def tried_data(tried: Tried) -> dict[str, Any]:
    guard = tried.guard
    return {
        "step": str(tried.step) if tried.step is not None else None,
        "states": tried.states,
        "rule": guard.rule if guard else None,
        "guard": guard.text if guard else None,
        "site": site_text(guard.site) if guard and guard.site else None,
        "fault": tried.fault or None,
        "differs": [
            {"place": d.place, "log": None if callable(d.wanted) else d.wanted, "model": d.model} for d in tried.differs
        ],
    }


def site_text(site: Site) -> str:
    return f"{near(site.file)}:{site.line}"
