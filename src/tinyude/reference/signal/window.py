"""Local polynomials: the Savitzky-Golay fit in Legendre form, its derivatives, and what it does to a derivative.

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
SEGMENTS = 8  # stretches of a window whose mean residual is watched for jumps


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


def antiderivative(tau: Array, count: int, times: int) -> Array:
    """L_j integrated `times` times, up to polynomials of lower degree than `times` (last axis: j)."""
    table = legendre(tau, count + times)
    for _ in range(times):
        lower = np.concatenate([np.zeros((*tau.shape, 1)), table[..., :-2]], axis=-1)
        table = (table[..., 1:] - lower) / (2 * np.arange(table.shape[-1] - 1) + 1.0)
    return table


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
        return 2 * self.half - self.poly

    def derivative_row(self, derivative: int) -> Array:
        """Samples to derivative at the centre, in units of tau."""
        return legendre(0.0, self.poly + 1, derivative) @ self.rows


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


@cache
def _centre(poly: int, derivative: int) -> Array:
    return legendre(0.0, poly + 1, derivative)


def window_centre(window: Window, coefficients: Array, derivative: int) -> float:
    """A time derivative of one channel's polynomial at the window's centre (eqs. x_hat to ddx_hat)."""
    return float(_centre(window.poly, derivative) @ coefficients) / window.seconds**derivative


@dataclass(frozen=True)
class Nodes:
    """Points of the window at which a field is evaluated, and its weights once filtered by the derivative rows."""

    values: tuple[Array, ...]  # by derivative: (q, poly + 1), coefficients to node values
    weights: Array  # (q, states): weight of node q in the target of state i
    ticks: NDArray[np.intp]  # (q,): ticks before the window's newest sample, for inputs held between samples


def _node_values(window: Window, tau: Array, orders: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(legendre(tau, window.poly + 1, d) / window.seconds**d for d in range(max(orders) + 1))


def nodes_centre(window: Window, orders: tuple[int, ...]) -> Nodes:
    """The window's centre alone: the paper's matching."""
    return Nodes(_node_values(window, np.zeros(1), orders), np.ones((1, len(orders))), np.array([window.reach]))


def nodes_gauss(window: Window, count: int, orders: tuple[int, ...]) -> Nodes:
    """Gauss points with weights that reproduce what the derivative row does to any polynomial of degree < count.

    Applied to samples of x, a derivative row of order d gives exactly the integral of a kernel times x^(d)
    (summation by parts). Its moments are the row applied to the d-fold antiderivatives of L_j.
    """
    tau, gauss = np.polynomial.legendre.leggauss(count)
    taps = np.arange(-window.half, window.half + 1) / window.half
    values = legendre(tau, count) * (np.arange(count) + 0.5)
    weights = np.empty((count, len(orders)))
    for state, order in enumerate(orders):
        moments = window.derivative_row(order + 1) @ antiderivative(taps, count, order + 1)
        weights[:, state] = gauss * (values @ moments)
    ticks = np.ceil((1.0 - tau) * window.reach).astype(np.intp)
    return Nodes(_node_values(window, tau, orders), weights, np.minimum(ticks, 2 * window.reach))


def nodes_intervals(window: Window, orders: tuple[int, ...]) -> Nodes:
    """The middle of every sampling interval: exact for inputs that are constant between samples."""
    half = window.half
    tau = (np.arange(-half, half) + 0.5) / half
    weights = np.empty((2 * half, len(orders)))
    for state, order in enumerate(orders):
        kernel = -np.cumsum(window.derivative_row(order + 1))[:-1]  # summation by parts: constant on each interval
        for _ in range(order):
            knots = -np.concatenate([[0.0], np.cumsum(kernel)]) / half
            kernel = (knots[:-1] + knots[1:]) / 2.0
        weights[:, state] = kernel / half
    return Nodes(_node_values(window, tau, orders), weights, 2 * half - np.arange(2 * half))
