"""What attempted steps come to, and which rules decide it: for the margins of a trace. No verdict rests on it."""

from __future__ import annotations

from quiesce_model.language.machine import Machine, Step, apply, load, state
from quiesce_model.language.outcome import Blocked, Fault


def rules_at_work(machine: Machine, step: Step) -> tuple[str, ...]:
    """The rules without which the step would come out differently from this state.

    ``machine`` is in the state before the step, and stays there. Guards of a step that was taken make no
    difference to it, so these are the rules whose effect the step shows."""
    if step.action == "elapse":
        return ()
    asked: dict[str, None] = {}
    runner = at(machine, machine.without_)

    def rule(name: str) -> bool:
        asked[name] = None
        return name not in runner.without_

    vars(runner)["rule"] = rule
    came = outcome(runner, step)
    return tuple(name for name in asked if outcome(at(machine, machine.without_ | {name}), step) != came)


def at(machine: Machine, without: frozenset[str]) -> Machine:
    """A machine of the same class, constants and state with other rules switched off."""
    other = type(machine)(without=without, unchecked=machine.unchecked_, **machine.constants_)
    load(other, state(machine))
    return other


def outcome(runner: Machine, step: Step) -> tuple[int, ...] | str:
    try:
        apply(runner, step)
    except Blocked as blocked:
        return f"blocked {blocked.rule}"
    except Fault as fault:
        return f"fault {fault.place}"
    return state(runner)


def refusals(machine: Machine, possible: tuple[Step, ...]) -> tuple[tuple[str, tuple[Step, ...]], ...]:
    """What keeps each step from being possible in the machine's state, by rule: for a deadlock."""
    found: dict[str, list[Step]] = {}
    for step in possible:
        came = outcome(at(machine, machine.without_), step)
        if isinstance(came, str):
            found.setdefault(came.removeprefix("blocked ").replace("None", "a guard without a rule"), []).append(step)
    return tuple((reason, tuple(steps)) for reason, steps in found.items())
