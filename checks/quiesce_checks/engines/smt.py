"""Terms as Z3 formulas, and questions to the solver: the only place that imports Z3.
 Z3's Python interface has no types, so a formula is ``Any`` behind this border. Everything belongs to one
:class:`Session` with a context of its own: what one question leaves behind in the solver changes no other
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from ..relation.terms import BOOL, Term

Formula = Any
"""A Z3 expression."""

SEED = 0


class SolverMissing(ImportError):
    """Z3 is not installed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while the solver was at work."""


def library() -> Any:
    try:
        return import_module("z3")
    except ImportError:
        raise SolverMissing(
            "the proving engines need Z3, which is not installed: pip install 'quiesce[check]'"
        ) from None


def version() -> str:
    """The solver's version, for a verdict's notes."""
    return f"z3 {library().get_version_string()}, seed {SEED}"


@dataclass(frozen=True)
class Answer:
    """What the solver said. ``unknown`` is never a pass; ``reason`` says why it was given (a time-out,
    mostly).

    ``core`` names assumptions that were enough for ``unsat``; ``value`` reads the model of ``sat``.
    """

    outcome: Literal["sat", "unsat", "unknown"]
    reason: str = ""
    core: tuple[str, ...] = ()
    model: Formula = field(default=None, repr=False)

    @property
    def sat(self) -> bool:
        return self.outcome == "sat"

    @property
    def unsat(self) -> bool:
        return self.outcome == "unsat"

    def value(self, formula: Formula) -> int:
        """The formula's value in the model, a truth value as 0 or 1."""
        found = self.model.eval(formula, model_completion=True)
        return int(bool(found)) if found.sort().name() == "Bool" else found.as_long()


class Session:
    """One Z3 context: makes formulas and solvers that know nothing of other sessions."""

    def __init__(self) -> None:
        self.z3 = library()
        self.context = self.z3.Context()
        self.true: Formula = self.z3.BoolVal(True, self.context)

    def variable(self, name: str, sort: str) -> Formula:
        return (self.z3.Bool if sort is BOOL else self.z3.Int)(name, self.context)

    def constant(self, value: int | bool) -> Formula:
        if value is True or value is False:
            return self.z3.BoolVal(value, self.context)
        return self.z3.IntVal(value, self.context)

    def all(self, parts: Iterable[Formula]) -> Formula:
        found = list(parts)
        return found[0] if len(found) == 1 else self.z3.And(found) if found else self.true

    def any(self, parts: Iterable[Formula]) -> Formula:
        found = list(parts)
        return found[0] if len(found) == 1 else self.z3.Or(found) if found else self.z3.Not(self.true)

    def no(self, part: Formula) -> Formula:
        return self.z3.Not(part)

    def implies(self, premise: Formula, conclusion: Formula) -> Formula:
        return self.z3.Implies(premise, conclusion)

    def number(self, formula: Formula) -> Formula:
        """A truth value as 1 or 0; a number as it is."""
        if formula.sort().name() != "Bool":
            return formula
        return self.z3.If(formula, self.constant(1), self.constant(0))

    def numeric(self, formula: Formula) -> bool:
        return formula.sort().name() != "Bool"

    def same(self, a: Formula, b: Formula) -> Formula:
        """Equality of leaves, where one may be a truth value and the other its number."""
        if a.sort().name() != b.sort().name():
            a, b = self.number(a), self.number(b)
        return a == b

    def within(self, value: Formula, low: int | None, high: int | None) -> Formula:
        parts = [value >= low] if low is not None else []
        return self.all([*parts, value <= high] if high is not None else parts)

    def exactly_one(self, choices: Sequence[Formula]) -> Formula:
        if len(choices) < 2:
            return self.all(choices) if choices else self.no(self.true)
        return self.z3.And(self.z3.Or(list(choices)), self.z3.AtMost(*choices, 1))

    def replace(self, formula: Formula, pairs: Sequence[tuple[Formula, Formula]]) -> Formula:
        return Placement(self, pairs).of(formula)

    def solver(self, timeout: int | None = None) -> Solver:
        """A fresh solver; ``timeout`` is for one question, in milliseconds."""
        return Solver(self, timeout)


class Solver:
    """Assertions that stay, and questions about them."""

    def __init__(self, session: Session, timeout: int | None) -> None:
        self.session = session
        self.solver: Any = session.z3.Solver(ctx=session.context)
        self.solver.set("random_seed", SEED)
        if timeout is not None:
            self.solver.set("timeout", timeout)

    def add(self, *formulas: Formula) -> None:
        self.solver.add(*formulas)

    def check(self, *assumed: Formula) -> Answer:
        """Whether the assertions, and for this question the assumed literals, can hold together.

        Raises :class:`Interrupted` for Ctrl-C, which Z3 would otherwise turn into ``unknown``.
        """
        found = self.solver.check(*assumed)
        if found == self.session.z3.sat:
            return Answer("sat", model=self.solver.model())
        if found == self.session.z3.unsat:
            return Answer("unsat", core=tuple(str(literal) for literal in self.solver.unsat_core()))
        reason = str(self.solver.reason_unknown())
        if "interrupted" in reason:
            raise Interrupted
        return Answer("unknown", "time-out" if reason in ("timeout", "canceled") else reason)


class Placement:
    """Replaces variables by other formulas of the same sort.

    This is ``z3.substitute`` with its arrays made once: with a hundred variables, its checks of every pair on every
    call cost more than the solver does.
    """

    def __init__(self, session: Session, pairs: Sequence[tuple[Formula, Formula]]) -> None:
        self.session = session
        self.pairs = list(pairs)  # keeps the formulas alive
        kind = session.z3.Ast * len(self.pairs)
        self.old, self.new = (kind(*(pair[side].as_ast() for pair in self.pairs)) for side in (0, 1))

    def of(self, formula: Formula) -> Formula:
        z3, context = self.session.z3, self.session.context
        found = z3.Z3_substitute(context.ref(), formula.as_ast(), len(self.pairs), self.old, self.new)
        return z3.z3._to_expr_ref(found, context)


class Translation:
    """Terms as formulas of one session, each translated once. ``meaning`` gives a variable's formula."""

    def __init__(self, session: Session, meaning: Callable[[Term], Formula]) -> None:
        self.session = session
        self.meaning = meaning
        self.known: dict[int, Formula] = {}

    def of(self, term: Term) -> Formula:
        stack = [term]
        while stack:
            node = stack[-1]
            if node.number in self.known:
                stack.pop()
                continue
            missing = [arg for arg in node.args if arg.number not in self.known]
            if missing:
                stack.extend(missing)
                continue
            self.known[node.number] = self.node(node, [self.known[arg.number] for arg in node.args])
        return self.known[term.number]

    def node(self, term: Term, args: list[Formula]) -> Formula:
        session = self.session
        match term.op:
            case "const":
                return session.constant(term.data)
            case "var":
                return self.meaning(term)
            case "not":
                return session.no(args[0])
            case "and":
                return session.all(args)
            case "or":
                return session.any(args)
            case "ite":
                return session.z3.If(*args)
            case "eq":
                return args[0] == args[1]
            case "le":
                return args[0] <= args[1]
            case "add":
                return args[0] + args[1]
            case "sub":
                return args[0] - args[1]
            case "mul":
                return args[0] * args[1]
            case "div":
                return self.floored(term.args[1], division(*args), args[1])
            case "mod":
                return self.floored(term.args[1], remainder(*args), args[1])
            case _:
                raise ValueError(f"the solver knows no operation {term.op!r}: translate it in Translation.node")

    def floored(self, divisor: Term, result: tuple[Formula, Formula], b: Formula) -> Formula:
        """Python rounds a quotient down; Z3 keeps the remainder from being negative. They differ for b < 0.

        Division by zero gives 0, as ``terms.evaluate`` has it: a model never gets there, that is a fault.
        """
        choose = self.session.z3.If
        positive, negative = result
        if divisor.low is not None and divisor.low > 0:
            return positive
        return choose(b > 0, positive, choose(b < 0, negative, self.session.constant(0)))


def division(a: Formula, b: Formula) -> tuple[Formula, Formula]:
    """Python's quotient, for b > 0 and for b < 0."""
    return a / b, (-a) / (-b)


def remainder(a: Formula, b: Formula) -> tuple[Formula, Formula]:
    """Python's remainder, which has the divisor's sign, for b > 0 and for b < 0."""
    return a % b, -((-a) % (-b))
