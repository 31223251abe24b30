"""From what became visible to who has to run: the causes of each node, and what is no cause.

The one channel is the replica's notifications. A node's own commit is no cause for it, told by the action object that
the transaction carries and never by a name; neither is the revert of its own commit that was refused for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quiesce.address import Entity, Scope
from quiesce.commits import Document
from quiesce.scheduler.echo import Cause, Origin
from quiesce.scheduler.node import Kind, Node, Status
from quiesce.scheduler.shaping import is_typing
from quiesce.storage.notification import Change, Notification, NotificationKind
from quiesce.storage.transaction import WriteDetail
from quiesce.values import at, equal

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler


class Invalidation:
    """Hears every notification of the replica."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def notified(self, notification: Notification) -> None:
        now = self._scheduler.clock()
        if self._scheduler.runner.in_flight is not None:
            self._scheduler.runner.in_flight.meanwhile.append(notification)
        if notification.kind is NotificationKind.RESET:
            for node in self._scheduler.nodes:
                if node.kind is not Kind.HANDLER:
                    self.invalidate(node, None, now)
            return
        typing = is_typing(notification)
        for change in notification.changes:
            for node in self._scheduler.triggers.fired(change):
                if self.skips(node, notification) or self.own_output(node, change):
                    continue
                cause = Cause(change.address, self.origin(node, notification))
                if not typing or not self._scheduler.shaping.holds_back(node, cause, now):
                    self.invalidate(node, cause, now)

    def skips(self, node: Node, notification: Notification) -> bool:
        """Whether this is the node's own commit, or one of its group: by the transaction that carries the action, never
        by a name. That a commit is taken back is skipped for nobody."""
        if notification.source is None or notification.kind not in (
            NotificationKind.COMMIT,
            NotificationKind.INTEGRATE,
        ):
            return False
        source = notification.source.source_action
        if source is node:
            return True
        return node.group is not None and isinstance(source, Node) and source.group is node.group

    def own_output(self, node: Node, change: Change) -> bool:
        """Whether this is what the node itself derived where this session serves others, told by class and holder
        (seed §4): after a lost session what it wrote comes back without the transaction that carried the action."""
        holder = self._scheduler.replica.holder
        if not holder or change.derived_by != holder:
            return False
        return any(write.entity == change.address.entity for write in node.writes)

    def origin(self, node: Node, notification: Notification) -> Origin:
        """Where a change came from, as seen by a node that it makes run."""
        if notification.kind is NotificationKind.COMMIT:
            return Origin.LOCAL
        if notification.kind is NotificationKind.REVERT:
            own = notification.source is not None and notification.source.source_action is node
            return Origin.OWN_REVERT if own else Origin.LOCAL
        return Origin.REMOTE

    def invalidate(self, node: Node, cause: Cause | None, now: float) -> None:
        """A registered read has changed."""
        if cause is not None:
            node.causes[cause] = None
        if node.status is Status.CLEAN:
            node.status = Status.INVALID
        self._scheduler.arm_debounce(node, now)
        self._scheduler.reconsider(node)
        if self._scheduler.trace is not None:
            self._scheduler.trace.changed(node, cause, now)

    def forgive_revert(self, node: Node, writes: Iterable[WriteDetail]) -> None:
        """A commit was refused for good: that its writes are gone again is no reason to run, or the action would run
        and be refused without end. Where the revert laid bare something else than the run had replaced, it is one."""
        replica = self._scheduler.replica
        undone = {
            write.address.entity
            for write in writes
            if equal(at(replica.visible(_document(write.address.entity)), write.address.path), write.previous)
        }
        kept = {
            cause: None
            for cause in node.causes
            if cause.origin is not Origin.OWN_REVERT or cause.address.entity not in undone
        }
        if len(kept) == len(node.causes):
            return
        node.causes = kept
        if not kept and not node.pending and node.status is Status.INVALID:
            node.status = Status.CLEAN
            self._scheduler.agenda.refresh(node)


def _document(entity: Entity) -> Document:
    return Document(entity.id, Scope(entity.instance.partition(":")[0]))
