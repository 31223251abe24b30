"""Terms mean for Z3 what they mean for plain evaluation."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from random import Random

import pytest
from random_terms import condition, number

from quiesce_checks.engines import smt
from quiesce_checks.relation.terms import BOOL, INT, Term, div, evaluate, mod, show, var

NUMBERS = [var("a", INT, -9, 9), var("b", INT, 0, 5), var("c", INT, -3, 0), var("free")]
FLAGS = [var("p", BOOL), var("q", BOOL)]


def differences(seed: int, terms: int, points: int = 3) -> Iterator[str]:
    """Where the solver's value of a random term is not the evaluated one."""
    random = Random(seed)
    session = smt.Session()
    variables = {v.data: session.variable(v.data, v.sort) for v in (*NUMBERS, *FLAGS)}
    translation = smt.Translation(session, lambda v: variables[v.data])
    for n in range(terms):
        term = (number if n % 2 else condition)(random, NUMBERS, FLAGS, 4)
        formula = translation.of(term)
        for _ in range(points):
            values: dict[str, int | bool] = {
                v.data: random.randint(-9 if v.low is None else v.low, 9 if v.high is None else v.high) for v in NUMBERS
            }
            values |= {v.data: random.random() < 0.5 for v in FLAGS}
            plain = evaluate(term, values.__getitem__)
            solver = session.solver()
            solver.add(*(session.same(variables[k], session.constant(v)) for k, v in values.items()))
            solver.add(session.no(session.same(formula, session.constant(plain))))
            if not solver.check().unsat:
                yield f"{show(term)} at {values}"


def test_random_terms_have_the_same_value() -> None:
    assert list(differences(seed=1, terms=200)) == []


def test_the_comparison_sees_a_quotient_that_rounds_as_z3_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "division", lambda a, b: (a / b, a / b))
    assert next(differences(seed=1, terms=200), None) is not None


def test_the_comparison_sees_a_remainder_that_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "remainder", lambda a, b: (a % b, a % b))
    assert next(differences(seed=1, terms=200), None) is not None


@pytest.mark.parametrize("a", [-7, -6, 0, 6, 7])
@pytest.mark.parametrize("b", [-3, -2, -1, 1, 2, 3])
def test_division_rounds_down_and_the_remainder_has_the_sign_of_the_divisor(a: int, b: int) -> None:
    session = smt.Session()
    x, y = session.variable("x", INT), session.variable("y", INT)
    translation = smt.Translation(session, lambda v: x if v.data == "x" else y)
    quotient, rest = (translation.of(of(var("x"), var("y"))) for of in (div, mod))
    solver = session.solver()
    solver.add(x == a, y == b)
    answer = solver.check()
    assert (answer.value(quotient), answer.value(rest)) == (a // b, a % b)


def cubes(session: smt.Session) -> list[smt.Formula]:
    """Three cubes whose sum is 42: the solver does not find them."""
    x, y, z = (session.variable(name, INT) for name in "xyz")
    return [x * x * x + y * y * y + z * z * z == 42]


def test_a_time_out_is_unknown_and_neither_answer() -> None:
    session = smt.Session()
    solver = session.solver(timeout=50)
    solver.add(*cubes(session))
    answer = solver.check()
    assert (answer.outcome, answer.sat, answer.unsat, answer.reason) == ("unknown", False, False, "time-out")


def test_ctrl_c_in_the_solver_is_an_interrupt_and_no_answer() -> None:
    session = smt.Session()
    solver = session.solver(timeout=20_000)
    solver.add(*cubes(session))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        solver.check()


def test_an_unsat_core_names_the_assumptions_that_were_used() -> None:
    session = smt.Session()
    x = session.variable("x", INT)
    small, large, odd = (session.variable(name, BOOL) for name in ("is small", "is large", "is odd"))
    solver = session.solver()
    solver.add(session.implies(small, x < 3), session.implies(large, x > 5), session.implies(odd, x % 2 == 1))
    assert set(solver.check(small, large, odd).core) == {"is small", "is large"}


def test_an_operation_that_no_formula_exists_for_is_named() -> None:
    odd = Term()
    odd.op, odd.args, odd.number, odd.sort, odd.data = "shift", (), -1, INT, None
    session = smt.Session()
    with pytest.raises(ValueError, match="'shift'"):
        smt.Translation(session, lambda v: v).of(odd)
