"""Where each part of a state lies in the row of leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from quiesce_model.language.types import EachType, Leaf, OptionalType, RecordType, Type


@dataclass
class Layout:
    """Offsets into the leaves of one machine's type; every answer is worked out once."""

    type: RecordType
    leaves: tuple[Leaf, ...] = ()
    widths: dict[int, int] = field(default_factory=dict[int, int])
    offsets: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    starts: dict[int, tuple[object, ...]] = field(default_factory=dict[int, tuple[object, ...]])

    def __post_init__(self) -> None:
        self.leaves = tuple(self.type.leaves("", False))

    def width(self, type: Type) -> int:
        """How many leaves a type has."""
        found = self.widths.get(id(type))
        if found is None:
            match type:
                case RecordType():
                    found = sum(self.width(member.type) for member in type.members)
                case EachType():
                    found = type.size * self.width(type.item)
                case OptionalType():
                    found = 1 + self.width(type.item)
                case _:
                    found = 1
            self.widths[id(type)] = found
        return found

    def member(self, type: RecordType, position: int) -> int:
        """The offset of a record's member in the record."""
        found = self.offsets.get(id(type))
        if found is None:
            total, made = 0, list[int]()
            for member in type.members:
                made.append(total)
                total += self.width(member.type)
            found = self.offsets[id(type)] = tuple(made)
        return found[position]

    def start(self, type: Type) -> tuple[object, ...]:
        """The leaves of a value of this type at its start."""
        found = self.starts.get(id(type))
        if found is None:
            found = self.starts[id(type)] = tuple(leaf.start for leaf in type.leaves("", False))
        return found

    def name(self, offset: int) -> str:
        """The leaf in the words of the model; that of a presence flag is the optional field's own."""
        return self.leaves[offset].name.removesuffix("?")
