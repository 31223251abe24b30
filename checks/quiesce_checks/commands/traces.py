"""``quiesce trace show`` and ``diff``, and how other commands save and tell the traces that they found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..exits import Exit
from ..formats.itf import Document, encode, read, trace_of
from ..machines import find_machine, short_name
from ..problems import Problem
from ..report.chart import Telling, chart
from ..report.compare import compare, comparison
from ..report.counterexample import counterexample
from ..report.data import trace_data
from ..report.figures import plural
from ..report.lanes import Lanes, lanes_in, lanes_of
from ..report.page import Page, columns
from ..report.picture import picture as draw
from ..report.shape import matcher
from ..report.story import Story, everything, retell, tell
from ..trace import Trace
from ..verdict import Outcome, Verdict
from ..witness import keep
from .options import field_options, flat, json_option, trace_options
from .screen import say, say_json, sheet

AT_ONCE = 2
"""How many traces are told whole; of more than these, only the shortest is."""


@dataclass(frozen=True)
class Look:
    """How traces are to be shown: which fields, and whether whole."""

    full: bool = False
    show: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    @property
    def keep(self) -> Callable[[str], bool]:
        return matcher(self.show, self.hide) if self.show or self.hide else everything


def save_traces(verdicts: Iterable[Verdict], folder: Path) -> dict[str, str]:
    """Save the trace of every violation; the files, by property."""
    saved: dict[str, str] = {}
    for verdict in verdicts:
        if verdict.outcome is Outcome.VIOLATED and verdict.trace is not None:
            path = folder / f"{short_name(verdict.machine)}.{verdict.property}.itf.json"
            keep(verdict.trace, path)
            saved[verdict.property] = str(path)
    return saved


def tell_traces(verdicts: Iterable[Verdict], saved: Mapping[str, str], page: Page, look: Look) -> list[str]:
    """The traces of violations and of failed inductions; where there are many, the shortest, and where the
    rest is.
    """
    violated = [verdict for verdict in verdicts if verdict.trace is not None and verdict.property in saved]
    violated.sort(key=lambda verdict: verdict.trace.length if verdict.trace else 0)
    told = violated if len(violated) <= AT_ONCE else violated[:1]
    lines: list[str] = []
    for verdict in told:
        assert verdict.trace is not None
        file = saved[verdict.property]
        see = [("saved", file), ("see it", f"quiesce trace show {file}")]
        lines += ["", *counterexample(tell(verdict.trace, look.keep), page, full=look.full, see=see)]
    if len(violated) > len(told):
        lines += ["", "the other traces:"]
        rows = [(f"  {steps(verdict)}", f"quiesce trace show {saved[verdict.property]}") for verdict in violated[1:]]
        lines += columns(rows, page)
    return lines + tell_inductions(verdicts, page, look)


def steps(verdict: Verdict) -> str:
    return plural(verdict.trace.length if verdict.trace is not None else 0, "step")


def tell_inductions(verdicts: Iterable[Verdict], page: Page, look: Look) -> list[str]:
    """Why induction failed, for the first property of which it did: the state to find a missing lemma by."""
    for verdict in verdicts:
        example: Any = getattr(verdict, "cti", None)
        if example is not None:
            from ..engines.reached import reached

            story = tell(example.trace, look.keep, headline=f"NOT INDUCTIVE at k={example.k}")
            answer = reached(example.trace.machine, example.trace.states[0])
            return ["", *counterexample(story, page, full=look.full), f"its first state is {answer}"]
    return []


@click.group()
def trace() -> None:
    """Show and compare saved traces."""


FILE = click.Path(path_type=Path, dir_okay=False)


@trace.command()
@click.argument("file", type=FILE)
@trace_options
@json_option
def show(file: Path, full: bool, show: Any, hide: Any, as_json: bool) -> Exit:
    """Show a trace: the first state whole, then what each step changed."""
    document = read(file)
    look = Look(full, flat(show), flat(hide))
    found = try_trace(document, file)
    if as_json:
        if isinstance(found, Trace):
            say_json({"command": "trace show", **trace_data(found, str(file)), "itf": encode(found), "exit": 0})
        else:
            raise found
        return Exit.AS_EXPECTED
    page = sheet()
    if isinstance(found, Problem):
        say([page.tone(f"shown as the file has it: {found.text}", "odd")])
    say(counterexample(story_of(document, found, look), page, full=look.full))
    return Exit.AS_EXPECTED


@trace.command()
@click.argument("one", type=FILE)
@click.argument("other", type=FILE)
@trace_options
@json_option
def diff(one: Path, other: Path, full: bool, show: Any, hide: Any, as_json: bool) -> Exit:
    """Compare two traces: how far they go together, and how they differ from there. Ends with 1 if they
    differ.
    """
    look = Look(full, flat(show), flat(hide))
    stories: list[Story] = []
    for file in (one, other):
        document = read(file)
        stories.append(story_of(document, try_trace(document, file), look))
    found = compare(*stories)
    exit = Exit.AS_EXPECTED if found.same else Exit.VIOLATED
    if as_json:
        say_json({"command": "trace diff", **found.data(), "exit": int(exit)})
        return exit
    say(comparison(found, (str(one), str(other)), sheet()))
    return exit


@trace.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, help="Where to write the picture; '-' is standard output. [default: beside FILE]")
@click.option("--lanes", metavar="FIELD", default="", help="The field whose indexes are the lanes, such as session.")
@click.option(
    "--about",
    type=(str, str),
    metavar="LANE TEXT",
    multiple=True,
    help="A word under the name of a lane: an index, or 'shared'.",
)
@click.option(
    "--say", "said", type=(int, str), metavar="STEP TEXT", multiple=True, help="What is to be said of a step, below it."
)
@click.option("--title", default="", help="What the picture is called.")
@click.option("--from", "first", type=click.IntRange(min=1), metavar="STEP", default=1, help="The first step to show.")
@click.option("--to", "last", type=click.IntRange(min=1), metavar="STEP", help="The last step to show.")
@click.option(
    "--width",
    type=click.IntRange(min=240),
    metavar="PIXELS",
    default=900,
    show_default=True,
    help="How wide it is to be, if its lanes fit.",
)
@field_options
def picture(
    file: Path,
    out: Path | None,
    lanes: str,
    about: tuple[tuple[str, str], ...],
    said: tuple[tuple[int, str], ...],
    title: str,
    first: int,
    last: int | None,
    width: int,
    show: Any,
    hide: Any,
) -> Exit:
    """Draw a trace as a sequence chart, in one SVG file: who does what, and what it changes for whom."""
    document = read(file)
    found = try_trace(document, file)
    story = story_of(document, found, Look())
    if first > max(1, story.length):
        raise Problem(f"{file} has {plural(story.length, 'step')}, so none to show from step {first} on")
    if last is not None and last < first:
        raise Problem(f"there is no step from {first} to {last}")
    wanted = lanes_in_file(document, story, lanes) if isinstance(found, Problem) else lanes_of(found.machine, lanes)
    look = Look(show=flat(show), hide=flat(hide))
    told = chart(story, wanted, look.keep, Telling(first, last, about, said))
    drawn = draw(story, told, title=title, width=width)
    if out == Path("-"):
        say([drawn.removesuffix("\n")])
        return Exit.AS_EXPECTED
    out = out or beside(file)
    write(out, drawn)
    if isinstance(found, Problem):
        say([sheet().tone(f"drawn as the file has it: {found.text}", "odd")])
    say([f"drawn  {out}"])
    return Exit.AS_EXPECTED


def lanes_in_file(document: Document, story: Story, wanted: str) -> Lanes | None:
    return lanes_in(story.start, [arguments for _, arguments in document.actions], wanted)


def beside(file: Path) -> Path:
    """``traces/lamp.svg`` for ``traces/lamp.itf.json``."""
    return file.with_name(f"{file.name.removesuffix('.json').removesuffix('.itf')}.svg")


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}") from None


def try_trace(document: Document, file: Path) -> Trace | Problem:
    """The trace with its machine, or why that cannot be had."""
    try:
        return trace_of(document, find_machine(document.source, roots(file)))
    except Problem as problem:
        return problem


def roots(file: Path) -> Sequence[Path]:
    return (Path.cwd(), *file.resolve().parents[:3])


def story_of(document: Document, found: Trace | Problem, look: Look) -> Story:
    return retell(document, look.keep) if isinstance(found, Problem) else tell(found, look.keep)
