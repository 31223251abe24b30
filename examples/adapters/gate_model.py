"""When may a task run? The model: what any gate has to do, in whatever language it is written."""

from enum import Enum

from quiesce_model import Left, Machine, action, assumption, constant, invariant, left, one_of, upto


class Status(Enum):
    IDLE = 0
    DUE = 1
    RUNNING = 2
    RUNNING_AND_DUE = 3


class Outcome(Enum):
    DONE = 0
    FAILED = 1


class Gate(Machine):
    """A task that is run after changes: not before they have been quiet for a while (debounce), not too often
    (throttle), and later and later while it fails (backoff). Durations are in units of the model's time."""

    debounce: int = constant(2)
    throttle: int = constant(3)
    base: int = constant(1)
    cap: int = constant(4)

    status: Status = one_of(Status)
    quiet: Left = left(lambda c: c.debounce)
    spacing: Left = left(lambda c: c.throttle)
    backoff: Left = left(lambda c: c.cap)
    step: int = upto(lambda c: c.cap)  # how long the last backoff was; 0 after a success

    @assumption
    def base_within_cap(self) -> bool:
        return 1 <= self.base <= self.cap

    @action()
    def change(self) -> None:
        """Something that the task reads has changed."""
        running = self.status in (Status.RUNNING, Status.RUNNING_AND_DUE)
        self.status = Status.RUNNING_AND_DUE if running else Status.DUE
        if self.rule("GATE-1"):
            self.quiet.set(self.debounce)

    @action()
    def start(self) -> None:
        self.require(self.status == Status.DUE, "GATE-2")
        self.require(self.quiet.over, "GATE-3")
        self.require(self.spacing.over, "GATE-4")
        self.require(self.backoff.over, "GATE-5")
        self.status = Status.RUNNING

    @action(how=Outcome)
    def finish(self, how: Outcome) -> None:
        """The run is over. One that failed is owed another."""
        self.require(self.status in (Status.RUNNING, Status.RUNNING_AND_DUE), "GATE-6")
        again = how == Outcome.FAILED or self.status == Status.RUNNING_AND_DUE
        self.status = Status.DUE if again else Status.IDLE
        self.spacing.set(self.throttle)
        if how == Outcome.FAILED:
            self.step = self.base if self.step == 0 else min(2 * self.step, self.cap)
            self.backoff.set(self.step)
        elif self.rule("GATE-7"):
            self.step = 0

    @invariant("GATE-7")
    def backs_off_only_after_failures(self) -> bool:
        return self.backoff.over or self.step > 0
