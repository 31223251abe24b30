"""From what a person calls a machine to the class, and from a class to an instance at a scope."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import quiesce_model
from quiesce_model.language.machine import ActionInfo, Machine, all_marked
from quiesce_model.language.outcome import Fault, Misuse

from .problems import Problem, unknown

FROM_FILE = "quiesce_file_"
"""Begins the module names of machines that are loaded from a path."""

Scope = Mapping[str, int | bool]


def short_name(machine: type[Machine] | str) -> str:
    """``EchoLoop`` is ``echo_loop`` where people read and write it."""
    name = machine if isinstance(machine, str) else machine.__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def source_name(machine: type[Machine]) -> str:
    """The name under which :func:`find_machine` finds the class again: by its module, or by its file if it was
    loaded from one."""
    if not machine.__module__.startswith(FROM_FILE):
        return f"{machine.__module__}:{machine.__qualname__}"
    path = Path(sys.modules[machine.__module__].__file__ or "")
    shown_path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown_path}:{machine.__qualname__}"


def find_machine(name: str, roots: Sequence[Path] = ()) -> type[Machine]:
    """The machine called ``package.module:Class``, ``path/to/file.py:Class`` or by its short name.

    ``roots`` are folders where paths and top-level modules are looked for. Raises :class:`Problem`.
    """
    module_name, colon, class_name = name.partition(":")
    if module_name.endswith(".py"):
        return pick(load_file(module_name, roots), class_name, name)
    if colon or "." in module_name:
        return pick(load_module(module_name, roots), class_name, name)
    return find_shipped(name)


def find_shipped(name: str) -> type[Machine]:
    found = shipped()
    wanted = short_name(name)
    if wanted in found:
        return found[wanted]
    text = unknown("machine", name, "quiesce", sorted(found)).replace("Its machines", "The shipped machines")
    raise Problem(text, remedy="for one of your own: package.module:Class or path/to/file.py:Class")


def shipped() -> dict[str, type[Machine]]:
    """The machines of ``quiesce_model`` by short name; what has no action is a base of others."""
    found: dict[str, type[Machine]] = {}
    for info in pkgutil.iter_modules(quiesce_model.__path__):
        if not info.ispkg:
            module = importlib.import_module(f"quiesce_model.{info.name}")
            for machine in filter(has_actions, machines_of(module)):
                found[short_name(machine)] = machine
    return found


def has_actions(machine: type[Machine]) -> bool:
    return any(isinstance(info, ActionInfo) for _, info in all_marked(machine))


def machines_of(module: ModuleType) -> list[type[Machine]]:
    """The machines that a module defines itself, in the order of their lines."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Machine)
        and value is not Machine
        and value.__module__ == module.__name__
    ]


def pick(module: ModuleType, class_name: str, name: str) -> type[Machine]:
    found = {machine.__name__: machine for machine in machines_of(module)}
    if class_name in found:
        return found[class_name]
    chosen = getattr(module, class_name, None) if class_name else None
    if isinstance(chosen, type) and issubclass(chosen, Machine):
        return chosen
    if not class_name and len(found) == 1:
        return next(iter(found.values()))
    where = name.partition(":")[0]
    if class_name:
        raise Problem(unknown("machine", class_name, where, found))
    if found:
        raise Problem(f"{where} has several machines, so say which: {', '.join(f'{where}:{n}' for n in found)}")
    raise Problem(f"{where} has no machine: a machine is a class that extends quiesce_model.Machine")


def load_module(name: str, roots: Sequence[Path], what: str = "machine") -> ModuleType:
    with searched(roots), reported(name):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                raise Problem(f"there is no module {error.name!r} to import the {what} from") from None
            raise


def load_file(name: str, roots: Sequence[Path]) -> ModuleType:
    for path in (Path(name), *(root / name for root in roots)):
        if path.is_file():
            break
    else:
        raise Problem(f"there is no file {name}")
    path = path.resolve()
    module_name = f"{FROM_FILE}{path.stem}_{crc32(str(path).encode()):x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise Problem(f"{name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        with searched((path.parent,)), reported(name):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


@contextmanager
def searched(roots: Sequence[Path]) -> Generator[None]:
    """Let top-level modules be found in ``roots`` while a machine is imported."""
    added = [str(root.resolve()) for root in roots if str(root.resolve()) not in sys.path]
    sys.path[:0] = added
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in added:
            sys.path.remove(entry)


@contextmanager
def reported(what: str) -> Generator[None]:
    """An exception of the user's own module becomes a problem with the line that raised it."""
    try:
        yield
    except (Problem, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        raise Problem(
            f"{what} is not Python: {error.msg}", file=error.filename, line=error.lineno, column=error.offset
        ) from None
    except Exception as error:
        file, line = place_of(error)
        said = f"{what} cannot be used: {type(error).__name__}: {error}"
        raise Problem(str(error) if isinstance(error, Misuse | Fault) else said, file=file, line=line) from None


def place_of(error: BaseException) -> tuple[str | None, int | None]:
    """The innermost line of the user's own code, the modelling language's own frames aside."""
    language = str(Path(quiesce_model.__file__ or "").parent / "language")
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((language, "<", str(Path(__file__).parent)))
    ]
    return (own[-1].filename, own[-1].lineno) if own else (None, None)


def instance(machine: type[Machine], scope: Scope, without: Sequence[str] = ()) -> Machine:
    """The machine at a scope. Raises :class:`Problem` for a constant it does not have, or that it does not
    allow.
    """
    known = {constant.name: constant.default for constant in machine.__constants__}
    for name, value in scope.items():
        if name not in known:
            raise Problem(unknown("constant", name, machine.__name__, known))
        if isinstance(known[name], bool) != isinstance(value, bool):
            kind = "a flag (true or false)" if isinstance(known[name], bool) else "a whole number"
            raise Problem(f"{machine.__name__}.{name} is {kind}, not {shown(value)}")
    with reported(machine.__name__):
        given: dict[str, Any] = dict(scope)
        return machine(without=without, **given)


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
