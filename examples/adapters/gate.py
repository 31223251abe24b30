"""A gate in front of a task, as a program would use it: it is told what happens and when, and keeps deadlines."""


class NotNow(Exception):
    """The task may not be started now, or does not run."""


class Gate:
    """Times are in milliseconds; the caller brings the clock."""

    def __init__(self, debounce: int, throttle: int, base: int, cap: int) -> None:
        self.debounce, self.throttle, self.base, self.cap = debounce, throttle, base, cap
        self.due = self.running = False
        self.quiet_at = self.spaced_at = self.retry_at = 0
        self.delay = 0

    def change(self, now: int) -> None:
        self.due = True
        self.quiet_at = now + self.debounce

    def opens_at(self) -> int:
        return max(self.quiet_at, self.spaced_at, self.retry_at)

    def start(self, now: int) -> None:
        if not self.due or self.running:
            raise NotNow("nothing to do" if not self.due else "it runs already")
        if not self.is_open(now):
            raise NotNow(f"not before {self.opens_at()}")
        self.due, self.running = False, True

    def is_open(self, now: int) -> bool:
        return now >= self.opens_at()

    def finish(self, failed: bool, now: int) -> None:
        if not self.running:
            raise NotNow("it does not run")
        self.running = False
        self.spaced_at = now + self.throttle
        if failed:
            self.due = True
            self.delay = min(2 * self.delay, self.cap) if self.delay else self.base
            self.retry_at = now + self.delay
        else:
            self.clear()

    def clear(self) -> None:
        """After a success the next failure begins with the shortest delay again."""
        self.delay = 0
