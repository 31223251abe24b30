"""The runtime's log, projected to each action that is no handler: its gates, runs, retries and registrations, held
against the model of one node.

What the machine of one node leaves to its environment is taken from the log: changes, demand, passes, what becomes of
commits. Its passes are those of the scheduler in which it has something to do; the others pass it by. Where the log
shows a deadline, the model has to have the same one to the microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quiesce_model.language import action
from quiesce_model.one_node import OneNode
from quiesce_model.scheduler import Commit

from .lines import Line
from .mapping import Did, Part, Saw
from .moments import Time
from .runtime import (
    HANDLER,
    UNITS_PER_MS,
    Kind,
    Runtime,
    Session,
    as_written,
    left,
    mapping,
    moment,
    text,
    units,
    whole_line,
)
from .search import MOST_ALIVE, Search
from .target import Reading

RESUME_HOLD_MS = 2_000.0
"""For how long at most a node is held until what it reads is loaded; the machine has one such time."""

Parts = tuple[Part, ...]
Seen = dict[str, Any]

STATUS = {"never-ran": "NEVER_RAN", "clean": "CLEAN", "invalid": "INVALID"}

SESSION_EVENTS = {"pass-began", "pass-ended", "woke", "idle", "disposed"}


class LoggedNode(OneNode):
    """One node of which several commits may be on their way: they are kept aside until their fate is known."""

    @action()
    def fly(self) -> None:
        """Take the commit whose fate is known now."""
        self.require(self.flight is None)
        self.flight = Commit(stale=False, outlived=False)


def live(machine: Any) -> bool:
    return machine.node.live()


def wake_due(machine: Any) -> bool:
    return machine.wake.armed and machine.wake.rest.over


def left_over(machine: Any) -> bool:
    """It could run in the pass that is under way; a pass of several nodes may end because of another one."""
    return machine.passing and machine.node.runnable(machine) and machine.node.runs < machine.budget


def waits(machine: Any) -> int | None:
    """How long it waits for its gates, if it has to run."""
    return machine.node.gates.rest(machine) if machine.node.deferred(machine) else None


VIEWS: dict[str, Callable[[Any], Any]] = {
    "live": live,
    "wake_due": wake_due,
    "left_over": left_over,
    "waits": waits,
}


@dataclass
class Watched:
    """One node of the log. ``stirred``: it may have something to do in a pass, so passes are told to it."""

    key: str
    session: Session
    constants: tuple[Any, ...]
    echo: float = 0.0
    registered: bool = True
    running: bool = False
    held: bool = False
    stirred: bool = True
    ended: bool = False


@dataclass(frozen=True)
class WokenInTime:
    """Whoever waits for a gate is woken no later than it opens: by the wake, or by a pass that is queued."""

    wake: int | None
    queued: bool

    def __call__(self, waits: int | None) -> bool:
        return waits is None or self.queued or (self.wake is not None and self.wake <= waits)

    def __str__(self) -> str:
        return f"a wake in {self.wake:,}" if self.wake is not None else "no wake"


def once(*parts: Part) -> tuple[Parts, ...]:
    return (parts,)


FIRED: tuple[Parts, ...] = ((), (Did("fire"),))
"""The wake may be due by the time that a pass begins for another reason."""


class Nodes:
    """The target ``--mapping node``."""

    name = "node"
    unit = 1 / UNITS_PER_MS

    def __init__(self, most_alive: int = MOST_ALIVE) -> None:
        self.most_alive = most_alive
        self.runtime = Runtime()
        self.nodes: dict[str, dict[int, Watched]] = {}
        self.by_key: dict[str, Watched] = {}
        self.kinds: dict[tuple[Any, ...], Kind] = {}

    # -- machines

    def start(self, key: str) -> Search:
        with as_written():
            kind = self.kind(self.by_key[key])
        return Search(kind.machine, views=VIEWS, most_alive=self.most_alive, time=kind.time)

    def kind(self, node: Watched) -> Kind:
        breaker, convergence = node.session.breaker, node.session.convergence
        constants: dict[str, Any] = {
            "debounce": node.constants[0],
            "throttle": node.constants[1],
            "effect": node.constants[2],
            "awaited": node.constants[3],
            "base": units(convergence["backoff_base_ms"]),
            "cap": units(convergence["backoff_max_ms"]),
            "budget": convergence["run_budget"],
            "hold_passes": convergence["idle_hold_passes"],
            "longest_echo": units(breaker["echo_backoff_max_ms"]),
            "attempts": node.session.attempts,
            "resume": units(RESUME_HOLD_MS),
        }
        key = tuple(constants.values())
        if key not in self.kinds:
            machine = LoggedNode(may_retire=True, conflicts=True, **constants)
            self.kinds[key] = Kind(machine, Time(machine))
        return self.kinds[key]

    # -- lines

    def read(self, line: Line) -> Iterable[Reading]:
        return whole_line(line, self.readings)

    def readings(self, line: Line) -> Iterable[Reading]:
        session = self.runtime.session(line)
        at = moment(line)
        event = text(line, "event")
        here = self.nodes.setdefault(session.name, {})
        if event in SESSION_EVENTS:
            return [r for node in list(here.values()) if (r := self.of_session(line, node, event, at)) is not None]
        ordinal = line.fields.get("node")
        if not isinstance(ordinal, int):
            return ()
        node = here.get(ordinal)
        if node is None or node.ended:
            return self.first(line, session, here, ordinal, event, at) if node is None else ()
        found = self.of_node(line, node, event, at)
        return () if found is None else (found,)

    def first(
        self, line: Line, session: Session, here: dict[int, Watched], ordinal: int, event: str, at: int
    ) -> Iterable[Reading]:
        """The first registration of a node is where its machine begins."""
        fields = line.fields
        if event != "registered" or text(line, "kind") == HANDLER or fields["runs"] or fields["elsewhere"]:
            return ()
        constants = (
            units(fields["debounce_ms"]),
            units(fields["throttle_ms"]),
            bool(fields["standing"]),
            bool(fields["provisional"]),
        )
        node = Watched(f"{session.name} {text(line, 'label')}#{ordinal}", session, constants)
        here[ordinal] = self.by_key[node.key] = node
        seen = Saw(self.seen(line, at))
        live = self.lively(bool(fields["live"]), (seen,))
        return (self.reading(node, at, live if not constants[3] else once(Did("release"), seen)),)

    def reading(self, node: Watched, at: int, options: tuple[Parts, ...]) -> Reading:
        node.stirred = True
        return Reading(node.key, at, options)

    def ends(self, node: Watched, at: int, why: str) -> Reading:
        node.ended = True
        return Reading(node.key, at, ends=why)

    # What a line says of one node

    def of_node(self, line: Line, node: Watched, event: str, at: int) -> Reading | None:
        live = bool(line.fields.get("live"))
        seen = self.seen(line, at) if "gates" in line.fields else {}
        match event:
            case "changed":
                cause: dict[str, Any] = line.fields.get("cause") or {}
                own = cause.get("origin") in ("local", "own-revert")
                options = self.lively(live, (Did("change", seen, own=own),))
            case "liveness":
                if not node.registered:
                    return None
                options = (
                    *self.lively(live, (Saw(seen),)),
                    *(() if live else once(Did("end_pass"), Saw({"live": False}))),
                )
            case "run-started":
                node.running = True
                options = self.started(live, seen)
            case "run-ended":
                node.running = False
                if line.fields["outcome"] == "retired":
                    return self.ends(node, at, "it was retired while its body was at work")
                options = once(Did("finish", seen, writes=False))
            case "retry" if line.fields["after_conflict"]:
                options = self.lively(live, (Did("fly"), Did("overtake"), Did("conflict"), Did("caught_up", seen)))
            case "retry":
                options = once(Did("change", seen, own=False))
            case "committed":
                options = once(*self.committed(line, node, seen, at))
            case "not-committed" if line.fields["fate"] == "refused":
                return self.ends(node, at, "a commit was refused for good, which the machine does not have")
            case "not-kicked-off":
                return self.ends(node, at, "a commit could not be made, which the machine does not have")
            case "kicked-off":
                options = once(Saw(seen))
            case "backed-off":
                options = once(Did("end_pass", seen))
            case "converged":
                options = (*self.in_pass((Did("end_pass", seen),)), *once(Did("end_pass", seen)))
            case "retired":
                node.registered = False
                if node.running:
                    return self.ends(node, at, "it was retired while its body was at work")
                options = once(Did("retire", seen))
            case "registered":
                node.registered = True
                if line.fields["elsewhere"]:
                    return self.ends(node, at, "its runs were left to somebody else")
                constants = (units(line.fields["debounce_ms"]), units(line.fields["throttle_ms"]))
                if constants != node.constants[:2] or line.fields["provisional"]:
                    return self.ends(node, at, "it was registered anew as something else")
                options = self.lively(live, (Saw(seen),), first=Did("register"))
            case "held" if line.fields["at_most_ms"] != RESUME_HOLD_MS or node.held:
                return self.ends(node, at, "it was held anew, or for another time than the machine's")
            case "held":
                node.held = True
                options = once(Did("hold", seen))
            case "released" if node.held:
                node.held = False
                options = once(Did("release_hold", seen))
            case "released":
                options = once(Saw(seen))
            case "gates-set":
                return self.ends(node, at, "it was given other gates, which are constants of the machine")
            case _:
                return None
        node.echo = mapping(line, "gates")["echo"]
        return self.reading(node, at, options)

    def seen(self, line: Line, at: int) -> Seen:
        """The gates that a line shows, and whether the node has to run."""
        gates = mapping(line, "gates")
        most: int = self.runtime.sessions[text(line, "session")].convergence["idle_hold_passes"]
        return {
            "node.gates.debounce": left(gates["debounce"], at),
            "node.gates.throttle": left(gates["throttle"], at),
            "node.gates.backoff": left(gates["backoff"], at),
            "node.gates.step": units(gates["step"]),
            "node.gates.holds": min(gates["holds"], most),
            "node.gates.echo": left(gates["echo"], at),
            "node.status": STATUS[text(line, "status")],
            "node.owed": bool(line.fields["owed"]),
        }

    def lively(self, live: bool, parts: Parts, first: Did | None = None) -> tuple[Parts, ...]:
        """The parts, after demand has come or gone if the line shows that it has."""
        before = () if first is None else (first,)
        toggle = Did("demand") if live else Did("release")
        return ((*before, Saw({"live": live}), *parts), (*before, toggle, Saw({"live": live}), *parts))

    def in_pass(self, parts: Parts) -> tuple[Parts, ...]:
        """The parts, in a pass that begins for them."""
        return tuple((*fired, Did("begin_pass"), *parts) for fired in FIRED)

    def started(self, live: bool, seen: Seen) -> tuple[Parts, ...]:
        run = (Did("run", seen),)
        found = [*self.lively(live, run), *self.in_pass(run)]
        if not live:  # an event waits for what it derives
            asked = (Did("demand"), *run, Did("release"))
            found += [asked, *((Did("demand"), *parts[:-1], *run, Did("release")) for parts in self.in_pass(run))]
        return tuple(found)

    def committed(self, line: Line, node: Watched, seen: Seen, at: int) -> Parts:
        """The breaker shuts the gate for longer, opens it earlier, or leaves it."""
        before, now = left(node.echo, at), left(mapping(line, "gates")["echo"], at)
        if now > before:
            return Did("fly"), Did("succeed", seen, echo=now)
        if now < before:
            return Did("fly"), Did("succeed", echo=0), Did("lift", seen, rest=now)
        return Did("fly"), Did("succeed", seen, echo=0)

    # What a line says of all nodes of a session

    def of_session(self, line: Line, node: Watched, event: str, at: int) -> Reading | None:
        if node.ended:
            return None
        if event == "disposed":
            node.ended = True
            return None
        if not node.stirred:
            return None
        match event:
            case "pass-began":
                idle = (Saw({"queued": False, "passing": False}),)
                return Reading(node.key, at, (*self.in_pass(()), idle, (Saw({"left_over": True}),)))
            case "pass-ended":
                wake: float | None = line.fields["wake"]
                in_time = WokenInTime(None if wake is None else left(wake, at), bool(line.fields["queued"]))
                woken = Saw({"waits": in_time})
                node.stirred = node.running or not node.registered or in_time.queued or in_time.wake is not None
                unfinished = once(Saw({"left_over": True})) if in_time.queued else ()
                ended = (Did("end_pass"), woken), (Saw({"passing": False}), woken)
                return Reading(node.key, at, (*ended, *unfinished))
            case "woke":
                return Reading(node.key, at, (*once(Did("fire")), *once(Saw({"wake_due": False}))))
            case _:
                quick = tuple((*parts, Did("end_pass"), Did("resolve_idle")) for parts in self.in_pass(()))
                return Reading(node.key, at, (*once(Did("resolve_idle")), *quick))
