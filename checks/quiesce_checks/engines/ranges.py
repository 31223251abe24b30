"""Which numbers a term can be, so that it is known beforehand that every one of them fits the machine's word."""

from __future__ import annotations

from collections.abc import Iterable

from ..relation.relation import Relation
from ..relation.terms import INT, Term, walk
from .packing import TooWide

LEAST, GREATEST = -(2**63), 2**63 - 1


class Ranges:
    """Bounds of whole-number terms: those that a term carries, else worked out from its arguments."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, int]] = {}

    def check(self, roots: Iterable[Term], place: str) -> None:
        """Raise :class:`TooWide`, naming ``place``, if some number on the way to the roots may need over 64 bits."""
        for term in walk(roots):
            if term.sort is not INT or term.number in self.known:
                continue
            low, high = self.bounds(term)
            if low is None or high is None or low < LEAST or high > GREATEST:
                shown = f"{'-∞' if low is None else low} to {'∞' if high is None else high}"
                raise TooWide(
                    f"{place}: a number here may be anything from {shown}, which does not fit 64 bits: "
                    "bound the fields that it is computed from"
                )
            self.known[term.number] = (low, high)

    def bounds(self, term: Term) -> tuple[int | None, int | None]:
        if term.low is not None and term.high is not None:
            return term.low, term.high
        args = [self.known.get(arg.number, (0, 0)) for arg in term.args]
        match term.op:
            case "ite":
                (a, b), (c, d) = args[1:]
                return min(a, c), max(b, d)
            case "add":
                (a, b), (c, d) = args
                return a + c, b + d
            case "sub":
                (a, b), (c, d) = args
                return a - d, b - c
            case "mul":
                corners = [x * y for x in args[0] for y in args[1]]
                return min(corners), max(corners)
            case "div":  # no quotient by a whole number is farther from 0 than the dividend; by 0 it is 0
                most = max(abs(args[0][0]), abs(args[0][1]))
                return -most, most
            case "mod":
                low, high = args[1]
                if args[0][0] == LEAST and low < 0:  # the one remainder that the processor refuses
                    return None, None
                return min(low + 1, 0), max(high - 1, 0)
            case _:
                return term.low, term.high


def check_ranges(relation: Relation, kinds: Iterable[str]) -> None:
    """Every number that a step computes, or a property of one of the kinds. Raises :class:`TooWide`."""
    ranges = Ranges()
    for action in relation.actions:
        roots = [action.enabled, *action.updates.values(), *(leave.condition for leave in action.exits)]
        ranges.check(roots, f"{action.site} ({action.step})")
    for found in relation.properties:
        if found.kind in kinds:
            roots = [*([found.holds] if found.holds is not None else []), *(found.steps or {}).values()]
            ranges.check(roots, f"{found.site} ({found.name})")
