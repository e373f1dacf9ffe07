"""Derivatives of programs against the complex step, which is exact to rounding."""

import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.derivatives import bound, program_derivative, program_with_slopes, pruned
from tinyude.physics.programs import Program, program, program_numpy, read_inputs

X, Y, Z = SYMBOLS = sp.symbols("x y z")
CASES = [
    [X * Y / (1 + Z**2), sp.sqrt(X + 2) - Y],
    [sp.sin(X) * sp.cos(X * Y), sp.tan(X / 2), sp.exp(-Z) * sp.log(2 + Y)],
    [sp.tanh(3 * X) + sp.atan(Y * X), sp.asin(X / 3), sp.acos(Y / 3), sp.sinh(X) * sp.cosh(Z)],
    [sp.Abs(X - 1) * Y, X**3 / Y**2, sp.Integer(3) * sp.ones(1)[0]],
]


def complex_step(made: Program, x: np.ndarray) -> np.ndarray:
    """(outputs, inputs)"""
    steps = x + 1e-30j * np.eye(len(x))
    return program_numpy(made, steps).imag.T / 1e-30


@pytest.mark.parametrize("exprs", CASES)
def test_program_derivative_equals_complex_step(exprs: list[sp.Expr]) -> None:
    made = program(exprs, SYMBOLS)
    x = np.array([0.3, 0.7, -0.4])
    expected = complex_step(made, x)
    slopes = program_numpy(program_derivative(made, [0, 1, 2]), x).reshape(len(exprs), 3)
    np.testing.assert_allclose(slopes, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("exprs", CASES)
def test_program_with_slopes_lists_what_is_not_zero(exprs: list[sp.Expr]) -> None:
    made = program(exprs, SYMBOLS)
    x = np.array([0.3, 0.7, -0.4])
    both, entries = program_with_slopes(made, [2, 0])
    values = program_numpy(both, x)
    np.testing.assert_array_equal(values[: len(exprs)], program_numpy(made, x))
    dense = np.zeros((len(exprs), 2))
    dense[tuple(np.array(entries).T)] = values[len(exprs) :]
    np.testing.assert_allclose(dense, complex_step(made, x)[:, [2, 0]], rtol=1e-13, atol=1e-13)
    assert all(expr.has(SYMBOLS[[2, 0][k]]) for expr, k in ((exprs[i], k) for i, k in entries))


def test_program_with_slopes_shares_instructions() -> None:
    both, _ = program_with_slopes(program([sp.sin(X), sp.cos(X) * Y], SYMBOLS), [0, 1, 2])
    functions = [op for op, _, _ in both.code if op in ("sin", "cos")]
    assert sorted(functions) == ["cos", "sin"]


def test_pruned_drops_what_no_output_needs() -> None:
    made = Program(2, (1.0, 5.0), (("add", 0, 2), ("mul", 1, 3), ("sin", 4, 4)), (6,))
    small = pruned(made)
    assert small.constants == (1.0,) and len(small.code) == 2
    np.testing.assert_allclose(program_numpy(small, np.array([0.2, 3.0])), [np.sin(0.2 + 1.0)], rtol=1e-15)


@pytest.mark.parametrize("exprs", CASES)
def test_bound_puts_values_in_for_the_last_inputs(exprs: list[sp.Expr]) -> None:
    made = program(exprs, SYMBOLS)
    fixed = bound(made, [0.7, -0.4])
    expected = program_numpy(made, np.array([0.3, 0.7, -0.4]))
    np.testing.assert_allclose(program_numpy(fixed, np.array([0.3])), expected, rtol=1e-15)


def test_bound_works_out_what_depends_on_numbers_alone() -> None:
    fixed = bound(program([X * sp.exp(Y) / (1 + Z)], SYMBOLS), [2.0, 3.0])
    assert fixed.n_inputs == 1 and {op for op, _, _ in fixed.code} <= {"mul", "div"} and len(fixed.code) <= 2
    assert bound(program([X + 1 / Y], SYMBOLS[:2]), [0.0]).code, "1 / 0 is left to the one who runs it"


def test_program_derivative_names_an_operation_without_rule() -> None:
    with pytest.raises(TinyUDEError, match="floor"):
        program_derivative(Program(1, (), (("floor", 0, 0),), (1,)), [0])


def test_read_inputs_follows_every_instruction() -> None:
    made = program([X * sp.sin(Y), Z + 2, sp.Integer(3)], SYMBOLS)
    assert read_inputs(made) == [{0, 1}, {2}, set()]
