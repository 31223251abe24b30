"""What a search is of, so that what was saved of one is never taken for another's."""

from __future__ import annotations

import sys
from contextlib import suppress
from hashlib import blake2b
from inspect import getsource
from random import Random

from quiesce_model.language.machine import Machine

from .exchanges import sample
from .interpreted import readable
from .program import Program

SIZE = 32
"""Bytes of a digest."""


def digest(program: Program, *options: object) -> str:
    """What a search is of: the machine's text and what it means, its constants, how states are laid out, and
    ``options``."""
    machine = program.relation.machine
    what: list[object] = [
        program.relation.name,
        sorted(machine.constants_.items()),
        sorted(machine.without_),
        program.initial,
        [(f.low, f.width, f.word, f.shift) for f in program.layout.fields],
        [str(action.step) for action in program.relation.actions],
        [(watch.name, watch.kind) for watch in program.watches],
        [(group.fields, group.elements) for group in program.symmetric],
        options,
        texts(machine),
        meaning(program),
    ]
    return blake2b(repr(what).encode(), digest_size=SIZE).hexdigest()


def texts(machine: Machine) -> list[str]:
    """The source of the modules that the machine's classes are written in; what cannot be read is left out."""
    modules = dict.fromkeys(cls.__module__ for cls in type(machine).__mro__ if issubclass(cls, Machine))
    found: list[str] = []
    for name in modules:
        with suppress(OSError, TypeError):
            found.append(getsource(sys.modules[name]))
    return found


def meaning(program: Program) -> list[object]:
    """What some hundred states lead to, and what is said of them: the same in every process, however the terms of the
    relation were put together, and another one as soon as a step or a property means something else there."""
    functions = readable(program)
    states = sample(program, functions, Random(0))
    return [
        (state, functions.expand(state), functions.judge_state(state), functions.judge_expanded(state))
        for state in states
    ]
