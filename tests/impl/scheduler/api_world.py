"""Sessions with their public face, over one emulated server and a clock that moves by hand."""

from __future__ import annotations

from scheduler_world import Peer, Sessions

from quiesce.runtime import Session
from quiesce.scheduler.breaker_policy import BreakerPolicy


class SessionPeer(Peer):
    """A peer whose actions are made through a ``Session``."""

    def __init__(self, world: ApiWorld, principal: str, policy: BreakerPolicy | None) -> None:
        super().__init__(world, principal, policy)
        self.scheduler.dispose()
        self.session = Session(self.client, self.counts, clock=world.clock, policy=policy, checked=True)
        self.session.on_failure = self.failures.append
        self.session.on_breaker = self.reports.append
        self.scheduler = self.session.scheduler


class ApiWorld(Sessions):
    """Sessions over one hub."""

    def session(self, principal: str = "alice") -> SessionPeer:
        made = SessionPeer(self, principal, self.policy)
        self.peers.append(made)
        return made
