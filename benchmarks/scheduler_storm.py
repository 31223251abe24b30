"""The storm in simulated time: commits with the breaker as specified, with its repair, and without it.

    python benchmarks/scheduler_storm.py [--minutes 10] [--seeds 3] [--draw storm.svg]

Sessions that disagree about one document run against each other over one server, with 20 to 60 ms for each message. On
each side one session, or two that agree among themselves. The same seed gives the same commits.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from statistics import median

from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.simulate import NEVER_TRIPS, Simulation, Storm, simulate_storm

POLICIES = {
    "as specified": BreakerPolicy(),
    "clear_when_settled": BreakerPolicy(clear_when_settled=True),
    "without": BreakerPolicy(echo_trip_threshold=NEVER_TRIPS),
}


def last_minute(simulation: Simulation) -> int:
    end = simulation.clock.now
    return sum(1 for at in simulation.commit_times if at > end - 60_000)


def table(minutes: float, seeds: int) -> None:
    print(f"commits in {minutes:g} simulated minutes, median of {seeds} seeds (commits in the last minute)")
    print(f"{'sessions':<12} " + " ".join(f"{name:>24}" for name in POLICIES))
    for sides in ((1, 1), (2, 2), (2, 1)):
        cells: list[str] = []
        for policy in POLICIES.values():
            runs = [simulate_storm(Storm(sides, seed=seed), policy, minutes * 60_000) for seed in range(1, seeds + 1)]
            commits, late = median(run.commits for run in runs), median(map(last_minute, runs))
            cells.append(f"{commits:>16.0f} ({late:>5.0f})")
        print(f"{sides[0]} against {sides[1]:<2} " + " ".join(f"{cell:>24}" for cell in cells), flush=True)


def draw(path: str) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise SystemExit("matplotlib is not installed: pip install 'quiesce[plot]'") from None
    minutes = 3
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.2), sharey=True, layout="constrained")
    for axis, sides in zip(axes, ((1, 1), (2, 2)), strict=True):
        for (name, policy), style in zip(POLICIES.items(), ("-", "--", ":"), strict=True):
            run = simulate_storm(Storm(sides), policy, minutes * 60_000)
            seconds = Counter(int(at // 1_000) for at in run.commit_times)
            axis.step(range(minutes * 60), [seconds[second] for second in range(minutes * 60)], style, label=name)
        axis.set_title(f"{sides[0]} session{'s' if sides[0] > 1 else ''} against {sides[1]}")
        axis.set_xlabel("seconds")
    axes[0].set_ylabel("commits per second")
    axes[0].legend(frameon=False)
    figure.savefig(path)
    print(f"drawn to {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draw", metavar="FILE", help="draw commits per second over three minutes, and nothing else")
    chosen = parser.parse_args()
    if chosen.draw:
        draw(chosen.draw)
        return
    started = time.perf_counter()
    table(chosen.minutes, chosen.seeds)
    print(f"({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    main()
