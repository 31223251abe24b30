"""What two ways of searching must have in common, however they number their states."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from quiesce_checks.engines.explore import Exploration, Stop, explore
from quiesce_checks.relation.relation import Relation
from quiesce_checks.trace import Disagreement
from quiesce_model import Machine

sys.path.insert(0, str(Path(__file__).parent))

import random_machines

State = tuple[int, ...]


def random_machine(seed: int) -> Machine:
    source, _ = random_machines.machine_source(seed)
    return random_machines.load(source, f"explored_alike_{seed}")()


def states_of(found: Exploration) -> list[State]:
    """Every state, in the order of the search; of several owners, one owner's after another's."""
    assert found.searched is not None
    states, counts = found.searched.states, found.searched.counts
    if counts:
        return [states.leaves(len(counts) * i + o) for o, count in enumerate(counts) for i in range(count)]
    return [states.leaves(i) for i in range(found.statistics.distinct)]


def told(found: Exploration) -> dict[str, Any]:
    """Counts, verdicts and lengths of traces; of a search that ended when all was decided, not how far it came."""
    assert found.searched is not None
    searched = found.searched
    verdicts = [(v.property, v.outcome, v.trace and v.trace.length) for v in found.verdicts]
    if found.stop is Stop.DECIDED:
        return {"stop": found.stop, "verdicts": verdicts}
    return {
        "stop": found.stop,
        "counts": (searched.distinct, searched.generated, searched.depth, searched.queue),
        "taken": searched.taken,
        "first": searched.first_level,
        "verdicts": verdicts,
    }


def alike(read: Relation, one: dict[str, Any], other: dict[str, Any], **common: Any) -> bool:
    """Whether two ways of searching tell the same, and find the same states."""
    try:
        mine, its = (explore(read, **{"confirm": None, **common, **how}) for how in (one, other))
    except Disagreement:
        return False
    return told(mine) == told(its) and (mine.stop is Stop.DECIDED or sorted(states_of(mine)) == sorted(states_of(its)))
