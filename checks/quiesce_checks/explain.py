"""Why a property fails in one state: which of its conjuncts, and with what values.

The property's own source is read and evaluated under plain Python, part by part, against the state in which
it fails. What comes out is for people; no verdict rests on it."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, cast

from quiesce_model.language.machine import Machine, Step
from quiesce_model.language.outcome import Blocked, Fault
from quiesce_model.language.values import Cells, Duration, Each, Record

Names = dict[str, Any]

LIMIT = 8
"""How many calls deep, and how many parts, an explanation goes."""


@dataclass(frozen=True)
class Part:
    """A condition that does not hold as the model writes it; ``values`` is the same with values in it,
    where that tells more; ``where`` says what the names of a quantifier stand for.
    """

    text: str
    values: str = ""
    where: str = ""


def explain(
    machine: Machine, property: str, before: Machine | None = None, step: Step | None = None
) -> tuple[Part, ...]:
    """The parts of the property that fail in the machine's state; of a step property, for a step from
    ``before``.

    Empty if the property holds, or if its source cannot be read.
    """
    arguments: Names = {}
    if before is not None:
        arguments = {"before": before, **dict(step.args if step else ())}
    try:
        return tuple(method_parts(machine, property, arguments, 0))[:LIMIT]
    except (OSError, SyntaxError, TypeError, NameError, AttributeError, Fault, Blocked):
        return ()


def method_parts(owner: Any, name: str, arguments: Names, depth: int) -> Iterator[Part]:
    method: Any = getattr(cast(type[Any], type(owner)), name)
    function = inspect.unwrap(method)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        return
    closure = inspect.getclosurevars(function)
    names: Names = {**vars(builtins), **function.__globals__, **closure.nonlocals}
    parameters = [argument.arg for argument in tree.args.args]
    names[parameters[0]] = owner
    given = list(arguments.items())
    for position, parameter in enumerate(parameters[1:]):
        if parameter in arguments:
            names[parameter] = arguments[parameter]
        elif position < len(given):
            names[parameter] = given[position][1]
    answer = result(tree.body, names)
    if answer is not None:
        yield from parts(answer, names, depth)


def result(body: list[ast.stmt], names: Names) -> ast.expr | None:
    """The expression that a run of the statements returns; ``names`` is left as it is then."""
    for statement in body:
        match statement:
            case ast.Return(value=value):
                return value
            case ast.If(test=test, body=then, orelse=other):
                answer = result(then if value_of(test, names) else other, names)
                if answer is not None:
                    return answer
            case ast.For(target=target, iter=source, body=inner):
                for item in value_of(source, names):
                    bind(target, item, names)
                    answer = result(inner, names)
                    if answer is not None:
                        return answer
            case _:
                code = ast.Module([statement], [])
                exec(compile(ast.fix_missing_locations(code), "<property>", "exec"), names)
    return None


def value_of(node: ast.expr, names: Names) -> Any:
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<property>", "eval"), names)


def bind(target: ast.expr, value: Any, names: Names) -> None:
    if isinstance(target, ast.Name):
        names[target.id] = value
    elif isinstance(target, ast.Tuple):
        for inner, item in zip(target.elts, value, strict=True):
            bind(inner, item, names)


def parts(node: ast.expr, names: Names, depth: int) -> Iterator[Part]:
    """The failing parts of an expression that is false."""
    if value_of(node, names):
        return
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                if not value_of(value, names):
                    yield from parts(value, names, depth)
                    return  # what follows is not evaluated either
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() as every]):
            yield from counterexample(every, names, depth)
        case ast.IfExp(test=test, body=then, orelse=other):
            chosen = then if value_of(test, names) else other
            yield from (replace(part, where=also(part.where, spell(test))) for part in parts(chosen, names, depth))
        case ast.BoolOp(op=ast.Or(), values=values):
            yield Part(spell(node), ", ".join(filter(None, (denied(value, names) for value in values))))
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=[]) if depth < LIMIT:
            given = {str(position): value_of(argument, names) for position, argument in enumerate(args)}
            inner = list(method_parts(value_of(owner, names), name, given, depth + 1))
            yield from inner or [Part(spell(node))]
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            yield Part(spell(node), differing(left, right, names) or with_values(node, names))
        case _:
            yield Part(spell(node), with_values(node, names))


def denied(node: ast.expr, names: Names) -> str:
    """What an alternative that does not hold comes to: short, or empty where it tells nothing."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"{spell(operand)}: yes"
        case ast.Name() | ast.Attribute() | ast.Call():
            return f"{spell(node)}: no"
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return differing(left, right, names) or with_values(node, names)
        case _:
            return with_values(node, names)


def differing(left: ast.expr, right: ast.expr, names: Names) -> str:
    """Of two records that are to be equal, the fields that are not."""
    one, other = value_of(left, names), value_of(right, names)
    if not isinstance(one, Record) or not isinstance(other, Record):
        return ""
    found = [
        f"{spell(left)}.{field.name}: {brief(mine)} and {brief(its)}"
        for field, mine, its in zip(type(one).__fields__, one.items_, other.items_, strict=True)
        if mine != its
    ]
    return ", ".join(found)


def brief(value: Any) -> str:
    return shown(value) if is_short(value) else repr(value)


def counterexample(every: ast.GeneratorExp, names: Names, depth: int) -> Iterator[Part]:
    """The first binding of the generators' names for which the element is false."""
    for bound, labels in bindings(every.generators, names):
        if not value_of(every.elt, bound):
            where = ", ".join(f"{name} = {label}" for name, label in labels.items())
            yield from (replace(part, where=also(part.where, where)) for part in parts(every.elt, bound, depth))
            return


def bindings(generators: list[ast.comprehension], names: Names) -> Iterator[tuple[Names, dict[str, str]]]:
    """Every binding of the generators' names, with what to call each: the place in a state, or the value."""
    if not generators:
        yield names, {}
        return
    first, *rest = generators
    source = value_of(first.iter, names)
    for position, item in enumerate(source):
        bound = dict(names)
        bind(first.target, item, bound)
        if all(value_of(condition, bound) for condition in first.ifs):
            targets = [node.id for node in ast.walk(first.target) if isinstance(node, ast.Name)]
            labels = {name: shown(bound[name]) for name in targets}
            if isinstance(source, Each) and isinstance(first.target, ast.Name):
                labels[first.target.id] = source.place_(position)
            for inner, more in bindings(rest, bound):
                yield inner, labels | more


def also(one: str, other: str) -> str:
    return f"{one}, {other}" if one and other else one or other


def with_values(node: ast.expr, names: Names) -> str:
    """The expression with every name and field replaced by its value; nothing if that shows nothing new."""
    spelled = spell(Values(names).visit(ast.parse(ast.unparse(node), mode="eval").body))
    return spelled if spelled != spell(node) else ""


class Values(ast.NodeTransformer):
    """Puts values in the place of what names them; what has no short value stays as it is written."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            try:
                value = value_of(node, self.names)
            except Exception:
                return node
            short = is_short(value)
            return ast.Name(shown(value)) if short else node
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        try:
            value = value_of(node, self.names)
        except Exception:
            return node
        return ast.Name(shown(value)) if is_short(value) else node


def is_short(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str | Enum | Duration)


def shown(value: Any) -> str:
    """A value as a trace shows it; a record by the place where it lies."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case Enum():
            return value.name
        case Duration():
            return "–" if value.items_[0] < 0 else str(value.items_[0])
        case Cells():
            return value.where_
        case _:
            return str(value)


SIGNS = {" <= ": " ≤ ", " >= ": " ≥ ", " != ": " ≠ ", " == ": " = ", "self.": ""}


def spell(node: ast.AST) -> str:
    """Source text as people read it."""
    text = single_parentheses(ast.unparse(node))
    for sign, better in SIGNS.items():
        text = text.replace(sign, better)
    return text


def single_parentheses(text: str) -> str:
    """``sum((n for n in x))`` is ``sum(n for n in x)``."""
    start = text.find("((")
    while start >= 0:
        end = closing(text, start + 1)
        if text[end + 1 : end + 2] == ")" and " for " in text[start:end]:
            text = text[:start] + text[start + 1 : end] + text[end + 1 :]
        start = text.find("((", start + 1)
    return text


def closing(text: str, opening: int) -> int:
    """Where the parenthesis that opens there is closed."""
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)
