"""From what a person calls a pairing to what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

from quiesce_model.language.outcome import Misuse

from ..machines import load_file, load_module, reported
from ..problems import Problem, of_model, unknown
from ..relation.errors import ModelError
from .pairing import Pairing


@dataclass(frozen=True)
class Source:
    """``name`` is how the function ``make`` is found again: of a pairing, or, with the command line of an
    ``adapter``, of its machine, with ``timeout`` in seconds if it is not the usual one."""

    name: str
    make: Callable[..., Pairing]
    adapter: str = ""
    timeout: float | None = None

    def at(self, scope: Mapping[str, int | bool], tick: int | None = None) -> Pairing:
        """The pairing with these arguments. Raises :class:`Problem` for what it does not take."""
        given: dict[str, Any] = dict(scope)
        known = signature(self.make).parameters
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
        for name in given:
            if name not in known and not takes_any:
                raise Problem(unknown("constant", name, self.name, known))
        if tick is not None:
            if "tick" not in known:
                raise Problem(f"{self.name} has nothing to do with time: it takes no tick")
            given["tick"] = tick
        with reported(self.name):
            made = self.make(**given)
            if not isinstance(made, Pairing):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise Misuse(f"{self.name} makes a {type(made).__name__}, and no Pairing")
            try:
                made.model  # noqa: B018 - made here, so that its mistakes are told as such
            except ModelError as error:
                raise of_model(error) from None
        return made


def find_pairing(name: str, roots: Sequence[Path] = ()) -> Source:
    """The pairing called ``package.module:function``, ``path/to/file.py:function`` or by the name of one of ours.

    ``roots`` are folders where paths and top-level modules are looked for. Raises :class:`Problem`.
    """
    module_name, colon, function = name.partition(":")
    if not colon:
        from ..subjects import PAIRINGS

        if name in PAIRINGS:
            return Source(name, PAIRINGS[name])
        raise Problem(
            unknown("pairing", name, "quiesce", PAIRINGS),
            remedy="for one of your own: package.module:function or path/to/file.py:function",
        )
    if module_name.endswith(".py"):
        module = load_file(module_name, roots)
    else:
        module = load_module(module_name, roots, "pairing")
    made: Any = getattr(module, function, None)
    if callable(made):
        return Source(name, cast(Callable[..., Pairing], made))
    raise Problem(f"{module_name} has no function {function!r} that makes a pairing")
