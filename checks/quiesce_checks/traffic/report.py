"""A replay as text for an 80-column terminal, and as a value for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from quiesce_checks.traffic.generated import QuietResult, StormResult
from quiesce_checks.traffic.replay import AS_GIVEN, REPAIRS, Replay, Table


def render(replay: Replay) -> str:
    """Tables and, under each, the sentence that answers what was asked of this traffic."""
    policy = replay.policy
    on = [repair for repair in REPAIRS if getattr(policy, repair)]
    parts = [
        f"breaker: {policy.echo_trip_threshold} echoes in {policy.echo_window_ms:,} ms trip, "
        f"then {policy.echo_backoff_base_ms:,} … {policy.echo_backoff_max_ms:,} ms"
        + (f"\nwith {', '.join(on)}" if on else "")
    ]
    if replay.typing:
        parts.append(_typing(replay))
    if replay.storms:
        parts.append(_storms(replay.storms))
    parts.extend(_quiet(quiet, policy.echo_trip_threshold) for quiet in replay.quiet)
    return "\n\n".join(parts) + "\n"


def as_json(replay: Replay) -> dict[str, object]:
    """The whole replay as plain values; times in milliseconds."""
    return {
        "policy": asdict(replay.policy),
        "round_trip_ms": replay.round_trip_ms,
        "typing": [
            {
                "session": case.session,
                "table": case.table.value,
                "derivation": case.derivation.value,
                "rule": case.rule,
                "edits": case.edits,
                "span_ms": case.span_ms,
                "runs": case.result.runs,
                "commits": case.result.commits,
                "rejected": case.result.rejected,
                "echoes": case.result.echoes,
                "convergences": case.result.convergences,
                "most_in_a_row": case.result.most_in_a_row,
                "trips": case.trips,
                "first_trip_ms": case.first_trip_ms,
                "held_ms": case.result.held_ms,
                "clears": [
                    {"at": clear.at, "reason": clear.reason.value, "held_ms": clear.held_ms} for clear in case.clears
                ],
            }
            for case in replay.typing
        ],
        "storms": [asdict(storm) for storm in replay.storms],
        "quiet": [asdict(quiet) for quiet in replay.quiet],
    }


def _typing(replay: Replay) -> str:
    cases = replay.distinct_typing
    lines = [
        f"People typing, each commit a round trip of {replay.round_trip_ms:g} ms",
        f"  {'derivation':10} {'rule':22} {'runs':>6} {'echoes':>6} {'conv.':>6} {'highest':>7} "
        f"{'trips':>5} {'held':>5}",
    ]
    heading = None
    for case in cases:
        if (case.session, case.table) != heading:
            heading = (case.session, case.table)
            who = "one of the writers" if case.table is Table.AMONG else "one writer alone"
            lines.append(f"{case.session}, {who}: {case.edits:,} edits in {case.span_ms / 60_000:.0f} min")
        lines.append(
            f"  {case.derivation:10} {case.rule:22} {case.result.runs:>6} {case.result.echoes:>6} "
            f"{case.result.convergences:>6} {case.result.most_in_a_row:>7} {case.trips:>5} "
            f"{case.held_share:>5.0%}"
        )
    if len(cases) < len(replay.typing):
        lines.append("A repair that is not listed changed nothing there.")
    tripped = [case for case in cases if case.trips]
    if not tripped:
        lines.append("No trip: people typing are let alone.")
    else:
        first = min(tripped, key=lambda case: case.first_trip_ms or 0)
        rule = "" if first.rule == AS_GIVEN else f" with {first.rule}"
        lines.append(
            f"Tripped on people typing in {len(tripped)} of these {len(cases)}, the soonest after "
            f"{(first.first_trip_ms or 0) / 1_000:.1f} s:\n  {first.derivation}{rule} in {first.session}."
        )
    return "\n".join(lines)


def _storms(storms: Sequence[StormResult]) -> str:
    lines = [
        "Storms: one session's side of a loop",
        f"  {'cadence':24} {'to trip':>9} {'let through':>11} {'commits':>8} {'without':>8} {'at the cap':>11}",
    ]
    for result in storms:
        trip = "never" if result.tripped_at_ms is None else f"{result.tripped_at_ms / 1_000:.1f} s"
        capped = "–" if result.capped_per_s is None else f"{result.capped_per_s:.4f}/s"
        lines.append(
            f"  {result.storm.name:24} {trip:>9} {result.let_through:>11} {result.commits:>8,} "
            f"{result.commits_without:>8,} {capped:>11}"
        )
    missed = [result.storm.name for result in storms if result.tripped_at_ms is None]
    lines.append("Every storm trips." if not missed else f"Never tripped: {', '.join(missed)}.")
    return "\n".join(lines)


def _quiet(quiet: QuietResult, threshold: int) -> str:
    verdict = "No trip" if not quiet.trips else f"{quiet.trips} trips"
    return (
        f"Quiet weeks: {quiet.weeks} weeks of {quiet.documents} documents, {quiet.changes:,} changes, "
        f"all taken for echoes\n{verdict}; the busiest window held {quiet.busiest_window} of "
        f"{threshold}."
    )
