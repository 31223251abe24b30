"""The thin shell around a scheduler: asyncio gives it its turns, awaits its bodies, and keeps its one timer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import cast

from quiesce.clock import Clock
from quiesce.scheduler.run import Awaiting, Ended
from quiesce.scheduler.scheduler import Scheduler

TURN_S = 0.005
"""How long a scheduler keeps the event loop before others have their turn, in seconds."""


class Shell:
    """Drives one scheduler from one event loop. A pass ends a turn, so that messages are taken in between."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._scheduler: Scheduler | None = None
        self._turn_queued = False
        self._timer: asyncio.TimerHandle | None = None
        self._bodies: set[asyncio.Task[None]] = set()
        self._closed = False

    def drive(self, scheduler: Scheduler) -> None:
        """Give it its turns from now on."""
        self._scheduler = scheduler
        self.work()

    def work(self) -> None:
        """The scheduler wants a turn, or another timer."""
        if not self._turn_queued and not self._closed:
            self._turn_queued = True
            self._loop.call_soon(self._turn)

    async def close(self) -> None:
        """No more turns; bodies that are awaited are cancelled."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.sleep(0)  # a body that has not begun could not end properly
        for body in list(self._bodies):
            body.cancel()
        if self._bodies:
            await asyncio.wait(self._bodies)

    def _turn(self) -> None:
        self._turn_queued = False
        scheduler = self._scheduler
        if scheduler is None or self._closed:
            return
        until = self._loop.time() + TURN_S
        while (step := scheduler.step()) is not None:
            if isinstance(step, Awaiting):
                body = self._loop.create_task(attend(scheduler, step))
                self._bodies.add(body)
                body.add_done_callback(self._bodies.discard)
            elif isinstance(step, Ended) or self._loop.time() > until:
                if scheduler.tick_queued or not isinstance(step, Ended):
                    self.work()
                break
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self._scheduler.timer_at if self._scheduler is not None else None
        if at is not None and not self._closed:
            self._timer = self._loop.call_later(max(0.0, at - self._clock()) / 1000, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._scheduler is not None and not self._closed:
            self._scheduler.timer_fired()
            self._turn()


async def attend(scheduler: Scheduler, step: Awaiting) -> None:
    """Await the body of a step; its end is told however it comes."""
    try:
        await cast("Awaitable[object]", step.awaitable)
    except asyncio.CancelledError as error:
        scheduler.body_done(step.run, error)
        raise
    except Exception as error:
        scheduler.body_done(step.run, error)
    else:
        scheduler.body_done(step.run)
