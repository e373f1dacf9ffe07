"""Terms as people write them."""

import numpy as np
import pytest
import sympy as sp

from tinyude.physics.expressions import numpy_function
from tinyude.physics.written import parsed, plain_text, written_text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("omega", "omega"),
        ("x/2 + Abs(x - 0.1)/2 - 0.05", "max(x - 0.1, 0)"),
        ("-x/2 + Abs(x + 0.1999812)/2 - 0.0999906", "max(-x - 0.2, 0)"),
        ("x/2 - Abs(x - 0.1)/2 - 0.05", "min(x - 0.1, 0)"),
        ("v*(x/2 - y/2 + Abs(x - y - 0.2)/2 - 0.1)", "v*max(x - y - 0.2, 0)"),
        ("h/2 + Abs(h - 1.000123456789123)/2 - 0.500061728394562", "max(h - 1, 0)"),  # rounded by its text
        ("tanh(10.061234*v1 - 10.061234*v2)", "tanh(10.06*(v1 - v2))"),
        ("x + y", "(x + y)"),
        ("x*sin(3*x)", "x*sin(3*x)"),
        ("Abs(T - To)**1.5*sign(T - To)", "Abs(T - To)**1.5*sign(T - To)"),
        ("x/2 + Abs(x - 0.1)/2 - 0.07", "(x/2 + Abs(x - 0.1)/2 - 0.07)"),  # no corner
    ],
)
def test_written_text_is_short(text: str, written: str) -> None:
    assert written_text(text) == written


@pytest.mark.parametrize(
    "text", ["x/2 + Abs(x - 0.1)/2 - 0.05", "tanh(10.06*x - 10.06*y)*y", "-x/2 - Abs(x + y)/2 - y/2"]
)
def test_written_text_has_the_same_values(text: str) -> None:
    symbols = [sp.Symbol(name, real=True) for name in "xy"]
    points = np.random.default_rng(0).normal(size=(50, 2))
    told, stored = (numpy_function([parsed(t)], symbols)(points) for t in (written_text(text), text))
    np.testing.assert_allclose(told, stored, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("I*S/(Abs(I) + 0.1)", "I*S/(I + 0.1)"),
        ("sqrt(Abs(S))", "sqrt(-S)"),
        ("S*Abs(S)", "-S**2"),
        ("v*Abs(v)", "v*Abs(v)"),  # both signs
        ("Abs(I - 1)", "Abs(I - 1)"),  # not known from the ranges
        ("q*Abs(q)", "q*Abs(q)"),  # no range
    ],
)
def test_plain_text_has_no_absolute_value_of_one_sign(text: str, plain: str) -> None:
    ranges = {"I": (0.0, 2.0), "S": (-3.0, -0.5), "v": (-1.0, 1.0)}
    assert plain_text(text, ranges) == plain
    symbols = [sp.Symbol(name, real=True) for name in "ISvq"]
    low, high = np.array([*ranges.values(), (-1.0, 1.0)]).T
    points = np.random.default_rng(0).uniform(low, high, size=(50, 4))
    told, stored = (numpy_function([parsed(t)], symbols)(points) for t in (plain, text))
    np.testing.assert_allclose(told, stored, rtol=1e-12)
