"""Python's expressions into the typed statement form."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any, Literal, NoReturn, cast

from quiesce_model.language.fields import record_type
from quiesce_model.language.machine import Constant, Machine
from quiesce_model.language.types import AgeType, EachType, EnumType, LeftType, OptionalType, RecordType, Type
from quiesce_model.language.values import Record

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

FIELDS_INSTEAD = "use fields declared with each, and all, any, sum, min, max over them"

NOT_HERE: dict[str, str] = {
    "print": "remove it: a model prints nothing; traces show every change",
    "range": "use it in a for loop or in a comprehension",
    "enumerate": "use it in a for loop or in a comprehension",
    "len": "len() is for fields declared with each; count with sum(1 for …)",
    "sorted": "compare neighbours with all(…)",
    "isinstance": "keep what kind it is in a field that is an enum",
    **dict.fromkeys(
        ("zip", "list", "dict", "set", "tuple", "str", "float", "reversed", "map", "filter"), FIELDS_INSTEAD
    ),
}

COMPARISONS: dict[type[ast.cmpop], Literal["==", "!=", "<", "<=", ">", ">="]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "==", ast.IsNot: "!=",
}  # fmt: skip

ARITHMETIC: dict[type[ast.operator], Literal["+", "-", "*", "//", "%"]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


class Expressions:
    """Translates expressions in the scope of one function. Statements and calls are in ``elaborate.py``."""

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
                "name the field of it that you mean",
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
        if not isinstance(owner.type, EachType):
            self.error(
                node,
                f"{self.text(node.value)} is {type_name(owner.type)} and has no indexes",
                "index only fields that are declared with each",
            )
        index = self.number(node.slice)
        return Place(owner.root, (*owner.steps, form.Index(index)), owner.type.item, self.site(node))

    def optional_key(self, place: Place) -> OptionalKey | None:
        """The optional member that a place goes through last, by record class and name."""
        key: OptionalKey | None = None
        type: Type = self.root_type(place.root)
        for step in place.steps:
            match step:
                case form.Field():
                    record = cast(RecordType, type)
                    type = record.members[step.position].type
                    if isinstance(type, OptionalType):
                        key = (record.record, step.name)
                case form.Index():
                    type = cast(EachType, type).item
                case form.Payload():
                    type = cast(OptionalType, type).item
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

    # Calls

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
            self.error(node, f"{record.__name__} has no method {func.attr!r}", "define it, or correct the name")
        args, keywords = self.arguments(node)
        return self.call_function(node, method, [owner, *args], keywords)

    without: frozenset[str]
    rules: dict[str, Site]

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
        name = getattr(function, "__name__", "")
        if name in NOT_HERE and vars(builtins).get(name) is function:
            self.error(node, f"{name}() is outside the modelling language here", NOT_HERE[name])
        return None

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
            loop = self.loop(generator.target, generator.iter, f"#{self.scope.inner}")
            loops.append((loop, tuple(self.condition(test) for test in generator.ifs)))
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

    def loop(self, target: ast.expr, over: ast.expr, mark: str = "") -> form.Loop:
        """Bind the names of a ``for`` and say what it runs over; ``mark`` sets the slots of a comprehension apart."""
        enumerated = isinstance(over, ast.Call) and self.static(over.func) is enumerate
        if enumerated:
            assert isinstance(over, ast.Call)
            if len(over.args) != 1 or not (isinstance(target, ast.Tuple) and len(target.elts) == 2):
                self.error(over, "enumerate needs two names", "write `for i, x in enumerate(self.field)`")
            names = [self.target_name(t) for t in target.elts]
            place = self.items(over.args[0])
            return self.bind_items(place, names[0], names[1], over, mark)
        if isinstance(over, ast.Call) and self.static(over.func) is range:
            low, high = self.range_bounds(over)
            name = self.target_name(target)
            slot = self.scope.slot(name) + mark
            self.scope.names[name] = Scalar(form.Local(slot, int, self.site(target)), int)
            return form.Loop(form.Range(low, high), slot, None)
        if isinstance(over, ast.Tuple):
            values = tuple(self.value(item) for item in over.elts)
            return self.bind_values(values, target, over, mark)
        if isinstance(over, ast.Name | ast.Attribute):
            static = self.static(over)
            if isinstance(static, type) and issubclass(static, Enum):
                literals = tuple(form.Literal_(n, static, self.site(over)) for n, _ in enumerate(static))
                return self.bind_values(literals, target, over, mark)
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
        if isinstance(found, Place) and isinstance(found.type, EachType):
            return found
        self.error(
            node,
            f"{self.text(node)} cannot be looped over",
            "loop over range(constant), a field declared with each, an enum, or a tuple of values",
        )

    def bind_items(self, place: Place, index: str | None, item: str, node: ast.AST, mark: str) -> form.Loop:
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
        return form.Loop(form.Items(place, each.size), counted, slot, by_alias)

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


class Nothing:
    """The kind of a call that returns no value."""


NOTHING: Any = Nothing
