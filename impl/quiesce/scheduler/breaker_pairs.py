"""The breaker's bounded table of pairs, and the deadlines of one action.

Pairs are kept in the order of their last counted echo. That one order answers two questions without a
search: which pair is the oldest, and which tripped pair falls quiet first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from quiesce.address import Entity
from quiesce.scheduler.breaker_records import Action


@dataclass(eq=False, slots=True)
class Pair:
    """One action's echoes of one document. Two pairs are never equal: a pair is where it is kept."""

    owner: ActionPairs
    document: Entity
    window_opened: float
    last_echo: float
    last_kickoff: tuple[float, int]
    """When the commit of the last step was started, and its number: several are started in one millisecond."""
    order: int = 0
    echoes: int = 0
    tripped_at: float | None = None
    step_ms: int = 0
    renewals: int = 0


class Deadlines:
    """Deadlines by pair, with the latest at hand: a heap whose outdated entries are dropped as they
    come up."""

    def __init__(self) -> None:
        self._at: dict[Pair, float] = {}
        self._heap: list[tuple[float, int, Pair]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._at)

    def __getitem__(self, pair: Pair) -> float | None:
        return self._at.get(pair)

    def set(self, pair: Pair, at: float) -> None:
        self._at[pair] = at
        self._pushed += 1
        heappush(self._heap, (-at, self._pushed, pair))
        # Entries below the top are never dropped one by one, so a pair that is renewed for days would
        # fill the heap.
        if len(self._heap) > 2 * len(self._at) + 16:
            self._heap = [(-held, number, key) for number, (key, held) in enumerate(self._at.items())]
            heapify(self._heap)

    def discard(self, pair: Pair) -> None:
        self._at.pop(pair, None)
        if not self._at:
            self._heap.clear()

    def latest(self) -> float | None:
        while self._heap:
            negated, _, pair = self._heap[0]
            if self._at.get(pair) == -negated:
                return -negated
            heappop(self._heap)
        return None

    @property
    def entries(self) -> int:
        """How many entries the heap holds, outdated ones included: a bounded multiple of the deadlines."""
        return len(self._heap)

    def ahead(self, now: float) -> int:
        """How many are still to come."""
        return sum(1 for at in self._at.values() if at > now)


@dataclass(eq=False, slots=True)
class ActionPairs:
    """What the breaker holds of one action: its pairs, and the deadlines that make its gate.

    ``deadlines`` also holds those of evicted pairs, which stand until they pass. The reference to the
    action keeps its identity from being given to another object meanwhile."""

    action: Action
    pairs: dict[Entity, Pair] = field(default_factory=dict[Entity, Pair])
    deadlines: Deadlines = field(default_factory=Deadlines)


class PairTable:
    """All pairs of all actions, untripped and tripped apart, each from the oldest to the youngest."""

    def __init__(self) -> None:
        self._untripped: OrderedDict[Pair, None] = OrderedDict()
        self._tripped: OrderedDict[Pair, None] = OrderedDict()
        self._touches = 0

    def __len__(self) -> int:
        return len(self._untripped) + len(self._tripped)

    def __iter__(self) -> Iterator[Pair]:
        """Every pair, the oldest first."""
        return iter(sorted((*self._untripped, *self._tripped), key=lambda pair: pair.order))

    def make_youngest(self, pair: Pair) -> None:
        """Put a pair, new or held, at the young end of its kind; a pair that has tripped changes its kind."""
        self.remove(pair)
        self._touches += 1
        pair.order = self._touches
        (self._untripped if pair.tripped_at is None else self._tripped)[pair] = None

    def remove(self, pair: Pair) -> None:
        self._untripped.pop(pair, None)
        self._tripped.pop(pair, None)

    def oldest(self, *, untripped_first: bool) -> Pair:
        """The pair whose last counted echo is the longest ago; with ``untripped_first``, of the
        untripped if any.

        Raises ``LookupError`` if the table is empty.
        """
        untripped, tripped = next(iter(self._untripped), None), self.oldest_tripped()
        heads = [pair for pair in (untripped, tripped) if pair is not None]
        if not heads:
            raise LookupError("the table of pairs is empty, so none is the oldest: ask when it is full")
        return heads[0] if untripped_first else min(heads, key=lambda pair: pair.order)

    def oldest_tripped(self) -> Pair | None:
        return next(iter(self._tripped), None)
