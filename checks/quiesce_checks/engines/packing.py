"""The packed layout of a state: which bits of which word hold which variable.

A variable takes as many bits as its domain needs and is stored minus its low end. A field never straddles two words,
and the fields of one record stand in one word where that costs no word more, so that a step that changes a record
changes one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..relation.relation import Relation, Variable
from ..relation.terms import Term

WORD = 64


class TooWide(ValueError):
    """A number of the model does not fit the machine's 64-bit word; the text says which and what to do."""


@dataclass(frozen=True)
class Field:
    """Where one variable lives: ``width`` bits from bit ``shift`` of word ``word``, holding the value minus ``low``.

    A variable with one possible value has width 0 and lives nowhere.
    """

    variable: int
    term: Term
    low: int
    width: int
    word: int
    shift: int

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.shift


@dataclass(frozen=True)
class Layout:
    """The fields by variable, and the number of 64-bit words (at least one)."""

    fields: tuple[Field, ...]
    words: int

    def pack(self, values: Sequence[int]) -> tuple[int, ...]:
        """Leaves to words. The values lie in their domains."""
        out = [0] * self.words
        for field, value in zip(self.fields, values, strict=True):
            out[field.word] |= (int(value) - field.low) << field.shift
        return tuple(out)

    def unpack(self, words: Sequence[int]) -> tuple[int, ...]:
        """Words to leaves."""
        return tuple(((int(words[f.word]) >> f.shift) & ((1 << f.width) - 1)) + f.low for f in self.fields)


def domain(variable: Variable) -> tuple[int, int]:
    """The least and the greatest value. Raises :class:`TooWide` where they are not numbers or do not fit a word."""
    low, high = variable.low, variable.high
    if high is None or low.op != "const" or high.op != "const":
        raise TooWide(
            f"{variable.name} has no finite domain at this scope: give every constant a number, and every field a bound"
        )
    bounds = int(low.data), int(high.data)
    if bounds[0] < -(2**63) or bounds[1] >= 2**63:
        raise TooWide(f"{variable.name} ranges over {bounds[0]}..{bounds[1]}, which does not fit 64 bits: bound it")
    return bounds


def width_of(low: int, high: int) -> int:
    """Bits for the values low..high, stored minus low."""
    return (high - low).bit_length()


def layout(relation: Relation) -> Layout:
    """The layout for the variables of a relation read as ``explored``."""
    bounds = [domain(variable) for variable in relation.variables]
    widths = [width_of(low, high) for low, high in bounds]
    places = place_records(widths, records(relation.variables))
    fields = tuple(
        Field(i, variable.term, bounds[i][0], widths[i], *places[i]) for i, variable in enumerate(relation.variables)
    )
    return Layout(fields, words_of(places))


def records(variables: Iterable[Variable]) -> list[list[int]]:
    """Positions of variables, those of one top-level field or element (``session[2]``) together."""
    found: dict[str, list[int]] = {}
    for position, variable in enumerate(variables):
        found.setdefault(variable.name.rstrip("?").partition(".")[0], []).append(position)
    return list(found.values())


def place_records(widths: Sequence[int], groups: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Word and shift of each field: groups together, unless that takes more words."""
    together, apart = place(widths, groups), place(widths, [[i] for i in range(len(widths))])
    return together if words_of(together) <= words_of(apart) else apart


def words_of(places: Iterable[tuple[int, int]]) -> int:
    return 1 + max((word for word, _ in places), default=0)


def place(widths: Sequence[int], groups: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """First fit of whole groups into words; a group wider than a word is placed field by field."""
    used: list[int] = []
    places = [(0, 0)] * len(widths)
    for group in groups:
        total = sum(widths[i] for i in group)
        for part in [group] if total <= WORD else [[i] for i in group]:
            need = sum(widths[i] for i in part)
            word = next((w for w, full in enumerate(used) if full + need <= WORD), len(used))
            if word == len(used):
                used.append(0)
            for i in part:
                if widths[i]:
                    places[i] = (word, used[word])
                    used[word] += widths[i]
    return places
