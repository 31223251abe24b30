"""What of a model is held against what of an implementation: the observation relation, written down."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from quiesce_model.language.machine import ActionInfo, Machine, Step, all_marked, leaves
from quiesce_model.language.types import Leaf

from ..relation.build import relation, saturation_limits
from ..relation.plain import without_ghosts
from ..relation.relation import Relation
from .subject import Description, Observation, Subject, Value

Row: TypeAlias = Any
"""A state of the model with its leaves as attributes: ``session[0].pair.echoes`` is ``row.session_0_pair_echoes``, and
whether an optional has a value is ``row.session_0_pending_present``."""

Derived: TypeAlias = Callable[[Any], Value]
Happened: TypeAlias = Callable[[Row, Step, Row], Value]


class Mismatch(Exception):
    """Model and subject do not describe the same thing; the text says what is missing where."""


class Misnamed(Mismatch):
    """The pairing names what its model does not have."""


@dataclass(frozen=True)
class Pairing:
    """A model and a subject, and what has to be equal.

    ``seen`` are leaves of the model that the subject shows as they are. ``derived`` are observations that are worked
    out of the machine in a state (one with a leaf's name stands for that leaf and is saturated like it), ``happened``
    of a step and the rows around it (what was reported, what was logged; the ghosts in them mean nothing). What is in
    none of the three is not compared: ``hidden`` names those leaves, each with the reason, so that nothing is left out
    by forgetting.
    ``refusable`` are rules whose guards the subject itself decides: where the model is blocked by one of them, the
    subject has to refuse. ``tick`` is how many milliseconds one unit of the model's time is; ``implementation`` is what
    people call what the subject drives.
    """

    name: str
    machine: Callable[[], Machine]
    subject: Callable[[], Subject]
    seen: tuple[str, ...]
    hidden: Mapping[str, str]
    derived: Mapping[str, Derived] = field(default_factory=dict[str, Derived])
    happened: Mapping[str, Happened] = field(default_factory=dict[str, Happened])
    refusable: frozenset[str] = frozenset()
    tick: int = 1
    implementation: str = "the implementation"

    @cached_property
    def model(self) -> Machine:
        return self.machine()

    @cached_property
    def relation(self) -> Relation:
        return relation(self.model)

    @cached_property
    def walked(self) -> Relation:
        """What a tour walks: the relation without its ghosts, since no subject has a history."""
        return without_ghosts(self.relation)

    @cached_property
    def constants(self) -> Mapping[str, int | bool]:
        return dict(self.model.constants_)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return (*self.seen, *self.derived, *self.happened)

    @cached_property
    def limits(self) -> tuple[int | None, ...]:
        """Where each observed field is saturated in an explored state."""
        by_name = dict(zip((v.name for v in self.relation.variables), saturation_limits(self.relation), strict=True))
        return tuple(by_name.get(name) for name in self.fields)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        names = [leaf.name for leaf in leaves(self.model)]
        return tuple(names.index(name) for name in self.seen)

    @cached_property
    def words(self) -> tuple[tuple[Value, ...] | None, ...]:
        """What the numbers of a seen leaf stand for, where they are not what is meant: flags, members of an enum."""
        known = {leaf.name: leaf for leaf in leaves(self.model)}
        return tuple(words_of(known[name]) for name in self.seen)

    def check(self) -> None:
        """Raise Mismatch unless the pairing speaks of every leaf, and the subject of the same actions and fields."""
        known = leaves(self.model)
        names = {leaf.name for leaf in known}
        ghosts = {leaf.name for leaf in known if leaf.ghost}
        unknown = [name for name in (*self.seen, *self.hidden) if name not in names]
        if unknown:
            raise Misnamed(f"{self.name}: the model has no {', '.join(unknown)}; name its leaves as they are")
        if ghosts & set(self.seen):
            raise Misnamed(
                f"{self.name}: {', '.join(sorted(ghosts & set(self.seen)))} is a ghost, which no subject has"
            )
        forgotten = sorted(names - ghosts - set(self.seen) - set(self.hidden) - set(self.derived))
        if forgotten:
            raise Mismatch(f"{self.name}: neither seen nor hidden with a reason: {', '.join(forgotten)}")
        difference(self.name, self.described(), self.subject().describe())

    def described(self) -> Description:
        """What the subject should say of itself."""
        actions = {
            name: tuple(parameter for parameter, _ in info.domains)
            for name, info in all_marked(type(self.model))
            if isinstance(info, ActionInfo)
        }
        return Description(actions, self.fields)

    @cached_property
    def row(self) -> Callable[[Iterable[int]], Row]:
        """Leaves as a row."""
        names = [re.sub(r"\W+", "_", leaf.name.replace("?", "_present")).strip("_") for leaf in leaves(self.model)]
        make: Any = collections.namedtuple  # its fields are known only when there is a model
        return make("Row", names)._make

    def shown(self, row: Row, machine: Machine) -> Observation:
        """What the model shows in a state, given as a row and (for what is derived) as the machine in that state."""
        placed = zip(self.positions, self.words, strict=True)
        seen: list[Value] = [row[n] if words is None else words[row[n]] for n, words in placed]
        return (*seen, *[view(machine) for view in self.derived.values()])


def words_of(leaf: Leaf) -> tuple[Value, ...] | None:
    return (False, True) if leaf.kind == "flag" else leaf.choices or None


def difference(name: str, model: Description, subject: Description) -> None:
    """Raise Mismatch where the two descriptions differ."""
    for action in model.actions:
        if action not in subject.actions:
            raise Mismatch(f"{name}: the subject has no action {action!r}, which the model has")
        if tuple(subject.actions[action]) != model.actions[action]:
            raise Mismatch(
                f"{name}: {action} takes {subject.actions[action]} in the subject "
                f"and {model.actions[action]} in the model"
            )
    extra = [action for action in subject.actions if action not in model.actions]
    if extra:
        raise Mismatch(f"{name}: the model has no action {', '.join(extra)}, which the subject has")
    missing = [f for f in model.fields if f not in subject.fields]
    if missing:
        raise Mismatch(f"{name}: the subject does not show {', '.join(missing)}")
    if tuple(subject.fields) != model.fields:
        raise Mismatch(f"{name}: the subject shows {subject.fields}, the pairing compares {model.fields}")


def saturated(seen: Observation, limits: tuple[int | None, ...]) -> Observation:
    """Ages past what the model tells apart, at that."""
    return tuple(m if m is not None and isinstance(v, int) and v > m else v for v, m in zip(seen, limits, strict=True))
