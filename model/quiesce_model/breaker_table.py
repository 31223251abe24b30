"""The bounded table of pairs, and the one gate of an action that has several documents.

Steps arrive at any time, from runs that were in flight. The table is shared by all actions; a pair that has to make
room leaves its deadline behind, which stands until it passes.
"""

from __future__ import annotations

from .language import (
    Left,
    Record,
    action,
    constant,
    each,
    invariant,
    left,
    reachable,
    step_property,
    upto,
)
from .pair import BreakerSettings, Pair


class Node(Record):
    """An action: its pairs, one for each document, their places in the table, and its gate."""

    pair: list[Pair] = each("documents", Pair)
    place: list[int] = each("documents", upto(lambda c: c.actions * c.documents))  # 1 is the oldest, 0 not held
    gate: Left = left(lambda c: 2 * c.cap)  # the action's echo backoff
    orphan: Left = left(lambda c: 2 * c.cap)  # the latest deadline of its evicted pairs


class BreakerTable(BreakerSettings):
    """Actions and documents that share a table of ``capacity`` pairs.

    ``evict_untripped_first`` is a repair: the oldest pair that has not tripped makes room, if there is one.
    """

    actions: int = constant(1)
    documents: int = constant(3)
    capacity: int = constant(2)
    evict_untripped_first: bool = constant(False)

    node: list[Node] = each("actions", Node)

    @action(a="actions")
    def run(self, a: int) -> None:
        """Action ``a`` starts a run; what it does shows when its steps land."""
        self.require(self.node[a].gate.over, "BRK-18")

    @action(a="actions", d="documents")
    def echo(self, a: int, d: int) -> None:
        """A run of ``a`` whose only step is an echo step for ``d``."""
        self.count(a, d)
        self.regate(a, d)

    @action(a="actions", d="documents")
    def converge(self, a: int, d: int) -> None:
        """A run of ``a`` whose only step is a convergence step for ``d``."""
        self.settle(a, d)
        self.regate(a, d)

    @action(a="actions", d="documents", e="documents")
    def echo_and_converge(self, a: int, d: int, e: int) -> None:
        """A run of ``a`` with an echo step for ``d`` and a convergence step for ``e``; the gate is set once."""
        self.require(d != e)
        self.count(a, d)
        if self.rule("BRK-33"):
            self.settle(a, e)
        self.regate(a, d)

    @action(a="actions", d="documents")
    def forget(self, a: int, d: int) -> None:
        """Housekeeping: a pair whose loop has ended is cleared."""
        self.require(self.node[a].pair[d].held())
        self.require(self.has_ended(a, d), "BRK-21")
        self.drop(a, d)
        self.regate(a, d)

    def has_ended(self, a: int, d: int) -> bool:
        """The pair's loop has ended, whether or not housekeeping has seen it."""
        pair = self.node[a].pair[d]
        return pair.is_quiet(self) or pair.is_settled(self)

    def drop(self, a: int, d: int) -> None:
        self.node[a].pair[d].clear()
        self.remove(a, d)

    @action(a="actions")
    def retire(self, a: int) -> None:
        """The registration of ``a`` ends, and another begins."""
        for d in range(self.documents):
            if self.rule("BRK-23") and self.node[a].place[d] > 0:
                self.node[a].pair[d].clear()
                self.remove(a, d)
        if self.rule("BRK-24"):
            self.node[a].orphan.clear()
            self.node[a].gate.clear()

    def count(self, a: int, d: int) -> None:
        """Hand an echo step to the pair, which is in the table from then on, as the youngest."""
        node = self.node[a]
        if node.place[d] == 0:
            if self.rule("BRK-26"):
                self.drop_what_has_ended()
            if self.held() >= self.capacity and self.rule("BRK-29"):
                self.evict(self.victim())
            node.place[d] = self.held() + 1
        elif self.rule("BRK-30"):
            self.remove(a, d)
            node.place[d] = self.held() + 1
        node.pair[d].echo(self)

    def drop_what_has_ended(self) -> None:
        """Housekeeping that is late makes no other pair give way."""
        for a in range(self.actions):
            for d in range(self.documents):
                if self.has_ended(a, d):
                    self.drop(a, d)

    def settle(self, a: int, d: int) -> None:
        """Hand a convergence step to the pair, if the table holds it."""
        node = self.node[a]
        if node.place[d] > 0:
            node.pair[d].converge(self)
            if not node.pair[d].held():
                self.remove(a, d)

    def regate(self, a: int, d: int) -> None:
        """The gate of ``a`` is shut for as long as any of its deadlines stands, whichever document changed it."""
        node = self.node[a]
        if self.rule("BRK-32"):
            node.gate.set(self.last_deadline(a))
        else:
            node.gate.set(node.pair[d].deadline)

    def last_deadline(self, a: int) -> int:
        """The time until the last deadline of ``a`` passes, those of evicted pairs included."""
        node = self.node[a]
        return max(node.orphan.remaining, max(pair.deadline.remaining for pair in node.pair))

    def held(self) -> int:
        """How many pairs the table holds."""
        return sum(1 for node in self.node for place in node.place if place > 0)

    def victim(self) -> int:
        """The place of the pair that makes room."""
        if self.evict_untripped_first:
            untripped = min(
                (
                    node.place[d]
                    for node in self.node
                    for d in range(self.documents)
                    if node.place[d] > 0 and not node.pair[d].tripped
                ),
                default=0,
            )
            if untripped > 0:
                return untripped
        return 1

    def evict(self, victim: int) -> None:
        """Clear the pair at a place of the table; its deadline stands."""
        for node in self.node:
            for d in range(self.documents):
                if node.place[d] == victim:
                    if self.rule("BRK-31"):
                        node.orphan.set(max(node.orphan.remaining, node.pair[d].deadline.remaining))
                    node.pair[d].clear()
                    node.place[d] = 0
        self.close_ranks(victim)

    def remove(self, a: int, d: int) -> None:
        """Take a pair's place from it."""
        left_place = self.node[a].place[d]
        self.node[a].place[d] = 0
        self.close_ranks(left_place)

    def close_ranks(self, empty: int) -> None:
        """Pairs younger than an empty place move up by one."""
        for node in self.node:
            for d in range(self.documents):
                if node.place[d] > empty:
                    node.place[d] -= 1

    @invariant("BRK-29")
    def table_is_bounded(self) -> bool:
        return self.held() <= self.capacity

    @invariant()
    def held_pairs_have_places(self) -> bool:
        """The held pairs have the places 1, 2, … in the order of their last echo steps; the others have none."""
        return all(
            (node.place[d] > 0) == node.pair[d].held() and node.place[d] <= self.held()
            for node in self.node
            for d in range(self.documents)
        )

    @invariant("BRK-32")
    def gate_covers_every_deadline(self) -> bool:
        """A gate is never open while a deadline of its action stands."""
        return all(
            node.gate.remaining >= pair.deadline.remaining and node.gate.remaining >= node.orphan.remaining
            for node in self.node
            for pair in node.pair
        )

    @invariant("BRK-24", "BRK-32")
    def gate_is_shut_for_a_deadline(self) -> bool:
        """A gate is never shut for longer than a deadline of its action stands."""
        return all(
            node.gate.over
            or node.gate.remaining == node.orphan.remaining
            or any(node.gate.remaining == pair.deadline.remaining for pair in node.pair)
            for node in self.node
        )

    @step_property("BRK-18", on="run")
    def starts_wait_for_the_backoff(self, before: BreakerTable, a: int) -> bool:
        """While a pair of the action stands, no run starts before its last counted step plus its backoff."""
        return all(
            not pair.tripped or pair.settling.running or pair.since_echo >= pair.backoff for pair in before.node[a].pair
        )

    @step_property("BRK-31", on=("echo",))
    def making_room_opens_no_gate(self, before: BreakerTable, a: int, d: int) -> bool:
        """An echo step never opens a gate sooner, also not that of the action whose pair makes room."""
        return all(self.node[n].gate.remaining >= before.node[n].gate.remaining for n in range(self.actions))

    @step_property("BRK-30", on="echo")
    def an_echo_makes_the_youngest(self, before: BreakerTable, a: int, d: int) -> bool:
        return self.node[a].place[d] == self.held()

    @step_property("BRK-29", on="echo")
    def the_oldest_makes_room(self, before: BreakerTable, a: int, d: int) -> bool:
        """A pair gives way only if it has ended, or to make room as the oldest (or the one that the repair says)."""
        ended = any(before.has_ended(n, e) for n in range(self.actions) for e in range(self.documents))
        needed = before.node[a].place[d] == 0 and before.held() == self.capacity and not ended
        return all(
            self.node[n].place[e] > 0
            or before.node[n].place[e] == 0
            or before.has_ended(n, e)
            or (needed and before.node[n].place[e] == before.victim())
            for n in range(self.actions)
            for e in range(self.documents)
        )

    @step_property(on="echo")
    def eviction_spares_the_tripped(self, before: BreakerTable, a: int, d: int) -> bool:
        """A pair that backs off is not evicted while one that has not tripped could be (evict_untripped_first)."""
        lost = any(
            before.node[n].pair[e].tripped and self.node[n].place[e] == 0 and not before.has_ended(n, e)
            for n in range(self.actions)
            for e in range(self.documents)
        )
        spare = any(
            before.node[n].place[e] > 0 and not before.node[n].pair[e].tripped
            for n in range(self.actions)
            for e in range(self.documents)
        )
        return not (lost and spare)

    @step_property("BRK-14", "BRK-19", on="converge")
    def agreement_on_one_document_is_of_that_one(self, before: BreakerTable, a: int, d: int) -> bool:
        """A convergence step changes no other pair, and lifts no deadline but its own."""
        return all(
            (n == a and e == d) or self.node[n].pair[e] == before.node[n].pair[e]
            for n in range(self.actions)
            for e in range(self.documents)
        )

    @step_property("BRK-33", on="echo_and_converge")
    def both_steps_apply(self, before: BreakerTable, a: int, d: int, e: int) -> bool:
        """A run that echoes on one document and agrees on another does both."""
        agreed = self.node[a].pair[e]
        return self.node[a].pair[d].held() and (not agreed.held() or agreed.settling.running)

    @step_property("BRK-23", "BRK-24", on="retire")
    def the_next_registration_inherits_nothing(self, before: BreakerTable, a: int) -> bool:
        node = self.node[a]
        return node.gate.over and node.orphan.over and not any(pair.held() for pair in node.pair)

    @step_property("BRK-23", on="retire")
    def retiring_is_of_one_action(self, before: BreakerTable, a: int) -> bool:
        """Retiring an action takes nothing from the others."""
        return all(
            n == a or (self.node[n].pair == before.node[n].pair and self.node[n].gate == before.node[n].gate)
            for n in range(self.actions)
        )

    @reachable("BRK-31")
    def an_orphan_deadline_stands(self) -> bool:
        return any(not node.orphan.over for node in self.node)

    @reachable("BRK-32")
    def a_lift_leaves_a_gate_shut(self) -> bool:
        """One pair of an action holds its gate, another has none left."""
        return any(
            not node.gate.over and any(pair.tripped and pair.deadline.over for pair in node.pair) for node in self.node
        )

    @reachable("BRK-29")
    def the_table_is_full(self) -> bool:
        return self.held() == self.capacity
