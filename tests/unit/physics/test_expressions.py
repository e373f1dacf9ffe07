import os
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.expressions import expression_text, numpy_function
from tinyude.physics.parsing import parse_expression
from tinyude.physics.programs import Program, program, program_numpy

x, y, z = SYMBOLS = sp.symbols("x y z")
SAMPLES = np.random.default_rng(0).uniform(0.1, 0.9, (200, 3))

EXPRESSIONS = [
    x,
    sp.Integer(3),
    -x,
    x - y,
    -x - y,
    -(x**2) / y,
    2 * x / (3 * y),
    x**7 * y**-3,
    sp.sqrt(x) + y ** sp.Rational(5, 2) + 1 / sp.sqrt(z),
    x**y + x ** sp.Rational(1, 3) + 2**x,
    sp.sin(x + sp.pi / 3) * sp.cos(2 * y) - sp.tan(z) / sp.pi,
    sp.exp(-x) * sp.log(y) + sp.tanh(3 * z) * sp.sinh(x) - sp.cosh(y),
    sp.atan(x) + sp.asin(y) - sp.acos(z),
    sp.cot(x) + sp.sec(y) * sp.csc(z) + sp.coth(x) - sp.sech(y) / sp.csch(z),
    sp.Abs(x - y) * sp.sign(z - y),
    (x + y) ** 4 / ((x + y) ** 2 + sp.sin(x + y)),
    sp.Float(0.1) * x + sp.Float(2.0) * y ** sp.Float(3.0),
]


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
def test_program_equals_numpy_function(expr: sp.Expr) -> None:
    expected = numpy_function([expr], SYMBOLS)(SAMPLES)
    np.testing.assert_allclose(program_numpy(program([expr], SYMBOLS), SAMPLES), expected, rtol=1e-13)


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
def test_numpy_function_equals_sympy_value(expr: sp.Expr) -> None:
    point = SAMPLES[0]
    expected = float(expr.subs(dict(zip(SYMBOLS, point, strict=True))))
    np.testing.assert_allclose(numpy_function([expr], SYMBOLS)(point), [expected], rtol=1e-13)


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
def test_numpy_function_and_program_carry_a_complex_step(expr: sp.Expr) -> None:
    real = sp.symbols("x y z", real=True)
    slope = numpy_function([sp.diff(expr.subs(dict(zip(SYMBOLS, real, strict=True))), real[0])], real)(SAMPLES)
    stepped = SAMPLES + np.array([1e-30j, 0.0, 0.0])
    for answer in (numpy_function([expr], SYMBOLS)(stepped), program_numpy(program([expr], SYMBOLS), stepped)):
        np.testing.assert_allclose(answer.imag / 1e-30, slope, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
def test_expression_text_reads_back_to_the_same_values(expr: sp.Expr) -> None:
    again = parse_expression(expression_text(expr), {s.name: s for s in SYMBOLS}, smooth=False)
    np.testing.assert_allclose(
        numpy_function([again], SYMBOLS)(SAMPLES), numpy_function([expr], SYMBOLS)(SAMPLES), rtol=1e-13
    )


def test_expression_text_keeps_every_digit_of_a_float() -> None:
    value = 0.1 + 0.2
    (number,) = parse_expression(expression_text(sp.Float(value) * x), {"x": x}).atoms(sp.Float)
    assert float(number) == value


def test_numpy_function_keeps_leading_axes_and_broadcasts_constants() -> None:
    out = numpy_function([sp.Integer(2), x + z], SYMBOLS)(np.ones((4, 5, 3)))
    np.testing.assert_array_equal(out, np.full((4, 5, 2), 2.0))


def test_numpy_function_takes_integers_as_real_numbers() -> None:
    for points in (np.array([2, 4, 1]), np.array([[2, 4, 1]])):
        np.testing.assert_array_equal(numpy_function([x**-2 / y], SYMBOLS)(points).ravel(), [1 / 16])


def test_numpy_function_rejects_a_wrong_number_of_columns() -> None:
    with pytest.raises(TinyUDEError, match=r"\(4, 2\).*x, y, z"):
        numpy_function([x], SYMBOLS)(np.ones((4, 2)))


def test_program_shares_common_subexpressions_and_squares_powers() -> None:
    expr = sp.sin(x * y) + sp.cos(x * y)
    assert sum(op == "mul" for op, *_ in program([expr], SYMBOLS).code) == 1
    assert [op for op, *_ in program([x**8], SYMBOLS).code] == ["mul"] * 3


def test_program_registers_refer_only_backwards() -> None:
    made = program(EXPRESSIONS, SYMBOLS)
    first = made.n_inputs + len(made.constants)
    for k, (_, a, b) in enumerate(made.code):
        assert 0 <= a < first + k and 0 <= b < first + k
    assert max(made.outputs) < made.n_registers


def test_program_of_an_input_is_that_register() -> None:
    assert program([y], SYMBOLS) == Program(n_inputs=3, constants=(), code=(), outputs=(1,))


def test_program_is_the_same_under_every_hash_seed() -> None:
    script = (
        "import sympy as sp\nfrom tinyude.physics.programs import program\n"
        "x, y, z = s = sp.symbols('x y z')\n"
        "print(program([sp.sin(x*y) + z*x/y - z**3 + sp.cos(x*y)*z, sp.exp(x*y + z) - y*x], s))"
    )
    path = os.pathsep.join(sys.path)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_program_rejects_what_c_cannot_say() -> None:
    with pytest.raises(TinyUDEError, match="gamma"):
        program([sp.gamma(x)], SYMBOLS)
    with pytest.raises(TinyUDEError, match="not among its inputs"):
        program([sp.Symbol("w")], SYMBOLS)
    with pytest.raises(TinyUDEError, match="finite real"):
        program([x * sp.log(-1)], SYMBOLS)
