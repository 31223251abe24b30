"""One walk at the constants that the breaker ships with, past every boundary: just before it, at it, just after."""

from __future__ import annotations

from collections.abc import Iterator

from quiesce_model.language.machine import Step

WINDOW, THRESHOLD, BASE, CAP, QUIET = 60_000, 12, 500, 30_000, 120_000
"""Times in ms."""


def elapse(milliseconds: int) -> Step:
    return Step("elapse", (("d", milliseconds),))


def start(*, overwrites: bool = True) -> Step:
    return Step("run", (("overwrites", overwrites),))


def landing(place: int = 0) -> Step:
    return Step("commit", (("place", place),))


def echo() -> Iterator[Step]:
    """A run that overwrites, and its commit."""
    yield start()
    yield landing()


def echoes(count: int) -> Iterator[Step]:
    for _ in range(count):
        yield from echo()


def wait(milliseconds: int) -> Iterator[Step]:
    """A backoff of that length: a run is asked for a millisecond before it ends, and may start when it does."""
    yield elapse(milliseconds - 1)
    yield start()
    yield elapse(1)


def trip() -> Iterator[Step]:
    """The threshold in one window, the last echo step at its last instant."""
    yield from echoes(THRESHOLD - 1)
    yield elapse(WINDOW)
    yield from echo()


def shipped_walk() -> Iterator[Step]:
    """A window a millisecond too long, a trip, every backoff up to the cap and twice that, the quiet stretch, and a
    trip that ends by agreement, with a step that another has overtaken on the way."""
    yield from echoes(THRESHOLD - 1)
    yield elapse(WINDOW + 1)
    yield from echo()
    yield start(overwrites=False)
    yield landing()
    yield from trip()
    length = BASE
    while length < 2 * CAP:
        yield from wait(min(length, CAP))
        yield from echo()
        length *= 2
    yield elapse(QUIET)
    yield Step("forget")
    yield elapse(1)
    yield Step("forget")
    yield from trip()
    yield from wait(BASE)
    yield start(overwrites=False)
    yield start()
    yield landing(1)
    yield landing(0)
    yield from echo()
    yield Step("retire")


SHIPPED_WALK = tuple(shipped_walk())
