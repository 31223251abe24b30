"""A mistake of the user's, said in one sentence: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .exits import Exit
from .relation.errors import ModelError


class Problem(Exception):
    """Ends a command without a traceback. ``line`` and ``column`` count from 1; ``remedy`` is what to write
    or run.
    """

    def __init__(
        self,
        text: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        width: int = 1,
        remedy: str | None = None,
        exit: Exit = Exit.USAGE,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.file = file
        self.line = line
        self.column = column
        self.width = width
        self.remedy = remedy
        self.exit = exit

    def at(self, file: str, line: int | None = None) -> Problem:
        """The same problem with a place, unless it has one of its own."""
        if self.file is not None:
            return self
        return Problem(self.text, file=file, line=line, remedy=self.remedy, exit=self.exit)


class MissingExtra(Problem):
    """A part of the tool that a bare install leaves out."""

    def __init__(self, what: str, package: str, extra: str = "check") -> None:
        super().__init__(f"{what} needs {package}, which is not installed", remedy=f"pip install 'quiesce[{extra}]'")


def unknown(kind: str, name: str, owner: str, known: Iterable[str]) -> str:
    """``EchoLoop has no property 'commitz': did you mean 'commits'? Its properties are: …``"""
    names = list(dict.fromkeys(known))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f": did you mean '{near[0]}'?" if near else "."
    plural = f"{kind[:-1]}ies" if kind.endswith("ty") else f"{kind}s"
    listed = f"Its {plural} are: {', '.join(in_runs(names))}" if names else f"It has no {plural}"
    return f"{owner} has no {kind} '{name}'{hint} {listed}"


def in_runs(names: Iterable[str]) -> list[str]:
    """Numbered names that follow each other as one: ``ADO-1 … ADO-38``."""
    runs: list[tuple[str, str]] = []
    for name in names:
        if runs and follows(runs[-1][1], name):
            runs[-1] = (runs[-1][0], name)
        else:
            runs.append((name, name))
    made: list[str] = []
    for first, last in runs:
        if first == last or follows(first, last):
            made.extend(dict.fromkeys((first, last)))
        else:
            made.append(f"{first} … {last}")
    return made


def follows(name: str, other: str) -> bool:
    """Whether ``other`` is the next number: ADO-8 after ADO-7."""
    head, dash, number = name.rpartition("-")
    return bool(dash) and number.isdecimal() and other == f"{head}-{int(number) + 1}"


def of_model(error: ModelError) -> Problem:
    """What the reader of models says, as a problem."""
    site = error.site
    return Problem(
        error.message,
        file=site.file,
        line=site.line,
        column=site.column + 1,
        width=error.width,
        remedy=error.remedy,
    )
