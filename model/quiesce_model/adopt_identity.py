"""Whose run a row speaks of: the durable identity of an action, and the code that it ran.

A receiver looks a row up by the identity, and compares fingerprints. Each part is one of two here, and what an action
comes to depends on every one of them: on which space, branch, piece, generation and action it is, and on its code and
the runtime's. A machine of its own, since everywhere else each of them is fixed.
"""

from __future__ import annotations

from .language import Machine, Record, action, flag, ghost, invariant, part, reachable, upto


class Identity(Record):
    """The seven parts, each one of two."""

    space: bool = flag()
    branch: bool = flag()
    piece: bool = flag()
    generation: bool = flag()
    action: bool = flag()
    implementation: bool = flag()
    runtime: bool = flag()

    def change(self, field: int) -> None:
        """The part at ``field`` is the other one."""
        self.space = self.space != (field == 0)
        self.branch = self.branch != (field == 1)
        self.piece = self.piece != (field == 2)
        self.generation = self.generation != (field == 3)
        self.action = self.action != (field == 4)
        self.implementation = self.implementation != (field == 5)
        self.runtime = self.runtime != (field == 6)

    def value(self) -> int:
        """What this action, in this code, comes to: another value for each of all that there are."""
        low = (1 if self.space else 0) + (2 if self.branch else 0) + (4 if self.piece else 0)
        middle = (8 if self.generation else 0) + (16 if self.action else 0)
        return low + middle + (32 if self.implementation else 0) + (64 if self.runtime else 0)


class AdoptIdentity(Machine):
    """One row and one registered action, each of any identity and code."""

    row: Identity = part(Identity)
    mine: Identity = part(Identity)
    changes: int = upto(2)
    adopted: bool = flag()
    value: int = ghost(upto(127))  # that the receiver shows after adopting

    @action(field=7)
    def run_elsewhere(self, field: int) -> None:
        """The row is of a run of another action, or of other code."""
        self.require(self.changes < 2 and not self.adopted)
        self.changes += 1
        self.row.change(field)

    @action(field=7)
    def register(self, field: int) -> None:
        """The receiver registers another action, or the same in other code."""
        self.require(self.changes < 2 and not self.adopted)
        self.changes += 1
        self.mine.change(field)

    @action()
    def adopt(self) -> None:
        """The receiver takes the row for a run of its own."""
        self.require(not self.adopted)
        self.require(self.row.space == self.mine.space, "ADO-1")
        self.require(self.row.branch == self.mine.branch, "ADO-2")
        self.require(self.row.piece == self.mine.piece, "ADO-3")
        self.require(self.row.generation == self.mine.generation, "ADO-4")
        self.require(self.row.action == self.mine.action, "ADO-5")
        self.require(self.row.implementation == self.mine.implementation, "ADO-6")
        self.require(self.row.runtime == self.mine.runtime, "ADO-7")
        self.adopted = True
        self.value = self.row.value()

    @invariant("ADO-1", "ADO-2", "ADO-3", "ADO-4", "ADO-5", "ADO-6", "ADO-7")
    def what_is_adopted_is_ones_own(self) -> bool:
        """What was adopted is what the receiver's own action, in its own code, comes to."""
        return not self.adopted or self.value == self.mine.value()

    @reachable()
    def another_one_is_adopted_too(self) -> bool:
        """The same change on both sides: adopting is possible for other actions than the first."""
        return self.adopted and self.mine.value() > 0
