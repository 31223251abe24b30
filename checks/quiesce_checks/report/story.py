"""A trace told: which machine, what was promised, the first state, what each step changed, and what fails
at the end.

A story is made of a :class:`~..trace.Trace`, whose machine is asked for more (docstrings, values, rules),
or of a file whose machine is not to be had."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, cast

from quiesce_model.language.machine import MARK, Machine, PropertyInfo, Step, copy, load, state, steps
from quiesce_model.language.outcome import Blocked, Fault

from ..attempts import refusals, rules_at_work
from ..explain import Part, explain
from ..formats.itf import Document
from ..machines import short_name, shown
from ..trace import Failure, Trace
from ..witness import NO_DEADLOCK
from .shape import Atom, Change, Fields, Items, Node, changes, number, select, shape, yes


@dataclass(frozen=True)
class Beat:
    """One line of a story: steps ``first`` to ``last`` (more than one only where time passes) and what they
    changed.

    ``rules`` are those whose effect the step shows; ``state`` is the state that it leads to. Of steps that were
    taken together, ``action`` and ``arguments`` are those of the first.
    """

    first: int
    last: int
    label: str
    changes: tuple[Change, ...]
    state: Node
    rules: tuple[str, ...] = ()
    action: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Story:
    """Everything that a report of a trace shows. ``initial`` is false for a counterexample to induction,
    which starts in a state that need not be reachable.
    """

    machine: str
    promised: str
    headline: str
    constants: tuple[tuple[str, str], ...]
    without: tuple[str, ...]
    promise: str
    place: str
    rules: tuple[str, ...]
    start: Node
    initial: bool
    beats: tuple[Beat, ...]
    fails: tuple[Part, ...] = ()
    ending: tuple[str, ...] = ()
    loop: int | None = None
    notes: tuple[str, ...] = field(default=())
    filtered: bool = False

    @property
    def length(self) -> int:
        return self.beats[-1].last if self.beats else 0


def everything(path: str) -> bool:
    return True


def tell(trace: Trace, keep: Callable[[str], bool] = everything, headline: str = "VIOLATED") -> Story:
    """The story of a trace, with the places that ``keep`` accepts. ``headline`` says in a word what its
    failure is.
    """
    machine, failure = trace.machine, trace.failure
    nodes = [select(shape(machine.layout_, iter(leaves)), keep) for leaves in trace.states]
    runner = copy(machine)

    def rules_of(position: int) -> tuple[str, ...]:
        load(runner, trace.states[position])
        return rules_at_work(runner, trace.steps[position])

    promise, place, rules = promise_of(type(machine), failure)
    return Story(
        machine=short_name(type(machine)),
        promised=failure.property if failure else "",
        headline=headline if failure else "",
        constants=tuple((name, shown(value)) for name, value in machine.constants_.items()),
        without=tuple(sorted(machine.without_)),
        promise=promise,
        place=place,
        rules=rules,
        start=nodes[0],
        initial=trace.states[0] == initial_state(machine),
        beats=beats_of(nodes, [(step.action, dict(step.args)) for step in trace.steps], rules_of),
        fails=failing(trace, failure) if failure else (),
        ending=ending(trace, failure) if failure else (),
        loop=trace.loop,
        notes=tuple(note for note in trace.notes if not note.startswith("constants:")),
        filtered=keep is not everything,
    )


def initial_state(machine: Machine) -> tuple[int, ...]:
    return state(type(machine)(without=machine.without_, unchecked=machine.unchecked_, **machine.constants_))


def promise_of(machine: type[Machine], failure: Failure | None) -> tuple[str, str, tuple[str, ...]]:
    """What the broken property says in words, where it stands, and the rules that it speaks of."""
    if failure is None:
        return "", "", ()
    method = getattr(machine, failure.property, None)
    info = getattr(method, MARK, None)
    if method is None or not isinstance(info, PropertyInfo):
        return failure.text, str(failure.site or ""), ()
    said = first_sentence(inspect.getdoc(method))
    return said, site_of(method), info.rules


def first_sentence(text: str | None) -> str:
    """The first paragraph of a docstring, on one line, without its full stop."""
    return " ".join((text or "").split("\n\n")[0].replace("``", "").split()).removesuffix(".")


def site_of(method: Any) -> str:
    """``echo_loop.py:118``: the line of the ``def``."""
    function = inspect.unwrap(method)
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return ""
    offset = next((n for n, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return f"{Path(inspect.getfile(function)).name}:{start + offset}"


def failing(trace: Trace, failure: Failure) -> tuple[Part, ...]:
    """The conjuncts that fail in the last state, or of the last step."""
    info = getattr(getattr(type(trace.machine), failure.property, None), MARK, None)
    if not isinstance(info, PropertyInfo) or failure.attempted is not None:
        return ()
    last = copy(trace.machine)
    load(last, trace.states[-1])
    if info.kind != "step":
        return explain(last, failure.property)
    before = copy(trace.machine)
    load(before, trace.states[-2])
    return explain(last, failure.property, before, trace.steps[-1])


def ending(trace: Trace, failure: Failure) -> tuple[str, ...]:
    """How a trace ends that no property's own condition explains: a fault, or nothing being possible."""
    last = copy(trace.machine)
    load(last, trace.states[-1])
    if failure.attempted is not None:
        try:
            getattr(last, failure.attempted.action)(**dict(failure.attempted.args))
        except Fault as fault:
            return (f"{failure.attempted} goes wrong: {fault}",)
        except Blocked:
            pass
        return (f"{failure.attempted}: {failure.text}",)
    if failure.property == NO_DEADLOCK:
        why = refusals(last, tuple(steps(last)))
        return ("nothing is possible any more", *(f"{reason}: {listed(stopped)}" for reason, stopped in why))
    return ()


def listed(stopped: Sequence[Step]) -> str:
    shown_steps = [str(step) for step in stopped[:6]]
    return ", ".join(shown_steps) + (f" and {len(stopped) - 6} more" if len(stopped) > 6 else "")


def retell(document: Document, keep: Callable[[str], bool] = everything) -> Story:
    """The story of a file whose machine cannot be found, or has changed since: no words and no reasons."""
    nodes = [select(node_of(values), keep) for values in document.values]
    machine = document.source.rpartition(":")[2] or "?"
    return Story(
        machine=short_name(machine),
        promised=document.property,
        headline="VIOLATED" if document.status == "violation" else "",
        constants=tuple((name, shown(value)) for name, value in document.constants.items()),
        without=document.without,
        promise=document.description,
        place="",
        rules=(),
        start=nodes[0],
        initial=True,
        beats=beats_of(nodes, document.actions, lambda position: ()),
        loop=document.loop,
        notes=document.notes,
        filtered=keep is not everything,
    )


def node_of(value: Any) -> Node:
    """Python data, as a file has it, as a node."""
    if isinstance(value, Mapping):
        record = cast(Mapping[str, Any], value)
        return Fields(tuple((name, node_of(item)) for name, item in record.items()))
    if isinstance(value, list):
        return Items(tuple(node_of(item) for item in cast(list[Any], value)))
    return Atom(word(value))


def word(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return yes(value)
    return number(value) if isinstance(value, int) else str(value)


def beats_of(
    nodes: Sequence[Node],
    taken: Sequence[tuple[str, Mapping[str, Any]]],
    rules_of: Callable[[int], tuple[str, ...]],
) -> tuple[Beat, ...]:
    """One beat a step, but one for all steps in a row in which only time passes."""
    beats: list[Beat] = []
    position = 0
    while position < len(taken):
        name, args = taken[position]
        end = position + 1
        label = call(name, args)
        if name == "elapse":
            while end < len(taken) and taken[end][0] == "elapse":
                end += 1
            label = f"elapse {sum(int(passed.get('d', 1)) for _, passed in taken[position:end])}"
        changed = tuple(changes(nodes[position], nodes[end]))
        rules = rules_of(position)
        beats.append(Beat(position + 1, end, label, changed, nodes[end], rules, name, tuple(args.items())))
        position = end
    return tuple(beats)


def call(name: str, args: Mapping[str, Any]) -> str:
    spelled = ", ".join(f"{key}={item.name if isinstance(item, Enum) else shown(item)}" for key, item in args.items())
    return f"{name}({spelled})" if spelled else name
