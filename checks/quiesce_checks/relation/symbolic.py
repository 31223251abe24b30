"""The typed statement form executed on terms: all ways through an action at once.

Branches are executed side by side and merged where they meet again, so a term grows with the text of the model and not
with the number of ways through it. Loops are unrolled. What comes to no step (a guard that blocks, a fault) is
collected as an *exit* with the condition under which it is taken; exits exclude each other, earlier ones first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from quiesce_model.language import containers
from quiesce_model.language.types import AgeType, EachType

from . import form
from . import terms as t
from .errors import ModelError
from .form import Expr, Place, Statement
from .relation import Site
from .rows import Comparison, Frame, Rows, Spot, State, as_term, both
from .terms import FALSE, TRUE, Term

LIBRARY = containers.__file__


@dataclass
class Execution(Rows):
    """One run of a function on terms."""

    def run(self, function: form.Function, args: list[Term | Spot]) -> Term | None:
        """Execute a function from the row's present values; afterwards ``state.row`` has the new ones."""
        return self.call(function, args, TRUE)

    # Statements

    def call(self, function: form.Function, args: list[Term | Spot], when: Term) -> Term | None:
        def body() -> None:
            outer, names = self.state.frame, self.state.slots
            self.state.frame = Frame()
            self.state.slots = dict(zip(function.parameters, args, strict=True))
            self.block(function.body)
            result.append(self.state.frame.value)
            self.state.frame, self.state.slots = outer, names

        result: list[Term | None] = []
        self.under(when, body)
        return result[0] if result else None

    def block(self, statements: tuple[Statement, ...]) -> None:
        for position, statement in enumerate(statements):
            self.execute(statement)
            returned = self.state.frame.returned
            if returned is TRUE:
                return
            if returned is not FALSE:
                rest = statements[position + 1 :]
                if rest:
                    self.under_rest(rest)
                return

    def under_rest(self, rest: tuple[Statement, ...]) -> None:
        """The statements after one that returns on some ways, for the other ways."""
        returned = self.state.frame.returned

        def body() -> None:
            self.state.frame.returned = FALSE
            self.block(rest)

        self.under(t.not_(returned), body)

    def execute(self, statement: Statement) -> None:
        match statement:
            case form.SetLocal():
                self.state.slots[statement.slot] = self.value(statement.value)
            case form.Alias():
                self.state.slots[statement.slot] = self.spot(statement.place)
            case form.Assign():
                value = self.value(statement.value)
                self.put(self.spot(statement.place), value, statement.checked, statement.site)
            case form.CopyValue():
                self.copy(self.spot(statement.source), self.spot(statement.place), statement.site)
            case form.Build():
                held = self.prepare(statement)
                self.build(self.spot(statement.place), held, statement.site)
            case form.Clear():
                self.reset(self.spot(statement.place))
            case form.Swap():
                self.swap(self.spot(statement.left), self.spot(statement.right))
            case form.If():
                test = self.value(statement.test)
                self.branch(test, statement)
            case form.For():
                self.loop(statement)
            case form.Require():
                condition = self.value(statement.condition)
                if not statement.off:
                    self.leave("blocked", t.not_(condition), statement.rule, statement.site)
            case form.Do():
                self.value_of_call(statement.call)
            case form.Return():
                if statement.value is not None:
                    self.state.frame.value = self.value(cast(Expr, statement.value))
                self.state.frame.returned = TRUE

    def branch(self, test: Term, statement: form.If) -> None:
        if test is TRUE or test is FALSE:
            self.block(statement.then if test is TRUE else statement.other)
            return
        outer, outside = self.state, self.within
        then, other = outer.split(), outer
        self.state, self.within = then, t.and_(outside, test)
        if self.within is not FALSE:
            self.block(statement.then)
        self.state, self.within = other, t.and_(outside, t.not_(test))
        if self.within is not FALSE:
            self.block(statement.other)
        self.within = outside
        self.merge(test, then, other)

    def loop(self, statement: form.For) -> None:
        for _ in self.iterate(statement.loop, statement.site):
            returned = self.state.frame.returned
            if returned is TRUE:
                return
            if returned is FALSE:
                self.block(statement.body)
            else:

                def body() -> None:
                    self.state.frame.returned = FALSE
                    self.block(statement.body)

                self.under(t.not_(returned), body)

    def iterate(self, loop: form.Loop, site: Site) -> Iterator[None]:
        match loop.over:
            case form.Range():
                low, high = self.value(loop.over.low), self.value(loop.over.high)
                if not (t.is_const(low) and t.is_const(high)):
                    raise ModelError(
                        "the size of this loop is not known at the scope",
                        "loop over a constant range, and give sizes of ranges numbers also in a proof",
                        site,
                    )
                for index in range(low.data, high.data):
                    self.state.slots[cast(str, loop.index)] = t.const(index)
                    yield
            case form.Values():
                for value in loop.over.values:
                    self.state.slots[cast(str, loop.item)] = self.value(value)
                    yield
            case form.Items():
                here = self.spot(loop.over.place)
                each = cast(EachType, here.type)
                width = self.layout.width(each.item)
                for index in range(each.size):
                    if loop.index is not None:
                        self.state.slots[loop.index] = t.const(index)
                    item = here.moved(index * width, each.item)
                    self.state.slots[cast(str, loop.item)] = item if loop.by_alias else self.read(item)
                    yield

    # Expressions

    def value(self, expr: Expr) -> Term:
        match expr:
            case form.Literal_():
                return t.const(expr.value)
            case form.ConstantOf():
                return self.constants[expr.name]
            case form.Local():
                return self.state.slots[expr.slot]
            case form.Read():
                return self.read(self.spot(expr.place))
            case form.Present():
                return self.read(self.spot(expr.place))
            case form.Not():
                return t.not_(self.value(expr.of))
            case form.Junction():
                return self.junction(expr)
            case form.Compare():
                return self.compare(expr)
            case form.Same():
                return self.same(self.spot(expr.left), self.spot(expr.right))
            case form.Precedes():
                return self.precedes(self.spot(expr.left), self.spot(expr.right))
            case form.Arithmetic():
                return self.arithmetic(expr)
            case form.IfElse():
                test = self.value(expr.test)
                then = self.guarded(test, expr.then)
                other = self.guarded(t.not_(test), expr.other)
                return both(test, then, other)
            case form.Fold():
                return self.fold(expr)
            case form.Call():
                found = self.value_of_call(expr)
                return found if found is not None else (FALSE if expr.kind is bool else t.const(0))

    def value_of_call(self, call: form.Call) -> Term | None:
        args: list[Term | Spot] = [self.spot(a) if isinstance(a, Place) else self.value(a) for a in call.args]
        caller = self.caller
        if caller is None and call.function.site.file == LIBRARY:
            self.caller = call.site
        found = self.call(call.function, args, self.pending)
        self.caller = caller
        return found

    def guarded(self, condition: Term, expr: Expr) -> Term:
        """A value that is worked out only where the condition holds; elsewhere it is never looked at."""
        if condition is FALSE:
            return FALSE if expr.kind is bool else t.const(0)
        if condition is TRUE:
            return self.value(expr)
        within, pending = self.within, self.pending
        self.within, self.pending = t.and_(within, condition), t.and_(pending, condition)
        found = self.value(expr)
        self.within, self.pending = within, pending
        return found

    def junction(self, expr: form.Junction) -> Term:
        found = self.value(expr.parts[0])
        for part in expr.parts[1:]:
            if expr.op == "and":
                found = t.and_(found, self.guarded(found, part))
            else:
                found = t.or_(found, self.guarded(t.not_(found), part))
        return found

    def compare(self, expr: form.Compare) -> Term:
        a, b = self.value(expr.left), self.value(expr.right)
        self.note_age(expr.left, b, expr.site)
        self.note_age(expr.right, a, expr.site)
        match expr.op:
            case "==":
                return t.eq(a, b)
            case "!=":
                return t.not_(t.eq(a, b))
            case "<":
                return t.lt(a, b)
            case "<=":
                return t.le(a, b)
            case ">":
                return t.lt(b, a)
            case ">=":
                return t.le(b, a)

    def note_age(self, expr: Expr, other: Term, site: Site) -> None:
        if isinstance(expr, form.Read) and isinstance(expr.place.type, AgeType):
            spot = self.spot(expr.place)
            for _, offset in spot.choices:
                self.comparisons.append(Comparison(offset, other, site))

    def same(self, a: Spot, b: Spot) -> Term:
        return t.and_(*(t.eq(self.read(a, n), self.read(b, n)) for n in range(self.layout.width(a.type))))

    def precedes(self, a: Spot, b: Spot) -> Term:
        found = FALSE
        for n in reversed(range(self.layout.width(a.type))):
            x, y = t.to_int(self.read(a, n)), t.to_int(self.read(b, n))
            found = t.or_(t.lt(x, y), t.and_(t.eq(x, y), found))
        return found

    def arithmetic(self, expr: form.Arithmetic) -> Term:
        a, b = t.to_int(self.value(expr.left)), t.to_int(self.value(expr.right))
        match expr.op:
            case "+":
                return t.add(a, b)
            case "-":
                return t.sub(a, b)
            case "*":
                return t.mul(a, b)
            case "min":
                return t.min_(a, b)
            case "max":
                return t.max_(a, b)
            case _:
                self.leave("division", t.eq(b, t.const(0)), "division", expr.site)
                return t.div(a, b) if expr.op == "//" else t.mod(a, b)

    def fold(self, expr: form.Fold) -> Term:
        found: list[tuple[Term, Term]] = []
        stop: list[Term] = []

        def level(n: int, when: Term) -> None:
            if n == len(expr.loops):
                reached = t.and_(when, *stop)
                value = self.guarded(reached, expr.body)
                found.append((when, value))
                if expr.op == "all":  # Python looks no further than the first that decides
                    stop.append(t.or_(t.not_(when), value))
                elif expr.op == "any":
                    stop.append(t.not_(t.and_(when, value)))
                return
            loop, tests = expr.loops[n]
            for _ in self.iterate(loop, expr.site):
                condition = when
                for test in tests:
                    condition = t.and_(condition, self.guarded(t.and_(condition, *stop), test))
                level(n + 1, condition)

        level(0, TRUE)
        match expr.op:
            case "all":
                return t.and_(*(t.implies(when, value) for when, value in found))
            case "any":
                return t.or_(*(t.and_(when, value) for when, value in found))
            case "sum":
                total = t.const(0)
                for when, value in found:
                    total = t.add(total, t.ite(when, t.to_int(value), t.const(0)))
                return total
            case _:
                return self.extreme(expr, found)

    def extreme(self, expr: form.Fold, found: list[tuple[Term, Term]]) -> Term:
        choose = t.min_ if expr.op == "min" else t.max_
        best, any_yet = t.const(0), FALSE
        for when, value in found:
            number = t.to_int(value)
            here = t.ite(any_yet, choose(best, number), number)
            best = t.ite(when, here, best)
            any_yet = t.or_(any_yet, when)
        if any_yet is TRUE or expr.default is None:
            return best
        default = self.guarded(t.not_(any_yet), expr.default)
        return t.ite(any_yet, best, t.to_int(default))


__all__ = ["Comparison", "Execution", "Spot", "State", "as_term"]
