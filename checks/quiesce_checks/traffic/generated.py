"""Generated traffic: loops at the cadences that the seed published, and weeks in which nothing is wrong.

A storm is one session's side of a loop. Another session answers each of its commits, a cadence later;
the run that the answer triggers overwrites it, as soon as the gate lets it. The cadence is the loop's
whole round, so without a breaker there is one commit a cadence (seed §1, *Trip condition*: three to
sixty a session in ten seconds, twelve in forty seconds for hours).

A quiet week has no more than five changes of a document by one derivation in a minute of the clock, and
every one of them is taken for an echo with no convergence between: the worst that such traffic can do
to a counter."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Tripped
from quiesce.scheduler.echo import Cause, Origin, Step, StepKind
from quiesce_checks.traffic.seat import CountingLog, DerivationNode, ReadTheText
from quiesce_checks.traffic.shared_text import TEXT, Write

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
WEEK_MS = 7 * 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Storm:
    """A loop to generate: its cadence and how long it lasts, in milliseconds; ``jitter`` is the share
    of a cadence by which each round is longer or shorter at random, at most."""

    name: str
    cadence_ms: float
    span_ms: float
    jitter: float = 0.2


@dataclass(frozen=True, slots=True)
class StormResult:
    """What the breaker made of a storm. ``tripped_at_ms`` counts from the first echo; ``let_through``
    are the echoes up to the trip, the tripping one included; ``capped_per_s`` is the rate of commits
    once the backoff has reached its cap (``None`` if it never did)."""

    storm: Storm
    tripped_at_ms: float | None
    let_through: int
    commits: int
    commits_without: int
    capped_per_s: float | None
    commit_times_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class QuietResult:
    """``busiest_window`` is the most changes of one document that fell into one window of the breaker's."""

    weeks: int
    documents: int
    changes: int
    busiest_window: int
    trips: int


def published_storms(policy: BreakerPolicy) -> tuple[Storm, ...]:
    """The seed's cadences, and steady ones at the edge of what the window holds."""
    ten_minutes = 10 * MINUTE_MS
    fast = tuple(Storm(f"{count} in 10 s", 10_000 / count, ten_minutes, jitter=0.2) for count in (60, 30, 12, 6, 3))
    edge = policy.echo_window_ms / max(1, policy.echo_trip_threshold - 1)
    return (
        *fast,
        Storm("12 in 40 s, three hours", 40_000 / 12, 3 * HOUR_MS),
        Storm("steady, just fits", float(int(edge)), HOUR_MS, jitter=0),
        Storm("steady, just misses", float(int(edge) + 1), HOUR_MS, jitter=0),
    )


def replay_storm(storm: Storm, policy: BreakerPolicy, seed: int) -> StormResult:
    """One storm against one breaker."""
    rounds = random.Random(f"{seed} {storm.name}")
    breaker, node = RemoteEchoBreaker(CountingLog(), policy), DerivationNode("storm")
    answer = (Cause(TEXT, Origin.REMOTE),)
    overwrite = (Write(TEXT, "theirs", "mine"),)
    times: list[float] = []
    tripped_at: float | None = None
    capped_from: float | None = None
    arrives = 0.0
    while arrives < storm.span_ms:
        now = breaker.gate(node, arrives) or arrives
        if now >= storm.span_ms:
            break
        steps = breaker.steps(node, breaker.capture(answer, overwrite, now), ReadTheText())
        gate = breaker.observe(node, steps, now)
        times.append(now)
        if tripped_at is None and any(isinstance(event, Tripped) for event in breaker.take_events()):
            tripped_at = now
        if capped_from is None and gate.until == now + policy.echo_backoff_max_ms:
            capped_from = now
        arrives = now + storm.cadence_ms * rounds.uniform(1 - storm.jitter, 1 + storm.jitter)
    let_through = len(times) if tripped_at is None else times.index(tripped_at) + 1
    capped = None
    if capped_from is not None and times[-1] > capped_from:
        since = times[times.index(capped_from) :]
        capped = (len(since) - 1) / (since[-1] - since[0]) * 1_000
    return StormResult(
        storm,
        tripped_at,
        let_through,
        len(times),
        int(storm.span_ms / storm.cadence_ms) + 1,
        capped,
        tuple(times),
    )


def replay_quiet(policy: BreakerPolicy, *, weeks: int, documents: int, seed: int) -> QuietResult:
    """Quiet weeks of several documents through one breaker."""
    random_source = random.Random(f"{seed} quiet")
    breaker, node = RemoteEchoBreaker(CountingLog(), policy), DerivationNode("quiet")
    changes: list[tuple[float, int]] = []
    busiest = 0
    for document in range(documents):
        instants = list(_quiet_changes(random_source, weeks * WEEK_MS))
        for number, instant in enumerate(instants):
            opened = bisect_left(instants, instant - policy.echo_window_ms)
            busiest = max(busiest, number - opened + 1)
        changes.extend((instant, document) for instant in instants)
    changes.sort()
    places = [Address(Entity("home", "space", f"document-{number}")) for number in range(documents)]
    for now, document in changes:
        breaker.observe(node, (Step(places[document].entity, StepKind.ECHO, now),), now)
    return QuietResult(weeks, documents, len(changes), busiest, breaker.stats(0).trips)


QUIET_CHANGES_A_MINUTE = 5


def _quiet_changes(random_source: random.Random, span_ms: int) -> Iterator[float]:
    """Busy spells of a few minutes, hours apart; within one, minute after minute holds up to five
    changes, as often as not pressed against the next minute's, so that a window across the boundary
    holds up to ten."""
    minute = 0
    while True:
        minute += max(1, round(random_source.expovariate(1 / 120)))
        for _ in range(random_source.randint(1, 4)):
            if (minute + 1) * MINUTE_MS > span_ms:
                return
            count = random_source.randint(1, QUIET_CHANGES_A_MINUTE)
            low, high = random_source.choice([(0.0, 1.0), (0.0, 0.2), (0.8, 1.0)])
            yield from sorted((minute + random_source.uniform(low, high)) * MINUTE_MS for _ in range(count))
            minute += 1
