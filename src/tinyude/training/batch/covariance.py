"""The noise covariance of regression targets, from each window's weights of the samples; whitening.

To first order a target's noise is a linear filter over the samples of every channel, so the covariance of all targets
of a state is known, banded, and can be whitened exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.linalg import cholesky_banded
from scipy.linalg.lapack import dtbtrs

from tinyude import native
from tinyude.reference.signal.nodes import Nodes
from tinyude.reference.signal.window import Window, legendre
from tinyude.training.batch.targets import Layout, Targets, integral, node_places, node_rule
from tinyude.training.batch.windows import EqualWindows

Array = NDArray[Any]

NUGGET = 0.02  # of a target's own variance: keeps the covariance of overlapping windows well conditioned
DRAWS = 4  # random vectors that estimate what the nugget adds


@dataclass(frozen=True)
class NoiseRows:
    """Row j weighs the unit noise from place first[j] on by weights[begin[j]:begin[j] + length[j]].

    A place is a pair of sample and channel; the channels of a sample are adjacent.
    """

    first: Array  # (rows,)
    begin: Array  # (rows,)
    length: Array  # (rows,)
    weights: Array

    def covariance(self) -> Array:
        """The lower band: the covariance of rows j + d and j at [d, j]."""
        earliest = np.minimum.accumulate(self.first[::-1])[::-1]  # of this row and all after it
        last = np.searchsorted(earliest, self.first + self.length) - 1
        width = int(np.max(last - np.arange(len(self.first)), initial=0))
        form = native.band_covariance if native.available() else band_covariance
        return form(self.first, self.begin, self.length, self.weights, width)


def band_covariance(first: Array, begin: Array, length: Array, weights: Array, width: int) -> Array:
    """The same in NumPy: see native/covariance.h."""
    offset = np.concatenate([[0], np.cumsum(length)])
    step = np.arange(offset[-1]) - np.repeat(offset[:-1], length)
    rows = sparse.csr_matrix((weights[np.repeat(begin, length) + step], np.repeat(first, length) + step, offset))
    product = (rows @ rows.T).tocoo()
    lower = product.row >= product.col
    band = np.zeros((width + 1, len(first)))
    band[(product.row - product.col)[lower], product.col[lower]] = product.data[lower]
    return band


def noise_rows(targets: Targets, lengths: Sequence[int], sigma: Array, slopes: Mapping[int, Array]) -> NoiseRows:
    """Weights of the samples' unit noise in the targets of some states, window by window.

    lengths: samples of each run. slopes: for each requested state, df_i/dx at the nodes (nodes, states).
    """
    channels, states = len(sigma), len(slopes)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    length = (2 * targets.half + 1) * channels
    begin = np.empty((targets.count, states), dtype=np.int64)
    weights = np.empty(states * int(np.sum(length)))
    first_node, filled = targets.first_nodes, 0
    for batch, place in zip(targets.batches, targets.place, strict=True):
        nodes = first_node[place][:, None] + np.arange(first_node[place[0] + 1] - first_node[place[0]])
        noise, shape = sigma * np.sqrt(batch.excess), (len(place), 2 * batch.window.half + 1, channels)
        size = shape[1] * channels
        for k, (state, slope) in enumerate(slopes.items()):
            effect = _effects(targets, batch, nodes, state, slope)  # (windows, channels, poly + 1)
            rows = weights[filled : filled + len(place) * size].reshape(shape).swapaxes(1, 2)
            np.multiply(effect @ batch.window.rows, noise[:, :, None], out=rows)
            begin[place, k] = filled + size * np.arange(len(place))
            filled += len(place) * size
    first = (starts[targets.run] + targets.centre - targets.half) * channels
    return NoiseRows(np.repeat(first, states), begin.ravel(), np.repeat(length, states), weights)


def noise_variance(targets: Targets, sigma: Array, slopes: Mapping[int, Array]) -> Array:
    """Variance of the targets of these states (windows, states), without their weights of single samples."""
    answer = np.empty((targets.count, len(slopes)))
    for batch, place in zip(targets.batches, targets.place, strict=True):
        first = targets.first_nodes[place]
        nodes = first[:, None] + np.arange(targets.first_nodes[place[0] + 1] - first[0])
        products = batch.window.rows @ batch.window.rows.T
        for k, (state, slope) in enumerate(slopes.items()):
            effect = _effects(targets, batch, nodes, state, slope)
            answer[place, k] = np.sum((effect @ products) * effect * (sigma**2 * batch.excess)[:, :, None], axis=(1, 2))
    return answer


def _effects(targets: Targets, batch: EqualWindows, nodes: Array, state: int, slopes: Array) -> Array:
    """Derivative of the target by each window coefficient (windows, channels, poly + 1)."""
    layout, window = targets.layout, batch.window
    weight = targets.weights[nodes, state]
    rule = node_rule(batch, layout)
    effect = np.zeros((len(nodes), batch.coefficients.shape[1], window.poly + 1))
    order = layout.order[state] + 1
    effect[:, layout.channel[state]] += legendre(batch.tau, window.poly + 1, order) / window.seconds**order
    for source in range(layout.states):
        channel, values = _noise_values(window, layout, rule, nodes.shape[1], source)
        effect[:, channel] -= (weight * slopes[nodes, source]) @ values
    return effect


def _noise_values(window: Window, layout: Layout, rule: Nodes, count: int, state: int) -> tuple[int, Array]:
    """The channel of a state, and the matrix from its coefficients to the state at the nodes (nodes, poly + 1)."""
    rate = dict(layout.carried).get(state)
    if rate is None:
        return layout.channel[state], rule.values[layout.order[state]]
    tau, _ = node_places(window, layout, count)
    integrals = legendre(tau, window.poly + 2)[:, 1:] @ integral(np.eye(window.poly + 1)).T[1:]
    return rate, np.asarray(integrals * window.seconds)


class Whitener:
    """The Cholesky factor of targets' covariance: turns correlated rows into independent ones of unit variance.

    Rows of several states are interleaved window by window. Those that are known to be zero (`helpers`) come first, so
    that the noise they share with the last one is removed from it.
    """

    def __init__(self, rows: NoiseRows, states: int = 1) -> None:
        self.interleaved = states
        self.band = rows.covariance()
        self.variance = self.band[0].reshape(-1, states).copy()  # (windows, states)
        self.band[0] *= 1.0 + NUGGET
        self.band[0] += 1e-300
        self.factor = cholesky_banded(self.band, lower=True, check_finite=False)

    def rows(self, values: Array, helpers: Sequence[Array] = ()) -> Array:
        """Values of the last state (windows, ...) and of the helpers, whitened: (rows, ...)."""
        flat = values.reshape(len(values), -1)
        stacked = np.zeros((len(flat), self.interleaved, flat.shape[1]))
        stacked[:, -1] = flat
        for k, helper in enumerate(helpers):
            stacked[:, k] = helper.reshape(len(flat), -1)
        rows = len(flat) * self.interleaved
        if not flat.shape[1]:
            return np.zeros((rows, *values.shape[1:]))
        whitened = dtbtrs(self.factor, stacked.reshape(rows, -1), uplo="L")[0]
        return np.asarray(whitened).reshape(rows, *values.shape[1:])

    def block(self, first: int, count: int) -> Array:
        """The covariance of `count` neighbouring rows, nugget included."""
        width = min(len(self.band), count)
        answer = np.zeros((count, count))
        for d in range(width):
            values = self.band[d, first : first + count - d]
            answer[np.arange(d, count), np.arange(count - d)] = values
            answer[np.arange(count - d), np.arange(d, count)] = values
        return answer

    @cached_property
    def expected(self) -> float:
        """Mean square of a whitened row of noise: below 1, because the nugget adds variance."""
        draws = np.random.default_rng(0).standard_normal((self.band.shape[1], DRAWS))
        spread = np.asarray(dtbtrs(self.factor, draws, uplo="L", trans="T")[0])
        return 1.0 - NUGGET * float(np.mean(self.variance.ravel()[:, None] * spread**2))
