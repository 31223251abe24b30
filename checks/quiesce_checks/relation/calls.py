"""Calls: of methods and functions of the model, of the few builtins that it may use, and of what the language has."""

from __future__ import annotations

import ast
import builtins
import inspect
from typing import Any, cast

from quiesce_model.language import containers
from quiesce_model.language.machine import Machine
from quiesce_model.language.types import EachType, OptionalType, RecordType, RowType, SubsetType
from quiesce_model.language.values import Record

from . import form
from .expressions import MISSING
from .form import Expr, Place
from .loops import Loops
from .relation import Site
from .scope import kind_name

FIELDS_INSTEAD = "use fields declared with each, and all, any, sum, min, max over them"

NOT_HERE: dict[str, str] = {
    "print": "remove it: a model prints nothing; traces show every change",
    "range": "use it in a for loop or in a comprehension",
    "enumerate": "use it in a for loop or in a comprehension",
    "len": "len() is for containers and for fields declared with each; count with sum(1 for …)",
    "sorted": "compare neighbours with all(…)",
    "isinstance": "keep what kind it is in a field that is an enum",
    **dict.fromkeys(
        ("zip", "list", "dict", "set", "tuple", "str", "float", "reversed", "map", "filter"), FIELDS_INSTEAD
    ),
}


class Nothing:
    """The kind of a call that returns no value."""


NOTHING: Any = Nothing


class Calls(Loops):
    """Translates calls; those of the model's own functions are inlined by ``elaborate.py``."""

    without: frozenset[str]
    rules: dict[str, Site]

    def call(self, node: ast.Call) -> Expr | Place:
        found = self.any_call(node)
        if isinstance(found, form.Call) and found.kind is NOTHING:
            self.error(node, f"{self.text(node.func)} returns nothing", "call it as a statement of its own")
        return found

    def any_call(self, node: ast.Call) -> Expr | Place | form.Call:
        if isinstance(node.func, ast.Attribute):
            owner_static = self.static(node.func.value)
            if owner_static is MISSING:
                return self.method_call(node, node.func)
        function = self.static(node.func)
        if function is MISSING:
            self.error(node, f"{self.text(node.func)} cannot be called", "call methods and functions of the model")
        builtin = self.builtin(node, function)
        if builtin is not None:
            return builtin
        own = self.intrinsic(node, function)
        if isinstance(own, form.Precedes):
            return own
        if isinstance(function, type) and issubclass(function, Record):
            self.error(
                node,
                f"{function.__name__}(…) is built but not put anywhere",
                f"assign it: self.field = {function.__name__}(…)",
            )
        function = cast(Any, function)
        if not inspect.isfunction(function):
            self.error(
                node,
                f"{self.text(node.func)} is outside the modelling language",
                "call only methods and functions of the model; chance and choice come in as an action's parameters",
            )
        return self.call_function(node, function, *self.arguments(node))

    def arguments(self, node: ast.Call) -> tuple[list[Expr | Place], dict[str, Expr | Place]]:
        keywords: dict[str, Expr | Place] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.error(node, "** is outside the modelling language", "write the arguments out")
            keywords[keyword.arg] = self.operand(keyword.value)
        return [self.operand(arg) for arg in node.args], keywords

    def method_call(self, node: ast.Call, func: ast.Attribute) -> Expr | Place | form.Call:
        owner = self.operand(func.value)
        if not isinstance(owner, Place):
            self.error(
                node,
                f"{self.text(func.value)} is {kind_name(owner.kind)} and has no methods",
                "call a function",
            )
        if isinstance(owner.type, OptionalType):
            owner = self.payload(owner)
        if not isinstance(owner.type, RecordType):
            self.error(
                node,
                f"{self.text(func)}() is outside the modelling language here",
                "ages have start() and stop(), rests set(n) and clear(), each as a statement of its own",
            )
        record = owner.type.record
        if issubclass(record, Machine) and func.attr == "rule":
            return self.literal(self.rule_id(node) not in self.without, node)
        method = inspect.getattr_static(record, func.attr, MISSING)
        if isinstance(method, staticmethod):
            return self.call_function(node, cast("staticmethod[..., Any]", method).__func__, *self.arguments(node))
        if not inspect.isfunction(method):
            remedy = "define it, or correct the name"
            if issubclass(record, containers.Container):
                methods = sorted(n for n in dir(record) if inspect.isfunction(getattr(record, n)) and n[-1] != "_")
                remedy = f"a {record.__name__.lower()} has {', '.join(n for n in methods if n not in dir(Record))}"
            self.error(node, f"{record.__name__} has no method {func.attr!r}", remedy)
        args, keywords = self.arguments(node)
        return self.call_function(node, method, [owner, *args], keywords)

    def rule_id(self, node: ast.Call, position: int = 0) -> str:
        """The rule id written at an argument; every id is noted with where it stands."""
        given = node.args[position] if len(node.args) > position else None
        for keyword in node.keywords:
            if keyword.arg == "rule":
                given = keyword.value
        if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
            self.error(given or node, "a rule's id has to stand there as text", 'write it out: "BRK-7"')
        self.rules.setdefault(given.value, self.site(node))
        return given.value

    def builtin(self, node: ast.Call, function: Any) -> Expr | None:
        site = self.site(node)
        if function in (all, any, sum) or (function in (min, max) and len(node.args) == 1):
            return self.fold(node, function.__name__)
        if function in (min, max):
            parts = [self.number(arg) for arg in node.args]
            found = parts[0]
            for part in parts[1:]:
                found = form.Arithmetic("min" if function is min else "max", found, part, int, site)
            return found
        if function is abs and len(node.args) == 1:
            x = self.number(node.args[0])
            zero = self.literal(0, node)
            return form.Arithmetic("max", x, form.Arithmetic("-", zero, x, int, site), int, site)
        if function is int and len(node.args) == 1:
            return form.Arithmetic("+", self.number(node.args[0]), self.literal(0, node), int, site)
        if function is bool and len(node.args) == 1:
            return self.condition(node.args[0])
        if function is len and len(node.args) == 1:
            place = self.place(node.args[0], "a range of values")
            if isinstance(place.type, EachType):
                return self.literal(place.type.size, node)
            if isinstance(place.type, RowType):
                return form.Read(self.within(place, "length"), int, site)
            if isinstance(place.type, SubsetType):
                return cast(Expr, self.call_function(node, containers.Subset.__len__, [place], {}))
        name = getattr(function, "__name__", "")
        if name in NOT_HERE and vars(builtins).get(name) is function:
            self.error(node, f"{name}() is outside the modelling language here", NOT_HERE[name])
        return None
