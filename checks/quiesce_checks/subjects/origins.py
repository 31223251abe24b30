"""The runtime's classifier among causes of every origin, beside the model ``Classifier``.

The model knows the causes that count and no others. So the adapter gives it causes of the origins that count in turn,
and puts among them, for each document, one of each origin that does not: nobody may see those. The second document is
one of another space with the same id and instance, and a write of the value that was there reaches the classifier too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.echo import Cause, Origin, form_steps
from quiesce_model.language.machine import Step

from ..lockstep.pairing import Pairing
from ..lockstep.subject import Observation, Value
from .breaker import Lines
from .classifier import INSTANCES, LEAVES, PATHS, ClassifierSubject, Detail, classifier_pairing, tree, value_at

Repair: TypeAlias = Literal["none", "remote_causes_only", "ignore_own_reverts"]

COUNTED: dict[Repair, tuple[Origin, ...]] = {
    "none": (Origin.REMOTE, Origin.LOCAL, Origin.OWN_REVERT),
    "remote_causes_only": (Origin.REMOTE,),
    "ignore_own_reverts": (Origin.REMOTE, Origin.LOCAL),
}

HERE = INSTANCES[0]
ELSEWHERE = Entity("another space", HERE.instance, HERE.id)


def placed(address: Address) -> Address:
    """The second document is in another space, not in another instance."""
    return Address(HERE if address.entity == HERE else ELSEWHERE, address.path)


class OriginsSubject(ClassifierSubject):
    """One run in the making, classified by a breaker with one of the repairs, or none."""

    def __init__(self, repair: Repair) -> None:
        self.counted = COUNTED[repair]
        self.policy = BreakerPolicy() if repair == "none" else BreakerPolicy(**{repair: True})

    def reset(self, constants: Mapping[str, int | bool]) -> None:
        super().reset(constants)
        self.breaker = RemoteEchoBreaker(Lines(), self.policy)

    def step(self, step: Step, at: int) -> None:
        if step.action == "kick_off":
            self.kick_off(at)
            return
        super().step(step, at)
        args: dict[str, int] = dict(step.args)
        if step.action == "cause":
            self.causes[-1] = replace(self.causes[-1], origin=self.counted[args["path"] % len(self.counted)])
        elif step.action == "write" and not any(args[name] for name in "abcd"):
            path = PATHS[args["path"]]
            self.writes[path] = Detail(Address(HERE, path), *(value_at(tree(frozenset()), path) for _ in range(2)))

    def kick_off(self, at: int) -> None:
        unseen = [
            Cause(Address(document, path), origin)
            for origin in Origin
            if origin not in self.counted
            for document in (HERE, ELSEWHERE)
            for path in (PATHS[0], *LEAVES)
        ]
        causes = [replace(cause, address=placed(cause.address)) for cause in self.causes]
        self.log.deep = [placed(address) for address in self.log.deep]
        self.log.shallow = [placed(address) for address in self.log.shallow]
        self.capture = self.breaker.capture([*unseen, *causes], self.writes.values(), at)
        self.writes.clear()

    def observe(self, at: int) -> Observation:
        if self.capture is None:
            return (None,) * 4
        return tuple(self.shown(document, tracked) for tracked in (True, False) for document in (HERE, ELSEWHERE))

    def shown(self, document: Entity, tracked: bool) -> Value:
        """The steps of a document; there has to be one at most."""
        assert self.capture is not None
        steps = form_steps(self.capture, self.log, tracked=tracked)
        return " and ".join(step.kind.value for step in steps if step.document == document) or None


def origins_pairing(repair: Repair, **constants: Any) -> Pairing:
    """The classifier among causes of every origin, with a repair or with none, at a scope."""
    return replace(classifier_pairing(**constants), subject=lambda: OriginsSubject(repair))
