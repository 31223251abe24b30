"""What one client may use. Every limit has an error that names it."""

from __future__ import annotations

from dataclasses import dataclass

from quiesce.clock import Clock


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one server. Sizes in bytes, times in milliseconds, rates per second with a burst of twice
    that.
    """

    message_bytes: int = 1_200_000
    document_bytes: int = 1_000_000
    operations: int = 1_000
    """Operations and preconditions of one commit."""
    reads: int = 10_000
    """Reads of one commit, confirmed and pending, and the layers that they name."""
    edits: int = 10_000
    """Edits of one commit."""
    watches: int = 2_000
    """Watches of one session, and known documents in one watch request times ten."""
    tracked: int = 20_000
    """Documents that one session's watches may reach."""
    in_flight: int = 256
    """Commits of one session that are received and not decided."""
    commits_per_second: float = 1_000
    messages_per_second: float = 200
    """Messages other than commits."""
    outbox_soft_bytes: int = 256 << 10
    """Past this much unsent, windows are no longer queued: one catch-up window replaces them."""
    outbox_hard_bytes: int = 4 << 20
    """Past this much unsent, the connection is closed as a slow reader's."""
    hello_ms: float = 5_000
    stalled_ms: float = 30_000
    """How long a slow reader may stay behind before its connection is closed."""
    detached_ms: float = 30_000
    """How long a session without a connection keeps its place; then it expires and must open anew what it
    watches.
    """
    session_retention_ms: float = 24 * 3600_000
    """How long an expired session can still be resumed, so that its replayed commits are recognised."""
    connections: int = 10_000
    connections_per_principal: int = 2_000
    spaces: int = 2_000
    demands: int = 10_000
    """Derivations that one session may demand, or a runtime serve."""
    lease_ms: float = 15_000
    """How long a serving runtime's lease lasts after it was renewed."""
    surface_places: int = 1_000
    """Places of one declared surface."""
    reports: int = 64
    """Breaker reports kept for one session."""


class Bucket:
    """A token bucket: ``rate`` a second on average, twice that at once."""

    __slots__ = ("_at", "_clock", "_rate", "_tokens")

    def __init__(self, rate: float, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._tokens = 2 * rate
        self._at = clock()

    def take(self) -> float:
        """Use one token: 0, or the milliseconds after which there is one."""
        now = self._clock()
        self._tokens = min(2 * self._rate, self._tokens + (now - self._at) * self._rate / 1000)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) * 1000 / self._rate
