"""Owners as actors on a Ray cluster, one for each processor: for more states than one machine has memory for.

What Ray is used for: it places actors, moves boxes between machines, and says that an actor is gone. Ray is imported
when a search asks for it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from socket import create_connection
from typing import Any

from .actor import Actor
from .interrupts import held
from .shares import OWNERS
from .transport import Lost, Plan, Report

AUTO = "auto"
BOX = 1 << 20
"""States that an owner collects at least before boxes are exchanged: a call takes some milliseconds, and shall be worth
it."""

PARCEL = 1 << 16
"""States that one owner sends to another at a time, about: each takes Ray some hundred microseconds to hand on."""

BATCHES = 1 << 14
"""Batches of successors that are generated before, with the smallest box."""

SENT_BITS = 20
"""What is not sent again is worth more where it would go through a network."""

PATIENCE = 120.0
"""Seconds that an actor gets to start."""


ANSWER = 10.0
"""Seconds that a cluster gets to answer at its address."""


class Unreachable(ValueError):
    """There is no cluster to search on: the text says why."""


def listening(address: str) -> None:
    """Raises :class:`Unreachable` if nobody listens at an address: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise Unreachable(f"a cluster's address is auto or HOST:PORT, not '{address}'")
    try:
        create_connection((host, int(port)), ANSWER).close()
    except (OSError, OverflowError) as error:
        raise Unreachable(f"no Ray cluster answers at {address}: {error}") from None


def running_here() -> str | None:
    """The address of the cluster that runs on this machine: where ``ray start`` wrote it, if somebody listens there."""
    file = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"
    try:
        address = file.read_text(encoding="utf-8").strip()
        listening(address)
    except (OSError, Unreachable):  # there is none, or it has ended without a word
        return None
    return address


class Cluster:
    """See :class:`~.transport.Transport`. ``address`` is that of a cluster; ``auto`` is the one that ``RAY_ADDRESS``
    names or that runs on this machine, and if none does, one is started for the time of the search. ``owners`` is how
    many to have, one for each processor if it is not given.

    Raises :class:`Unreachable`, and ModuleNotFoundError if Ray is not installed.
    """

    near = False

    def __init__(self, address: str, owners: int | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.ray: Any = import_module("ray")
        self.errors: Any = import_module("ray.exceptions")
        self.near_to: Any = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        self.connected = not self.ray.is_initialized()
        if self.connected:
            self.connect(address)
        machines = self.machines()
        total = sum(machines.values())
        if not total:
            self.disconnect()
            raise Unreachable(f"the cluster at {address} has no processors: start a node with some")
        self.owners = min(owners or total, OWNERS)
        self.places: list[str] = []
        for _ in range(self.owners):
            self.places.append(self.emptiest(machines))
        self.actors: list[Any] = []
        nodes = len(set(self.places))
        self.name = f"{self.owners} actors on {nodes} machine{'s' * (nodes > 1)}"

    def connect(self, address: str) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        found = os.environ.get("RAY_ADDRESS") or running_here() if address == AUTO else address
        if found is None:
            self.ray.init(address="local", include_dashboard=False, **quiet)
            return
        listening(found)
        try:
            self.ray.init(address=found, **quiet)
        except ConnectionError as error:
            said = str(error).partition("\n")[0]
            raise Unreachable(f"no Ray cluster answers at {found}: {said}") from None

    def machines(self) -> dict[str, int]:
        """The machines of the cluster, and how many processors each has."""
        return {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in self.ray.nodes() if node["Alive"]}

    def start(self, plan: Plan) -> float:
        box = max(BOX, PARCEL * self.owners)
        self.plan = replace(plan, box=box, batches=BATCHES * box // BOX, sent_bits=SENT_BITS)
        self.kind = self.ray.remote(num_cpus=0, max_restarts=0)(Actor)
        with held():
            self.actors = [self.made(number) for number in range(self.owners)]
            return max(self.answers([actor.ready.remote() for actor in self.actors]))

    def made(self, number: int) -> Any:
        """A new actor, on its machine as long as that is there."""
        place = self.places[number]
        here = self.places.count(place)
        return self.kind.options(scheduling_strategy=self.near_to(place, soft=True)).remote(self.plan, number, here)

    def ask(self, order: str, *given: Any) -> list[Any]:
        with held():
            return self.answers([actor.do.remote(order, given) for actor in self.actors])

    def ask_one(self, owner: int, order: str, *given: Any) -> Any:
        with held():
            return self.answers([self.actors[owner].do.remote(order, given)])[0]

    def exchange(self, level: int) -> list[Report]:
        with held():
            filled = [actor.expand.options(num_returns=1 + self.owners).remote(level) for actor in self.actors]
            reports = [
                actor.receive.remote(sent[0], *(boxes[1 + number] for boxes in filled))
                for number, (actor, sent) in enumerate(zip(self.actors, filled, strict=True))
            ]
            return self.answers(reports)

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """What they say; if something went wrong, it is raised when all have answered."""
        found: list[Any] = []
        wrong: Exception | None = None
        for reference in asked:
            try:
                found.append(self.ray.get(reference))
            except self.errors.RayError as error:
                error = self.meant(error)
                wrong = wrong if isinstance(wrong, Lost) else error
        if wrong is not None:
            raise wrong
        return found

    def meant(self, error: Exception) -> Exception:
        """What Ray's error is of: an owner that is gone, or something that went wrong in one."""
        cause: Any = getattr(error, "cause", None)
        if isinstance(cause, self.errors.RayError):
            return self.meant(cause)
        if isinstance(error, self.errors.RayTaskError) and isinstance(cause, Exception):
            return cause
        return Lost(f"an owner of the cluster is gone: {str(error).strip().partition(chr(10))[0]}")

    def revive(self) -> None:
        """A machine that is gone still counts as there for some seconds: one on which no owner starts is left out."""
        with held():
            gone = [number for number, actor in enumerate(self.actors) if not self.there(actor)]
            alive = self.machines()
            while gone:
                for number in gone:
                    if self.places[number] not in alive:
                        self.places[number] = self.emptiest(alive)
                    self.actors[number] = self.made(number)
                gone = [number for number in gone if not self.there(self.actors[number])]
                for number in gone:
                    alive.pop(self.places[number], None)

    def emptiest(self, machines: dict[str, int]) -> str:
        """The machine with the fewest owners to a processor. Raises :class:`Lost` if there is none."""
        if not machines:
            raise Lost("no machine of the cluster starts an owner any more")
        taken = Counter(self.places)
        return min(machines, key=lambda machine: taken[machine] / max(machines[machine], 1))

    def there(self, actor: Any) -> bool:
        try:
            self.ray.get(actor.ready.remote(), timeout=PATIENCE)
        except (self.errors.RayError, TimeoutError):
            return False
        return True

    def stop(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self.actors = []
        self.disconnect()

    def disconnect(self) -> None:
        if self.connected:
            self.ray.shutdown()
