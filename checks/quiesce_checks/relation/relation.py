"""The transition relation of one machine at one scope: what every engine takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quiesce_model.language.machine import Machine, Step
from quiesce_model.language.types import Leaf

from .terms import Term


@dataclass(frozen=True)
class Site:
    """A place in a model's source."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


@dataclass(frozen=True)
class Variable:
    """One leaf of the state.

    ``term`` stands for its value before a step; it is a BOOL for a flag and an INT for all else (an enum's member by
    position, an age by its time or -1). ``low`` and ``high`` are its domain: numbers at a scope, terms of the
    constants where those are symbolic; ``high`` is None for what a proof leaves unbounded.
    """

    leaf: Leaf
    term: Term
    low: Term
    high: Term | None

    @property
    def name(self) -> str:
        return self.leaf.name


@dataclass(frozen=True)
class Exit:
    """A way in which an attempted action comes to no step: a guard that blocks, or a fault of the model.

    ``condition`` is over the state before; the exits of an action exclude each other, in the order of its statements.
    ``kind`` is ``blocked``, ``domain``, ``absent``, ``index`` or ``division``; ``place`` is the rule's id (may be
    empty) or the field's name.
    """

    kind: Literal["blocked", "domain", "absent", "index", "division"]
    condition: Term
    place: str
    site: Site


@dataclass(frozen=True)
class GroundAction:
    """One action with its arguments: possible where ``enabled`` holds, and then giving ``updates``.

    ``updates`` maps the positions of changed variables to their new values; all others keep theirs. In the
    proved reading ``elapse`` has one free number of its own, ``d`` (at least 1), listed in ``inputs``.
    """

    step: Step
    exits: tuple[Exit, ...]
    enabled: Term
    updates: Mapping[int, Term]
    site: Site
    inputs: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Property:
    """What has to hold.

    A state property (``invariant``, ``reachable``, ``terminal``) has ``holds``, over one state.
    A step property has ``steps``: for the position of each action that it judges, a term over the state before.
    Where evaluating the property itself goes wrong (a fault), it does not hold.
    """

    name: str
    kind: str
    rules: tuple[str, ...]
    text: str
    site: Site
    holds: Term | None = None
    steps: Mapping[int, Term] | None = None


@dataclass(frozen=True)
class Clock:
    """An age and everything it is compared with: what its saturation rests on.

    ``compared`` are numbers of constants alone, each an upper bound of something that the age is compared with.
    """

    variable: int
    saturation: Term
    sites: tuple[Site, ...]
    compared: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Relation:
    """Variables, initial state, actions and properties of ``machine`` (an instance: its class and constants).

    ``reading`` says which of two it is: ``explored`` has numbers for all constants, ages saturated, and time in
    single ticks; ``proved`` has unbounded ages, any duration, and possibly symbolic constants, listed in
    ``constants`` with the ``assumptions`` on them.
    """

    machine: Machine
    reading: Literal["explored", "proved"]
    variables: tuple[Variable, ...]
    initial: tuple[Term, ...]
    actions: tuple[GroundAction, ...]
    properties: tuple[Property, ...]
    constants: tuple[Term, ...] = ()
    assumptions: tuple[Property, ...] = ()
    clocks: tuple[Clock, ...] = ()
    rules: tuple[tuple[str, Site], ...] = ()

    @property
    def name(self) -> str:
        return type(self.machine).__name__

    def property_named(self, name: str) -> Property:
        for found in self.properties:
            if found.name == name:
                return found
        listed = ", ".join(p.name for p in self.properties)
        raise KeyError(f"{self.name} has no property {name!r}; it has: {listed}")
