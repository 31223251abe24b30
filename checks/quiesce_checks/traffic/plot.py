"""A replay drawn: how each storm is held, and how near honest traffic comes to the threshold."""

from __future__ import annotations

from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from quiesce_checks.traffic.replay import AS_GIVEN, Replay


class PlotUnavailable(RuntimeError):
    """Nothing to draw with, or nothing to draw. The message says what to do."""


def plot(result: Replay, path: Path) -> None:
    """Draw a replay into ``path`` (PNG, SVG or PDF by its suffix).

    Raises ``PlotUnavailable`` without matplotlib or without any traffic in the replay.
    """
    try:
        figures: Any = import_module("matplotlib.figure")
    except ImportError:
        raise PlotUnavailable(
            "matplotlib is not installed, so the plot cannot be drawn: pip install 'quiesce[plot]'"
        ) from None
    bars = len(result.distinct_typing) + len(result.quiet)
    panels = [
        (draw, height)
        for draw, wanted, height in (
            (_storms, result.storms, 5.2),
            (_counts, bars, max(2.4, 1.2 + 0.2 * bars)),
        )
        if wanted
    ]
    if not panels:
        raise PlotUnavailable("the replay is empty, so there is nothing to draw: ask for traces, storms or quiet")
    heights = [height for _, height in panels]
    figure: Any = figures.Figure(figsize=(8.5, sum(heights)), layout="constrained")
    rows = figure.subfigures(len(panels), 1, height_ratios=heights, squeeze=False)
    for (row,), (draw, _) in zip(rows, panels, strict=True):
        draw(row.add_subplot(), result)
    try:
        figure.savefig(path, dpi=140)
    except (OSError, ValueError) as error:
        raise PlotUnavailable(f"the plot cannot be written to {path}: {error}") from None


_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#333333", "#8c564b")


def _storms(axes: Any, result: Replay) -> None:
    span = min(storm.storm.span_ms for storm in result.storms) / 1_000
    for storm, colour in zip(result.storms, cycle(_COLOURS), strict=False):
        times = [at / 1_000 for at in storm.commit_times_ms if at / 1_000 <= span]
        axes.step(
            [*times, span],
            [*range(1, len(times) + 1), len(times)],
            where="post",
            color=colour,
            label=storm.storm.name,
            linewidth=1.6,
        )
        rate = 1_000 / storm.storm.cadence_ms
        axes.plot([0.1, span], [1 + 0.1 * rate, 1 + span * rate], color=colour, linewidth=0.9, linestyle=":", alpha=0.8)
        if storm.tripped_at_ms is not None:
            axes.plot([storm.tripped_at_ms / 1_000], [storm.let_through], "o", color=colour, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.5, span)
    axes.set_ylim(1, None)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("seconds since the first echo")
    axes.set_ylabel("commits of one session")
    axes.set_title("Storms: held (lines), unheld (dotted), trips (dots)", fontsize=11)
    axes.grid(alpha=0.25, which="major")
    axes.legend(fontsize=8, loc="upper left", framealpha=0.9)


def _counts(axes: Any, result: Replay) -> None:
    threshold = result.policy.echo_trip_threshold
    names: list[str] = []
    counts: list[int] = []
    for case in result.distinct_typing:
        rule = "" if case.rule == AS_GIVEN else f" + {case.rule}"
        names.append(f"{case.session}, {case.table}: {case.derivation}{rule}")
        counts.append(case.result.most_in_a_row)
    for quiet in result.quiet:
        names.append(f"{quiet.weeks} quiet weeks")
        counts.append(quiet.busiest_window)
    colours = ["#d55e00" if count >= threshold else "#0072b2" for count in counts]
    places = range(len(names))
    axes.barh(places, counts, color=colours, height=0.7)
    for place, count in zip(places, counts, strict=True):
        axes.text(count + 0.15, place, str(count), va="center", fontsize=8)
    axes.axvline(threshold, color="#333333", linewidth=1, linestyle="--")
    axes.set_yticks(places, names, fontsize=8)
    axes.set_ylim(max(len(names), 3) - 0.4, -0.6)
    axes.set_xlim(0, max(threshold, *counts) * 1.12)
    axes.set_xlabel(f"highest count of echoes (dashed: threshold {threshold})")
    axes.set_title("Honest traffic: how near it comes to a trip", fontsize=11)
