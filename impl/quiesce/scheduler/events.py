"""The event lane: one queue for all handlers, first in, first out; how long its head waits, and how often it is
tried.

An event is dispatched when nothing that its handler reads is waiting to be recomputed. A handler's commit that
meets a conflict goes back to the head and is tried again, later each time, until a window of time is over; then
it is an error that somebody hears of, never a write that vanished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from quiesce.commits import Document
from quiesce.scheduler.node import Node, Registration
from quiesce.scheduler.run import Run

BACKPRESSURE_BASE_MS = 25 / 32
BACKPRESSURE_MAX_MS = 1_000.0
BACKPRESSURE_JITTER = 0.5
BACKPRESSURE_WINDOW_MS = 30_000.0
MAX_BACKLOG = 256
"""Events that may wait for one handler."""


class BacklogFull(RuntimeError):
    """More events wait for one handler than may."""


@dataclass(eq=False, slots=True)
class Event:
    """One event. ``outcome`` is None until it is over, then what became of it.

    ``retries`` False: the first conflict ends it. ``origin`` is the run that sent it, while it is open whether that
    attempt commits: if it does not, the event was never sent.
    """

    handler: Node
    registration: Registration
    payload: object
    retries: bool = True
    on_done: Callable[[Event], None] | None = None
    origin: Run | None = None
    awaits: Document | None = None
    """What its handler has to read and is being loaded."""
    not_before: float = 0.0
    gated: bool = False
    """It waits for a gate of something that its handler reads, not for its own next try."""
    attempts: int = 0
    first_failure: float | None = None
    looks: int = 0
    """How often its handler ran for nothing, since what it read had yet to be derived."""
    asked_again: int = 0
    """How often its body asked to be run again."""
    outcome: str | None = None
    error: BaseException | None = None
    """What its handler raised, if that ended it."""

    @property
    def held(self) -> bool:
        """Whether it waits for something else than the clock."""
        return self.origin is not None or self.awaits is not None

    def finish(self, outcome: str) -> None:
        """It is over: ``committed``, ``refused``, ``failed``, ``dropped``, ``did-not-converge``, ``lost``,
        ``retired``, or ``withdrawn`` since what sent it did not commit."""
        if self.outcome is None:
            self.outcome = outcome
            if self.on_done is not None:
                self.on_done(self)


class Lane:
    """The events that wait. ``random`` gives numbers in [0, 1) for the spread of retries."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._queue: deque[Event] = deque()
        self._random = random

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def head(self) -> Event | None:
        """The one whose turn it is."""
        return self._queue[0] if self._queue else None

    def add(self, event: Event) -> None:
        """At the end. Raises ``BacklogFull``."""
        if sum(1 for other in self._queue if other.handler is event.handler) >= MAX_BACKLOG:
            raise BacklogFull(
                f"{MAX_BACKLOG} events wait for handler {event.handler.label}: send more when some are done"
            )
        self._queue.append(event)

    def take(self) -> Event:
        """The head leaves to be dispatched."""
        event = self._queue.popleft()
        event.gated = False
        return event

    def put_back(self, event: Event) -> None:
        """It is to be tried again, before all others."""
        self._queue.appendleft(event)

    def ready(self, now: float) -> bool:
        """Whether the head may be looked at."""
        return bool(self._queue) and not self._queue[0].held and self._queue[0].not_before <= now

    def next_look(self) -> float | None:
        """When the head is to be looked at by the clock. None if there is none, or if it waits for something else."""
        head = self.head
        return None if head is None or head.held else head.not_before

    def loaded(self, document: Document) -> bool:
        """A document has arrived. Whether the head waited for it."""
        head = self.head
        if head is None or head.awaits != document:
            return False
        head.awaits = None
        return True

    def withdraw(self, event: Event) -> None:
        """What sent it did not commit."""
        if event in self._queue:
            self._queue.remove(event)
        event.finish("withdrawn")

    def park(self, until: float) -> None:
        """The head waits for a gate."""
        self._queue[0].not_before = until
        self._queue[0].gated = True

    def unpark(self) -> None:
        """A gate was lowered: a head that waits for one looks again."""
        if self._queue and self._queue[0].gated:
            self._queue[0].not_before = 0.0
            self._queue[0].gated = False

    def retire(self, node: Node) -> None:
        """The handler's registration has ended, and with it what waits for it."""
        gone = [event for event in self._queue if event.handler is node]
        self._queue = deque(event for event in self._queue if event.handler is not node)
        for event in gone:
            event.finish("retired")

    def again(self, event: Event, now: float) -> bool:
        """A conflict: put it back with its next delay. False if its window is over."""
        event.attempts += 1
        if event.first_failure is None:
            event.first_failure = now
        if not event.retries or now >= event.first_failure + BACKPRESSURE_WINDOW_MS:
            return False
        delay = BACKPRESSURE_BASE_MS
        for _ in range(event.attempts - 1):
            delay = min(BACKPRESSURE_MAX_MS, 2 * delay)
            if delay == BACKPRESSURE_MAX_MS:
                break
        event.not_before = now + delay * (1 - BACKPRESSURE_JITTER * self._random())
        self.put_back(event)
        return True


def upstream_of(roots: dict[Node, int] | dict[Node, None]) -> dict[Node, None]:
    """These nodes and all that write what they read, directly or not."""
    seen: dict[Node, None] = dict.fromkeys(roots)
    queue = list(seen)
    for node in queue:
        for writer in node.upstream:
            if writer not in seen:
                seen[writer] = None
                queue.append(writer)
    return seen


def unsettled_upstream(roots: dict[Node, int] | dict[Node, None]) -> list[Node]:
    """The nodes that have to run before what these write can be trusted: not clean, anywhere upstream."""
    return [node for node in upstream_of(roots) if node.registered and node.runnable]
