"""Containers. Their methods are functions of the model like any other; here is what needs help: the loop over what is
in one, membership, order, and the three functions that their methods are made of."""

from __future__ import annotations

import ast
from typing import Any, cast

from quiesce_model.language import containers
from quiesce_model.language.types import EachType, RecordType, RowType, SubsetType

from . import form
from .expressions import Expressions
from .form import Expr, Place
from .scope import OptionalKey


class Contents(Expressions):
    """Translates what containers need beyond calls."""

    def within(self, place: Place, member: str) -> Place:
        """A field of a container."""
        record = cast(RecordType, place.type)
        for position, field in enumerate(record.members):
            if field.name == member:
                return Place(place.root, (*place.steps, form.Field(position, member)), field.type, place.site)
        raise KeyError(member)

    def at(self, row: Place, index: Expr, node: ast.AST) -> Place:
        """An item of a range."""
        return Place(row.root, (*row.steps, form.Index(index)), cast(EachType, row.type).item, self.site(node))

    def held(self, place: Place, index: Expr, node: ast.AST) -> Expr:
        """The condition that the place ``index`` of a container is in use."""
        site = self.site(node)
        if isinstance(place.type, SubsetType):
            return form.Read(self.at(self.within(place, "member"), index, node), bool, site)
        return form.Compare("<", index, form.Read(self.within(place, "length"), int, site), bool, site)

    def content(self, place: Place, index: Expr, node: ast.AST) -> Place:
        """``q[index]``: a fault where nothing is."""
        if not isinstance(place.type, RowType):
            self.error(node, "a subset has no indexes", f"ask `… in {self.text(cast(ast.Subscript, node).value)}`")
        beyond = self.literal(place.type.size, node)
        known = form.IfElse(self.held(place, index, node), index, beyond, int, self.site(node))
        return self.at(self.within(place, "item"), known, node)

    def contains(self, place: Place, left: ast.expr, node: ast.Compare) -> Expr:
        """``index in subset``."""
        if not isinstance(place.type, SubsetType):
            container = self.text(node.comparators[-1])
            self.error(
                node, f"{container} has no quick way to find an item", f"write any(item == … for item in {container})"
            )
        return form.Read(self.at(self.within(place, "member"), self.number(left), node), bool, self.site(node))

    def ordered(self, a: Place, b: Place, sign: str, node: ast.Compare) -> Expr | None:
        """``a <= b`` of two subsets, None for what is no such thing."""
        if not (isinstance(a.type, SubsetType) and isinstance(b.type, SubsetType) and sign in ("<=", ">=")):
            return None
        if a.type != b.type:
            self.error(node, "these subsets are of different ranges", "compare subsets of one range")
        method = containers.Subset.__le__ if sign == "<=" else containers.Subset.__ge__
        return cast(Expr, self.call_function(node, method, [a, b], {}))

    def intrinsic(self, node: ast.Call, function: Any) -> Expr | form.Clear | form.Swap | None:
        """What the containers' own methods are made of."""
        if function not in (containers.blank, containers.swap, containers.precedes):
            return None
        row = self.place(node.args[0], "a range of values")
        places = [self.at(row, self.number(index), node) for index in node.args[1:]]
        site = self.site(node)
        if function is containers.blank:
            return form.Clear(places[0], site)
        if function is containers.swap:
            return form.Swap(places[0], places[1], site)
        return form.Precedes(places[0], places[1], bool, site)

    def holding(self, place: Place) -> OptionalKey | None:
        """The container whose item a place is: what changes under the aliases that were bound to its items."""
        *before, last = [(None, None), *self.along(place)]
        if not isinstance(last[0], form.Index) or not isinstance(before[-1][1], RowType):
            return None
        return (before[-1][1].record, "item")
