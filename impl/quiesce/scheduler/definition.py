"""What is kept incrementally, computed from scratch: liveness, triggers, edges, children, the agenda and the wake.

``verify`` is for tests. It costs as much as the whole graph at every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quiesce.address import Address, at_or_below
from quiesce.scheduler.agenda import wanted
from quiesce.scheduler.demand import live_by_definition
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.topology import name_of

if TYPE_CHECKING:
    from quiesce.scheduler.scheduler import Scheduler


class IndexFault(AssertionError):
    """Something that is kept incrementally is not what its definition says."""


def verify(scheduler: Scheduler) -> None:
    """Raise ``IndexFault`` if demand, triggers, edges, children, agenda or wake are not what they should be."""
    nodes = list(scheduler.nodes)
    _same("live nodes", {node for node in nodes if node.live}, live_by_definition(nodes))
    for node in nodes:
        roots = node.standing + node.provisional + node.asked
        if node.roots != roots:
            raise IndexFault(f"{node} has {node.roots} roots and should have {roots}")
    _same("triggers", set(scheduler.triggers.entries()), set(_triggers(nodes)))
    _same(
        "edges",
        {(reader, writer) for reader in nodes for writer in reader.upstream},
        set(_edges(nodes)),
    )
    _same("provisional nodes", set(scheduler.provisional), {node for node in nodes if node.provisional})
    backed_off = {node for node in nodes if node.gates.backoff_streak}
    _same("nodes that back off", backed_off & set(scheduler.backed_off), backed_off)
    _same(
        "children",
        {(parent, child) for parent in nodes for child in parent.children},
        {(node.parent, node) for node in nodes if node.parent is not None and node.parent.registered},
    )
    _same("the agenda", set(scheduler.agenda.members()), {node for node in nodes if wanted(node)})
    _verify_wake(scheduler)


def _same(what: str, kept: set[object] | set[Node], defined: set[object] | set[Node]) -> None:
    if kept != defined:
        raise IndexFault(f"{what}: too many {kept - defined}, missing {defined - kept}")


def _triggers(nodes: list[Node]) -> Iterator[tuple[Node, Address, bool]]:
    for node in nodes:
        if node.kind is not Kind.HANDLER and not node.hinted:
            yield from ((node, address, False) for address in node.reads.deep)
            yield from ((node, address, True) for address in node.reads.shallow)


def _edges(nodes: list[Node]) -> Iterator[tuple[Node, Node]]:
    for writer in nodes:
        for reader in nodes:
            if reader is not writer and _overlap(reader, writer):
                yield reader, writer


def _overlap(reader: Node, writer: Node) -> bool:
    for write in writer.writes:
        name, path = name_of(write.entity), write.path
        deep = [read.path for read in reader.reads.deep if name_of(read.entity) == name]
        shallow = [read.path for read in reader.reads.shallow if name_of(read.entity) == name]
        if any(at_or_below(read, path) or at_or_below(path, read) for read in deep):
            return True
        if any(at_or_below(read, path) or (at_or_below(path, read) and len(path) == len(read) + 1) for read in shallow):
            return True
    return False


def _verify_wake(scheduler: Scheduler) -> None:
    """Whatever is deferred is either looked at in a tick that is queued, or no later than when it may run."""
    if scheduler.tick_queued or scheduler.present_pass is not None or scheduler.disposed:
        return
    deadlines = [node.gates.eligible_at for node in scheduler.agenda.members()]
    look = scheduler.lane.next_look()
    if look is not None:
        deadlines.append(look)
    if deadlines and (scheduler.wake_at is None or scheduler.wake_at > min(deadlines)):
        raise IndexFault(f"a run is due at {min(deadlines)} and the wake is armed for {scheduler.wake_at}")
