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
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f": did you mean '{near[0]}'?" if near else "."
    plural = f"{kind[:-1]}ies" if kind.endswith("ty") else f"{kind}s"
    listed = f"Its {plural} are: {', '.join(names)}" if names else f"It has no {plural}"
    return f"{owner} has no {kind} '{name}'{hint} {listed}"


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
