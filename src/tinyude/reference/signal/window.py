"""Local polynomials: the Savitzky-Golay fit in Legendre form, its derivatives, and its effect on a derivative.

A window is 2 * half + 1 samples, `spacing` ticks apart. On tau in [-1, 1] the fitted polynomial is
p(tau) = sum_j a_j L_j(tau); everything else (state, derivatives, node states) is linear in the coefficients a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SEGMENTS = 8  # segments of a window, tested for jumps by their mean residual


def savgol_rows(half: int, poly: int) -> tuple[Array, Array, Array, Array]:
    """The paper's rows D0, D1, D2 (unit tap spacing) and the residual projector R = I - A A+ (eqs. d_rows, qgate)."""
    tau = np.arange(-half, half + 1.0)
    design = np.vander(tau, poly + 1, increasing=True)
    pinv = np.linalg.pinv(design)
    return pinv[0], pinv[1], 2.0 * pinv[2], np.eye(len(tau)) - design @ pinv


def legendre(tau: Array | float, count: int, derivative: int = 0) -> Array:
    """L_0 .. L_{count-1} at tau (last axis), or their derivative of the given order."""
    tau = np.asarray(tau, dtype=np.float64)
    table = [np.zeros((*tau.shape, count)) for _ in range(derivative + 1)]
    for d, values in enumerate(table):
        for j in range(count):
            if j == 0:
                values[..., 0] = 1.0 if d == 0 else 0.0
            elif d == 0:
                before = values[..., j - 2] if j > 1 else 0.0
                values[..., j] = ((2 * j - 1) * tau * values[..., j - 1] - (j - 1) * before) / j
            else:  # L'_j = L'_{j-2} + (2 j - 1) L_{j-1}, and so on for higher orders
                before = values[..., j - 2] if j > 1 else 0.0
                values[..., j] = before + (2 * j - 1) * table[d - 1][..., j - 1]
    return table[derivative]


@dataclass(frozen=True)
class Window:
    half: int
    spacing: int
    poly: int
    seconds: float  # half width
    rows: Array  # (poly + 1, samples): coefficients from samples
    basis: Array  # (samples, poly + 1)

    @property
    def reach(self) -> int:
        """Half width in ticks."""
        return self.half * self.spacing

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the misfit."""
        return 2 * self.half - self.poly


def window_make(half: int, spacing: int, poly: int, period: float) -> Window:
    basis = legendre(np.arange(-half, half + 1) / half, poly + 1)
    rows = np.linalg.solve(basis.T @ basis, basis.T)
    return Window(half, spacing, poly, half * spacing * period, rows, basis)


def window_fit(window: Window, samples: Array) -> tuple[Array, Array, Array]:
    """Coefficients (poly + 1, channels), squared residual norm and squared segment sums (channels).

    A segment's squared residual sum is divided by its length, so both figures are in units of the noise variance.
    """
    coefficients = window.rows @ samples
    residual = samples - window.basis @ coefficients
    edges = np.arange(SEGMENTS + 1) * len(samples) // SEGMENTS
    sums = np.add.reduceat(residual, edges[:-1], axis=0)
    return coefficients, (residual**2).sum(axis=0), (sums**2 / np.diff(edges)[:, None]).sum(axis=0)


def window_basis(window: Window, tau: Array | float, derivative: int) -> Array:
    """The basis at tau (last axis: coefficients), or its time derivative."""
    return legendre(tau, window.poly + 1, derivative) / window.seconds**derivative


@cache
def _centre(poly: int, derivative: int) -> Array:
    return legendre(0.0, poly + 1, derivative)


def window_at(window: Window, coefficients: Array, tau: float, derivative: int) -> float:
    """The fitted polynomial of one channel, or its time derivative, at tau (0: the centre, eqs. x_hat to ddx_hat)."""
    basis = legendre(tau, window.poly + 1, derivative) if tau else _centre(window.poly, derivative)
    return float(basis @ coefficients) / window.seconds**derivative


def window_derivative_row(window: Window, derivative: int, at: float = 0.0) -> Array:
    """Samples to derivative at the centre (or another tau), in units of tau."""
    return legendre(at, window.poly + 1, derivative) @ window.rows


def window_derivative_gain(window: Window, derivative: int) -> float:
    """Noise variance of that derivative per unit of sensor noise variance, in units of time."""
    row = window_derivative_row(window, derivative) / window.seconds**derivative
    return float(row @ row)
