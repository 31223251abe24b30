"""The modelling language: what a model needs to be written, and nothing else."""

from .containers import Bag, Queue, Subset, bag, queue, subset
from .fields import age, between, counter, each, flag, ghost, left, one_of, optional, part, upto
from .machine import (
    Machine,
    Step,
    action,
    assumption,
    constant,
    initial,
    invariant,
    reachable,
    step_property,
    terminal,
)
from .outcome import Blocked, Fault, Misuse
from .twin import twin
from .values import Age, Left, Record

__all__ = [
    "Age",
    "Bag",
    "Blocked",
    "Fault",
    "Left",
    "Machine",
    "Misuse",
    "Queue",
    "Record",
    "Step",
    "Subset",
    "action",
    "age",
    "assumption",
    "bag",
    "between",
    "constant",
    "counter",
    "each",
    "flag",
    "ghost",
    "initial",
    "invariant",
    "left",
    "one_of",
    "optional",
    "part",
    "queue",
    "reachable",
    "step_property",
    "subset",
    "terminal",
    "twin",
    "upto",
]
