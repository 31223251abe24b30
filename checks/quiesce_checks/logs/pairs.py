"""The runtime's log, projected to each action and document: held against the breaker's model, repairs included.

A run is a step of a pair's machine if the document is among its causes that count. Which of those it overwrites is open
until its commit is kicked off, and what the breaker holds of the pair is compared when the commit has succeeded. Runs
for other reasons are seen to start only while the pair's gate is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from quiesce_model.breaker import Breaker

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
    number,
    text,
    units,
    whole_line,
)
from .search import MOST_ALIVE, Search
from .target import Reading

IN_FLIGHT = 12
"""Commits of one action that may be on their way at a time; with more, its pairs are given up as inconclusive."""

ORIGINS = {"remote", "local", "own-revert"}

Seen = dict[str, Any]


@dataclass(frozen=True)
class AtMost:
    """The gate of an action covers the deadline of each of its pairs."""

    gate: int

    def __call__(self, rest: int) -> bool:
        return rest <= self.gate

    def __str__(self) -> str:
        return f"at most {self.gate:,}"


@dataclass
class Watched:
    """One pair of the log: its key, and the runs that are under way, in the order in which they started."""

    key: str
    document: str
    flight: list[int] = field(default_factory=list[int])
    owed: bool = False
    ended: bool = False


@dataclass
class Action:
    """One action of one session, and its pairs by document."""

    pairs: dict[str, Watched] = field(default_factory=dict[str, Watched])


class Pairs:
    """The target ``--mapping pair``."""

    name = "pair"
    unit = 1 / UNITS_PER_MS

    def __init__(self, in_flight: int = IN_FLIGHT, most_alive: int = MOST_ALIVE) -> None:
        self.in_flight = in_flight
        self.most_alive = most_alive
        self.runtime = Runtime()
        self.actions: dict[tuple[str, int], Action] = {}
        self.sessions: dict[str, Session] = {}
        self.kinds: dict[tuple[Any, ...], Kind] = {}

    # -- machines

    def start(self, key: str) -> Search:
        with as_written():
            kind = self.kind(self.sessions[key])
        return Search(kind.machine, most_alive=self.most_alive, time=kind.time)

    def kind(self, session: Session) -> Kind:
        policy = session.breaker
        constants = (
            policy["echo_trip_threshold"],
            *(units(policy[f"echo_{name}_ms"]) for name in ("window", "backoff_base", "backoff_max", "quiet_reset")),
            bool(policy["clear_when_settled"]),
            bool(policy["kickoff_order"]),
        )
        if constants not in self.kinds:
            threshold, window, base, cap, quiet, settled, order = constants
            machine = Breaker(
                threshold=threshold,
                window=window,
                base=base,
                cap=cap,
                quiet=quiet,
                clear_when_settled=settled,
                kickoff_order=order,
                in_flight=self.in_flight,
            )
            self.kinds[constants] = Kind(machine, Time(machine))
        return self.kinds[constants]

    # -- lines

    def read(self, line: Line) -> Iterable[Reading]:
        return whole_line(line, self.readings)

    def readings(self, line: Line) -> Iterable[Reading]:
        session = self.runtime.session(line)
        at = moment(line)
        event = text(line, "event")
        if "node" not in line.fields or line.fields["node"] is None:
            return ()
        action = self.actions.setdefault((session.name, number(line, "node")), Action())
        match event:
            case "run-started" if text(line, "kind") != HANDLER:
                return self.started(line, session, action, at)
            case "kicked-off":
                return self.kicked_off(line, action, at)
            case "committed":
                return self.committed(line, session, action, at)
            case "not-committed" if line.fields["fate"] == "outlived":
                return self.outlived(action, number(line, "run"), at)
            case "not-committed" | "not-kicked-off":
                stale = line.fields.get("fate") == "stale"
                return self.gone(action, number(line, "run"), at, stale=stale)
            case "run-ended" if line.fields.get("outcome") in ("again", "retired"):
                return self.gone(action, number(line, "run"), at, stale=line.fields["outcome"] == "again")
            case "pair-dropped":
                return self.dropped(line, session, action, at)
            case "retired":
                return [self.did(pair, at, Did("retire")) for pair in action.pairs.values()]
            case "registered":
                return [self.did(pair, at, Did("register")) for pair in action.pairs.values()]
            case _:
                return ()

    def did(self, pair: Watched, at: int, *parts: Part) -> Reading:
        return Reading(pair.key, at, (parts,))

    def started(self, line: Line, session: Session, action: Action, at: int) -> Iterable[Reading]:
        triggers = triggers_of(line, session)
        for document in triggers:
            if document not in action.pairs:
                key = f"{session.name} {text(line, 'label')}#{number(line, 'node')} {document}"
                action.pairs[document] = Watched(key, document)
                self.sessions[key] = session
        for document, pair in action.pairs.items():
            if document not in triggers:
                yield self.did(pair, at, Saw({"gate": 0}, "no run starts while the gate is closed"))
            elif len(pair.flight) >= self.in_flight:
                pair.ended = True
                why = f"more than {self.in_flight} commits of the action are on their way"
                yield Reading(pair.key, at, ends=f"{why}; --scope in_flight={2 * self.in_flight}", undecided=True)
            else:
                pair.flight.append(number(line, "run"))
                yield self.did(pair, at, Did("retry" if pair.owed else "run"))
                pair.owed = False

    def kicked_off(self, line: Line, action: Action, at: int) -> Iterable[Reading]:
        run = number(line, "run")
        read, overwritten = documents(line, "read"), documents(line, "overwritten")
        for pair in flying(action, run):
            if pair.document in read:
                place = f"flight[{pair.flight.index(run)}].overwrites"
                yield self.did(pair, at, Saw({place: pair.document in overwritten}))
            else:
                yield self.refused(pair, run, at)  # no step is formed of what was not read

    def committed(self, line: Line, session: Session, action: Action, at: int) -> Iterable[Reading]:
        run = number(line, "run")
        shown = {found["document"]: found for found in objects(line, "pairs")}
        gate = left(mapping(line, "gates").get("echo"), at)
        for pair in flying(action, run):
            seen = pair_seen(shown.get(pair.document), at, units(session.breaker["echo_backoff_max_ms"]))
            seen["gate"] = AtMost(gate)
            place = pair.flight.index(run)
            pair.flight.remove(run)
            yield self.did(pair, at, Did("commit", seen, place=place))

    def outlived(self, action: Action, run: int, at: int) -> Iterable[Reading]:
        """Whatever became of the commit, it counts for nothing."""
        for pair in flying(action, run):
            place = pair.flight.index(run)
            pair.flight.remove(run)
            yield self.did(pair, at, Did("commit", place=place))

    def gone(self, action: Action, run: int, at: int, *, stale: bool) -> Iterable[Reading]:
        for pair in flying(action, run):
            pair.owed = pair.owed or stale
            yield self.refused(pair, run, at)

    def refused(self, pair: Watched, run: int, at: int) -> Reading:
        place = pair.flight.index(run)
        pair.flight.remove(run)
        return self.did(pair, at, Did("refuse", place=place))

    def dropped(self, line: Line, session: Session, action: Action, at: int) -> Iterable[Reading]:
        pair = action.pairs.get(text(line, "document"))
        if pair is None:
            return
        reason = text(line, "reason")
        if reason == "evicted":
            pair.ended = True
            yield Reading(pair.key, at, ends="the pair had to make room in the table, which is not of one pair")
        elif reason == "quiet" or (reason == "convergence" and session.breaker["clear_when_settled"]):
            yield self.did(pair, at, Did("forget"))


def flying(action: Action, run: int) -> list[Watched]:
    return [pair for pair in action.pairs.values() if run in pair.flight]


def triggers_of(line: Line, session: Session) -> list[str]:
    """The documents among a run's causes that count, each once."""
    policy = session.breaker
    counted = {"remote"} if policy["remote_causes_only"] else ORIGINS
    if policy["ignore_own_reverts"]:
        counted = counted - {"own-revert"}
    return list(dict.fromkeys(cause["document"] for cause in objects(line, "causes") if cause["origin"] in counted))


def documents(line: Line, name: str) -> set[str]:
    found: Any = line.fields.get(name) or ()
    return set(found)


def objects(line: Line, name: str) -> list[dict[str, Any]]:
    found: Any = line.fields.get(name) or ()
    return list(found)


def pair_seen(shown: dict[str, Any] | None, at: int, cap: int) -> Seen:
    """What a line shows of a pair, in the words of the model."""
    if shown is None or not shown["held"]:
        return {"pair.echoes": 0, "pair.tripped": False, "pair.backoff": 0, "pair.deadline": 0}
    tripped: bool = shown["tripped"]
    settles: float | None = shown["settles_after"]
    return {
        "pair.echoes": 0 if tripped else shown["echoes"],
        "pair.opened": None if tripped else at - units(shown["window_opened"]),
        "pair.tripped": tripped,
        "pair.backoff": units(shown["step"]),
        "pair.deadline": left(shown["deadline"], at),
        "pair.since_echo": at - units(shown["last_echo"]) if tripped else None,
        "pair.settling": None if settles is None else at - (units(settles) - cap),
    }
