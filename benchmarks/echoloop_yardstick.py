"""The yardstick EchoLoop, as other checkers have it, written in the modelling language.

It is a measure of search, not the design: it keeps time by an action of its own with counters for clocks, its window
closes and its quiet stretch ends one tick early, and its sessions see the document without delay. What a full search of
it finds is known: see :data:`SCOPES`.
"""

from __future__ import annotations

from dataclasses import dataclass

from quiesce_model import Machine, Record, action, constant, each, flag, initial, invariant, upto


class Session(Record):
    """One session and its breaker."""

    dirty: bool = flag()
    count: int = upto(lambda c: c.threshold - 1)
    window: int = upto(lambda c: c.window - 1)
    tripped: bool = flag()
    level: int = upto(lambda c: c.top)
    wait: int = upto(lambda c: c.longest)
    quiet: int = upto(lambda c: c.quiet - 1)

    def clear(self) -> None:
        self.count = 0
        self.window = 0
        self.tripped = False
        self.level = 0
        self.wait = 0
        self.quiet = 0

    def tick(self, c: EchoLoop) -> None:
        if self.tripped:
            if self.quiet + 1 >= c.quiet:
                self.clear()
            else:
                self.quiet += 1
                self.wait = max(self.wait - 1, 0)
        elif self.count > 0:
            if self.window + 1 >= c.window:
                self.count = 0
                self.window = 0
            else:
                self.window += 1

    def echo(self, c: EchoLoop) -> None:
        if self.tripped:
            self.level = min(self.level + 1, c.top)
            self.wait = wait_at(self.level, c)
            self.quiet = 0
        elif self.count + 1 >= c.threshold:
            self.clear()
            self.tripped = True
            self.wait = 1
        else:
            self.count += 1


def wait_at(level: int, c: EchoLoop) -> int:
    """2 to the power of ``level``."""
    wait = 1
    for step in range(c.top):
        if step < level:
            wait = 2 * wait
    return wait


class EchoLoop(Machine):
    """``longest`` is the longest wait, 2 to the power of ``top``."""

    sessions: int = constant(3)
    threshold: int = constant(3)
    window: int = constant(8)
    top: int = constant(4)
    quiet: int = constant(24)
    longest: int = constant(16)

    document: int = upto(lambda c: c.sessions - 1)
    agreed: bool = flag()
    session: list[Session] = each("sessions", Session)

    @initial
    def all_but_one_disagree(self) -> None:
        for s, me in enumerate(self.session):
            me.dirty = s != 0

    @action()
    def tick(self) -> None:
        for me in self.session:
            me.tick(self)

    @action()
    def agree(self) -> None:
        self.require(not self.agreed)
        self.agreed = True

    @action(s="sessions")
    def run(self, s: int) -> None:
        me = self.session[s]
        self.require(me.dirty)
        self.require(me.wait == 0)
        wish = 0 if self.agreed else s
        me.dirty = False
        if self.document == wish:
            me.clear()
        else:
            self.document = wish
            for other, them in enumerate(self.session):
                if other != s:
                    them.dirty = True
            me.echo(self)

    @invariant()
    def waits_are_of_a_trip(self) -> bool:
        """A tripped session waits no longer than its level says, another one not at all."""
        return all(me.wait <= (wait_at(me.level, self) if me.tripped else 0) for me in self.session)


@dataclass(frozen=True)
class Scope:
    """Constants, and what a full search finds: distinct states, transitions plus the initial state, levels."""

    sessions: int
    threshold: int
    window: int
    top: int
    quiet: int
    distinct: int
    generated: int
    depth: int

    def machine(self) -> EchoLoop:
        return EchoLoop(
            sessions=self.sessions,
            threshold=self.threshold,
            window=self.window,
            top=self.top,
            quiet=self.quiet,
            longest=2**self.top,
        )


SCOPES = {
    "base": Scope(2, 3, 4, 2, 6, 1_527, 3_474, 27),
    "small": Scope(3, 3, 4, 2, 6, 66_587, 194_185, 29),
    "mid": Scope(3, 3, 6, 3, 12, 602_960, 1_809_490, 42),
    "large": Scope(3, 3, 8, 4, 24, 5_772_337, 17_811_008, 65),
}


def main() -> None:
    """Search every scope and say whether the counts are those that are known."""
    from quiesce_checks.engines.explore import explore

    for name, scope in SCOPES.items():
        found = explore(scope.machine(), engine="native").statistics
        counts = (found.distinct, found.generated, found.depth)
        right = counts == (scope.distinct, scope.generated, scope.depth)
        print(
            f"{name:6} {found.distinct:>10,} distinct {found.generated:>11,} generated {found.depth:>3} levels "
            f"{'as known' if right else 'WRONG'}  {found.seconds - found.compile_seconds:.2f} s, "
            f"compiled in {found.compile_seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
