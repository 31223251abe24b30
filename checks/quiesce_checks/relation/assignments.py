"""Assignments: to fields and items (copies), and to locals (values, or aliases that are fixed there)."""

from __future__ import annotations

import ast
import inspect
from typing import Any, cast

from quiesce_model.language import containers
from quiesce_model.language.containers import Bag, Subset
from quiesce_model.language.machine import Constant
from quiesce_model.language.types import (
    AgeType,
    EachType,
    LeftType,
    OptionalType,
    RecordType,
    RowType,
    SubsetType,
    Type,
)
from quiesce_model.language.values import Record

from . import form
from .calls import Calls
from .expressions import ARITHMETIC, MISSING
from .form import Expr, Place, Statement
from .scope import AliasOf, Scalar, kind_name, kind_of, optional_keys, type_name

SETS: dict[type[ast.operator], Any] = {
    ast.BitOr: Subset.update,
    ast.BitAnd: Subset.intersect,
    ast.Sub: Subset.subtract,
}


class Assignments(Calls):
    """Translates assignments, and notes which optional members they touch."""

    appending = False
    """Whether an item is put behind all others, which moves none that an alias may stand for."""

    def written(self, statement: Statement) -> Statement:
        self.scope.writes = True
        return statement

    def assign(self, node: ast.Assign) -> list[Statement]:
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            if (
                not isinstance(node.value, ast.Tuple)
                or len(node.value.elts) != len(target.elts)
                or len(node.targets) > 1
            ):
                self.error(node, "the two sides of a tuple assignment have to match", "write one assignment for each")
            made: list[Statement] = []
            held: list[Expr] = []
            for number, item in enumerate(node.value.elts):
                value = self.value(item)
                slot = f"{self.scope.slot('held')}{node.lineno}.{number}"
                made.append(form.SetLocal(slot, value, self.site(item)))
                held.append(form.Local(slot, value.kind, self.site(item)))
            for place, value in zip(target.elts, held, strict=True):
                made.extend(self.assign_value(place, value, node))
            return made
        if len(node.targets) > 1:
            value = self.value(node.value)
            slot = f"{self.scope.slot('held')}{node.lineno}"
            local = form.Local(slot, value.kind, self.site(node))
            return [
                form.SetLocal(slot, value, self.site(node)),
                *(s for place in node.targets for s in self.assign_value(place, local, node)),
            ]
        return self.assign_one(target, node.value)

    def assign_one(self, target: ast.expr, value: ast.expr) -> list[Statement]:
        if isinstance(target, ast.Name):
            return self.bind(target, value)
        place = self.target(target)
        if isinstance(value, ast.Constant) and value.value is None:
            if not isinstance(place.type, OptionalType):
                self.error(value, f"{self.text(target)} cannot be None", "declare the field with optional(…)")
            return [self.composite(form.Clear(place, self.site(target)), place)]
        built = self.built(value, place)
        if built is not None:
            return [self.composite(built, place)]
        found = self.operand(value)
        if isinstance(found, Place) and (kind_of(found.type) is None or found.type == place.type):
            return [self.copied(target, place, found, value)]
        return self.assign_value(target, self.read(found, value), value)

    def copied(self, target: ast.expr, place: Place, found: Place, node: ast.AST) -> Statement:
        bare = place.type.item if isinstance(place.type, OptionalType) else place.type
        source = found.type.item if isinstance(found.type, OptionalType) else found.type
        if self.shape(bare) != self.shape(source) or (
            isinstance(found.type, OptionalType) and not isinstance(place.type, OptionalType)
        ):
            if isinstance(found.type, OptionalType) and self.shape(bare) == self.shape(source):
                found = self.payload(found)
            else:
                self.error(
                    node,
                    f"{self.text(node)} is {type_name(found.type)}, where {type_name(place.type)} belongs",
                    f"give {type_name(place.type)}",
                )
        if kind_of(place.type) is not None:
            kind = kind_of(found.type)
            assert kind is not None
            return self.composite(
                form.Assign(place, form.Read(found, kind, self.site(node)), True, self.site(target)), place
            )
        return self.composite(form.CopyValue(place, found, self.site(target)), place)

    def shape(self, type: Type) -> Any:
        """What two types have to share for one to be copied into the other."""
        match type:
            case RowType() | SubsetType():
                return (type.record, tuple(self.shape(member.type) for member in type.members))
            case RecordType():
                return type.record
            case EachType():
                return (type.size, self.shape(type.item))
            case OptionalType():
                return ("optional", self.shape(type.item))
            case _:
                return kind_of(type)

    def composite(self, statement: Statement, place: Place) -> Statement:
        """Note what optional members an assignment touches, and unbind aliases into them."""
        keys = optional_keys(place.type)
        if isinstance(place.type, OptionalType):
            key = self.optional_key(place)
            if key is not None:
                keys.add(key)
        holding = None if self.appending else self.holding(place)
        if holding is not None:
            keys.add(holding)
        self.scope.assigned |= keys
        self.scope.forget(keys)
        return self.written(statement)

    def built(self, value: ast.expr, place: Place) -> form.Build | None:
        """``Record(member=…)`` on the right of an assignment."""
        if not isinstance(value, ast.Call) or (
            isinstance(value.func, ast.Attribute) and self.static(value.func) is MISSING
        ):
            return None
        record = self.static(value.func)
        if not (isinstance(record, type) and issubclass(record, Record)):
            return None
        target = place.type.item if isinstance(place.type, OptionalType) else place.type
        if not isinstance(target, RecordType) or target.record is not record:
            self.error(
                value,
                f"a {record.__name__} does not belong into {type_name(place.type)}",
                f"give {type_name(place.type)}",
            )
        if value.args:
            self.error(value, "a record's fields are given by name", f"write {record.__name__}(name=value)")
        members: dict[int, Expr | Place | form.Build | None] = {}
        positions = {member.name: (n, member.type) for n, member in enumerate(target.members)}
        for keyword in value.keywords:
            if keyword.arg not in positions:
                listed = ", ".join(positions)
                self.error(value, f"{record.__name__} has no field {keyword.arg!r}", f"its fields are: {listed}")
            position, member_type = positions[keyword.arg]
            steps = (*place.steps, form.Field(position, keyword.arg))
            inner = Place(place.root, steps, member_type, self.site(keyword.value))
            members[position] = self.member_value(keyword.value, inner)
        return form.Build(place, members, self.site(value))

    def member_value(self, node: ast.expr, place: Place) -> Expr | Place | form.Build | None:
        if isinstance(node, ast.Constant) and node.value is None and isinstance(place.type, OptionalType):
            return None
        built = self.built(node, place)
        if built is not None:
            return built
        found = self.operand(node)
        if isinstance(found, Place) and kind_of(found.type) is None:
            return found
        value = self.read(found, node)
        type = place.type.item if isinstance(place.type, OptionalType) else place.type
        if not self.fits(type, value.kind):
            self.member_type_error(node, type, value.kind)
        return value

    def target(self, node: ast.expr) -> Place:
        if isinstance(node, ast.Attribute):
            owner = self.operand(node.value)
            if isinstance(owner, Place):
                type = owner.type.item if isinstance(owner.type, OptionalType) else owner.type
                if isinstance(type, RecordType):
                    found = inspect.getattr_static(type.record, node.attr, None)
                    if isinstance(found, Constant):
                        self.error(node, f"{node.attr} is a constant", "make it a field, if it is to change")
        place = self.operand(node)
        if isinstance(place, Place):
            if self.goes_before(place.root):
                self.error(
                    node,
                    "the state before a step cannot be changed",
                    "assign to fields of self, in an action",
                )
            if self.in_a_bag(place):
                self.error(
                    node,
                    "an item of a bag cannot be changed where it lies: it would lose its place in the order",
                    "remove it, and add what it becomes",
                )
            return place
        self.error(
            node,
            f"{self.text(node)} cannot be assigned",
            "assign to a field of the machine or to a local name",
        )

    def in_a_bag(self, place: Place) -> bool:
        """Whether a place lies in a bag, as seen from outside of the bag's own methods."""
        key = None if self.appending else self.optional_key(place)
        return key is not None and issubclass(key[0], Bag) and self.scope.source.file != containers.__file__

    def goes_before(self, root: str) -> bool:
        return root == "before"

    def assign_value(self, target: ast.expr, value: Expr, node: ast.AST) -> list[Statement]:
        if isinstance(target, ast.Name):
            return self.bind_value(target, value)
        place = self.target(target)
        type = place.type.item if isinstance(place.type, OptionalType) else place.type
        if not self.fits(type, value.kind):
            self.member_type_error(node, type, value.kind)
        return [self.composite(form.Assign(place, value, True, self.site(target)), place)]

    def bind(self, target: ast.Name, value: ast.expr) -> list[Statement]:
        if isinstance(value, ast.Constant) and value.value is None:
            self.error(
                value,
                f"{target.id} = None has no meaning here",
                "keep what may be absent in an optional field",
            )
        record = (
            self.static(value.func)
            if isinstance(value, ast.Call) and not isinstance(value.func, ast.Attribute)
            else None
        )
        if isinstance(record, type) and issubclass(record, Record):
            self.error(value, "a record that is built has to be put somewhere", "assign it to a field of the machine")
        found = self.operand(value)
        if isinstance(found, Place) and (kind_of(found.type) is None or isinstance(found.type, AgeType | LeftType)):
            slot = self.scope.slot(target.id)
            previous = self.scope.names.get(target.id)
            if isinstance(previous, Scalar):
                self.error(target, f"{target.id} was a value and now stands for a place", "use another name")
            key = self.optional_key(found)
            if not found.steps and found.root in ("self", "before"):
                self.scope.names[target.id] = AliasOf(found)
                return []
            slot = f"{slot}@{target.lineno}.{target.col_offset}"
            self.scope.names[target.id] = self.alias(slot, found.type, key, target)
            return [form.Alias(slot, found, self.site(target))]
        return self.bind_value(target, self.read(found, value))

    def bind_value(self, target: ast.Name, value: Expr) -> list[Statement]:
        slot = self.scope.slot(target.id)
        previous = self.scope.names.get(target.id)
        kind = value.kind
        if kind == "age":
            self.error(target, "an age is no number to keep", "compare it where it is needed")
        if isinstance(previous, AliasOf):
            self.error(target, f"{target.id} stood for a place and is now a value", "use another name")
        if isinstance(previous, Scalar) and previous.kind != kind:
            if not {previous.kind, kind} <= {int, bool}:
                self.error(
                    target,
                    f"{target.id} was {kind_name(previous.kind)} and is now {kind_name(kind)}",
                    "use another name",
                )
            kind = int
        self.scope.names[target.id] = Scalar(form.Local(slot, kind, self.site(target)), kind)
        return [form.SetLocal(slot, value, self.site(target))]

    def put_behind(self, node: ast.Call, row: ast.expr) -> list[Statement]:
        """``q.push(item)`` and ``b.add(item)``: into the place behind the last, which the length then includes."""
        if len(node.args) != 1 or node.keywords:
            self.error(node, f"{self.text(node.func)} takes one item", "give it one item")
        length = ast.Attribute(row, "length", ast.Load())
        behind = ast.Subscript(ast.Attribute(row, "item", ast.Load()), length, ast.Store())
        grown = ast.AugAssign(length, ast.Add(), ast.Constant(1))
        for made_up in (behind, grown):
            ast.fix_missing_locations(ast.copy_location(made_up, node))
        self.appending = True
        made = self.assign_one(behind, node.args[0])
        self.appending = False
        return [*made, *self.augmented(grown)]

    def augmented(self, node: ast.AugAssign) -> list[Statement]:
        method = SETS.get(type(node.op))
        if method is not None and isinstance(node.value, ast.Name | ast.Attribute | ast.Subscript):
            target = self.operand(node.target)
            if isinstance(target, Place) and isinstance(target.type, SubsetType):
                other = self.place(node.value, "a subset")
                if other.type != target.type:
                    self.error(node, f"{self.text(node.value)} is no subset of the same range", "give one that is")
                call = self.call_function(node, method, [target, other], {})
                return [form.Do(cast(form.Call, call), self.site(node))]
        op = ARITHMETIC.get(type(node.op))
        if op is None:
            self.error(node, f"{self.text(node)} is outside the modelling language", "use += -= *= //= %=")
        current = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node.target)
        for inner in ast.walk(current):
            ast.copy_location(inner, node.target)
        value = form.Arithmetic(op, self.number(current), self.number(node.value), int, self.site(node))
        return self.assign_value(node.target, value, node)
