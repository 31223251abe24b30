"""A function's own syntax tree, with the names that it means."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NoReturn

from .errors import ModelError, width_of
from .relation import Site


@dataclass(frozen=True)
class Source:
    """One function: its definition and where it stands."""

    function: Callable[..., Any]
    node: ast.FunctionDef
    file: str

    def site(self, node: ast.AST | None = None) -> Site:
        node = node or self.node
        return Site(self.file, getattr(node, "lineno", self.node.lineno), getattr(node, "col_offset", 0))

    def error(self, node: ast.AST, message: str, remedy: str) -> NoReturn:
        raise ModelError(message, remedy, self.site(node), width_of(node))

    def meaning(self, name: str) -> Any:
        """What a global or enclosing name is bound to. Raises KeyError if to nothing."""
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__:
            return self.function.__closure__[code.co_freevars.index(name)].cell_contents
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]


@dataclass
class Library:
    """Reads source files, each once."""

    definitions: dict[str, dict[tuple[str, int], ast.FunctionDef]] = field(
        default_factory=dict[str, dict[tuple[str, int], ast.FunctionDef]]
    )
    sources: dict[CodeType, Source] = field(default_factory=dict[CodeType, Source])

    def source(self, function: Callable[..., Any]) -> Source:
        """The source of a function or method. Raises ModelError where Python knows none."""
        plain: Any = inspect.unwrap(function)
        code: CodeType | None = getattr(plain, "__code__", None)
        if code is None:
            raise ModelError(
                f"{getattr(function, '__name__', function)!r} has no Python source to read",
                "call only functions that are written in the model",
                Site("<unknown>", 1),
            )
        found = self.sources.get(code)
        if found is None:
            node = self.defined(code.co_filename).get((plain.__name__, code.co_firstlineno))
            if node is None:
                raise ModelError(
                    f"the source of {plain.__name__!r} is not in {code.co_filename}",
                    "define it with def in a file (a lambda or exec'd text cannot be read)",
                    Site(code.co_filename, code.co_firstlineno),
                )
            found = self.sources[code] = Source(plain, node, code.co_filename)
        return found

    def defined(self, file: str) -> dict[tuple[str, int], ast.FunctionDef]:
        """Every function that a file defines, by name and first line (that of a decorator, where there is one)."""
        if file not in self.definitions:
            try:
                tree = ast.parse("".join(linecache.getlines(file)), file)
            except SyntaxError:
                tree = ast.Module([], [])
            self.definitions[file] = {
                (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef)
            }
        return self.definitions[file]
