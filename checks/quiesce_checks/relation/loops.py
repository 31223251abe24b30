"""What a model loops over: ``for``, and comprehensions in ``all any sum min max``."""

from __future__ import annotations

import ast
from enum import Enum
from typing import Any, cast

from quiesce_model.language.types import EachType, LeftType, OptionalType, RowType, SubsetType, Type

from . import form
from .contents import Contents
from .form import Expr, Kind, Place
from .scope import AliasOf, OptionalKey, Scalar, kind_of


class Loops(Contents):
    """Translates loops, each over something whose size is known at the scope."""

    def fold(self, node: ast.Call, op: str) -> Expr:
        source = node.args[0] if node.args else node
        if not isinstance(source, ast.GeneratorExp | ast.ListComp):
            self.error(
                node,
                f"{op}() takes a comprehension here",
                f"write {op}(… for x in self.field)" if op != "sum" else "write sum(… for x in self.field)",
            )
        outer = dict(self.scope.names)
        loops: list[tuple[form.Loop, tuple[Expr, ...]]] = []
        for generator in source.generators:
            self.scope.inner += 1  # a comprehension's names are its own
            loop, held = self.loop(generator.target, generator.iter, f"#{self.scope.inner}")
            tests = tuple(self.condition(test) for test in generator.ifs)
            loops.append((loop, tests if held is None else (held, *tests)))
        body = self.condition(source.elt) if op in ("all", "any") else self.number(source.elt)
        self.scope.names = outer
        default: Expr | None = None
        for keyword in node.keywords:
            if keyword.arg == "default":
                default = self.number(keyword.value)
        if op in ("min", "max") and default is None and (
            any(tests for _, tests in loops) or any(self.may_be_empty(loop) for loop, _ in loops)
        ):  # fmt: skip
            self.error(node, f"{op}() of what may be nothing", f"say what it is then: {op}(…, default=0)")
        kind: Kind = bool if op in ("all", "any") else int
        return form.Fold(cast(Any, op), tuple(loops), body, default, kind, self.site(node))

    def may_be_empty(self, loop: form.Loop) -> bool:
        return isinstance(loop.over, form.Range) or (isinstance(loop.over, form.Items) and loop.over.size == 0)

    def loop(self, target: ast.expr, over: ast.expr, mark: str = "") -> tuple[form.Loop, Expr | None]:
        """Bind the names of a ``for`` and say what it runs over, and the condition under which a turn is taken if not
        every one is; ``mark`` sets the slots of a comprehension apart."""
        enumerated = isinstance(over, ast.Call) and self.static(over.func) is enumerate
        if enumerated:
            assert isinstance(over, ast.Call)
            if len(over.args) != 1 or not (isinstance(target, ast.Tuple) and len(target.elts) == 2):
                self.error(over, "enumerate needs two names", "write `for i, x in enumerate(self.field)`")
            names = [self.target_name(t) for t in target.elts]
            return self.bind_items(self.items(over.args[0]), names[0], names[1], over, mark)
        if isinstance(over, ast.Call) and self.static(over.func) is range:
            low, high = self.range_bounds(over)
            name = self.target_name(target)
            slot = self.scope.slot(name) + mark
            self.scope.names[name] = Scalar(form.Local(slot, int, self.site(target)), int)
            return form.Loop(form.Range(low, high), slot, None), None
        if isinstance(over, ast.Tuple):
            values = tuple(self.value(item) for item in over.elts)
            return self.bind_values(values, target, over, mark), None
        if isinstance(over, ast.Name | ast.Attribute):
            static = self.static(over)
            if isinstance(static, type) and issubclass(static, Enum):
                literals = tuple(form.Literal_(n, static, self.site(over)) for n, _ in enumerate(static))
                return self.bind_values(literals, target, over, mark), None
        return self.bind_items(self.items(over), None, self.target_name(target), over, mark)

    def bind_values(self, values: tuple[Expr, ...], target: ast.expr, over: ast.expr, mark: str) -> form.Loop:
        if not values or any(value.kind != values[0].kind for value in values):
            self.error(over, "the values of a loop have to be of one kind", "loop over values of one kind")
        name = self.target_name(target)
        kind = values[0].kind
        slot = self.scope.slot(name) + mark
        self.scope.names[name] = Scalar(form.Local(slot, kind, self.site(target)), kind)
        return form.Loop(form.Values(values), None, slot)

    def target_name(self, target: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return target.id
        self.error(target, "a loop binds one name here", "write `for x in …` or `for i, x in enumerate(…)`")

    def items(self, node: ast.expr) -> Place:
        found = self.operand(node)
        if isinstance(found, Place) and isinstance(found.type, OptionalType):
            found = self.payload(found)
        if isinstance(found, Place) and isinstance(found.type, EachType | RowType | SubsetType):
            return found
        self.error(
            node,
            f"{self.text(node)} cannot be looped over",
            "loop over range(constant), a field declared with each, a container, an enum, or a tuple of values",
        )

    def bind_items(
        self, place: Place, index: str | None, item: str, node: ast.AST, mark: str
    ) -> tuple[form.Loop, Expr | None]:
        if isinstance(place.type, SubsetType):
            if index is not None:
                self.error(node, "a subset has no order to count in", "loop over it without enumerate")
            slot = self.scope.slot(item) + mark
            local = form.Local(slot, int, self.site(node))
            self.scope.names[item] = Scalar(local, int)
            all_of_it = form.Range(self.literal(0, node), self.literal(place.type.size, node))
            return form.Loop(all_of_it, slot, None), self.held(place, local, node)
        if isinstance(place.type, RowType):
            index = index or f"{item}'s place"
            loop, _ = self.bind_items(self.within(place, "item"), index, item, node, mark)
            return loop, self.held(place, cast(Scalar, self.scope.names[index]).value, node)
        each = cast(EachType, place.type)
        counted: str | None = None
        if index is not None:
            counted = self.scope.slot(index) + mark
            self.scope.names[index] = Scalar(form.Local(counted, int, self.site(node)), int)
        slot = self.scope.slot(item) + mark
        kind = kind_of(each.item)
        by_alias = kind is None or kind == "age" or isinstance(each.item, LeftType)
        if kind is None or by_alias:
            self.scope.names[item] = self.alias(slot, each.item, self.optional_key(place), node)
        else:
            self.scope.names[item] = Scalar(form.Local(slot, kind, self.site(node)), kind)
        return form.Loop(form.Items(place, each.size), counted, slot, by_alias), None

    def alias(self, slot: str, type: Type, key: OptionalKey | None, node: ast.AST) -> AliasOf:
        self.root_types[slot] = type
        self.aliased[slot] = key
        return AliasOf(Place(slot, (), type, self.site(node)), key)

    def range_bounds(self, node: ast.Call) -> tuple[Expr, Expr]:
        bounds = [self.number(arg) for arg in node.args]
        if len(bounds) not in (1, 2) or node.keywords:
            self.error(node, "range() takes a stop, or a start and a stop, here", "write range(n) or range(a, b)")
        for bound, arg in zip(bounds, node.args, strict=True):
            if not self.is_constant(bound):
                self.error(
                    arg,
                    f"the range up to {self.text(arg)} changes with the state",
                    "loop over a constant range and test inside: `for i in range(self.size): if i < …`",
                )
        return (self.literal(0, node), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])

    def is_constant(self, expr: Expr) -> bool:
        """Whether a number is known at the scope: made of literals, constants and the indexes of loops."""
        match expr:
            case form.Literal_() | form.ConstantOf():
                return True
            case form.Local():
                return True  # checked again when the loop is unrolled, where the local has a value
            case form.Arithmetic():
                return self.is_constant(expr.left) and self.is_constant(expr.right)
            case form.IfElse():
                return all(self.is_constant(e) for e in (expr.test, expr.then, expr.other))
            case form.Compare():
                return self.is_constant(expr.left) and self.is_constant(expr.right)
            case form.Call():
                return False
            case _:
                return False
