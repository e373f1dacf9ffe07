"""Windows of a recorded stream, in NumPy: for scores, pictures, intervals and warnings, not for learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.reference.config import Config
from tinyude.reference.signal.gates import gates_limits
from tinyude.reference.signal.nodes import nodes_centre, nodes_gauss
from tinyude.reference.signal.repair import BENT, OUTLIER, REACH
from tinyude.reference.signal.window import SEGMENTS, Window, legendre, window_make

Array = NDArray[Any]


@dataclass(frozen=True)
class Visited:
    """What good windows all over a stream saw, in the order of time."""

    x: Array  # (windows, states) at the centre
    dx: Array
    u: Array  # (windows, inputs)
    node_x: Array  # (windows, nodes, states)
    node_u: Array
    weights: Array  # (nodes, states): the window's view of a field is its weighted sum over the nodes


def visited(config: Config, state: Mapping[str, Any], stream: Stream, most: int) -> Visited:
    """About `most` good windows, spread evenly over the stream."""
    window = window_make(state["window_half"], state["window_spacing"], config.poly, stream.period)
    sigma = state["sigma"] * state["sigma_scale"]
    stride = max(config.stride, stream.count // most)
    nodes = nodes_gauss(window, 9, config.order) if config.dense else nodes_centre(window, config.order)
    parts: list[tuple[Array, ...]] = []
    for run in stream.runs:
        centre, coefficients = good_windows(config, window, run.samples, sigma, state["step"], stride)
        node_x = [
            coefficients[:, channel] @ nodes.values[order].T
            for channel, order in zip(config.channel, config.order, strict=True)
        ]
        node_u = run.inputs[centre[:, None] + window.reach - nodes.ticks]
        x, dx = window_jets(config, window, coefficients)
        parts.append((x, dx, run.inputs[centre], np.stack(node_x, axis=-1), node_u))
    x, dx, u, states, inputs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Visited(x, dx, u, states, inputs, nodes.weights)


def run_jets(
    config: Config, window: Window, samples: Array, sigma: Array, step: Array, stride: int
) -> tuple[Array, Array, Array]:
    """Row index of each good window's centre, x_hat and dx_hat there."""
    centre, coefficients = good_windows(config, window, samples, sigma, step, stride)
    x, dx = window_jets(config, window, coefficients)
    return centre, x, dx


def good_windows(
    config: Config, window: Window, samples: Array, sigma: Array, step: Array, stride: int
) -> tuple[Array, Array]:
    """Row index of the centre and Legendre coefficients (channels, poly + 1) of every window that passes the gates."""
    reach = window.reach
    if len(samples) <= 2 * reach:
        return np.empty(0, dtype=np.intp), np.empty((0, config.channels, window.poly + 1))
    if config.repair:
        samples = mended(samples, sigma)
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


def mended(samples: Array, sigma: Array) -> Array:
    """The samples with lone dropouts filled and lone outliers replaced, as the learner's `repair_push` does."""
    count = len(samples)
    padded = np.pad(samples, ((REACH, REACH), (0, 0)), constant_values=np.nan)
    beside = 0.5 * (padded[REACH - 1 : REACH - 1 + count] + padded[REACH + 1 : REACH + 1 + count])
    rows, channels = np.nonzero(~(np.abs(samples - beside) <= OUTLIER * sigma))
    away = np.arange(1, REACH + 1)[:, None]
    pairs = 0.5 * (padded[rows + REACH - away, channels] + padded[rows + REACH + away, channels])
    whole, pairs = np.isfinite(pairs).sum(axis=0), np.sort(pairs, axis=0)  # those that are not whole come last
    low, high = (pairs[middle, np.arange(len(rows))] for middle in ((whole - 1) // 2, whole // 2))
    guess, limit = 0.5 * (low + high), OUTLIER * sigma[channels] + BENT * (high - low)
    bad = np.isfinite(guess) & ~(np.abs(samples[rows, channels] - guess) <= limit)
    repaired = samples.copy()
    repaired[rows[bad], channels[bad]] = guess[bad]
    return repaired


def window_jets(config: Config, window: Window, coefficients: Array) -> tuple[Array, Array]:
    """x_hat and dx_hat of every state at the windows' centres."""
    jets = np.empty((2, len(coefficients), config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for d in range(2):
            row = legendre(0.0, window.poly + 1, order + d) / window.seconds ** (order + d)
            jets[d, :, state] = coefficients[:, channel] @ row
    return jets[0], jets[1]
