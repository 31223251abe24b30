"""A mutant: one change to one source file of the runtime, and how its text is made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from ..problems import Problem

Group: TypeAlias = Literal["rule", "boundary", "regression", "repair", "report"]
"""Why a mutant is in the catalogue: a rule left out, an edge moved by one, something that once went wrong elsewhere, a
repair broken, or what the breaker tells others."""

PACKAGE = "quiesce"


@dataclass(frozen=True)
class Mutant:
    """In ``file`` (a path inside the runtime's package) the text ``old``, which stands there exactly once, becomes
    ``new``. ``rule`` is the rule of a table in ``specs/`` that this breaks, or names what else it breaks; ``what`` says
    in words what the mutant does. ``equivalent`` is the reason why nobody can tell it from the original; such a mutant
    has to survive."""

    name: str
    group: Group
    rule: str
    file: str
    old: str
    new: str
    what: str
    equivalent: str | None = None

    @property
    def module(self) -> str:
        """The name under which the file is imported."""
        return ".".join((PACKAGE, *Path(self.file).with_suffix("").parts))

    @property
    def path(self) -> Path:
        return package_folder() / self.file

    def source(self) -> str:
        """The mutated text. Raises Problem if ``old`` does not stand in the file exactly once."""
        text = self.path.read_text(encoding="utf-8")
        times = text.count(self.old)
        if times != 1:
            raise Problem(
                f"the mutant {self.name} no longer applies: its text stands {times} times in {self.file}",
                file=str(self.path),
                remedy="write it anew in the catalogue for the text as it is now",
            )
        return text.replace(self.old, self.new)


def rule(name: str, id: str, file: str, old: str, new: str, what: str, equivalent: str | None = None) -> Mutant:
    """One that leaves a rule out, or gets it wrong."""
    return Mutant(name, "rule", id, file, old, new, what, equivalent)


def edge(name: str, id: str, file: str, old: str, new: str, what: str, equivalent: str | None = None) -> Mutant:
    """One that moves an edge by one, either way."""
    return Mutant(name, "boundary", id, file, old, new, what, equivalent)


def package_folder() -> Path:
    """Where the runtime's sources are; nothing of it is imported but the package itself."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Problem(f"the package {PACKAGE} is not installed, so there is nothing to mutate")
    return Path(spec.submodule_search_locations[0])
