"""A node: one action, what is known of it, and whether it has to run.

The node outlives its registration. Its ordinal, status and gates stay when it is taken out, and a later
registration of the same node finds them; what belongs to one registration is told apart by its token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from quiesce.address import Address
from quiesce.scheduler.echo import Cause
from quiesce.scheduler.gates import Gates
from quiesce.scheduler.identity import Surface

if TYPE_CHECKING:
    from quiesce.scheduler.run import Run

Body = Callable[["Run"], object]
"""What a node does. An awaitable that it returns is awaited; anything else is ignored."""


class Kind(StrEnum):
    """What a node is for."""

    COMPUTATION = "computation"
    """Derives values; runs only while somebody needs them."""
    EFFECT = "effect"
    """Acts on the world; always needed while it is registered."""
    HANDLER = "handler"
    """Runs once for each event, never because something changed."""


class Status(StrEnum):
    """Whether the last run is still good."""

    NEVER_RAN = "never-ran"
    CLEAN = "clean"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class ReadSet:
    """What a run read, as addresses with resolved scope instances; a write's diff base is a deep read."""

    deep: tuple[Address, ...] = ()
    shallow: tuple[Address, ...] = ()


NO_READS = ReadSet()


class Registration:
    """The token of one registration: a late result that carries another one touches nothing."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Node:
    """One action. Identity is the object; ``label`` is its action id, for people, rows and statistics.

    ``declared_reads`` order and demand what a node will read before it has run; ``declared_writes`` are the part of
    its surface that is known in advance, such as the document that a derivation derives.
    """

    label: str
    kind: Kind
    body: Body
    declared_reads: tuple[Address, ...] = ()
    declared_writes: tuple[Address, ...] = ()
    gates: Gates = field(default_factory=Gates)
    surface: Surface | None = None
    """What its author declares to be all that it touches; one run that touches more ends that for good."""
    materializer: bool = False
    """A computation that is kept up to date though nobody reads it, when nothing else is to be done. What it may write
    (its envelope) is ``declared_writes``: it runs earlier if something that has to run reads there."""
    group: object | None = None
    """It is not woken by commits of the actions of its group, which is told by identity: they know what they did."""

    certificate: str = ""
    """What the server calls that declaration."""

    typing: bool = False
    """What it commits follows somebody's keystrokes: it wakes others no oftener than they can use (``shaping``)."""

    # -- set by the scheduler
    ordinal: int = -1
    """Given at the first registration and kept; the last tie-break of every order."""
    registration: Registration | None = None
    parent: Node | None = None
    children: dict[Node, None] = field(default_factory=dict["Node", None])
    kept: bool = False
    """A child that its parent looks after itself; others end when the parent runs again."""
    status: Status = Status.NEVER_RAN
    causes: dict[Cause, None] = field(default_factory=dict[Cause, None])
    """Changes since the last run; two scope instances of one document are two causes."""
    reads: ReadSet = NO_READS
    hinted: bool = False
    """``reads`` are only declared: they order and demand, and nothing is triggered by them."""
    writes: frozenset[Address] = frozenset()
    """The known surface: declared, and whatever was ever written under this registration."""
    upstream: dict[Node, int] = field(default_factory=dict["Node", int])
    """Nodes that write what this one reads, with the number of documents over which they do."""
    downstream: dict[Node, int] = field(default_factory=dict["Node", int])

    # -- demand
    elsewhere: bool = False
    """Somebody else runs it: here it is only read, and may be needed."""
    asked: bool = False
    """Somebody outside this session needs it."""
    roots: int = 0
    """Reasons of its own to be needed: being an effect or a materializer, provisional demand."""
    live: bool = False
    witness: Node | None = None
    """The live reader that vouches for it, if it is no root."""
    witnessed: dict[Node, None] = field(default_factory=dict["Node", None])
    provisional: bool = False
    """A child of a live parent that has not had its first run."""

    # -- work
    pending: bool = False
    """Asked for explicitly: a retry, or an event that waits for it."""
    event_demanded: bool = False
    owed: bool = False
    """A retry after a conflict: debounce and throttle are released until it starts."""
    pass_id: int = -1
    pass_runs: int = 0
    runs: int = 0
    spent_ms: float = 0.0
    """How long its bodies were at work, awaiting included."""
    failures: int = 0
    """Refusals charged to the reactive budget since the last success."""
    stale_failures: int = 0
    """Stale bases since the last success; never charged."""

    @property
    def registered(self) -> bool:
        """Whether it takes part."""
        return self.registration is not None

    @property
    def standing(self) -> bool:
        """Whether it is needed as long as it is registered."""
        return self.kind is Kind.EFFECT or self.materializer

    @property
    def runnable(self) -> bool:
        """Whether its last run is no longer good, or there was none, and it is run here at all."""
        return self.status is not Status.CLEAN and not self.elsewhere

    @property
    def demanded(self) -> bool:
        """Whether somebody needs it now: it is live, asked for, or upstream of the next event."""
        return self.live or self.pending or self.event_demanded

    def runs_in(self, pass_id: int) -> int:
        """How often it ran in one pass."""
        return self.pass_runs if self.pass_id == pass_id else 0

    def __repr__(self) -> str:
        return f"<{self.kind.value} {self.label} {self.status.value}>"
