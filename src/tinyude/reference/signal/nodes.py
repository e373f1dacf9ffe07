"""Points of a window at which a field is evaluated, and their weights in the field filtered by the derivative rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.window import Window, legendre, window_basis, window_derivative_row

Array = NDArray[Any]


@dataclass(frozen=True)
class Nodes:
    """Points of the window at which a field is evaluated, and their weights in the field filtered by the derivative
    rows.
    """

    values: tuple[Array, ...]  # by derivative: (q, poly + 1), coefficients to node values
    weights: Array  # (q, states): weight of node q in the target of state i
    ticks: NDArray[np.intp]  # (q,): ticks before the window's newest sample, for inputs held between samples
    intervals: bool = False  # nodes are in the middle of every sampling interval


def _node_values(window: Window, tau: Array, orders: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(window_basis(window, tau, derivative) for derivative in range(max(orders) + 1))


def nodes_centre(window: Window, orders: tuple[int, ...]) -> Nodes:
    """The window's centre only, as in the paper."""
    return Nodes(_node_values(window, np.zeros(1), orders), np.ones((1, len(orders))), np.array([window.reach]))


def nodes_gauss(window: Window, count: int, orders: tuple[int, ...], at: float = 0.0) -> Nodes:
    """Gauss points, with weights that reproduce the effect of the derivative row on any polynomial of degree < count.

    Applied to samples of x, a derivative row of order d gives exactly the integral of a kernel times x^(d)
    (summation by parts). Its moments are the row applied to the d-fold antiderivatives of L_j.
    """
    tau, gauss = np.polynomial.legendre.leggauss(count)
    taps = np.arange(-window.half, window.half + 1) / window.half
    values = legendre(tau, count) * (np.arange(count) + 0.5)
    weights = np.empty((count, len(orders)))
    for state, order in enumerate(orders):
        moments = window_derivative_row(window, order + 1, at) @ antiderivative(taps, count, order + 1)
        weights[:, state] = gauss * (values @ moments)
    ticks = np.ceil((1.0 - tau) * window.reach).astype(np.intp)
    return Nodes(_node_values(window, tau, orders), weights, np.minimum(ticks, 2 * window.reach))


def nodes_intervals(window: Window, orders: tuple[int, ...]) -> Nodes:
    """The middle of every sampling interval: exact for inputs that are constant or linear between samples."""
    half = window.half
    tau = (np.arange(-half, half) + 0.5) / half
    weights = np.empty((2 * half, len(orders)))
    for state, order in enumerate(orders):
        kernel = -np.cumsum(window_derivative_row(window, order + 1))[
            :-1
        ]  # summation by parts: the kernel is constant on each interval
        for _ in range(order):
            knots = -np.concatenate([[0.0], np.cumsum(kernel)]) / half
            kernel = (knots[:-1] + knots[1:]) / 2.0
        weights[:, state] = kernel / half
    return Nodes(_node_values(window, tau, orders), weights, 2 * half - np.arange(2 * half), True)


def antiderivative(tau: Array, count: int, times: int) -> Array:
    """L_j integrated `times` times; defined up to polynomials of degree below `times` (last axis: j)."""
    table = legendre(tau, count + times)
    for _ in range(times):
        lower = np.concatenate([np.zeros((*tau.shape, 1)), table[..., :-2]], axis=-1)
        table = (table[..., 1:] - lower) / (2 * np.arange(table.shape[-1] - 1) + 1.0)
    return table
