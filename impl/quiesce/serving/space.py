"""The serving runtime of one space: holds its lease, keeps a seat for each instance that needs one, and runs them.

Sans-IO, as a scheduler is: ``step`` does one thing, ``timer_at`` says when to call ``timer_fired``, ``work`` is called
when there is something to do; ``connect`` takes each session's client to the server and keeps it there until it ends.

What runs for a wider instance runs first: a seat begins a pass only when the wider ones have nothing left to do for
what it already knows, so that one change is one wave, and nothing is run on half of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from quiesce.address import Identity
from quiesce.clock import Clock
from quiesce.counts import Counts
from quiesce.protocol import Acting, Demanded, Lease, Moved
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import BreakerStats
from quiesce.scheduler.run import Ran, Step
from quiesce.serving.instances import Instance
from quiesce.serving.plan import Plan
from quiesce.serving.seat import App, Seat, SeatSession, Unservable, derivations_that_stop, too_narrow
from quiesce.storage.client import Client
from quiesce.storage.replica import Layer, Replica

REST_AFTER_MS = 60_000.0
"""A space in which nothing moved for so long is put away until it does."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What a serving runtime is given. ``token`` gives one that may serve; ``checked`` as of a scheduler."""

    token: Callable[[], str]
    connect: Callable[[Client], None]
    counts: Counts
    clock: Clock
    work: Callable[[], None] = lambda: None
    policy: BreakerPolicy | None = None
    rest_after_ms: float = REST_AFTER_MS
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Stepped:
    """One step of one seat."""

    seat: Seat
    step: Step


class SpaceServer:
    """Serves one space with one application. Raises ``Unservable`` if that cannot be."""

    def __init__(self, space: str, app: App, surrounding: Surrounding) -> None:
        self.space = space
        self.plan = Plan()
        self.seats: dict[Instance, Seat] = {}
        self.resting: int | None = None
        """The sequence up to which the space was known when its seats were put away."""
        self.waves = 0
        """Times that everything came to rest after something had run."""
        self.on_lease: Callable[[bool], None] = lambda held: None
        """Told whether it serves the space, whenever that is another answer than before."""
        self._told: bool | None = None
        self._app = app
        self._given = surrounding
        self._log = surrounding.counts.logger("serving")
        self.actions = offered(space, app)
        self._offers = frozenset(self.actions)
        self._key = ""
        self._renew_at: float | None = None
        self._ttl_ms = 0.0
        self._fresh: dict[Instance, frozenset[str]] | None = {}
        self._refused: set[Instance] = set()
        self._dirty = False
        self._ran = False
        self._quiet_since: float | None = None
        self.control = Client(space, surrounding.token, surrounding.counts)
        self.control.on_welcome = self._welcomed
        self.control.on_serving = self._heard
        surrounding.connect(self.control)

    # -- what the server says

    def _welcomed(self) -> None:
        self._fresh = {}
        self._ask()

    def _ask(self) -> None:
        self.control.serve(self.actions, self.resting)

    def _heard(self, message: Lease | Demanded | Moved) -> None:
        if isinstance(message, Lease):
            self._leased(message)
        elif isinstance(message, Demanded):
            held = self.plan.demands if self._fresh is None else self._fresh
            demander = Instance(message.principal, message.session)
            held.pop(demander, None)
            if message.actions:
                held[demander] = frozenset(message.actions)
            self._get_up()
        else:
            self._get_up()
        self._refused.clear()
        self._changed()

    def _leased(self, lease: Lease) -> None:
        if lease.key != self._key:
            self._drop_seats()
            self._key = lease.key
            self._log.info("lease-won" if lease.key else "lease-elsewhere", holder=lease.holder)
        if self._told is not bool(lease.key):
            self._told = bool(lease.key)
            self.on_lease(self._told)
        if not lease.key:
            self._fresh, self.plan.demands, self._renew_at = {}, {}, None
            return
        if self._fresh is not None:
            self.plan.demands, self._fresh = self._fresh, None
            self._get_up()
        self._ttl_ms = lease.ttl_ms
        self._renew_at = self._given.clock() + self._ttl_ms / 3

    def _changed(self) -> None:
        self._dirty = True
        self._given.work()

    def _seat_changed(self, seat: Seat) -> None:
        seat.looked_at = None
        self._changed()

    @property
    def holds_lease(self) -> bool:
        """Whether this runtime is the one that serves the space."""
        return bool(self._key)

    # -- what moves it

    def step(self) -> Stepped | None:
        """Do one thing of one seat, the widest first. None if there is nothing to do now."""
        for instance, seat in list(self.seats.items()):
            if seat.ended:
                self._lost(instance, seat)
        while self._dirty:
            self._dirty = False
            self._settle_seats()
        for seat in sorted(self.seats.values(), key=lambda seat: len(seat.instance.scopes)):
            if seat.session is None:
                continue
            scheduler = seat.session.scheduler
            if scheduler.present_pass is None and (not scheduler.tick_queued or self._waits(seat)):
                continue
            step = scheduler.step()
            if step is not None:
                self._ran, self._quiet_since = True, None
                if isinstance(step, Ran):
                    self._has_run(seat, step)
                return Stepped(seat, step)
        if self.is_idle():
            self._wave_is_over()
        self._rest_if_quiet()
        return None

    def _wave_is_over(self) -> None:
        """Only now is it known whom nobody needs: a wave may find out step by step what it needs."""
        if self._ran:
            self._ran = False
            self.waves += 1
        wanted = self.plan.wanted()
        for instance, seat in list(self.seats.items()):
            if instance not in wanted:
                self._forget(instance)
                seat.close()

    def _waits(self, seat: Seat) -> bool:
        return any(
            (wider := self.seats.get(instance)) is not None and seat.waits_for(wider)
            for instance in seat.instance.wider
        )

    def _has_run(self, seat: Seat, ran: Ran) -> None:
        run = ran.run
        assert seat.session is not None, "it has run something"
        stopped = too_narrow(run)
        if stopped is not None:
            ids = {derived.node: id for id, derived in seat.session.derivations.items() if id in self._offers}
            for id in derivations_that_stop(run.node, ids):
                if self.plan.narrow(id, seat.instance, stopped.scope):
                    self._log.info("derivation-narrowed", f"{id} runs for each {stopped.scope.value} that needs it")
            self._changed()
        if run.handle is not None:

            def settled(handle: object) -> None:
                assert run.handle is not None
                result = run.handle.result
                seat.last_seq = max(seat.last_seq, (result.seq or 0) if result is not None else 0)

            run.handle.on_settled(settled)

    @property
    def timer_at(self) -> float | None:
        """When ``timer_fired`` should be called."""
        schedulers = (seat.session.scheduler for seat in self.seats.values() if seat.session is not None)
        candidates = [self._renew_at, *(scheduler.timer_at for scheduler in schedulers)]
        if self._quiet_since is not None:
            candidates.append(self._quiet_since + self._given.rest_after_ms)
        return min((at for at in candidates if at is not None), default=None)

    def timer_fired(self) -> None:
        """The moment has come, or may have."""
        now = self._given.clock()
        if self._renew_at is not None and self._renew_at <= now:
            self._renew_at = now + self._ttl_ms / 3
            self._ask()
        for seat in self.seats.values():
            if seat.session is not None and (at := seat.session.scheduler.timer_at) is not None and at <= now:
                seat.session.scheduler.timer_fired()
        self._given.work()

    # -- waves, and rest

    def is_idle(self) -> bool:
        """Whether a wave is over: nothing to run, nothing to decide. Runs that the breaker puts off are not waited
        for."""
        return not self._dirty and all(seat.quiet for seat in self.seats.values())

    def has_armed_gate_wake(self) -> bool:
        """Whether a deferred run is to come: such a space is not put away."""
        return any(
            seat.session is not None and seat.session.scheduler.has_armed_gate_wake() for seat in self.seats.values()
        )

    def echo_breaker_stats(self) -> BreakerStats:
        """The counts of all seats that there are now."""
        stats = [seat.session.echo_breaker_stats() for seat in self.seats.values() if seat.session is not None]
        return BreakerStats(
            sum(held.active for held in stats),
            sum(held.trips for held in stats),
            sum(held.cycles_observed for held in stats),
        )

    def _rest_if_quiet(self) -> None:
        timers = (seat.session.scheduler.timer_at for seat in self.seats.values() if seat.session is not None)
        if not self.seats or not self.is_idle() or any(at is not None for at in timers):
            self._quiet_since = None
            return
        now = self._given.clock()
        if self._quiet_since is None:
            self._quiet_since = now
            self._given.work()
        elif now >= self._quiet_since + self._given.rest_after_ms:
            self.resting = min(seat.client.replica.synced for seat in self.seats.values())
            self._drop_seats()
            self._ask()

    def _get_up(self) -> None:
        self.resting = None
        self._quiet_since = None

    # -- seats

    def _settle_seats(self) -> None:
        """Let every derivation run where the plan says, and open and close seats for that."""
        wanted = self.plan.wanted() if self._key and self.resting is None else {}
        for instance in wanted:
            if instance not in self.seats and instance not in self._refused:
                self._open(instance)
        for instance, seat in self.seats.items():
            state = frozenset(wanted.get(instance, ())), self.plan.version
            if seat.session is not None and seat.looked_at != state:
                seat.looked_at = state
                self._place_all(seat, seat.session, state[0])

    def _place_all(self, seat: Seat, session: SeatSession, asked: frozenset[str]) -> None:
        now, scheduler = self._given.clock(), session.scheduler
        for id, derived in session.derivations.items():
            # What has no lasting name is some derivation's own business, and runs wherever that does.
            node, placed = derived.node, self.plan.place(id, seat.instance) if id in self._offers else seat.instance
            here = placed == seat.instance
            readers = list(node.downstream)
            scheduler.hand_over(node, elsewhere=not here)
            if placed is None and id not in seat.out_of_sight:
                seat.out_of_sight.add(id)
                for reader in readers:  # they cannot run for this instance either, and have to find out
                    scheduler.invalidation.invalidate(reader, None, now)
            scheduler.ask(node, asked=here and id in asked)
        needs = frozenset(
            id for id, derived in session.derivations.items() if derived.node.elsewhere and derived.node.live
        )
        if needs != self.plan.forwarded.get(seat.instance, frozenset()):
            self.plan.forwarded[seat.instance] = needs
            self._dirty = True

    def _open(self, instance: Instance) -> None:
        def client(replica: Callable[[str, Callable[[Layer], None]], Replica], acting: Acting) -> Client:
            return Client(self.space, self._given.token, self._given.counts, acting=acting, replica=replica)

        seat = Seat(instance, client, self._key, lambda id: self.plan.narrower(id, instance))
        self.seats[instance] = seat
        seat.watched.on_ready(lambda _: self._opened(seat))
        self._given.connect(seat.client)

    def _opened(self, seat: Seat) -> None:
        self._given.work()
        if seat.ended or self.seats.get(seat.instance) is not seat:
            return
        session = seat_session(seat.client, self._given)
        session.delegated.changed = lambda: self._seat_changed(seat)
        try:
            seat.open(session, self._app)
        except Exception as error:
            self._log.error("application-failed", f"the application raised {type(error).__name__}: {error}")
            self._refused.add(seat.instance)
            self._forget(seat.instance)
            seat.close()
        self._changed()

    def _lost(self, instance: Instance, seat: Seat) -> None:
        problem = seat.watched.problem or seat.client.problem
        if problem is not None and problem.code != "not-demanded":  # which says nothing that is not about to be told
            self._log.warn("seat-lost", problem.message, instance=instance.key)
            self._refused.add(instance)
        self._forget(instance)
        seat.close()
        self._changed()

    def _forget(self, instance: Instance) -> None:
        del self.seats[instance]
        if self.plan.forwarded.pop(instance, None):
            self._dirty = True

    def _drop_seats(self) -> None:
        for instance, seat in list(self.seats.items()):
            self._forget(instance)
            seat.close()
        self._quiet_since = None

    def close(self) -> None:
        """Give up the lease and end every session."""
        self._drop_seats()
        self._key = ""
        self.control.serve_end()
        self.control.close()


def seat_session(client: Client, surrounding: Surrounding) -> SeatSession:
    """A seat's session over a client that has been welcomed.

    Its breaker is the one that every session has, and counts no step against what the seat itself derived (seed §4),
    nor when that is taken back.
    """
    policy = replace(surrounding.policy or BreakerPolicy(), ignore_own_reverts=True)
    return SeatSession(
        client,
        surrounding.counts,
        clock=surrounding.clock,
        work=surrounding.work,
        policy=policy,
        checked=surrounding.checked,
    )


def offered(space: str, app: App) -> tuple[str, ...]:
    """The derivations of an application, by the ids of their documents. Raises ``Unservable``.

    Only what is called the same in every session: names that do not last have a session's own id in them.
    """
    found = [_registered(space, app, session) for session in ("one", "another")]
    lasting = tuple(sorted(found[0] & found[1]))
    if not lasting:
        raise Unservable(
            "the application registers no derivation with a lasting name: let it call `session.computed`, and give "
            "names to what captures more than cells and plain values"
        )
    return lasting


def _registered(space: str, app: App, name: str) -> set[str]:
    client = Client(space, lambda: "", Counts(quiet=True))
    client.replica.welcome(Identity("", name), 0)
    session = SeatSession(client, Counts(quiet=True))
    try:
        app(session)
    except Unservable:
        raise
    except Exception as error:
        raise Unservable(f"the application cannot be registered: it raised {type(error).__name__}: {error}") from error
    session.scheduler.dispose()
    return {id for id, derived in session.derivations.items() if derived.identity.lasting}
