"""Terms: what a model's expressions become. Hash-consed, simplified as they are built, with ranges.

Two sorts: ``BOOL`` and ``INT`` (whole numbers as Python has them). A term is made by the functions of this module
only, so that equal terms are one object and comparing them is comparing identity. ``low`` and ``high`` bound the value
of an INT term, None where it is unbounded; they come from the variables' domains and are what shows that a number fits
the machine's word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

BOOL = "bool"
INT = "int"


class Term:
    """One node. ``op`` is ``const var not and or ite eq le add sub mul div mod``; ``data`` is a constant's value or
    a variable's name."""

    __slots__ = ("args", "data", "high", "low", "number", "op", "sort")

    op: str
    args: tuple[Term, ...]
    data: Any
    sort: str
    low: int | None
    high: int | None
    number: int

    def __add__(self, other: Term | int) -> Term:
        return add(self, lift(other))

    def __radd__(self, other: int) -> Term:
        return add(lift(other), self)

    def __sub__(self, other: Term | int) -> Term:
        return sub(self, lift(other))

    def __rsub__(self, other: int) -> Term:
        return sub(lift(other), self)

    def __mul__(self, other: Term | int) -> Term:
        return mul(self, lift(other))

    def __rmul__(self, other: int) -> Term:
        return mul(lift(other), self)

    def __floordiv__(self, other: Term | int) -> Term:
        return div(self, lift(other))

    def __mod__(self, other: Term | int) -> Term:
        return mod(self, lift(other))

    def __bool__(self) -> NoReturn:
        raise TypeError("a symbolic constant has no value here: write the bound as arithmetic of constants")

    def __repr__(self) -> str:
        return show(self)


table: dict[tuple[Any, ...], Term] = {}
made = itertools.count()


def forget() -> None:
    """Drop the record of what was built, so that it does not grow from one relation to the next.

    Terms that exist stay valid; they are merely no longer found when an equal one is built.
    """
    table.clear()
    for term in (TRUE, FALSE):
        table[("const", BOOL, term.data, None, None)] = term


def make(
    op: str,
    args: tuple[Term, ...],
    sort: str,
    data: Any = None,
    low: int | None = None,
    high: int | None = None,
) -> Term:
    key = (op, sort, data, low, high, *[a.number for a in args]) if op in ("const", "var") else (
        op, *[a.number for a in args]
    )  # fmt: skip
    found = table.get(key)
    if found is None:
        found = Term()
        found.op, found.args, found.sort, found.data = op, args, sort, data
        found.low, found.high, found.number = low, high, next(made)
        table[key] = found
    return found


def const(value: int | bool) -> Term:
    if value is True or value is False:
        return TRUE if value else FALSE
    return make("const", (), INT, int(value), int(value), int(value))


def var(name: str, sort: str = INT, low: int | None = None, high: int | None = None) -> Term:
    if low is not None and low == high:
        return const(low) if sort is INT else const(bool(low))
    return make("var", (), sort, name, low, high)


TRUE = make("const", (), BOOL, True)
FALSE = make("const", (), BOOL, False)


def lift(value: Term | int | bool) -> Term:
    return value if isinstance(value, Term) else const(value)


def is_const(term: Term) -> bool:
    return term.op == "const"


def not_(a: Term) -> Term:
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a.op == "not":
        return a.args[0]
    return make("not", (a,), BOOL)


def junction(op: str, unit: Term, zero: Term, parts: Iterable[Term]) -> Term:
    """Flattened and, or: duplicates dropped, contradiction found, what one part implies removed from the others."""
    seen: dict[int, Term] = {}
    stack = list(parts)[::-1]
    while stack:
        part = stack.pop()
        if part is zero:
            return zero
        if part is unit or part.number in seen:
            continue
        if part.op == op:
            stack.extend(part.args[::-1])
            continue
        if not_(part).number in seen:
            return zero
        seen[part.number] = part
    other = "or" if op == "and" else "and"
    if any(part.op == other for part in seen.values()):
        kept: list[Term] = []
        changed = False
        for part in seen.values():
            if part.op == other:
                if any(p.number in seen for p in part.args):  # absorbed: a and (a or b)
                    changed = True
                    continue
                rest = [p for p in part.args if not_(p).number not in seen]  # a and (not a or b)
                if len(rest) != len(part.args):
                    changed = True
                    kept.append(junction(other, zero, unit, rest))
                    continue
            kept.append(part)
        if changed:
            return junction(op, unit, zero, kept)
    found = list(seen.values())
    if not found:
        return unit
    if len(found) == 1:
        return found[0]
    return make(op, tuple(found), BOOL)


def and_(*parts: Term) -> Term:
    return junction("and", TRUE, FALSE, parts)


def or_(*parts: Term) -> Term:
    return junction("or", FALSE, TRUE, parts)


def implies(a: Term, b: Term) -> Term:
    return or_(not_(a), b)


def ite(c: Term, a: Term, b: Term) -> Term:
    if c is TRUE or a is b:
        return a
    if c is FALSE:
        return b
    if c.op == "not":
        return ite(c.args[0], b, a)
    if a.op == "ite" and a.args[0] is c:
        a = a.args[1]
    if b.op == "ite" and b.args[0] is c:
        b = b.args[2]
    if a is b:
        return a
    if a.sort is BOOL:
        if a is TRUE or a is c:
            return or_(c, b)
        if a is FALSE:
            return and_(not_(c), b)
        if b is FALSE or b is c:
            return and_(c, a)
        if b is TRUE:
            return or_(not_(c), a)
        return make("ite", (c, a, b), BOOL)
    if b.op == "ite" and b.args[1] is a:  # c ? a : (d ? a : e)  is  (c or d) ? a : e
        return ite(or_(c, b.args[0]), a, b.args[2])
    if a.op == "ite" and a.args[2] is b:  # c ? (d ? e : b) : b  is  (c and d) ? e : b
        return ite(and_(c, a.args[0]), a.args[1], b)
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return make("ite", (c, a, b), INT, None, low, high)


def to_int(a: Term) -> Term:
    """A condition as Python counts it: 1 or 0."""
    return a if a.sort is INT else ite(a, const(1), const(0))


def eq(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    if a.sort is BOOL or b.sort is BOOL:
        if a.sort is not b.sort:
            return eq(to_int(a), to_int(b))
        if is_const(a):
            a, b = b, a
        if b is TRUE:
            return a
        if b is FALSE:
            return not_(a)
        if not_(a) is b:
            return FALSE
        return make("eq", (a, b) if a.number < b.number else (b, a), BOOL)
    if below(a, b) or below(b, a):
        return FALSE
    if is_const(a) and not is_const(b):
        a, b = b, a
    if is_const(b):
        if is_const(a):
            return const(a.data == b.data)
        if a.op == "ite" and (is_const(a.args[1]) or is_const(a.args[2])):
            c, x, y = a.args
            return ite(c, eq(x, b), eq(y, b))
        if a.op == "add" and is_const(a.args[1]):
            return eq(a.args[0], const(b.data - a.args[1].data))
        if a.low is not None and a.high == b.data and a.high == a.low + 1:
            return not_(eq(a, const(a.low)))  # of two values, the lower one is asked for
    return make("eq", (a, b) if is_const(b) or a.number < b.number else (b, a), BOOL)


def below(a: Term, b: Term) -> bool:
    """Whether every value of ``a`` is less than every value of ``b``."""
    return a.high is not None and b.low is not None and a.high < b.low


def le(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    if a is b or (a.high is not None and b.low is not None and a.high <= b.low):
        return TRUE
    if below(b, a):
        return FALSE
    if is_const(b):
        if a.op == "ite" and (is_const(a.args[1]) or is_const(a.args[2])):
            c, x, y = a.args
            return ite(c, le(x, b), le(y, b))
        if a.op == "add" and is_const(a.args[1]):
            return le(a.args[0], const(b.data - a.args[1].data))
        if a.low == b.data:
            return eq(a, b)
        if a.high is not None and a.high == b.data + 1:
            return not_(eq(a, const(a.high)))
    if is_const(a):
        return not_(le(b, const(a.data - 1)))  # one form for bounds, so that a bound and its opposite meet
    return make("le", (a, b), BOOL)


def lt(a: Term, b: Term) -> Term:
    return not_(le(b, a))


def plus(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else x + y


def minus(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else x - y


def add(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    if is_const(a):
        a, b = b, a
    if is_const(b):
        if is_const(a):
            return const(a.data + b.data)
        if b.data == 0:
            return a
        if a.op == "add" and is_const(a.args[1]):
            return add(a.args[0], const(a.args[1].data + b.data))
    elif a.number > b.number:
        a, b = b, a
    return make("add", (a, b), INT, None, plus(a.low, b.low), plus(a.high, b.high))


def sub(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    if is_const(b):
        return add(a, const(-b.data))
    if a is b:
        return const(0)
    return make("sub", (a, b), INT, None, minus(a.low, b.high), minus(a.high, b.low))


def mul(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    if is_const(a):
        a, b = b, a
    if is_const(b):
        if is_const(a):
            return const(a.data * b.data)
        if b.data == 0:
            return b
        if b.data == 1:
            return a
    elif a.number > b.number:
        a, b = b, a
    if a.low is None or a.high is None or b.low is None or b.high is None:
        low = 0 if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0 else None
        return make("mul", (a, b), INT, None, low, None)
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return make("mul", (a, b), INT, None, min(corners), max(corners))


def div(a: Term, b: Term) -> Term:
    """Python's ``//``. The caller has made sure that ``b`` is not 0."""
    a, b = to_int(a), to_int(b)
    if is_const(b):
        if is_const(a) and b.data != 0:
            return const(a.data // b.data)
        if b.data == 1:
            return a
    if a.low is None or a.high is None or b.low is None or b.low < 1 or b.high is None:
        return make("div", (a, b), INT)
    corners = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
    return make("div", (a, b), INT, None, min(corners), max(corners))


def mod(a: Term, b: Term) -> Term:
    """Python's ``%``: the sign of the divisor. The caller has made sure that ``b`` is not 0."""
    a, b = to_int(a), to_int(b)
    if is_const(b):
        if is_const(a) and b.data != 0:
            return const(a.data % b.data)
        if b.data > 0 and a.low is not None and a.low >= 0 and a.high is not None and a.high < b.data:
            return a
    if b.low is not None and b.low >= 1:
        return make("mod", (a, b), INT, None, 0, None if b.high is None else b.high - 1)
    return make("mod", (a, b), INT)


def min_(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    return clamp(ite(le(a, b), a, b), None, least(a.high, b.high))


def max_(a: Term, b: Term) -> Term:
    a, b = to_int(a), to_int(b)
    return clamp(ite(le(b, a), a, b), most(a.low, b.low), None)


def least(x: int | None, y: int | None) -> int | None:
    return y if x is None else x if y is None else min(x, y)


def most(x: int | None, y: int | None) -> int | None:
    return y if x is None else x if y is None else max(x, y)


def clamp(term: Term, low: int | None, high: int | None) -> Term:
    """Record a tighter range, known from how the term was made, on a term that was just built."""
    if term.op == "ite":
        if low is not None:
            term.low = most(term.low, low)
        if high is not None:
            term.high = least(term.high, high)
    return term


def walk(roots: Iterable[Term]) -> Iterator[Term]:
    """Every term below the roots once, arguments before what is made of them."""
    done: set[int] = set()
    stack: list[tuple[Term, bool]] = [(root, False) for root in list(roots)[::-1]]
    while stack:
        term, ready = stack.pop()
        if ready:
            yield term
            continue
        if term.number in done:
            continue
        done.add(term.number)
        stack.append((term, True))
        stack.extend((arg, False) for arg in term.args[::-1] if arg.number not in done)


def variables(roots: Iterable[Term]) -> list[Term]:
    return [term for term in walk(roots) if term.op == "var"]


def substitute(roots: Iterable[Term], replacement: Callable[[Term], Term | None]) -> list[Term]:
    """The roots with each variable for which ``replacement`` gives a term replaced, simplified again."""
    roots = list(roots)
    new: dict[int, Term] = {}
    for term in walk(roots):
        if term.op == "var":
            found = replacement(term)
            new[term.number] = term if found is None else found
        elif term.args:
            new[term.number] = rebuild(term.op, tuple(new[arg.number] for arg in term.args))
        else:
            new[term.number] = term
    return [new[root.number] for root in roots]


BUILDERS: dict[str, Callable[..., Term]] = {
    "not": not_, "and": and_, "or": or_, "ite": ite, "eq": eq, "le": le,
    "add": add, "sub": sub, "mul": mul, "div": div, "mod": mod,
}  # fmt: skip


def rebuild(op: str, args: tuple[Term, ...]) -> Term:
    return BUILDERS[op](*args)


def evaluate(term: Term, values: Callable[[str], int | bool]) -> int | bool:
    """The value of a term, variables looked up by name: the plain meaning that the other readings are held against."""
    return evaluate_in_order(list(walk([term])), values)[term.number]


def evaluate_in_order(order: list[Term], values: Callable[[str], int | bool]) -> dict[int, Any]:
    """The values of all terms of ``order`` (arguments first, as :func:`walk` gives them), by the terms' numbers."""
    found: dict[int, Any] = {}
    for node in order:
        a: list[Any] = [found[arg.number] for arg in node.args]
        match node.op:
            case "const":
                value: Any = node.data
            case "var":
                value = values(node.data)
            case "not":
                value = not a[0]
            case "and":
                value = all(a)
            case "or":
                value = any(a)
            case "ite":
                value = a[1] if a[0] else a[2]
            case "eq":
                value = a[0] == a[1]
            case "le":
                value = a[0] <= a[1]
            case "add":
                value = a[0] + a[1]
            case "sub":
                value = a[0] - a[1]
            case "mul":
                value = a[0] * a[1]
            case "div":
                value = a[0] // a[1] if a[1] else 0
            case _:
                value = a[0] % a[1] if a[1] else 0
        found[node.number] = value
    return found


SIGNS = {"and": " and ", "or": " or ", "eq": " == ", "le": " <= ", "add": " + ", "sub": " - ", "mul": " * "}


def show(term: Term) -> str:
    """The term in the words of Python, for people who look into a relation."""
    match term.op:
        case "const" | "var":
            return str(term.data)
        case "not":
            return f"not {show(term.args[0])}"
        case "ite":
            c, a, b = (show(arg) for arg in term.args)
            return f"({a} if {c} else {b})"
        case "div" | "mod":
            return f"({show(term.args[0])} {'//' if term.op == 'div' else '%'} {show(term.args[1])})"
        case _:
            return f"({SIGNS[term.op].join(show(arg) for arg in term.args)})"
