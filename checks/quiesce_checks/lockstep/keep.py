"""A divergence kept: a file with its literal steps, which pytest runs, and which passes once the sides agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from quiesce_model.language.machine import ActionInfo, Machine, Step, all_marked

from ..machines import load_file
from ..problems import Problem
from .drive import Divergence, walk
from .find import Source, find_pairing
from .pairing import Pairing


@dataclass(frozen=True)
class Kept:
    """A walk on which model and implementation differed, and how their pairing is made again.

    ``pairing`` is a name for :func:`~.find.find_pairing`, ``scope`` and ``tick`` are its arguments. With
    ``saturated`` ages are compared as far as the model tells them apart, as in a tour; without, to the last unit.
    Members of enums are given by name. With an ``adapter``, which is a command line, ``pairing`` is the name of its
    machine, and ``timeout`` the seconds that the adapter has for an answer.
    """

    pairing: str
    steps: tuple[Step, ...]
    scope: Mapping[str, int | bool] = field(default_factory=dict[str, "int | bool"])
    tick: int | None = None
    saturated: bool = False
    adapter: str = ""
    timeout: float | None = None

    def made(self, near: Path) -> Pairing:
        """The pairing; modules are looked for in the folder of the call and in those above ``near``, too."""
        return self.source((Path.cwd(), *near.resolve().parents)).at(self.scope, self.tick)

    def source(self, roots: Sequence[Path]) -> Source:
        if not self.adapter:
            return find_pairing(self.pairing, roots)
        from .adapter import adapter_source

        return adapter_source(self.pairing, self.adapter, roots, self.timeout)

    def walk(self, pairing: Pairing) -> Divergence | None:
        """Take the steps. Raises :class:`Problem` if the model no longer allows them all."""
        pairing.check()
        steps = [spelled_out(step, pairing.model) for step in self.steps]
        found, taken = walk(pairing, steps, explored=self.saturated)
        if found is None and taken < len(steps):
            raise Problem(
                f"{len(steps) - taken} of the {len(steps)} steps are no longer possible under the model of "
                f"{self.pairing}: what was kept shows nothing any more",
                remedy="delete it, or keep it anew",
            )
        return found

    def agree(self, file: str) -> None:
        """Assert that the sides agree on this walk. ``file`` is the file that it is kept in."""
        __tracebackhide__ = True
        from ..report.divergence import divergence_lines
        from ..report.page import Page

        pairing = self.made(Path(file))
        found = self.walk(pairing)
        if found is not None:
            raise AssertionError("\n".join(["", *divergence_lines(found, pairing, Page(width=96))]))


def kept(source: Source, scope: Mapping[str, int | bool], tick: int | None, found: Divergence, saturated: bool) -> Kept:
    return Kept(
        source.name,
        tuple(literal(step) for step in found.steps),
        dict(scope),
        tick,
        saturated,
        source.adapter,
        source.timeout,
    )


def literal(step: Step) -> Step:
    """The step with members of enums by name."""
    return Step(step.action, tuple((key, v.name if isinstance(v, Enum) else v) for key, v in step.args))


def spelled_out(step: Step, machine: Machine) -> Step:
    """The step with names as the members of enums that they are."""
    info = dict(all_marked(type(machine))).get(step.action)
    domains: dict[str, Any] = dict(info.domains) if isinstance(info, ActionInfo) else {}

    def value(key: str, given: Any) -> Any:
        domain = domains.get(key)
        if isinstance(domain, type) and issubclass(domain, Enum) and isinstance(given, str):
            return domain[given]
        return given

    return Step(step.action, tuple((key, value(key, given)) for key, given in step.args))


def text_of(kept: Kept, found: Divergence) -> str:
    """The file."""
    steps = "".join(f"        Step({quoted(step.action)}{arguments(step)}),\n" for step in kept.steps)
    scope = "".join(f"        {quoted(name)}: {value!r},\n" for name, value in kept.scope.items())
    lines = [
        f'"""{summary(found)}',
        "",
        "Kept by quiesce lockstep. It fails while the two differ, and passes once they agree on this walk.",
        '"""',
        "",
        "from quiesce_checks.lockstep.keep import Kept",
        "from quiesce_model.language.machine import Step",
        "",
        "KEPT = Kept(",
        f"    {quoted(kept.pairing)},",
        "    steps=(" + (f"\n{steps}    ),\n" if steps else "),\n").rstrip("\n"),
        *(["    scope={\n" + scope + "    },"] if scope else []),
        *([f"    tick={kept.tick},"] if kept.tick is not None else []),
        *(["    saturated=True,"] if kept.saturated else []),
        *([f"    adapter={quoted(kept.adapter)},"] if kept.adapter else []),
        *([f"    timeout={kept.timeout:g},"] if kept.timeout is not None else []),
        ")",
        "",
        "",
        f"def test_{slug(found)}() -> None:",
        "    KEPT.agree(__file__)",
        "",
    ]
    return "\n".join(lines)


def summary(found: Divergence) -> str:
    last = found.turns[-1]
    if last.subject.broken:
        does = "fails" if last.subject.kind == "failed" else "crashes"
        what = f"the implementation {does}: {last.subject.text}".split("\n")[0]
    elif last.model.kind != last.subject.kind:
        what = f"model {last.model.kind}, implementation {last.subject.kind}"
    else:
        what = "model and implementation differ in " + ", ".join(name for name, _, _ in found.differs[:3])
    count = len(found.steps)
    return f"{found.pairing}: {what} after {count} step{'' if count == 1 else 's'}.".replace("\\", "\\\\").replace(
        '"""', "'''"
    )


def slug(found: Divergence) -> str:
    """``breaker_pair_tripped``, ``breaker_run_refused``: the pairing, and what differs first."""
    last = found.turns[-1]
    what = f"{last.step.action or 'start'}_{'not_refused' if last.subject.kind == 'done' else last.subject.kind}"
    if last.model.kind == last.subject.kind and found.differs:
        what = found.differs[0][0]
    return re.sub(r"\W+", "_", f"{found.pairing}_{what}").strip("_").lower()


def arguments(step: Step) -> str:
    if not step.args:
        return ""
    inside = ", ".join(f"({quoted(key)}, {quoted(v) if isinstance(v, str) else repr(v)})" for key, v in step.args)
    return f", ({inside}{',' if len(step.args) == 1 else ''})"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def keep(kept: Kept, found: Divergence, folder: Path) -> Path:
    """Write the file into a folder, under a name that pytest collects; one that is there is never overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    text = text_of(kept, found)
    number = 1
    while True:
        path = folder / f"test_{slug(found)}{'' if number == 1 else f'_{number}'}.py"
        if not path.exists() or path.read_text(encoding="utf-8") == text:
            path.write_text(text, encoding="utf-8")
            return path
        number += 1


def load_kept(path: Path) -> Kept:
    """What a file keeps. Raises :class:`Problem`."""
    if not path.is_file():
        raise Problem("there is no such witness", file=str(path))
    found = getattr(load_file(str(path), ()), "KEPT", None)
    if not isinstance(found, Kept):
        raise Problem("this file keeps no walk: it has no KEPT", file=str(path))
    return found
