"""What a state is known by in the visited set: its words, or with symmetry the same key for all that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .assembly import Assembly
from .packing import WORD, Field, Layout, TooWide
from .symmetry import Group


@dataclass(frozen=True)
class Piece:
    """Bits of one word that are taken together: ``width`` of them from ``shift`` on."""

    word: int
    shift: int
    width: int


class Keys:
    """Writes keys. With groups, a key is the words without the bits of exchanged elements, and then each group's
    elements, one to a word, sorted. Raises :class:`TooWide` for an element that does not fit a word."""

    def __init__(self, layout: Layout, groups: Sequence[Group]) -> None:
        self.layout = layout
        self.masks = [(1 << WORD) - 1] * layout.words
        self.groups: list[list[list[Piece]]] = []
        for group in groups:
            width = sum(layout.fields[at].width for at in group.elements[0])
            if width > WORD:
                raise TooWide(f"an element of {group.name} takes {width} bits, and symmetry needs it within {WORD}")
            for element in group.elements:
                for at in element:
                    self.masks[layout.fields[at].word] &= ~layout.fields[at].mask
            self.groups.append(pieces(layout, group))

    @property
    def words(self) -> int:
        """How many words a key has."""
        return self.layout.words + sum(len(elements) for elements in self.groups)

    def of(self, out: Assembly, words: Sequence[str]) -> list[str]:
        """The operands of the key of a state whose words are given."""
        if not self.groups:
            return list(words)
        found = [
            word if mask == (1 << WORD) - 1 else out.op(f"and i64 {word}, {mask - (1 << WORD) if mask >> 63 else mask}")
            for word, mask in zip(words, self.masks, strict=True)
        ]
        for elements in self.groups:
            found += self.sorted(out, [self.gathered(out, words, element) for element in elements])
        return found

    def gathered(self, out: Assembly, words: Sequence[str], element: Sequence[Piece]) -> str:
        """The bits of one element, side by side."""
        found, place = "0", 0
        for piece in element:
            bits = words[piece.word]
            if piece.shift:
                bits = out.op(f"lshr i64 {bits}, {piece.shift}")
            if piece.shift + piece.width < WORD:
                bits = out.op(f"and i64 {bits}, {(1 << piece.width) - 1}")
            if place:
                bits = out.op(f"shl i64 {bits}, {place}")
            found = bits if found == "0" else out.op(f"or i64 {found}, {bits}")
            place += piece.width
        return found

    def sorted(self, out: Assembly, values: list[str]) -> list[str]:
        """The values in order: a network of comparisons without branches."""
        for last in range(len(values) - 1, 0, -1):
            for at in range(last):
                a, b = values[at], values[at + 1]
                values[at] = out.op(f"call i64 @llvm.umin.i64(i64 {a}, i64 {b})")
                values[at + 1] = out.op(f"call i64 @llvm.umax.i64(i64 {a}, i64 {b})")
        return values


def pieces(layout: Layout, group: Group) -> list[list[Piece]]:
    """For each element where its bits are; fields that stand side by side in every element are one piece."""
    fields = [[layout.fields[at] for at in element] for element in group.elements]
    order = [n for n in range(len(fields[0])) if fields[0][n].width]
    order.sort(key=lambda n: (fields[0][n].word, fields[0][n].shift))
    found: list[list[Piece]] = [[] for _ in fields]
    for position, n in enumerate(order):
        before = order[position - 1] if position else None
        joins = before is not None and all(side_by_side(element[before], element[n]) for element in fields)
        for made, element in zip(found, fields, strict=True):
            field = element[n]
            if joins:
                last = made.pop()
                made.append(Piece(last.word, last.shift, last.width + field.width))
            else:
                made.append(Piece(field.word, field.shift, field.width))
    return found


def side_by_side(one: Field, other: Field) -> bool:
    return one.word == other.word and one.shift + one.width == other.shift
