"""Names that last: what an action is called after a restart and in another process, and what it is made of.

An action id is made from where a function is written (module and qualified name) and from what it captured, as far as
that can be told apart for ever: cells, plain values, functions and classes. Two closures of one function over different
cells are two actions; the same one in another process is the same. A function that captured anything else has no name
that lasts: it gets one that is good for this session only, and a warning.

Fingerprints say whether two processes run the same code: one of the function itself, one of what runs it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import cast

from quiesce.address import Address, Scope, at_or_below
from quiesce.commits import Certificate, Place
from quiesce.values import ValueRefused, value_hash
from quiesce.values import checked as checked_value

Describe = Callable[[object], "str | None"]
"""What a captured object is called for ever, or None if it has no such name."""


@dataclass(frozen=True, slots=True)
class ActionName:
    """``id`` is the same in every process if ``lasting``; if not it only says where the function is written, and
    ``why`` what stood in the way."""

    id: str
    lasting: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Surface:
    """All that an action reads and writes, as its author declares it: nothing outside these places, ever.

    The declaration holds for the code that it was made with, so it is bound to both fingerprints. ``reads`` and
    ``writes`` include whatever lies below them, in every scope instance."""

    reads: tuple[Address, ...]
    writes: tuple[Address, ...]
    implementation: str
    runtime: str

    def certificate(self, action: str) -> Certificate:
        """The declaration as the server is told it, for an action."""
        return Certificate(action, self.implementation, self.runtime, _places(self.reads), _places(self.writes))

    def exceeded_by(self, reads: Iterable[Address], writes: Iterable[Address]) -> Address | None:
        """The first place that a run touched and the declaration does not know, or None. A write's diff base is a
        read of what is written, and no more than that."""
        for address in writes:
            if not _within(address, self.writes):
                return address
        for address in reads:
            if not _within(address, self.reads) and not _within(address, self.writes):
                return address
        return None


@dataclass(frozen=True, slots=True)
class DurableIdentity:
    """What a derivation is in every process: the document that it derives (its *piece*), its action id, and what it
    runs. ``lasting`` False: good for one session only."""

    piece: str
    action: str
    implementation: str
    runtime: str
    lasting: bool
    surface: Surface | None = None


def action_name(function: Callable[..., object], describe: Describe) -> ActionName:
    """The action id of a function. Lambdas, which have no name of their own, are told apart by what they do."""
    captured: list[str] = []
    inner: object = function
    where = f"{getattr(inner, '__module__', '?')}:{getattr(inner, '__qualname__', type(inner).__name__)}"
    while isinstance(inner, functools.partial):
        values = [*inner.args, *(value for _, value in sorted(inner.keywords.items()))]
        for position, value in enumerate(values):
            known = _described(value, describe)
            if known is None:
                return ActionName(where, False, f"argument {position} of a partial is a {type(value).__name__}")
            captured.append(f"{position}={known}")
        inner = inner.func
    if isinstance(inner, types.MethodType):
        known = _described(inner.__self__, describe)
        if known is None:
            return ActionName(
                where, False, f"it is a method of a {type(inner.__self__).__name__}, of which there may be many"
            )
        captured.append(f"self={known}")
        inner = inner.__func__
    if not isinstance(inner, types.FunctionType):
        return ActionName(where, False, f"a {type(inner).__name__} is not a function that is written somewhere")
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue  # a name that is bound later: a function that speaks of itself
        if value is inner:
            continue
        known = _described(value, describe)
        if known is None:
            return ActionName(
                where, False, f"it captured {name}, a {type(value).__name__}, which is nothing that has a lasting name"
            )
        captured.append(f"{name}={known}")
    where = f"{inner.__module__}:{inner.__qualname__}"
    if inner.__name__ == "<lambda>":
        captured.append(f"code={_digest(_code(inner.__code__))}")
    return ActionName(f"{where}:{_digest(sorted(captured))}" if captured else where, True)


def implementation_fingerprint(function: Callable[..., object]) -> str:
    """A digest of a function's own code and defaults: other code, other fingerprint. What it calls is not in it."""
    inner: object = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    inner = getattr(inner, "__func__", inner)
    if not isinstance(inner, types.FunctionType):
        return f"opaque:{type(inner).__module__}.{type(inner).__qualname__}"
    return f"impl:{_digest([*_code(inner.__code__), *_defaults(inner)], 32)}"


def runtime_fingerprint() -> str:
    """What runs the functions: this package and the interpreter whose bytecode the other fingerprint is of."""
    try:
        package = version("quiesce")
    except PackageNotFoundError:
        package = "unknown"
    return f"quiesce:{package}:{sys.implementation.cache_tag}"


def _places(addresses: Iterable[Address]) -> tuple[Place, ...]:
    return tuple(
        Place(address.entity.id, Scope(address.entity.instance.partition(":")[0]), address.path)
        for address in addresses
    )


def _within(address: Address, places: tuple[Address, ...]) -> bool:
    return any(
        place.entity.space == address.entity.space
        and place.entity.id == address.entity.id
        and place.entity.instance.partition(":")[0] == address.entity.instance.partition(":")[0]
        and at_or_below(address.path, place.path)
        for place in places
    )


def _described(value: object, describe: Describe) -> str | None:
    known = describe(value)
    if known is not None:
        return known
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__}"
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        name = action_name(cast("Callable[..., object]", value), describe)
        return f"function {name.id}" if name.lasting else None
    if isinstance(value, types.BuiltinFunctionType):
        return f"builtin {value.__module__}.{value.__qualname__}"
    if isinstance(value, list | dict):
        return None  # what is in it now may not be in it later
    try:
        return f"value {value_hash(checked_value(value))}"
    except ValueRefused:
        return None


def _code(code: types.CodeType) -> list[str]:
    parts = [code.co_code.hex(), *code.co_names, *code.co_varnames, *code.co_freevars]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            parts.extend(_code(constant))
        elif isinstance(constant, frozenset):
            # Its own order differs from process to process.
            parts.extend(sorted(map(repr, cast("frozenset[object]", constant))))
        else:
            parts.append(repr(constant))
    return parts


def _defaults(function: types.FunctionType) -> list[str]:
    found = [*(function.__defaults__ or ()), *(value for _, value in sorted((function.__kwdefaults__ or {}).items()))]
    return [_described(value, lambda _: None) or f"a {type(value).__qualname__}" for value in found]


def _digest(parts: list[str], length: int = 16) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:length]
