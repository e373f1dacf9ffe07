"""Derivative targets of a whole record at once; the learner computes the same ones sample by sample."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.signal.nodes import nodes_gauss
from tinyude.reference.signal.window import Window, legendre

Array = NDArray[np.float64]


def plain_targets(window: Window, samples: Array, stride: int = 1) -> tuple[Array, Array]:
    """x_hat and dx_hat at every window's centre (paper eqs. x_hat, dx_hat)."""
    coefficients = _coefficients(window, samples, stride)
    rows = [legendre(0.0, window.poly + 1, d) / window.seconds**d for d in (0, 1)]
    return coefficients @ rows[0], coefficients @ rows[1]


def corrected_targets(physics: Physics, window: Window, samples: Array, stride: int = 1) -> Array:
    """dx_hat minus the filtered known physics: the regression target of the residual."""
    coefficients = _coefficients(window, samples, stride)
    rule = nodes_gauss(window, Config.physics_nodes, (0,) * samples.shape[1])
    states = np.einsum("wcp,qp->wqc", coefficients, rule.values[0])
    flow = np.einsum("qi,wqi->wi", rule.weights, physics.field(states))
    return np.asarray(plain_targets(window, samples, stride)[1] - flow)


def centres(window: Window, samples: Array, stride: int = 1) -> NDArray[np.intp]:
    """The centre rows of these windows."""
    return np.arange(window.reach, len(samples) - window.reach, stride)


def _coefficients(window: Window, samples: Array, stride: int) -> Array:
    """Coefficients of the local polynomials: (windows, channels, poly + 1)."""
    views = sliding_window_view(samples, 2 * window.reach + 1, axis=0)[::stride, :, :: window.spacing]
    return np.asarray(views @ window.rows.T)
