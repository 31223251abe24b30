"""The gates of a node: until when it waits, and why.

``eligible_at`` is the latest of four deadlines, each cleared for reasons of its own. A gate is closed before its
deadline and open at it. All times are milliseconds of the scheduler's monotonic clock; absent is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from quiesce.scheduler.convergence import ConvergencePolicy

AUTO_DEBOUNCE_THRESHOLD_MS = 50.0
AUTO_DEBOUNCE_MIN_RUNS = 3
AUTO_DEBOUNCE_DELAY_MS = 100.0


@dataclass(slots=True)
class Gates:
    """What an author set, and the deadlines that stand."""

    debounce_ms: float = 0.0
    no_auto_debounce: bool = False
    """Never spaced out for being slow."""
    throttle_ms: float = 0.0
    debounce_ready_at: float = 0.0
    throttle_ready_at: float = 0.0
    backoff_until: float = 0.0
    backoff_streak: int = 0
    backoff_step_ms: float = 0.0
    hold_passes: int = 0
    """Passes that put the node off since the last idle moment."""
    echo_backoff_until: float = 0.0
    """The remote-echo breaker's own field (seed §2, Backoff): clearing it clears no other, nor the reverse."""

    @property
    def eligible_at(self) -> float:
        """When the node may run."""
        return max(self.debounce_ready_at, self.throttle_ready_at, self.backoff_until, self.echo_backoff_until)

    def closed(self, now: float) -> bool:
        """Whether it must wait; at the deadline it need not."""
        return self.eligible_at > now

    def debounce_if_slow(self, runs: int, spent_ms: float) -> bool:
        """An effect whose runs take long on average is debounced from now on, unless its author said something about
        it. Whether that is new."""
        slow = runs >= AUTO_DEBOUNCE_MIN_RUNS and spent_ms >= AUTO_DEBOUNCE_THRESHOLD_MS * runs
        if not slow or self.debounce_ms > 0 or self.no_auto_debounce:
            return False
        self.debounce_ms = AUTO_DEBOUNCE_DELAY_MS
        return True

    def arm_debounce(self, now: float) -> None:
        """Trailing: every invalidation starts the wait again."""
        self.debounce_ready_at = now + self.debounce_ms

    def arm_throttle(self, completed: float) -> None:
        """So long after a run's completion the next one may start."""
        if self.throttle_ms > 0:
            self.throttle_ready_at = completed + self.throttle_ms

    def back_off(self, now: float, policy: ConvergencePolicy) -> None:
        """The node did not converge: wait, twice as long as the last time, up to the cap."""
        doubled = 2 * self.backoff_step_ms if self.backoff_streak else policy.backoff_base_ms
        self.backoff_step_ms = min(policy.backoff_max_ms, doubled)
        self.backoff_streak += 1
        self.hold_passes += 1
        self.backoff_until = now + self.backoff_step_ms

    def clear_backoff(self) -> bool:
        """The node is clean at a pass's end. Whether a deadline was deleted."""
        had = self.backoff_until != 0.0
        self.backoff_until = 0.0
        self.backoff_streak = 0
        self.hold_passes = 0
        return had

    def hold(self, until: float) -> None:
        """A resumed node waits for what it will read. The hold shares the convergence backoff's field."""
        self.backoff_until = max(self.backoff_until, until)

    def release_hold(self) -> None:
        """It has arrived. As specified this opens the field, whatever it was closed for."""
        self.backoff_until = 0.0

    def release_for_retry(self) -> bool:
        """A retry that is owed waits for neither debounce nor throttle; both backoffs stand (seed §2). Whether a
        deadline was deleted."""
        had = self.debounce_ready_at != 0.0 or self.throttle_ready_at != 0.0
        self.debounce_ready_at = self.throttle_ready_at = 0.0
        return had

    def retire(self) -> None:
        """The registration ends. The echo backoff and the debounce must not meet a later one."""
        self.debounce_ready_at = 0.0
        self.echo_backoff_until = 0.0
