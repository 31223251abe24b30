"""Stand-ins for what the scheduler and the store give to the breaker."""

from __future__ import annotations

from dataclasses import dataclass, field

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, Gate, Tripped
from quiesce.scheduler.echo import Cause, Origin, Step, StepKind
from quiesce.values import ABSENT, Maybe


@dataclass(eq=False)
class Node:
    """A registered action: what identifies it is the object."""

    label: str = "greeting"


@dataclass(frozen=True)
class Write:
    address: Address
    previous: Maybe
    value: Maybe


@dataclass(frozen=True)
class Reads:
    deep: tuple[Address, ...] = ()
    shallow: tuple[Address, ...] = ()


@dataclass
class Log:
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def error(self, event: str, message: str) -> None:
        self.lines.append((event, message))


def doc(name: str = "note", instance: str = "space", space: str = "home") -> Entity:
    return Entity(space, instance, name)


def place(*path: str, of: Entity | None = None) -> Address:
    return Address(of if of is not None else doc(), path)


def remote(*path: str, of: Entity | None = None) -> Cause:
    return Cause(place(*path, of=of), Origin.REMOTE)


def write(*path: str, of: Entity | None = None, previous: Maybe = "theirs", value: Maybe = "mine") -> Write:
    return Write(place(*path, of=of), previous, value)


def made(*path: str, value: Maybe, of: Entity | None = None) -> Write:
    """A write where nothing was."""
    return write(*path, of=of, previous=ABSENT, value=value)


class Bench:
    """One breaker, and steps by name: what a test feeds and asks."""

    def __init__(self, policy: BreakerPolicy | None = None) -> None:
        self.log = Log()
        self.breaker = RemoteEchoBreaker(self.log, policy)
        self.node = Node()

    def apply(self, now: float, *steps: Step, node: Node | None = None) -> Gate:
        return self.breaker.observe(node or self.node, steps, now)

    def echo(self, now: float, of: Entity | None = None, *, node: Node | None = None) -> Gate:
        return self.apply(now, echo_of(of, now), node=node)

    def converge(self, now: float, of: Entity | None = None, *, node: Node | None = None) -> Gate:
        return self.apply(now, convergence_of(of, now), node=node)

    def trip(self, now: float, of: Entity | None = None, *, node: Node | None = None) -> Gate:
        """Echo at one instant until the pair trips there."""
        for _ in range(self.breaker.policy.echo_trip_threshold - 1):
            self.echo(now, of, node=node)
        return self.echo(now, of, node=node)

    def gate(self, now: float, node: Node | None = None) -> float | None:
        return self.breaker.gate(node or self.node, now)

    def active(self, now: float) -> int:
        return self.breaker.stats(now).active

    def documents(self) -> list[str]:
        return [pair.document.id for pair in self.breaker.pairs()]

    def clears(self) -> list[Cleared]:
        return [event for event in self.breaker.take_events() if isinstance(event, Cleared)]

    def tripped(self) -> list[Tripped]:
        return [event for event in self.breaker.take_events() if isinstance(event, Tripped)]


def echo_of(of: Entity | None = None, kickoff: float = 0) -> Step:
    return Step(of if of is not None else doc(), StepKind.ECHO, kickoff)


def convergence_of(of: Entity | None = None, kickoff: float = 0) -> Step:
    return Step(of if of is not None else doc(), StepKind.CONVERGENCE, kickoff)
