"""Fits the polynomials of core/src/elementary.c and prints them with their errors, as C constants.

Run: python core/tools/fit_elementary.py. Each fit is minimax by Lawson's iteration: least squares whose weights grow
where the error is large. Coefficients are rounded to float32 one at a time, the rest refitted around them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def chebyshev_grid(low: float, high: float, count: int = 2001) -> Array:
    """Points dense at both ends, where minimax errors peak."""
    return low + (high - low) * 0.5 * (1.0 - np.cos(np.pi * (np.arange(count) + 0.5) / count))


def lawson(design: Array, target: Array, rounds: int = 400) -> Array:
    """The coefficients that minimise max |design @ c - target|, nearly."""
    weight = np.full(len(target), 1.0 / len(target))
    best, best_error = np.zeros(design.shape[1]), np.inf
    for _ in range(rounds):
        root = np.sqrt(weight)
        coef = np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0]
        error = np.abs(design @ coef - target)
        if error.max() < best_error:
            best, best_error = coef, float(error.max())
        weight *= error / error.max() + 1e-6
        weight /= weight.sum()
    return best


def fit_polynomial(target: Array, variable: Array, scale: Array, degree: int) -> tuple[Array, float]:
    """Float32 coefficients (lowest first) of P with scale * P(variable) nearest to target, and the largest error."""
    design = scale[:, None] * variable[:, None] ** np.arange(degree + 1)
    fixed = np.zeros(degree + 1)
    rest = target.copy()
    for power in range(degree + 1):
        coef = lawson(design[:, power:], rest)
        fixed[power] = np.float64(np.float32(coef[0]))
        rest = rest - fixed[power] * design[:, power]
    return fixed, float(np.abs(rest).max())


def tanh_model(coef: Array, x: Array) -> Array:
    """f / sqrt(f^2 + C) with f = x (u^4 + a3 u^3 + a2 u^2 + a1 u + a0), u = x^2: f stands for sqrt(C) sinh(x)."""
    a0, a1, a2, a3, c = coef
    u = x * x
    f = x * ((((u + a3) * u + a2) * u + a1) * u + a0)
    return f / np.sqrt(f * f + c)


def fit_tanh() -> tuple[Array, float]:
    """Seen from tanh, an error of x Q(u) about sinh(x) counts sech(x)^3: linear in Q, which is then made monic."""
    x = chebyshev_grid(0.0, 10.0, 4001)
    weight = np.cosh(x) ** -3
    design = (weight * x)[:, None] * (x * x)[:, None] ** np.arange(5)
    q = lawson(design, weight * np.sinh(x), rounds=4000)
    rounded = np.append(q[:4] / q[4], q[4] ** -2).astype(np.float32).astype(np.float64)
    return rounded, float(np.abs(tanh_model(rounded, x) - np.tanh(x)).max())


def show(name: str, coef: Array, error: float, kind: str) -> None:
    print(f"{name}: max {kind} error {error:.2g} before float32 rounding of the arithmetic")
    print("    " + ", ".join(f"{value:.9g}f" for value in coef))


def fit_function(
    name: str, low: float, high: float, degree: int, parts: Callable[[Array], tuple[Array, Array, Array]]
) -> None:
    """parts(x) gives target, variable and scale; the errors are relative to the function."""
    coef, error = fit_polynomial(*parts(chebyshev_grid(low, high)), degree)
    show(name, coef, error, "relative")


def main() -> None:
    show("tanh: a0, a1, a2, a3, C", *fit_tanh(), "absolute")
    quarter = np.pi / 4.0
    fit_function(
        "sin: x + x u P(u)", 1e-2, quarter, 2,
        lambda x: ((np.sin(x) - x) / np.sin(x), x * x, x**3 / np.sin(x)),
    )  # fmt: skip
    fit_function(
        "cos: 1 - u/2 + u^2 P(u)", 1e-2, quarter, 2,
        lambda x: ((np.cos(x) - 1.0 + 0.5 * x * x) / np.cos(x), x * x, x**4 / np.cos(x)),
    )  # fmt: skip
    fit_function(
        "exp: 1 + r + r^2 P(r)", -0.3466, 0.3466, 4,
        lambda r: ((np.expm1(r) - r) / np.exp(r), r, r * r / np.exp(r)),
    )  # fmt: skip
    fit_function(
        "log: s (2 + z P(z)), s = f / (2 + f), z = s^2", 1e-2, 0.1716, 2,
        lambda s: ((2.0 * np.arctanh(s) - 2.0 * s) / np.arctanh(s) / 2.0, s * s, s**3 / np.arctanh(s) / 2.0),
    )  # fmt: skip
    fit_function(
        "atan: t + t u P(u)", 1e-2, 1.0, 8,
        lambda t: ((np.arctan(t) - t) / np.arctan(t), t * t, t**3 / np.arctan(t)),
    )  # fmt: skip


if __name__ == "__main__":
    main()
