"""Random applications, and plays with them: who writes, who needs what, who comes and goes; and what has to hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from api_world import SessionPeer
from hypothesis import strategies as st
from serving_world import Runtime, ServingWorld

from quiesce.handles import Action
from quiesce.runtime import Session
from quiesce.server.memory import MemoryEngine
from quiesce.serving.instances import Instance
from quiesce.values import ABSENT

CELLS = {"title": "space", "switch": "space", "preference": "user", "mine": "session"}
TOKEN = re.compile(r"<([^>]*)>")
PRINCIPALS = ("ann", "bob")


@dataclass(frozen=True)
class Derivation:
    """Reads some cells and some earlier derivations; the last of them only while the switch is on, if ``dynamic``."""

    cells: tuple[str, ...]
    earlier: tuple[int, ...]
    dynamic: bool = False


Spec = tuple[Derivation, ...]


def application(spec: Spec) -> Any:
    """What registers the derivations of a specification."""

    def app(session: Session) -> None:
        cells = {name: session.cell(name, default="", scope=scope) for name, scope in CELLS.items()}
        made: list[Any] = []
        for number, derivation in enumerate(spec):

            def derive(derivation: Derivation = derivation) -> list[Any]:
                sources = [cells[name] for name in derivation.cells] + [made[other] for other in derivation.earlier]
                if derivation.dynamic and cells["switch"].get() == "":
                    sources = sources[:-1]
                return [source.get() for source in sources]

            made.append(session.computed(name=f"d{number}")(derive))

    return app


def expected(peer: SessionPeer, spec: Spec, number: int) -> list[Any]:
    """What a derivation is for a session: the function itself, applied to what the session sees."""
    derivation = spec[number]
    values: list[Any] = [peer.session.cell(name, default="", scope=CELLS[name]).get() for name in derivation.cells]
    values += [expected(peer, spec, other) for other in derivation.earlier]
    if derivation.dynamic and peer.session.cell("switch", default="").get() == "":
        values = values[:-1]
    return values


# -- what is played


@dataclass(frozen=True)
class Write:
    """A session writes one of its cells."""

    peer: int
    cell: str


@dataclass(frozen=True)
class Need:
    """A session begins to need a derivation, or stops."""

    peer: int
    number: int


@dataclass(frozen=True)
class Come:
    """Somebody opens a session."""

    principal: str


@dataclass(frozen=True)
class Die:
    """The runtime dies; its lease ends, and another comes after that."""


@dataclass(frozen=True)
class Rest:
    """So much time passes that the space is put away."""


Move = Write | Need | Come | Die | Rest


def specs(*, dynamic: bool) -> st.SearchStrategy[Spec]:
    def derivation(number: int) -> st.SearchStrategy[Derivation]:
        return st.builds(
            Derivation,
            st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=2, unique=True).map(tuple),
            st.lists(st.integers(0, number - 1), max_size=2, unique=True).map(tuple) if number else st.just(()),
            st.booleans() if dynamic else st.just(False),
        )

    return st.integers(1, 4).flatmap(lambda count: st.tuples(*map(derivation, range(count))))


def moves(*, deaths: bool) -> st.SearchStrategy[list[Move]]:
    peer, number = st.integers(0, 3), st.integers(0, 3)
    kinds: list[st.SearchStrategy[Move]] = [
        st.builds(Write, peer, st.sampled_from(sorted(CELLS))),
        st.builds(Need, peer, number),
        st.builds(Need, peer, number),
        st.builds(Come, st.sampled_from(PRINCIPALS)),
    ]
    if deaths:
        kinds += [st.just(Die()), st.just(Rest())]
    return st.lists(st.one_of(kinds), min_size=4, max_size=14)


@dataclass
class Play:
    """One play, and its checks after each move."""

    spec: Spec
    static: bool = True
    random: Random | None = None
    """If given, what a write brings about is delivered and run in an order of its choice."""
    world: ServingWorld = field(default_factory=ServingWorld)
    needs: dict[tuple[int, int], Action] = field(default_factory=dict[tuple[int, int], Action])
    written: int = 0

    def __post_init__(self) -> None:
        self.app = application(self.spec)
        self.runtime = self.serve()
        for principal in PRINCIPALS:
            self.come(principal)

    def serve(self) -> Runtime:
        return self.world.serve(self.app, rest_after_ms=1_000)

    def come(self, principal: str) -> None:
        self.world.person(principal, self.app)
        self.world.settle()

    def make(self, move: Move) -> None:
        self.runtime.ran.clear()
        self.runtime.probes.clear()
        peers = self.world.peers
        peer = peers[move.peer % len(peers)] if isinstance(move, Write | Need) else peers[0]
        assert isinstance(peer, SessionPeer)
        if isinstance(move, Write):
            self.written += 1
            scope = CELLS[move.cell]
            owner = {"space": "space", "user": f"user {identity(peer).principal}", "session": f"session {own(peer)}"}
            peer.session.cell(move.cell, scope=scope).set(f"<{owner[scope]}>{self.written}")
        elif isinstance(move, Need):
            self.need(peers.index(peer), peer, move.number % len(self.spec))
        elif isinstance(move, Come):
            if len(peers) < 4:
                self.come(move.principal)
        elif isinstance(move, Die):
            self.runtime.die()
            self.world.clock.advance(self.world.surroundings.limits.lease_ms + 1)
            self.world.hub.tick()
            self.world.settle()
            self.values_are_right()  # everybody derives for himself meanwhile
            self.runtime = self.serve()
            for other in peers:
                other.ran.clear()
        else:
            self.world.advance(1_001)
            assert self.runtime.instances() == []
        if isinstance(move, Write) and self.random is not None:
            self.world.shuffle(self.random)
        self.world.settle()
        self.check(move)

    def need(self, index: int, peer: SessionPeer, number: int) -> None:
        effect = self.needs.pop((index, number), None)
        if effect is not None:
            effect.stop()
            return
        derived = peer.session.derivations[f"derived/d{number}"]
        self.needs[index, number] = peer.session.effect(name=f"show-{number}")(lambda: derived.get() and None)

    # -- what has to hold when everything has come to rest

    def check(self, move: Move) -> None:
        self.values_are_right()
        self.nothing_is_seen_of_others()
        self.nobody_runs_what_is_served()
        if self.static and isinstance(move, Write):
            self.nothing_ran_twice()

    def values_are_right(self) -> None:
        for index, number in self.needs:
            peer = self.world.peers[index]
            assert isinstance(peer, SessionPeer)
            found = peer.session.derivations[f"derived/d{number}"].peek(None)
            assert found == expected(peer, self.spec, number), "a derivation has not its function's value"

    def nothing_ran_twice(self) -> None:
        """One write is one wave, and everything runs at most once in it for each instance."""
        assert not self.runtime.probes
        assert all(count == 1 for count in self.runtime.ran.values()), self.runtime.ran

    def nobody_runs_what_is_served(self) -> None:
        for peer in self.world.peers:
            assert all(label.startswith("show-") for label in peer.ran), peer.ran
            peer.ran.clear()

    def nothing_is_seen_of_others(self) -> None:
        """A document of an instance holds nothing that comes from one that the instance does not see, and no run
        touched any."""
        engine = self.world.engines["board"]
        assert isinstance(engine, MemoryEngine)
        for key, head in engine._state.heads.items():
            if head.value is not ABSENT:
                seen = owners_seen(key.instance)
                assert set(TOKEN.findall(repr(head.value))) <= seen, (key, head.value)
        for seat in self.runtime.server.seats.values():
            keys = {seat.instance.key, *(instance.key for instance in seat.instance.wider)}
            assert seat.session is not None
            for node in seat.session.scheduler.nodes:
                assert {read.entity.instance for read in (*node.reads.deep, *node.reads.shallow)} <= keys


def identity(peer: SessionPeer) -> Any:
    return peer.client.replica.identity


def own(peer: SessionPeer) -> str:
    return Instance(identity(peer).principal, identity(peer).session).key


def owners_seen(instance: str) -> set[str]:
    """The owners whose values may lie in an instance's documents."""
    kind, _, rest = instance.partition(":")
    if kind == "space":
        return {"space"}
    if kind == "user":
        return {"space", f"user {rest}"}
    return {"space", f"user {rest.partition(':')[0]}", f"session {instance}"}


def played(play: Play, moves: list[Move]) -> Iterator[Move]:
    """Make the moves; after each, what has to hold has been checked."""
    for move in moves:
        play.make(move)
        yield move
