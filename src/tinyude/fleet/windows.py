"""Windows of one length: what the sums of many machines add up, in bounded memory and in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.signal.gates import gates_limits
from tinyude.reference.signal.window import SEGMENTS, Window, legendre
from tinyude.training.batch.samples import repaired

Array = NDArray[Any]


def good_windows(
    config: Config, window: Window, samples: Array, sigma: Array, step: Array, stride: int
) -> tuple[Array, Array]:
    """Row index of the centre and Legendre coefficients (channels, poly + 1) of every window that passes the gates."""
    reach = window.reach
    if len(samples) <= 2 * reach:
        return np.empty(0, dtype=np.intp), np.empty((0, config.channels, window.poly + 1))
    if config.repair:
        samples = repaired(samples, sigma)[0]
    views = sliding_window_view(samples, 2 * reach + 1, axis=0)[::stride, :, :: window.spacing]
    coefficients = views @ window.rows.T
    residual = views - coefficients @ window.basis.T
    edges = np.arange(SEGMENTS + 1) * views.shape[-1] // SEGMENTS
    segments = (np.add.reduceat(residual, edges[:-1], axis=-1) ** 2 / np.diff(edges)).sum(axis=-1)
    misfit = (residual**2).sum(axis=-1)
    good = np.isfinite(misfit).all(axis=1)
    if config.gated:
        most_misfit, most_segments = gates_limits(window, sigma, step)
        good &= ((misfit <= most_misfit) & (segments <= most_segments)).all(axis=1)
    centres = np.arange(len(views)) * stride + reach
    return centres[good], coefficients[good]


def window_jets(config: Config, window: Window, coefficients: Array) -> tuple[Array, Array]:
    """x_hat and dx_hat of every state at the windows' centres."""
    jets = np.empty((2, len(coefficients), config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for d in range(2):
            row = legendre(0.0, window.poly + 1, order + d) / window.seconds ** (order + d)
            jets[d, :, state] = coefficients[:, channel] @ row
    return jets[0], jets[1]
