"""The runtime's classifier, beside the model ``Classifier``: which triggering paths a run overwrote.

The adapter collects a run's causes, reads and write details, captures at kickoff (after which the write details are
gone), and then asks what the run is: for an action with a pair, and for one without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quiesce.address import Address, Entity, Path
from quiesce.scheduler.echo import Cause, EchoCapture, Origin, capture_run, form_steps
from quiesce_model.classifier import Classifier
from quiesce_model.language.machine import Step, leaves

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Description, Observation, Value

PATHS: tuple[Path, ...] = ((), ("l",), ("r",), ("l", "x"), ("l", "y"), ("r", "x"), ("r", "y"))
LEAVES = PATHS[3:]
INSTANCES = (Entity("space", "session:me:1", "document"), Entity("space", "session:me:2", "document"))

ACTIONS: dict[str, tuple[str, ...]] = {
    "cause": ("instance", "path"),
    "read": ("instance",),
    "write": ("path", "a", "b", "c", "d"),
    "kick_off": (),
}

FIELDS = ("step 0", "step 1", "untracked step 0", "untracked step 1")


@dataclass(frozen=True)
class Detail:
    """A write detail."""

    address: Address
    previous: Any
    value: Any


@dataclass
class Log:
    """What a run read."""

    deep: list[Address]
    shallow: list[Address]


def tree(changed: frozenset[Path]) -> dict[str, dict[str, int]]:
    """The document, with other numbers at the changed leaves."""
    return {
        side: {key: 10 + 2 * n + ((side, key) in changed) for n, key in enumerate(("x", "y"))} for side in ("l", "r")
    }


def value_at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


class ClassifierSubject:
    """One run in the making."""

    def describe(self) -> Description:
        return Description(ACTIONS, FIELDS)

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        self.causes: list[Cause] = []
        self.log = Log([], [])
        self.writes: dict[Path, Detail] = {}
        self.capture: EchoCapture | None = None

    def step(self, step: Step, at: int) -> None:
        args: dict[str, int] = dict(step.args)
        match step.action:
            case "cause":
                address = Address(INSTANCES[args["instance"]], PATHS[args["path"]])
                self.causes.append(Cause(address, Origin.REMOTE))
            case "read":
                # Depth does not matter: one instance is read deep, the other shallow.
                reads = self.log.deep if args["instance"] == 0 else self.log.shallow
                reads.append(Address(INSTANCES[args["instance"]], ("l",)))
            case "kick_off":
                self.capture = capture_run(self.causes, self.writes.values(), kickoff=at)
                self.writes.clear()
            case _:
                path = PATHS[args["path"]]
                changed = frozenset(leaf for leaf, name in zip(LEAVES, "abcd", strict=True) if args[name])
                if changed:  # storage drops a write that differs nowhere
                    before, after = value_at(tree(frozenset()), path), value_at(tree(changed), path)
                    self.writes[path] = Detail(Address(INSTANCES[0], path), before, after)
                else:
                    self.writes.pop(path, None)

    def observe(self, at: int) -> Observation:
        if self.capture is None:
            return (None,) * len(FIELDS)
        full = {step.document: step.kind.value for step in form_steps(self.capture, self.log, tracked=True)}
        short = {step.document: step.kind.value for step in form_steps(self.capture, self.log, tracked=False)}
        return (*(full.get(document) for document in INSTANCES), *(short.get(document) for document in INSTANCES))


def step_of(instance: int) -> Any:
    def view(machine: Any) -> Value:
        if not machine.kicked_off:
            return None
        if machine.is_echo(instance):
            return "echo"
        return "convergence" if machine.is_convergence(instance) else None

    return view


def untracked_step_of(instance: int) -> Any:
    def view(machine: Any) -> Value:
        return "echo" if machine.kicked_off and machine.is_echo_untracked(instance) else None

    return view


def classifier_pairing(**constants: Any) -> Pairing:
    """The classifier at a scope."""
    model = Classifier(**constants)
    views = (step_of(0), step_of(1), untracked_step_of(0), untracked_step_of(1))
    return Pairing(
        name="classifier",
        machine=lambda: Classifier(**constants),
        subject=ClassifierSubject,
        seen=(),
        hidden={leaf.name: "a run's causes, reads and writes are what goes in" for leaf in leaves(model)},
        derived=dict(zip(FIELDS, views, strict=True)),
        implementation="quiesce.scheduler.echo",
    )
