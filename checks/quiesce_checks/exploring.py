"""An exploration, in the way that a command or a suite asks for: where its states are, and whether it is saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from quiesce_model.language.machine import Machine

from .exits import Exit
from .problems import MissingExtra, Problem


@dataclass(frozen=True)
class Ways:
    """``threads`` is a number or ``auto``, ``cluster`` an address or ``auto``; ``spill`` is where to go on past the
    limit on memory, or True for the system's own folder; ``checkpoints`` is where to save the search every so many
    seconds.
    ``resume`` says to go on from there, and ``if there is`` to do so only where that is possible, and to leave nothing
    behind when the search has come to its end."""

    threads: int | str = 1
    processes: int | None = None
    cluster: str | None = None
    spill: Path | bool | None = None
    checkpoints: Path | None = None
    every: float = 60.0
    resume: bool | Literal["if there is"] = False


def exploration(machine: Machine, properties: Iterable[str] | None, ways: Ways, **how: Any) -> Any:
    """An :class:`~.engines.explore.Exploration`. Raises :class:`Problem` for what cannot be done, in one sentence."""
    module = import_module(".engines.explore", __package__)
    lost: Any = import_module(".engines.transport", __package__).Lost
    given = how | {name: getattr(ways, name) for name in ("threads", "processes", "cluster", "spill")}
    try:
        if ways.checkpoints is None:
            return module.explore(machine, properties, **given)
        return saved(module, machine, properties, ways, ways.checkpoints, given)
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtra("a search on a cluster", "ray", "cluster") from None
    except lost as error:
        text, remedy = f"the search was given up: {error}", "give each more memory, or use fewer of them"
        raise Problem(text, remedy=remedy, exit=Exit.INCONCLUSIVE) from None
    except ValueError as error:  # what exploration does not decide, what does not go together, numbers too wide
        raise Problem(str(error)) from None


def saved(module: Any, machine: Machine, asked: Iterable[str] | None, ways: Ways, folder: Path, given: Any) -> Any:
    saving = import_module(".engines.checkpoints", __package__)
    checkpoints = saving.Checkpoints(folder, ways.every, bool(ways.resume))
    given |= {"checkpoints": checkpoints}
    if ways.resume != "if there is":
        return module.explore(machine, asked, **given)
    try:
        found = module.explore(machine, asked, **given)
    except saving.Unusable:
        found = module.explore(machine, asked, **given | {"checkpoints": replace(checkpoints, resume=False)})
    if found.stop in (module.Stop.EXHAUSTED, module.Stop.DECIDED):
        checkpoints.clear()
    return found
