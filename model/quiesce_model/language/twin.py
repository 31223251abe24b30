"""Two copies of a machine on common inputs, for properties of two runs.

``twin(Replica, alone=("adopt", "run"))`` is a machine with two parts, ``one`` and ``other``. An action of the machine
is an input of both and happens to both in one step, or to neither; an action named in ``alone`` becomes two, one for
each part (``adopt_one``, ``adopt_other``). ``differ`` fixes a constant apart: ``differ={"adopts": (True, False)}``.

    class AdoptOrRun(twin(Replica, alone=("settle",), differ={"adopts": (True, False)})):
        @invariant("ADO-1")
        def same_when_settled(self) -> bool:
            return not (self.one.settled and self.other.settled) or self.one.value == self.other.value
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .fields import part
from .machine import ActionInfo, Constant, Machine, PropertyInfo, action, all_marked, initial, marked
from .outcome import Misuse

SIDES = ("one", "other")


def twin(
    machine: type[Machine], *, alone: Iterable[str] = (), differ: Mapping[str, tuple[Any, Any]] | None = None
) -> Any:
    """A class of machine made of two copies of ``machine``; see the module's text.

    Raises :class:`~.outcome.Misuse` for a name in ``alone`` that is no action, or in ``differ`` that is no constant.
    """
    apart = dict(differ or {})
    actions = {name: info for name, info in all_marked(machine) if isinstance(info, ActionInfo)}
    constants = {known.name: known for known in machine.__constants__}
    alone = tuple(alone)
    for name in alone:
        if name not in actions:
            raise Misuse(
                f"{machine.__name__} has no action {name!r} to be alone; its actions are: {', '.join(actions)}"
            )
    for name in apart:
        if name not in constants:
            listed = ", ".join(constants) or "none"
            raise Misuse(f"{machine.__name__} has no constant {name!r} to differ; its constants are: {listed}")
    metaclass: Any = type(machine)
    body: dict[str, Any] = {
        "__doc__": f"Two copies of {machine.__name__} on common inputs.",
        "__module__": sys._getframe(1).f_globals["__name__"],  # pyright: ignore[reportPrivateUsage]
    }
    for position, side in enumerate(SIDES):
        fixed = {name: values[position] for name, values in apart.items()}
        kind = metaclass(machine.__name__, (machine,), {"__module__": machine.__module__, "fixed_": fixed, **fixed})
        body[side] = part(kind)
    for name, known in constants.items():
        if name not in apart:
            body[name] = Constant(known.default)
    for name, _ in marked(machine, "assumption"):
        body[name] = inspect.getattr_static(machine, name)
    written = written_methods(machine, actions, alone)
    for name, info in actions.items():
        for made in (f"{name}_one", f"{name}_other") if name in alone else (name,):
            body[made] = action(**dict(info.domains))(written[made])
    if "begin" in written:
        body["begin"] = initial(written["begin"])
    return metaclass(f"{machine.__name__}Twin", (Machine,), body)


def written_methods(
    machine: type[Machine], actions: Mapping[str, ActionInfo], alone: tuple[str, ...]
) -> dict[str, Any]:
    """The methods of the twin as functions that have source text, as every reading of a model needs."""
    lines: list[str] = []

    def method(name: str, parameters: Iterable[str], calls: Iterable[str]) -> None:
        lines.append(f"def {name}({', '.join(['self', *parameters])}):")
        lines.extend(f"    self.{call}" for call in calls)

    for name, info in actions.items():
        given = [parameter for parameter, _ in info.domains]
        call = f"{name}({', '.join(given)})"
        if name in alone:
            for side in SIDES:
                method(f"{name}_{side}", given, [f"{side}.{call}"])
        else:
            method(name, given, [f"{side}.{call}" for side in SIDES])
    starts = [name for name, info in all_marked(machine) if isinstance(info, PropertyInfo) and info.kind == "initial"]
    if starts:
        method("begin", (), [f"{side}.{name}()" for side in SIDES for name in starts])
    text = "\n".join(lines) + "\n"
    file = f"<twin of {machine.__module__}.{machine.__qualname__}, alone: {', '.join(alone) or 'nothing'}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made: dict[str, Any] = {}
    exec(compile(text, file, "exec"), made)
    return made
