"""Who serves a space: the lease of one serving runtime, what it derives, who demands it, and who acts for whom.

One runtime at a time holds a space's lease. While it does, every session is told which derivations are *served* and
does not run them itself; it says which of them it *demands*, and the holder is told. The holder opens *seats*:
sessions that act for a scope instance which somebody demands, and for no other. A lease that is not renewed ends, its
seats end with it, and it passes to the next runtime that waits, or to nobody: then sessions derive for themselves.

Sans-IO, like all of the server; nothing of it is durable, since a server that starts anew has no sessions either.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from quiesce.address import Identity, Scope
from quiesce.commits import Seq
from quiesce.protocol import Acting, Demanded, Lease, Moved, Problem, Serve, Served
from quiesce.server.access import Actor, Grant
from quiesce.server.session import Connection, ServerSession
from quiesce.server.surroundings import Surroundings

CAPABILITY = "servingV1"
"""What a session must be able to do to be told anything of this."""


@dataclass(eq=False, slots=True)
class Held:
    """The lease of a space. ``until_ms`` is of the server's clock; ``key`` proves that a seat is its holder's."""

    holder: str
    key: str
    session: ServerSession
    actions: tuple[str, ...]
    until_ms: float
    told: Connection | None = None
    """The connection that has been told of every demand; another one is told anew."""
    resting: Seq | None = None
    """The holder has put its seats away, knowing the space up to here, and waits to hear that it moved on."""
    seats: dict[ServerSession, None] = field(default_factory=dict["ServerSession", None])


class Serving:
    """The lease, the waiting runtimes and the demands of one space."""

    def __init__(self, surroundings: Surroundings, sessions: Callable[[], Iterable[ServerSession]]) -> None:
        self.lease: Held | None = None
        self.demands: dict[ServerSession, tuple[str, ...]] = {}
        self._surroundings = surroundings
        self._sessions = sessions
        self._waiting: dict[ServerSession, tuple[str, ...]] = {}
        self._announced: tuple[str, ...] = ()
        self._log = surroundings.counts.logger("serving")

    @property
    def served(self) -> tuple[str, ...]:
        """The derivations that are served now."""
        return self.lease.actions if self.lease is not None else ()

    def __contains__(self, session: ServerSession) -> bool:
        """Whether a session is a serving runtime's."""
        lease = self.lease
        return session in self._waiting or (lease is not None and (session is lease.session or session in lease.seats))

    @property
    def waiting(self) -> int:
        """Runtimes that wait for the lease."""
        return len(self._waiting)

    # -- the lease

    def serve(self, session: ServerSession, message: Serve, seq: Seq) -> None:
        """A runtime asks for the lease, or renews it."""
        self.check()
        lease = self.lease
        if lease is None:
            self._waiting.pop(session, None)
            lease = self._grant(session, message.actions)
        elif lease.session is not session:
            self._waiting[session] = message.actions
            _send(session, Lease())
            return
        lease.actions = message.actions
        lease.until_ms = self._surroundings.clock() + self._surroundings.limits.lease_ms
        self._tell_lease(lease)
        lease.resting = message.resting
        self.moved(seq)
        self._announce()

    def release(self, session: ServerSession) -> None:
        """A runtime gives up the lease, or no longer waits for it."""
        self._waiting.pop(session, None)
        if self.lease is not None and self.lease.session is session:
            self._end("its holder gave it up")

    def check(self) -> None:
        """End a lease that was not renewed in time."""
        if self.lease is not None and self.lease.until_ms < self._surroundings.clock():
            self._end("it was not renewed in time")

    def forget(self, session: ServerSession) -> None:
        """A session has given up its place: what it demanded, held or waited for is over."""
        if self.lease is not None:
            self.lease.seats.pop(session, None)
        if self.demands.pop(session, None) is not None:
            self._tell_demand(session, ())
            self._end_idle_seats()
        self.release(session)

    def moved(self, seq: Seq) -> None:
        """The space is at ``seq``: a holder that rests may have to get up."""
        lease = self.lease
        if lease is not None and lease.resting is not None and seq > lease.resting:
            lease.resting = None
            _send(lease.session, Moved(seq))

    # -- demand

    def demand(self, session: ServerSession, actions: tuple[str, ...]) -> None:
        """All that a session demands from now on."""
        if actions == self.demands.get(session, ()):
            return
        if actions:
            self.demands[session] = actions
        else:
            self.demands.pop(session, None)
        self._tell_demand(session, actions)
        if not actions:
            self._end_idle_seats()

    # -- seats

    def refusal(self, acting: Acting) -> Problem | None:
        """Why a session may not act so, or None if it may."""
        self.check()
        lease = self.lease
        if lease is None or not hmac.compare_digest(lease.key.encode(), acting.key.encode("utf-8", "replace")):
            message = "only the holder of the space's lease acts for others: ask for the lease first, with `serve`"
            return Problem("lease-ended", message, fatal=True)
        if acting.principal is None and acting.session is None:
            return None
        if acting.principal is not None and self._demanded(acting.principal, acting.session):
            return None
        return _not_demanded()

    def _demanded(self, principal: str, session: str | None) -> bool:
        return any(
            demander.actor.identity.principal == principal and session in (None, demander.id)
            for demander in self.demands
        )

    def _end_idle_seats(self) -> None:
        """Nobody acts for an instance for which nothing is demanded any more."""
        for seat in self.seats:
            identity = seat.actor.identity
            if identity.principal and not self._demanded(identity.principal, identity.session or None):
                assert self.lease is not None, "it has seats"
                del self.lease.seats[seat]
                if seat.connection is not None:
                    seat.connection.fail(_not_demanded())

    def actor(self, own: Identity, acting: Acting, grant: Grant) -> Actor:
        """The standing of a seat: it sees and writes what the demanded instance does, and nothing narrower."""
        lease = self.lease
        assert lease is not None, "asked after `refusal`"
        identity = Identity(acting.principal or "", acting.session or "")
        scopes = {Scope.SPACE}
        if acting.principal is not None:
            scopes.add(Scope.USER)
        if acting.session is not None:
            scopes.add(Scope.SESSION)
        name = sha256(f"{lease.key} {identity.narrowest}".encode()).hexdigest()[:8]
        return Actor(identity, Grant(grant.read & scopes, grant.write & scopes), f"{lease.holder}/{name}", own)

    def seat(self, session: ServerSession) -> None:
        """A session acts for others from now on, as long as the lease lasts."""
        if self.lease is not None:
            self.lease.seats[session] = None

    @property
    def seats(self) -> Iterable[ServerSession]:
        """The sessions that act for others."""
        return tuple(self.lease.seats) if self.lease is not None else ()

    # -- inside

    def _grant(self, session: ServerSession, actions: tuple[str, ...]) -> Held:
        surroundings = self._surroundings
        until = surroundings.clock() + surroundings.limits.lease_ms
        self.lease = lease = Held(surroundings.random(9), surroundings.random(24), session, actions, until)
        self._log.info("lease-granted", f"{len(actions)} derivations are served", holder=lease.holder)
        return lease

    def _tell_lease(self, lease: Held) -> None:
        """The lease comes after all demand of the moment: who has it knows what for."""
        if lease.told is not lease.session.connection:
            lease.told = lease.session.connection
            for demander, actions in self.demands.items():
                self._tell_demand(demander, actions)
        _send(lease.session, Lease(lease.holder, lease.key, self._surroundings.limits.lease_ms))

    def _end(self, why: str) -> None:
        lease, self.lease = self.lease, None
        assert lease is not None, "only a lease that is held ends"
        self._log.info("lease-ended", why, holder=lease.holder)
        for seat in lease.seats:
            if seat.connection is not None:
                message = f"the lease has ended, since {why}: ask for it again before acting for others"
                seat.connection.fail(Problem("lease-ended", message, fatal=True))
        for session in list(self._waiting):
            if session.connection is not None:
                actions = self._waiting.pop(session)
                self._tell_lease(self._grant(session, actions))
                break
        if lease.session.connection is not None:
            _send(lease.session, Lease())
        self._announce()

    def _tell_demand(self, demander: ServerSession, actions: tuple[str, ...]) -> None:
        if self.lease is not None:
            _send(self.lease.session, Demanded(demander.actor.identity.principal, demander.id, actions))

    def _announce(self) -> None:
        if self.served == self._announced:
            return
        self._announced = self.served
        told = Served(self.served)
        for session in self._sessions():
            if CAPABILITY in session.capabilities:
                _send(session, told)


def _not_demanded() -> Problem:
    message = "nobody demands anything for that scope instance here: act only for sessions that are told of"
    return Problem("not-demanded", message, fatal=True)


def _send(session: ServerSession, message: Lease | Demanded | Served | Moved) -> None:
    if session.connection is not None:
        session.connection.send(message)
