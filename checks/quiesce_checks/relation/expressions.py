"""Python's expressions into the typed statement form."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any, Literal, NoReturn, cast

from quiesce_model.language.fields import record_type
from quiesce_model.language.machine import Constant
from quiesce_model.language.types import (
    AgeType,
    EachType,
    EnumType,
    LeftType,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)

from . import form
from .form import Expr, Kind, Place
from .relation import Site
from .scope import AliasOf, OptionalKey, Scalar, Scope, Unbound, is_enum, kind_name, kind_of, type_name

MISSING = object()

OUTSIDE: dict[type[ast.AST], tuple[str, str]] = {
    ast.List: ("lists are outside the modelling language", "keep the values in fields: each(size, item)"),
    ast.Dict: ("dicts are outside the modelling language", "keep one value for each index: each(size, item)"),
    ast.Set: ("sets are outside the modelling language", "keep a flag for each index: each(size, flag())"),
    ast.Tuple: ("tuples are no values here", "use separate locals or a Record"),
    ast.Lambda: ("a lambda has no place in an action or property", "write a method or a function with def"),
    ast.JoinedStr: ("text is outside the modelling language", "remove it: a model prints nothing"),
    ast.Await: ("a model does not wait", "make what happens later an action of its own"),
    ast.Yield: ("a model is no generator", "make each step an action of its own"),
    ast.NamedExpr: (":= is outside the modelling language", "bind the name in a statement of its own"),
    ast.Starred: ("* is outside the modelling language", "write the arguments out"),
    ast.ListComp: (
        "a list is no value here",
        "use it inside all, any, sum, min or max, or loop over the indexes",
    ),
    ast.SetComp: ("a set is no value here", "use all, any or sum over the indexes"),
    ast.DictComp: ("a dict is no value here", "keep one value for each index: each(size, item)"),
    ast.GeneratorExp: ("a generator is no value here", "use it inside all, any, sum, min or max"),
    ast.Slice: ("slices are outside the modelling language", "loop over the indexes that you mean"),
}

COMPARISONS: dict[type[ast.cmpop], Literal["==", "!=", "<", "<=", ">", ">="]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "==", ast.IsNot: "!=",
}  # fmt: skip

ARITHMETIC: dict[type[ast.operator], Literal["+", "-", "*", "//", "%"]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


class Expressions:
    """Translates expressions in the scope of one function. Loops, assignments and calls have files of their own."""

    scope: Scope
    constants: Any

    def call_function(
        self,
        node: ast.AST,
        function: Callable[..., Any],
        args: list[Expr | Place],
        keywords: dict[str, Expr | Place],
    ) -> Expr | Place | form.Call:
        raise TypeError("defined by Elaborator")

    def call(self, node: ast.Call) -> Expr | Place:
        raise TypeError("defined by Calls")

    def range_bounds(self, node: ast.Call) -> tuple[Expr, Expr]:
        raise TypeError("defined by Loops")

    def content(self, place: Place, index: Expr, node: ast.AST) -> Place:
        raise TypeError("defined by Contents")

    def contains(self, place: Place, left: ast.expr, node: ast.Compare) -> Expr:
        raise TypeError("defined by Contents")

    def ordered(self, a: Place, b: Place, sign: str, node: ast.Compare) -> Expr | None:
        raise TypeError("defined by Contents")

    # Errors and small things

    def site(self, node: ast.AST) -> Site:
        return self.scope.source.site(node)

    def error(self, node: ast.AST, message: str, remedy: str) -> NoReturn:
        self.scope.source.error(node, message, remedy)

    def text(self, node: ast.AST) -> str:
        return ast.unparse(node)

    def literal(self, value: int | bool, node: ast.AST) -> form.Literal_:
        return form.Literal_(value, bool if isinstance(value, bool) else int, self.site(node))

    # Names

    def static(self, node: ast.expr) -> Any:
        """The Python object that a name outside the function means, or MISSING."""
        if isinstance(node, ast.Name) and node.id not in self.scope.names:
            try:
                return self.scope.source.meaning(node.id)
            except KeyError:
                self.error(node, f"{node.id!r} is not defined", "define it, or correct the name")
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if isinstance(owner, ModuleType | type) and owner is not MISSING:
                found = getattr(owner, node.attr, MISSING)
                if found is MISSING:
                    known = (
                        ", ".join(m.name for m in owner) if isinstance(owner, type) and issubclass(owner, Enum) else ""
                    )
                    self.error(
                        node,
                        f"{self.text(node.value)} has no {node.attr!r}",
                        f"use one of its members: {known}" if known else "correct the name",
                    )
                return found
        return MISSING

    def of_static(self, value: Any, node: ast.AST) -> Expr | None:
        if isinstance(value, Enum):
            return form.Literal_(list(type(value)).index(value), type(value), self.site(node))
        if isinstance(value, bool | int):
            return self.literal(value, node)
        return None

    # Operands

    def operand(self, node: ast.expr) -> Expr | Place:
        """A value or a place, whichever the expression means."""
        for kind, (message, remedy) in OUTSIDE.items():
            if isinstance(node, kind):
                self.error(node, message, remedy)
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name() if node.id in self.scope.names:
                return self.local(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BoolOp():
                return self.junction(node)
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.IfExp():
                return self.if_else(node)
            case ast.Call():
                return self.call(node)
            case _:
                found = self.of_static(self.static(node), node)
                if found is not None:
                    return found
                self.error(
                    node,
                    f"{self.text(node)} is no value of the modelling language",
                    "use flags, whole numbers, members of an enum, and the fields of the machine",
                )

    def constant(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, bool | int):
            return self.literal(node.value, node)
        if isinstance(node.value, float):
            self.error(node, "fractions are outside the modelling language", "use whole numbers of a smaller unit")
        if node.value is None:
            self.error(node, "None is no value here", "compare with `is None`, or assign it to an optional field")
        self.error(node, "text is outside the modelling language", "use an Enum for what the text says")

    def local(self, node: ast.Name) -> Expr | Place:
        binding = self.scope.names[node.id]
        match binding:
            case Unbound():
                self.error(node, binding.why, binding.remedy)
            case Scalar():
                return binding.value
            case AliasOf():
                return binding.place

    def place(self, node: ast.expr, what: str) -> Place:
        found = self.operand(node)
        if isinstance(found, Place):
            return found
        self.error(node, f"{self.text(node)} is {kind_name(found.kind)}, not {what}", f"name {what} of the machine")

    def value(self, node: ast.expr) -> Expr:
        """A number, flag, choice or age."""
        return self.read(self.operand(node), node)

    def read(self, found: Expr | Place, node: ast.AST) -> Expr:
        if not isinstance(found, Place):
            return found
        if isinstance(found.type, OptionalType) and kind_of(found.type.item) is not None:
            found = self.payload(found)
        kind = kind_of(found.type)
        if kind is None:
            self.error(
                node,
                f"{self.text(node)} is {type_name(found.type)}, not a single value",
                "name the field of it that you mean"
                if not isinstance(found.type, RowType | SubsetType)
                else f"ask how much is in it: len({self.text(node)}) > 0",
            )
        return form.Read(found, kind, self.site(node))

    def number(self, node: ast.expr) -> Expr:
        found = self.value(node)
        if found.kind == "age":
            self.error(
                node,
                f"{self.text(node)} is an age, and an age can only be compared",
                "compare it with a duration, or keep a `left` field for what remains",
            )
        if is_enum(found.kind):
            self.error(node, f"{self.text(node)} is {kind_name(found.kind)}, not a number", "compare it with ==")
        return found

    def condition(self, node: ast.expr) -> Expr:
        return self.as_condition(self.operand(node), node)

    def as_condition(self, found: Expr | Place, node: ast.AST) -> Expr:
        if isinstance(found, Place) and isinstance(found.type, OptionalType):
            self.error(node, f"{self.text(node)} is a value or None", "write `is not None`")
        value = self.read(found, node)
        if value.kind is bool:
            return value
        if value.kind is int:
            return form.Compare("!=", value, self.literal(0, node), bool, self.site(node))
        self.error(
            node,
            f"{self.text(node)} is {kind_name(value.kind)}, not a condition",
            "write .running or a comparison" if value.kind == "age" else "compare it with one of its members",
        )

    # Places

    def attribute(self, node: ast.Attribute) -> Expr | Place:
        static = self.static(node)
        if static is not MISSING:
            found = self.of_static(static, node)
            if found is not None:
                return found
            self.error(
                node,
                f"{self.text(node)} is no value of the modelling language",
                "use numbers, flags or enums",
            )
        return self.member(self.operand(node.value), node.attr, node)

    def member(self, owner: Expr | Place, name: str, node: ast.Attribute) -> Expr | Place:
        site = self.site(node)
        if not isinstance(owner, Place):
            self.error(node, f"{self.text(node.value)} is {kind_name(owner.kind)} and has no fields", "name a field")
        if isinstance(owner.type, OptionalType):
            owner = self.payload(owner)
        match owner.type:
            case AgeType():
                if name == "running":
                    read = form.Read(owner, "age", site)
                    return form.Compare("!=", read, self.literal(-1, node), bool, site)
                self.error(node, f"an age has no {name!r}", "use .running, .start(), .stop() or a comparison")
            case LeftType():
                if name == "over":
                    return form.Compare("==", form.Read(owner, int, site), self.literal(0, node), bool, site)
                if name == "remaining":
                    return form.Read(owner, int, site)
                self.error(
                    node,
                    f"a rest has no {name!r}",
                    "use .over, .remaining, .set(n), .clear() or a comparison",
                )
            case RecordType():
                return self.field(owner, owner.type, name, node)
            case _:
                self.error(
                    node,
                    f"{self.text(node.value)} is {type_name(owner.type)} and has no field {name!r}",
                    "index it, or name a field of a record",
                )

    def field(self, owner: Place, type: RecordType, name: str, node: ast.Attribute) -> Expr | Place:
        for position, member in enumerate(type.members):
            if member.name == name:
                return Place(owner.root, (*owner.steps, form.Field(position, name)), member.type, self.site(node))
        found = inspect.getattr_static(type.record, name, MISSING)
        if isinstance(found, Constant):
            kind: Kind = bool if isinstance(found.default, bool) else int
            return form.ConstantOf(name, kind, self.site(node))
        if isinstance(found, bool | int):  # a plain number of the class: fixed there for good
            return self.literal(found, node)
        if isinstance(found, property) and found.fget is not None:
            return self.call_function(node, found.fget, [owner], {})
        listed = ", ".join(member.name for member in type.members) or "none"
        if found is not MISSING and callable(found):
            self.error(node, f"{name} is a method", f"call it: {self.text(node)}()")
        self.error(node, f"{type.record.__name__} has no field {name!r}", f"declare it; its fields are: {listed}")

    def payload(self, place: Place) -> Place:
        optional = cast(OptionalType, place.type)
        return Place(place.root, (*place.steps, form.Payload()), optional.item, place.site)

    def subscript(self, node: ast.Subscript) -> Place:
        owner = self.place(node.value, "a range of values")
        if isinstance(owner.type, OptionalType):
            owner = self.payload(owner)
        if isinstance(owner.type, RowType | SubsetType):
            return self.content(owner, self.number(node.slice), node)
        if not isinstance(owner.type, EachType):
            self.error(
                node,
                f"{self.text(node.value)} is {type_name(owner.type)} and has no indexes",
                "index only fields that are declared with each",
            )
        index = self.number(node.slice)
        return Place(owner.root, (*owner.steps, form.Index(index)), owner.type.item, self.site(node))

    def along(self, place: Place) -> Iterator[tuple[form.Field | form.Index | form.Payload, Type]]:
        """Each step into a place, with the type of what it goes into."""
        type: Type = self.root_type(place.root)
        for step in place.steps:
            yield step, type
            match step:
                case form.Field():
                    type = cast(RecordType, type).members[step.position].type
                case form.Index():
                    type = cast(EachType, type).item
                case form.Payload():
                    type = cast(OptionalType, type).item

    def optional_key(self, place: Place) -> OptionalKey | None:
        """The optional member, or the items of a container, that a place goes through last: record class and name."""
        key: OptionalKey | None = None
        for step, owner in self.along(place):
            if isinstance(step, form.Field) and isinstance(owner, RecordType):
                member = owner.members[step.position]
                if isinstance(member.type, OptionalType) or (isinstance(owner, RowType) and step.name == "item"):
                    key = (owner.record, step.name)
        if key is None and place.root in self.aliased:
            return self.aliased[place.root]
        return key

    aliased: dict[str, OptionalKey | None]
    root_types: dict[str, Type]

    def root_type(self, root: str) -> Type:
        return self.root_types[root]

    # Operators

    def junction(self, node: ast.BoolOp) -> Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        parts = tuple(self.condition(part) for part in node.values)
        return form.Junction(op, parts, bool, self.site(node))

    def unary(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.Not):
            return form.Not(self.condition(node.operand), bool, self.site(node))
        if isinstance(node.op, ast.USub):
            return form.Arithmetic("-", self.literal(0, node), self.number(node.operand), int, self.site(node))
        if isinstance(node.op, ast.UAdd):
            return self.number(node.operand)
        self.error(node, "~ is outside the modelling language", "write `not` for conditions")

    def arithmetic(self, node: ast.BinOp) -> Expr:
        op = ARITHMETIC.get(type(node.op))
        if op is None:
            remedy = "use // (whole numbers)" if isinstance(node.op, ast.Div) else "use + - * // %"
            if isinstance(node.op, ast.BitAnd | ast.BitOr):
                remedy = "use `and` and `or` for conditions"
            if isinstance(node.op, ast.Pow | ast.LShift | ast.RShift):
                remedy = "keep the doubled number in a field and multiply by 2, or use a constant"
            self.error(node, f"{self.text(node)} is outside the modelling language", remedy)
        return form.Arithmetic(op, self.number(node.left), self.number(node.right), int, self.site(node))

    def comparison(self, node: ast.Compare) -> Expr:
        parts: list[Expr] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self.compare(node, left, op, right))
            left = right
        return parts[0] if len(parts) == 1 else form.Junction("and", tuple(parts), bool, self.site(node))

    def compare(self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Expr:
        site = self.site(node)
        if isinstance(op, ast.In | ast.NotIn):
            found = self.membership(node, left, right)
            return found if isinstance(op, ast.In) else form.Not(found, bool, site)
        sign = COMPARISONS[type(op)]
        if isinstance(right, ast.Constant) and right.value is None:
            place = self.operand(left)
            if not isinstance(place, Place) or not isinstance(place.type, OptionalType):
                self.error(node, f"{self.text(left)} is never None", "declare the field with optional(…)")
            if isinstance(op, ast.Eq | ast.NotEq):
                self.error(node, "None is compared with ==", "write `is None` or `is not None`")
            present = form.Present(place, bool, site)
            return present if isinstance(op, ast.IsNot) else form.Not(present, bool, site)
        a, b = self.operand(left), self.operand(right)
        if isinstance(a, Place) and isinstance(b, Place) and kind_of(a.type) is None and kind_of(b.type) is None:
            ordered = self.ordered(a, b, sign, node)
            if ordered is not None:
                return ordered
            if a.type != b.type or sign not in ("==", "!="):
                self.error(
                    node,
                    f"{type_name(a.type)} and {type_name(b.type)} do not compare",
                    "compare their fields",
                )
            same = form.Same(a, b, bool, site)
            return same if sign == "==" else form.Not(same, bool, site)
        x, y = self.read(a, left), self.read(b, right)
        if isinstance(op, ast.Is | ast.IsNot) and not is_enum(x.kind):
            self.error(node, "`is` compares identity", "write == for numbers and conditions, `is` for enums and None")
        if x.kind == "age" and y.kind == "age":
            self.error(node, "two ages do not compare", "keep one age and one duration")
        if is_enum(x.kind) or is_enum(y.kind):
            if x.kind != y.kind:
                self.error(
                    node,
                    f"{self.text(left)} is {kind_name(x.kind)} and {self.text(right)} is {kind_name(y.kind)}",
                    "compare values of one enum",
                )
            if sign not in ("==", "!="):
                self.error(node, "members of an enum have no order", "use == or !=, or a number instead")
        return form.Compare(sign, x, y, bool, site)

    def membership(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> Expr:
        site = self.site(node)
        if isinstance(right, ast.Tuple | ast.List | ast.Set):
            parts = tuple(self.compare(node, left, ast.Eq(), item) for item in right.elts)
            return form.Junction("or", parts, bool, site)
        if isinstance(right, ast.Call) and self.static(right.func) is range:
            low, high = self.range_bounds(right)
            x = self.number(left)
            return form.Junction(
                "and",
                (form.Compare("<=", low, x, bool, site), form.Compare("<", x, high, bool, site)),
                bool,
                site,
            )
        if isinstance(right, ast.Name | ast.Attribute | ast.Subscript) and self.static(right) is MISSING:
            place = self.operand(right)
            if isinstance(place, Place) and isinstance(place.type, RowType | SubsetType):
                return self.contains(place, left, node)
        self.error(
            node,
            f"`in {self.text(right)}` is outside the modelling language",
            "write `in (a, b, …)` or any(…)",
        )

    def if_else(self, node: ast.IfExp) -> Expr:
        test, then, other = self.condition(node.test), self.operand(node.body), self.operand(node.orelse)
        a, b = self.read(then, node.body), self.read(other, node.orelse)
        return form.IfElse(test, a, b, self.common(node, a.kind, b.kind), self.site(node))

    def common(self, node: ast.AST, a: Kind, b: Kind) -> Kind:
        if a == b and a != "age":
            return a
        if a in (bool, int) and b in (bool, int):
            return int
        self.error(
            node,
            f"one side is {kind_name(a)}, the other {kind_name(b)}",
            "give both sides the same kind of value",
        )

    def record_of(self, record: type[Any]) -> RecordType:
        return record_type(record, self.constants)

    def member_type_error(self, node: ast.AST, type: Type, kind: Kind) -> NoReturn:
        expected = kind_of(type)
        wanted = type_name(type) if expected is None else kind_name(expected)
        self.error(node, f"{self.text(node)} is {kind_name(kind)}, where {wanted} belongs", f"give {wanted}")

    def fits(self, type: Type, kind: Kind) -> bool:
        wanted = kind_of(type)
        if isinstance(type, EnumType):
            return kind == wanted
        if wanted is int:
            return kind in (int, bool)
        return wanted == kind
