"""OpenTelemetry metrics of a server: read from its tallies when asked, so that they cost nothing in
between.
"""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from quiesce.server.hub import Hub


def register(hub: Hub, meter: Meter) -> None:
    """Make the server's instruments on ``meter``. Without an SDK in the process, the API makes this a
    no-op.
    """
    tally = hub.surroundings.tally

    def commits(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"outcome": outcome}) for outcome, count in list(tally.verdicts.items())]

    def replays(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(tally.replays)]

    def windows(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(tally.windows)]

    def batches(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(tally.batches)]

    def problems(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"code": code}) for code, count in list(tally.problems.items())]

    def breaker(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"event": event}) for event, count in list(tally.breaker_reports.items())]

    def connections(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(len(hub.connections))]

    def sessions(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(len(space.sessions), {"space": space.name}) for space in list(hub.spaces.values())]

    def sequence(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(space.seq, {"space": space.name}) for space in list(hub.spaces.values())]

    def queue(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(space.queued, {"space": space.name}) for space in list(hub.spaces.values())]

    def unsent(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(sum(connection.outbox_bytes for connection in list(hub.connections.values())))]

    meter.create_observable_counter("quiesce.commits", [commits], description="commits decided, by outcome")
    meter.create_observable_counter("quiesce.replays", [replays], description="commits answered from stored verdicts")
    meter.create_observable_counter("quiesce.windows", [windows], description="windows queued to sessions")
    meter.create_observable_counter("quiesce.batches", [batches], description="durable transactions")
    meter.create_observable_counter("quiesce.problems", [problems], description="error messages sent, by code")
    meter.create_observable_counter("quiesce.echo_breaker", [breaker], description="breaker reports, by event")
    meter.create_observable_gauge("quiesce.connections", [connections], description="open connections")
    meter.create_observable_gauge("quiesce.sessions", [sessions], description="sessions held, by space")
    meter.create_observable_gauge("quiesce.sequence", [sequence], description="last sequence, by space")
    meter.create_observable_gauge("quiesce.queue", [queue], description="jobs that wait for a batch, by space")
    meter.create_observable_gauge("quiesce.unsent", [unsent], unit="By", description="bytes that wait for readers")
