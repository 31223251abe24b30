"""``quiesce check``: the main job. Every suite gives the verdicts that it must."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from .. import side_by_side
from ..exits import Exit, worst
from ..job import Watcher, properties_of, run
from ..judge import Judgement, Result, run_check, summary
from ..problems import Problem
from ..report.check import coverage_of, entry_group, summary_lines
from ..report.data import result_data, summary_data
from ..report.problem import problem_lines
from ..report.verdicts import group_lines
from ..rules import find_tables, read_rules
from ..side_by_side import processes_for
from ..suite import TIERS, Check, Suite, find_suites, load_suite
from .divergences import save_divergences, tell_divergences
from .options import json_option, save_option, trace_options
from .screen import Progress, interruptible, say, say_json, sheet
from .traces import Look, save_traces, tell_traces


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option("--tier", type=click.Choice(TIERS), default="default", show_default=True, help="full runs everything.")
@click.option("-k", "chosen", multiple=True, help="Only entries with this in suite::name or a property's name.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Entries at a time (one for each processor).")
@click.option("--update-witness", is_flag=True, help="Write the traces of expected violations anew.")
@trace_options
@save_option
@json_option
def check(
    suites: tuple[str, ...],
    tier: Any,
    chosen: tuple[str, ...],
    jobs: int | None,
    update_witness: bool,
    full: bool,
    show: Any,
    hide: Any,
    traces: Path,
    as_json: bool,
) -> Exit:
    """Run suites and say of each property whether it came out as expected.

    SUITE is a file or the name of one in specs/; without any, all of specs/*.toml are run. A surprise
    either way is a failure: so is a violation that is expected and does not come."""
    begun = perf_counter()
    loaded = [load_suite(file, (Path.cwd(),)) for file in files_of(suites)]
    checks = [entry for suite in loaded for entry in suite.of_tier(tier) if matches(entry, chosen)]
    if not checks:
        raise Problem(nothing_to_run(loaded, chosen), exit=Exit.VACUOUS)
    page = sheet()
    look = Look(full, show, hide)
    results: list[Result] = []
    saved: dict[str, str] = {}
    numbers = {entry.place: f"[{position}/{len(checks)}] {entry.name}" for position, entry in enumerate(checks, 1)}

    def tell(result: Result) -> None:
        wrong = [item for item in result.judged if item.judgement is Judgement.SURPRISE]
        verdicts = [item.verdict for item in wrong]
        files = save_traces(verdicts, traces) | save_divergences(result.check, verdicts, traces)
        saved.update({f"{result.check.place}/{name}": file for name, file in files.items()})
        if not as_json:
            say(group_lines(entry_group(result), page))
            if result.problem is not None:
                say(problem_lines(result.problem, page))
            say(tell_traces(verdicts, files, page, look))
            say(tell_divergences(result.check, verdicts, files, page))

    with interruptible() as interruption:
        several = processes_for(jobs, len(checks))
        coming = side_by_side.results(
            checks, several, lambda entry: run_one(entry, numbers[entry.place], update_witness), update_witness
        )
        progress = Progress()
        try:
            for entry in checks:
                if several > 1:
                    progress.note(numbers[entry.place])
                result = next(coming, None)
                progress.clear()
                if result is None or interruption.came:
                    interruption.came = True
                    break
                results.append(result)
                tell(result)
        except KeyboardInterrupt:
            progress.clear()
        finally:
            coming.close()
    totals = summary(results, perf_counter() - begun)
    exit = worst(result.exit for result in results)
    if interruption.came:
        exit = Exit.INTERRUPTED
    whole_run = not suites and not chosen and not interruption.came
    covered = coverage_of(results, read_rules(find_tables(Path.cwd())))
    if as_json:
        say_json(
            {
                "command": "check",
                "tier": tier,
                "checks": [result_data(result, saved) for result in results],
                "summary": {**summary_data(totals), "rules": covered.data() if whole_run else None},
                "interrupted": interruption.came,
                "exit": int(exit),
            }
        )
        return exit
    say(["", *summary_lines(totals, covered if whole_run else None, page)])
    if interruption.came:
        say([page.tone(f"interrupted after {len(results)} of {len(checks)} entries", "odd")])
    return exit


def run_one(entry: Check, done: str, update_witness: bool) -> Result | None:
    """The entry's result; None if it was interrupted before there was any."""
    progress = Progress(done)
    watcher: Watcher = progress
    try:
        return run_check(entry, run, watcher, update_witness=update_witness)
    except KeyboardInterrupt:
        return None
    finally:
        progress.clear()


def files_of(names: Sequence[str]) -> list[Path]:
    if not names:
        found = find_suites(Path.cwd())
        if not found:
            raise Problem("there is no specs/*.toml here", remedy="give the suites' files, or change to your project")
        return found
    files: list[Path] = []
    for name in names:
        for path in (Path(name), Path("specs") / f"{name}.toml"):
            if path.is_file():
                files.append(path)
                break
            if path.is_dir():
                files += sorted(path.glob("*.toml"))
                break
        else:
            raise Problem(f"there is no suite {name}: give a file, a folder, or the name of one in specs/")
    return files


def matches(entry: Check, chosen: Sequence[str]) -> bool:
    """Whether any of the texts is in the entry's place or in the name of one of its properties."""
    job = entry.job
    names = job.properties or tuple(properties_of(job.machine))
    if job.pairing is not None:
        names = ("lockstep", job.pairing.name)
    searched = " ".join((f"{entry.file.stem}::{entry.name}", *names)).lower()
    return not chosen or any(text.lower() in searched for text in chosen)


def nothing_to_run(loaded: Sequence[Suite], chosen: Sequence[str]) -> str:
    count = sum(len(suite.checks) for suite in loaded)
    if chosen:
        return f"none of the {count} entries has {' or '.join(chosen)} in its name or its properties"
    return f"none of the {count} entries is in this tier: --tier full runs them"
