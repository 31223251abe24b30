"""What became of a mutant, and how it is said between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

How: TypeAlias = Literal["differs", "crash", "endless", "flaky", "survived"]
"""The answers differ; the subject raises; it does not come back; it differs once and not again; or none of these."""

BASELINE = "(as it is)"
"""The name under which the unmutated code is put to the runs."""


@dataclass(frozen=True)
class Outcome:
    """``run`` is the one that killed the mutant, none if it survived all ``runs``. ``said`` are the observations that
    differ, or the error. ``found`` is how many steps the killing walk had, ``trace`` its steps after shrinking.
    ``seconds`` were spent on walking until it was killed, over all runs, shrinking aside."""

    mutant: str
    how: How
    run: str | None = None
    said: str = ""
    found: int = 0
    trace: tuple[str, ...] = ()
    seconds: float = 0.0
    runs: int = 0

    @property
    def killed(self) -> bool:
        return self.how != "survived"

    @property
    def shrunk(self) -> int:
        """Steps of the killing trace."""
        return len(self.trace)


@dataclass(frozen=True)
class Ready:
    """A run whose graph is explored and whose walks are planned."""

    run: str
    states: int
    transitions: int
    steps: int
    seconds: float


def data_of(said: Outcome | Ready) -> dict[str, Any]:
    """As JSON: one line of a child's output."""
    return {"kind": type(said).__name__, **asdict(said)}


def from_data(data: Mapping[str, Any]) -> Outcome | Ready:
    """The reverse of :func:`data_of`."""
    fields: dict[str, Any] = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == "Ready":
        return Ready(**fields)
    fields["trace"] = tuple(fields["trace"])
    return Outcome(**fields)
