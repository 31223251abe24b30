"""Calls of the model's own functions.

A function is translated once for each kind of its arguments; one that is a single return of a place stands for it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from . import form
from .assignments import Assignments
from .form import Expr, Kind, Place
from .scope import AliasOf, OptionalKey, Scalar, Scope, kind_of
from .source import Library


@dataclass(frozen=True)
class Translated:
    """A function with what its callers have to know."""

    function: form.Function
    kind: Kind
    assigned: frozenset[OptionalKey]
    writes: bool
    terminates: bool


class Inlined(Assignments):
    """Translates calls of functions."""

    library: Library
    scopes: int

    def translate(self, function: Callable[..., Any], given: Mapping[str, Kind | Place]) -> Translated:
        raise TypeError("defined by Elaborator")

    def inside(self, scope: Scope) -> AbstractContextManager[None]:
        raise TypeError("defined by Elaborator")

    def call_function(
        self,
        node: ast.AST,
        function: Callable[..., Any],
        args: list[Expr | Place],
        keywords: dict[str, Expr | Place],
    ) -> Expr | Place | form.Call:
        """A call, inlined: a function that is a single return of a place stands for that place."""
        function = inspect.unwrap(function)
        source = self.library.source(function)
        given = self.matched(node, function, source.node, args, keywords)
        as_place = self.place_returned(function, given)
        if as_place is not None:
            return as_place
        kinds: dict[str, Kind | Place] = {n: a if isinstance(a, Place) else a.kind for n, a in given.items()}
        translated = self.translate(function, kinds)
        self.scope.assigned |= translated.assigned
        self.scope.writes = self.scope.writes or translated.writes
        self.scope.forget(set(translated.assigned))
        return form.Call(translated.function, tuple(given.values()), translated.kind, self.site(node))

    def matched(
        self,
        node: ast.AST,
        function: Callable[..., Any],
        definition: ast.FunctionDef,
        args: list[Expr | Place],
        keywords: dict[str, Expr | Place],
    ) -> dict[str, Expr | Place]:
        """Arguments by parameter, defaults filled in."""
        spec = definition.args
        if spec.vararg or spec.kwarg:
            self.error(node, f"{definition.name} takes * or **", "give it plain parameters")
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        keyword_only = [a.arg for a in spec.kwonlyargs]
        given: dict[str, Expr | Place] = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            self.error(node, f"{definition.name} takes {len(names)} arguments, not {len(args)}", "correct the call")
        for name, value in keywords.items():
            if name not in (*names, *keyword_only) or name in given:
                self.error(node, f"{definition.name} has no parameter {name!r} to give here", "correct the call")
            given[name] = value
        defaults = dict(zip(names[len(names) - len(spec.defaults) :], function.__defaults__ or (), strict=False))
        defaults |= function.__kwdefaults__ or {}
        ordered: dict[str, Expr | Place] = {}
        for name in (*names, *keyword_only):
            if name in given:
                ordered[name] = given[name]
                continue
            default = self.of_static(defaults[name], node) if name in defaults else None
            if default is None:
                self.error(node, f"{definition.name} misses the argument {name!r}", "give it")
            ordered[name] = default
        return ordered

    def place_returned(self, function: Callable[..., Any], given: dict[str, Expr | Place]) -> Place | None:
        source = self.library.source(function)
        body = [n for n in source.node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
        if (
            len(body) != 1
            or not isinstance(body[0], ast.Return)
            or not isinstance(body[0].value, ast.Attribute | ast.Subscript)
        ):
            return None
        self.scopes += 1
        scope = Scope(source, self.scopes)
        for name, argument in given.items():
            scope.names[name] = (
                AliasOf(argument, self.optional_key(argument))
                if isinstance(argument, Place)
                else Scalar(argument, argument.kind)
            )
        with self.inside(scope):
            found = self.operand(body[0].value)
        if isinstance(found, Place) and kind_of(found.type) is None:
            return found
        return None
