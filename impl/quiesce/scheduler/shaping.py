"""Wakes that follow somebody's typing: the cause is noted at once, the wake comes no oftener than a reader can use.

Each reader has, for each document, a bucket of tokens. A commit that is marked as typing takes one and wakes the
reader; when there is none the wake is held until the next, and further ones fall together with it. Nothing is lost: a
held wake keeps the system from being idle, an event whose handler reads what the reader derives lets it go at once, and
a run for any other reason takes all causes along.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiesce.address import Entity
from quiesce.scheduler.echo import Cause
from quiesce.scheduler.node import Node, Status
from quiesce.storage.notification import Notification, NotificationKind

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler

BURST = 2
"""Wakes of one reader by one document that come at once."""

REFILL_MS = 100.0
"""After so long there is another."""

MOST_BUCKETS = 1_024
"""Beyond so many, those that are full again are forgotten."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float

    def fill(self, now: float) -> float:
        self.tokens = min(BURST, self.tokens + (now - self.at) / REFILL_MS)
        self.at = now
        return self.tokens


def is_typing(notification: Notification) -> bool:
    """Whether these are the optimistic writes of an action that is marked as typing."""
    source = notification.source.source_action if notification.source is not None else None
    return notification.kind is NotificationKind.COMMIT and isinstance(source, Node) and source.typing


class Shaping:
    """The buckets, and the wakes that are held."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._buckets: dict[tuple[Node, Entity], _Bucket] = {}
        self._held: dict[tuple[Node, Entity], float] = {}

    def __len__(self) -> int:
        return len(self._held)

    def holds_back(self, node: Node, cause: Cause, now: float) -> bool:
        """Note the cause of a typed change and say whether the wake is held."""
        if node.status is not Status.CLEAN or not node.demanded:
            return False  # it is about to run anyway, or does not run at all
        key = node, cause.address.entity
        if key not in self._held:
            bucket = self._buckets.get(key)
            if bucket is None:
                self._forget_the_full(now)
                bucket = self._buckets[key] = _Bucket(BURST, now)
            if bucket.fill(now) >= 1:
                bucket.tokens -= 1
                return False
            self._held[key] = now + (1 - bucket.tokens) * REFILL_MS
            self._scheduler.timer_moved()
        node.causes[cause] = None
        return True

    def next_release(self) -> float | None:
        """When the first held wake is due, in milliseconds."""
        return min(self._held.values(), default=None)

    def release_due(self, now: float) -> None:
        """Wake those whose time has come."""
        for key in [key for key, at in self._held.items() if at <= now]:
            self._release(key, now)

    def release(self, nodes: Container[Node], now: float) -> None:
        """Wake these at once: somebody waits for what they derive."""
        for key in [key for key in self._held if key[0] in nodes]:
            self._release(key, now)

    def drop(self, node: Node, *, retired: bool = False) -> None:
        """It runs now, with all its causes, or takes no part any more."""
        for key in [key for key in self._held if key[0] is node]:
            del self._held[key]
        if retired:
            for key in [key for key in self._buckets if key[0] is node]:
                del self._buckets[key]

    def _release(self, key: tuple[Node, Entity], now: float) -> None:
        del self._held[key]
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.tokens = max(0.0, bucket.fill(now) - 1)
        self._scheduler.invalidation.invalidate(key[0], None, now)

    def _forget_the_full(self, now: float) -> None:
        if len(self._buckets) >= MOST_BUCKETS:
            self._buckets = {key: bucket for key, bucket in self._buckets.items() if bucket.fill(now) < BURST}
