"""States and derivatives of a recorded run at many window centres: for scores and pictures, not for learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.gates import gates_noise
from tinyude.reference.window import SEGMENTS, Window, legendre

Array = NDArray[Any]


def run_jets(
    config: Config, window: Window, samples: Array, sigma: Array, step: Array, stride: int
) -> tuple[Array, Array, Array]:
    """Row index of each good window's centre, x_hat and dx_hat there."""
    reach = window.reach
    if len(samples) <= 2 * reach:
        return np.empty(0, dtype=np.intp), np.empty((0, config.states)), np.empty((0, config.states))
    views = sliding_window_view(samples, 2 * reach + 1, axis=0)[::stride, :, :: window.spacing]
    coefficients = views @ window.rows.T  # (windows, channels, poly + 1)
    residual = views - coefficients @ window.basis.T
    edges = np.arange(SEGMENTS + 1) * views.shape[-1] // SEGMENTS
    segments = (np.add.reduceat(residual, edges[:-1], axis=-1) ** 2 / np.diff(edges)).sum(axis=-1)
    misfit = (residual**2).sum(axis=-1)
    good = np.isfinite(misfit).all(axis=1)
    if config.gated:
        pairs = zip(misfit, segments, strict=True)
        good &= np.array([gates_noise(window, m, s, sigma, step) is None for m, s in pairs])
    jets = np.empty((2, len(views), config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for d in range(2):
            row = legendre(0.0, window.poly + 1, order + d) / window.seconds ** (order + d)
            jets[d, :, state] = coefficients[:, channel] @ row
    centres = np.arange(len(views)) * stride + reach
    return centres[good], jets[0, good], jets[1, good]
