"""Writes that no action makes: a commit of their own, visible here at once, and done again after a conflict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quiesce.handles import Sent
from quiesce.scheduler.events import Event
from quiesce.scheduler.node import Kind, Node, Registration
from quiesce.scheduler.run import Failure, NotLoaded, Run
from quiesce.storage.transaction import CommitHandle, Settled

if TYPE_CHECKING:
    from quiesce.runtime import Session


class Outside:
    """What a session writes outside its actions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._node = _node(None)
        session.scheduler.register(self._node)

    def write(self, change: Callable[[Run], None], group: object | None, *, typing: bool = False) -> Sent:
        """Write as ``change`` says, at once if everything is here that it reads."""
        session, node = self._session, self._node if group is None and not typing else _node(group, typing=typing)
        sent = Sent(node.label, lambda: session.current)
        run = Run(node, Registration(), session.replica.begin(node), payload=change)
        run.loads = session.scheduler.loads
        try:
            change(run)
        except BaseException as error:
            run.transaction.abort()
            run.decide(committed=False)
            if not isinstance(error, NotLoaded):
                raise
            self._again(run, sent)
            return sent
        finally:
            run.over = True
        session.scheduler.commit(run.transaction).on_settled(lambda handle: self._settled(handle, run, sent))
        return sent

    def _settled(self, handle: CommitHandle, run: Run, sent: Sent) -> None:
        assert handle.result is not None, "told when it has settled"
        settled, scheduler = handle.result.settled, self._session.scheduler
        run.decide(committed=settled is Settled.COMMITTED)
        if settled is Settled.COMMITTED:
            sent.finish("committed")
        elif settled is Settled.STALE and not scheduler.disposed:
            self._again(run, sent)
        else:
            sent.finish("lost" if settled is Settled.LOST else "refused")
            message = f"a write from outside an action ended as {settled.value}: {handle.result.message}"
            scheduler.fail(Failure(run.node.label, handle.result.code or "commit-refused", message))

    def _again(self, run: Run, sent: Sent) -> None:
        """Do as an event what could not be done at once."""
        node, scheduler = run.node, self._session.scheduler

        def done(over: Event) -> None:
            sent.finish(over.outcome or "")
            if node is not self._node:
                scheduler.unregister(node)

        if not node.registered:
            scheduler.register(node)
        scheduler.send(node, run.payload, on_done=done)


def _node(group: object | None, *, typing: bool = False) -> Node:
    return Node(
        "write from outside",
        Kind.HANDLER,
        lambda run: run.payload(run),  # type: ignore[operator]
        group=group,
        typing=typing,
    )
