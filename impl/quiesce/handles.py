"""What a program holds of what it registered or sent: effects, handlers, and writes on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from quiesce.scheduler.events import Event
from quiesce.scheduler.node import Node

if TYPE_CHECKING:
    from quiesce.runtime import Session
    from quiesce.scheduler.run import Run


class NotCommitted(RuntimeError):
    """What was sent did not become durable. ``outcome`` says how it ended."""

    def __init__(self, label: str, outcome: str, error: BaseException | None = None) -> None:
        why = "look at the session's failures, and send it again if it matters"
        if error is not None:
            why = f"its handler raised {type(error).__name__}: {error}"
        super().__init__(f"{label} ended as {outcome}: {why}")
        self.outcome = outcome


class Sent:
    """Something on its way to being durable. Awaiting it waits for that; it need not be awaited.

    ``outcome`` is None until it is over, then ``committed`` or how it failed. ``within`` says which action, if one,
    is asking.
    """

    def __init__(self, label: str, within: Callable[[], Run | None] = lambda: None) -> None:
        self.label = label
        self._within = within
        self._error: BaseException | None = None
        self.outcome: str | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def finish(self, outcome: str, error: BaseException | None = None) -> None:
        """For the session: it is over, because of ``error`` if a body raised one."""
        if self.outcome is None:
            self.outcome, self._error = outcome, error
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def __await__(self) -> Generator[Any, None, None]:
        """Raises ``NotCommitted`` if it did not become durable, and ``RuntimeError`` inside an action: what that
        writes or sends waits for its own end."""
        return self._wait().__await__()

    async def _wait(self) -> None:
        run = self._within()
        if run is not None:
            raise RuntimeError(
                f"{run.node.label} awaits what it writes or sends, which becomes durable with its own commit and so "
                "after its end: do not await it there"
            )
        if self.outcome is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        assert self.outcome is not None, "waited for"
        if self.outcome != "committed":
            raise NotCommitted(self.label, self.outcome, self._error) from self._error


class Action:
    """A registered effect."""

    def __init__(self, session: Session, node: Node) -> None:
        self._session = session
        self.node = node

    def stop(self) -> None:
        """Run it no more."""
        self._session.scheduler.unregister(self.node)


class Handler(Action):
    """A registered handler. Calling it sends it an event; events are handled one after the other, in order."""

    def __call__(self, event: Any = None, *, retries: bool = True) -> Sent:
        """Send an event. Sent by an action, it is handled once that has committed, and not at all if it does not.
        ``retries`` False: a conflict drops it. Raises ``BacklogFull``."""
        within = self._session.current
        sent = Sent(self.node.label, lambda: self._session.current)

        def done(over: Event) -> None:
            sent.finish(over.outcome or "", over.error)

        self._session.scheduler.send(self.node, event, retries=retries, on_done=done, origin=within)
        return sent
