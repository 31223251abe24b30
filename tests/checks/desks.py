"""A model of a ticket desk, and desks with one bug each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from quiesce_checks.lockstep import Description, Observation, Refused
from quiesce_checks.lockstep.pairing import Pairing
from quiesce_model import Left, Machine, action, constant, left, upto
from quiesce_model.language.machine import Step


class Tickets(Machine):
    """So many tickets, then a pause."""

    most: int = constant(2)
    pause: int = constant(2)

    sold: int = upto(lambda c: c.most)
    rest: Left = left(lambda c: c.pause)

    @action()
    def sell(self) -> None:
        self.require(self.sold < self.most, "TKT-1")
        self.sold += 1
        if self.sold == self.most:
            self.rest.set(self.pause)

    @action()
    def open(self) -> None:
        self.require(self.sold > 0)
        self.require(self.rest.over, "TKT-2")
        self.sold = 0


class Desk:
    """A subject that is its own implementation, and right."""

    def __init__(self) -> None:
        self.sold, self.until = 0, 0

    def describe(self) -> Description:
        return Description({"sell": (), "open": ()}, ("sold", "rest"))

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        self.most, self.pause = constants["most"], constants["pause"]
        self.sold, self.until = 0, 0

    def step(self, step: Step, at: int) -> None:
        if step.action == "sell":
            self.sell(at)
        else:
            self.open(at)

    def sell(self, at: int) -> None:
        if self.sold >= self.most:
            raise Refused("sold out")
        self.sold += 1
        if self.sold == self.most:
            self.until = at + self.pause

    def open(self, at: int) -> None:
        if at < self.until:
            raise Refused("pausing")
        self.sold = 0

    def observe(self, at: int) -> Observation:
        return (self.sold, max(0, self.until - at))


class WrongValue(Desk):
    """Its last ticket begins too long a pause."""

    def sell(self, at: int) -> None:
        super().sell(at)
        if self.sold == self.most:
            self.until += 1


class NoRefusal(Desk):
    def open(self, at: int) -> None:
        self.sold = 0


class TooCareful(Desk):
    """Still pausing at the very end of the pause."""

    def open(self, at: int) -> None:
        if self.until and at <= self.until:
            raise Refused("pausing")
        self.sold = 0


class ChangesOnRefusal(Desk):
    """What it refuses makes the pause longer."""

    def open(self, at: int) -> None:
        if at < self.until:
            self.until += 1
        super().open(at)


class Crashing(Desk):
    def open(self, at: int) -> None:
        raise ZeroDivisionError("no one sits here")


class CrashingAtReset(Desk):
    def reset(self, constants: Mapping[str, int | bool]) -> None:
        raise KeyError("seats")


class Leaking(Desk):
    """Its reset forgets the tickets but not the end of the pause."""

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        until = self.until
        super().reset(constants)
        self.until = until


class Flaky(Desk):
    """Differs at one step in its life, whatever the walk."""

    lives = 0

    def __init__(self) -> None:
        super().__init__()
        Flaky.lives += 1
        self.steps = 0
        self.life = Flaky.lives

    def observe(self, at: int) -> Observation:
        self.steps += 1
        wrong = self.life == 2 and self.steps == 5  # the first one is asked to describe itself
        return (self.sold + wrong, max(0, self.until - at))


class LacksAction(Desk):
    def describe(self) -> Description:
        return Description({"sell": ()}, ("sold", "rest"))


class LacksField(Desk):
    def describe(self) -> Description:
        return Description({"sell": (), "open": ()}, ("sold",))


def pairing(subject: Callable[[], Desk] = Desk, **constants: int) -> Pairing:
    return Pairing(
        name="desk",
        machine=lambda: Tickets(**constants),
        subject=subject,
        seen=("sold", "rest"),
        hidden={},
        refusable=frozenset({"TKT-1", "TKT-2"}),
        implementation="desks.Desk",
    )


def wrong_value(**constants: int) -> Pairing:
    return pairing(WrongValue, **constants)


def no_refusal(**constants: int) -> Pairing:
    return pairing(NoRefusal, **constants)


def crashing(**constants: int) -> Pairing:
    return pairing(Crashing, **constants)


def lacking(**constants: int) -> Pairing:
    return pairing(LacksField, **constants)


def leaking(**constants: int) -> Pairing:
    return pairing(Leaking, **constants)


def misnamed(**constants: int) -> Pairing:
    return replace(pairing(**constants), seen=("sold", "rest", "colour"))
