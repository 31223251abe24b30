"""``quiesce replay``: traffic through the runtime's own echo detector."""

from __future__ import annotations

import json
from pathlib import Path

import click

from quiesce.scheduler.breaker_policy import BreakerPolicy, PolicyError
from quiesce_checks.traffic.plot import PlotUnavailable, plot
from quiesce_checks.traffic.replay import REPAIRS, Request, Table, Traffic, replay_traffic
from quiesce_checks.traffic.report import as_json, render
from quiesce_checks.traffic.shared_text import Derivation
from quiesce_checks.traffic.typing_sessions import SESSIONS

_DEFAULT = BreakerPolicy()
_POSITIVE = click.IntRange(min=1)


@click.command("replay")
@click.argument("traffic", nargs=-1, type=click.Choice([kind.value for kind in Traffic]))
@click.option("--session", "sessions", multiple=True, type=click.Choice(SESSIONS), help="Only this recording.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice([table.value for table in Table]),
    help="Only with other writers (among), or with none (alone).",
)
@click.option(
    "--derivation",
    "derivations",
    multiple=True,
    type=click.Choice([derivation.value for derivation in Derivation]),
    help="Only this derivation of the text.",
)
@click.option("--edits", type=_POSITIVE, help="Only the first so many edits of each recording.")
@click.option(
    "--round-trip",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="From a commit to its result, in ms.",
)
@click.option(
    "--repair",
    "repairs",
    multiple=True,
    type=click.Choice(REPAIRS),
    help="Switch a named repair of the breaker on.",
)
@click.option("--each-repair", is_flag=True, help="Replay the recordings again with each repair.")
@click.option("--window", type=int, default=_DEFAULT.echo_window_ms, show_default=True, help="In ms.")
@click.option("--threshold", type=int, default=_DEFAULT.echo_trip_threshold, show_default=True)
@click.option("--base", type=int, default=_DEFAULT.echo_backoff_base_ms, show_default=True, help="In ms.")
@click.option("--cap", type=int, default=_DEFAULT.echo_backoff_max_ms, show_default=True, help="In ms.")
@click.option("--quiet-reset", type=int, default=_DEFAULT.echo_quiet_reset_ms, show_default=True, help="In ms.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the generated traffic.")
@click.option("--json", "wants_json", is_flag=True, help="Print the results as JSON.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw them into this file.")
def replay(
    traffic: tuple[str, ...],
    sessions: tuple[str, ...],
    tables: tuple[str, ...],
    derivations: tuple[str, ...],
    edits: int | None,
    round_trip: float,
    repairs: tuple[str, ...],
    each_repair: bool,
    window: int,
    threshold: int,
    base: int,
    cap: int,
    quiet_reset: int,
    seed: int,
    wants_json: bool,
    picture: Path | None,
) -> None:
    """Send TRAFFIC through the runtime's own echo detector: traces (two recordings of people typing),
    storms and quiet weeks (generated); all of them if none is named."""
    try:
        policy = BreakerPolicy(
            echo_window_ms=window,
            echo_trip_threshold=threshold,
            echo_backoff_base_ms=base,
            echo_backoff_max_ms=cap,
            echo_quiet_reset_ms=quiet_reset,
            **dict.fromkeys(repairs, True),
        )
    except PolicyError as error:
        raise click.UsageError(str(error)) from None
    result = replay_traffic(
        Request(
            traffic=frozenset(map(Traffic, traffic)) or frozenset(Traffic),
            policy=policy,
            sessions=sessions or SESSIONS,
            tables=tuple(map(Table, tables)) or tuple(Table),
            derivations=tuple(map(Derivation, derivations)) or tuple(Derivation),
            each_repair=each_repair,
            round_trip_ms=round_trip,
            edits=edits,
            seed=seed,
        )
    )
    if picture is not None:
        try:
            plot(result, picture)
        except PlotUnavailable as error:
            raise click.ClickException(str(error)) from None
    click.echo(json.dumps(as_json(result), indent=2) if wants_json else render(result), nl=wants_json)
