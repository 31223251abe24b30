"""Would partial-order reduction pay on our models? ``python benchmarks/partial_order.py``

For each model the ground actions' read and write sets are taken from its relation. Two actions are independent if
neither writes what the other reads or writes. In every reachable state a stubborn set is grown from each possible
action (Valmari 1989): of a possible action all that depend on it, of an impossible one all that write what its guard
reads; the smallest that has a possible action is kept. The share of states in which it leaves a possible action out,
and the states that a search of these sets alone visits, without any proviso against ignoring, say how much could be
gained at the very best.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from quiesce_checks.engines.interpreted import Expand, readable
from quiesce_checks.engines.program import program
from quiesce_checks.machines import shipped
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_checks.relation.terms import Term, walk
from quiesce_model import Machine, action, constant, each, upto

State = tuple[int, ...]


class Apart(Machine):
    """Three counters that have nothing to do with each other: where the reduction must show."""

    counters: int = constant(3)
    count: list[int] = each("counters", upto(9))

    @action(c="counters")
    def up(self, c: int) -> None:
        self.require(self.count[c] < 9)
        self.count[c] += 1


@dataclass(frozen=True)
class Touch:
    """Variables, by position: what a guard reads, what the whole action reads, and what it writes."""

    guard: frozenset[int]
    reads: frozenset[int]
    writes: frozenset[int]

    def depends(self, other: Touch) -> bool:
        return bool(self.writes & (other.reads | other.writes) or other.writes & self.reads)


def touches(read: Relation) -> list[Touch]:
    position = {variable.term.number: n for n, variable in enumerate(read.variables)}

    def variables(terms: Iterable[Term]) -> frozenset[int]:
        return frozenset(position[term.number] for term in walk(terms) if term.number in position)

    found: list[Touch] = []
    for one in read.actions:
        guard = variables([one.enabled])
        found.append(Touch(guard, guard | variables(one.updates.values()), frozenset(one.updates)))
    return found


class Stubborn:
    """Smallest stubborn sets of one relation."""

    def __init__(self, read: Relation, expand: Expand) -> None:
        self.expand = expand
        touch = touches(read)
        everything = range(len(touch))
        self.dependent = [{b for b in everything if b != a and touch[a].depends(touch[b])} for a in everything]
        self.enabling = [{b for b in everything if touch[b].writes & touch[a].guard} for a in everything]
        self.timed = {n for n, one in enumerate(read.actions) if one.step.action == "elapse"}

    @property
    def independent(self) -> float:
        """The share of pairs of different actions that are independent."""
        size = len(self.dependent)
        pairs = size * (size - 1)
        return 1 - sum(len(found) for found in self.dependent) / pairs if pairs else 0.0

    def without_time(self, possible: set[int]) -> bool:
        """Whether something could be left out in a state if time stood still there."""
        still = possible - self.timed
        return any(len(self.grown(start, still) & still) < len(still) for start in still)

    def smallest(self, possible: set[int]) -> set[int]:
        best = possible
        for start in possible:
            grown = self.grown(start, possible) & possible
            if len(grown) < len(best):
                best = grown
        return best

    def grown(self, start: int, possible: set[int]) -> set[int]:
        """The stubborn set of one possible action; time that stands still takes no part."""
        ignored = self.timed - possible
        grown, queue = {start}, [start]
        while queue:
            at = queue.pop()
            new = (self.dependent if at in possible else self.enabling)[at] - grown - ignored
            grown |= new
            queue += new
        return grown


def search(read: Relation, stubborn: Stubborn, most: int, reduced: bool) -> tuple[int, float, float, bool]:
    """States visited, the share of them where something is left out, and where it would be if time stood still, and
    whether the limit was reached."""
    start = program(read).initial
    seen, queue, smaller, timeless = {start}, [start], 0, 0
    for state in queue:
        successors = stubborn.expand(state)
        possible = {move for move, _ in successors}
        kept = stubborn.smallest(possible)
        smaller += len(kept) < len(possible)
        timeless += stubborn.without_time(possible)
        for move, new in successors:
            if (move in kept or not reduced) and new not in seen:
                seen.add(new)
                queue.append(new)
        if len(seen) > most:
            return len(seen), smaller / len(queue), timeless / len(queue), True
    return len(seen), smaller / len(queue), timeless / len(queue), False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=20_000, help="states visited of a model at most")
    given = parser.parse_args()
    print(
        f"{'model':20}{'actions':>8}{'independent':>13}{'states':>10}{'smaller in':>12}{'no time':>10}{'reduced':>10}"
    )
    for name, machine in {**shipped(), "apart (a control)": Apart}.items():
        read = relation(machine())
        stubborn = Stubborn(read, readable(program(read)).expand)
        whole, share, still, cut = search(read, stubborn, given.most, reduced=False)
        less, _, _, less_cut = search(read, stubborn, given.most, reduced=True)
        print(
            f"{name:20}{len(read.actions):8}{stubborn.independent:13.1%}{'>' * cut + f'{whole:,}':>10}"
            f"{share:12.1%}{still:10.1%}{'>' * less_cut + f'{less:,}':>10}",
            flush=True,
        )


if __name__ == "__main__":
    main()
