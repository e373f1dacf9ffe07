"""Accepted windows of a record, used for scores, intervals, plots, start states and the verdict.

They are estimated in one place (tinyude.training.batch); for a batch fit, by the fit itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SURE = 0.03  # of a rate's RMS: lower noise does not increase a window's weight


@dataclass(frozen=True)
class Windows:
    """Windows in the order of runs and time; nodes are those of window 0, then of 1, ...

    Attributes
    ----------
    channel, order : tuple of int
        The channel of each state, and which derivative of it the state is.
    period : float
        Seconds between samples.
    sigma : ndarray of shape (channels,)
        Sensor noise.
    usual : int
        The longest half width (samples) that nearly all of the record allows.
    passed : float
        Share of the record's time whose windows passed the acceptance test.
    run, centre, half, times, room : ndarray of shape (windows,)
        Run, row of the centre in it, half width in samples, seconds, and rows until the record jumps or ends.
    x, dx, x_error : ndarray of shape (windows, states)
        States and rates at the centre, and the states' standard errors.
    u : ndarray of shape (windows, inputs)
        Inputs at the centre.
    floor : ndarray of shape (windows, states)
        Standard deviation, from sensor noise alone, of a rate minus the model's.
    owner, node_x, node_u, weights : ndarray of shape (nodes,), (nodes, states or inputs), (nodes, states)
        A window's estimate of a rate is the weighted sum over its nodes.
    rejected : ndarray of shape (rejected, 3)
        Run, seconds and reason (its index in `REASONS` of the acceptance test) of windows that did not pass.
    """

    channel: tuple[int, ...]
    order: tuple[int, ...]
    period: float
    sigma: Array
    usual: int
    passed: float
    run: Array
    centre: Array
    half: Array
    times: Array
    room: Array
    x: Array
    dx: Array
    x_error: Array
    u: Array
    floor: Array
    owner: Array
    node_x: Array
    node_u: Array
    weights: Array
    rejected: Array

    def __len__(self) -> int:
        return len(self.centre)

    @cached_property
    def first(self) -> Array:
        """The first node of each window."""
        return np.searchsorted(self.owner, np.arange(len(self)))

    @property
    def inputs(self) -> Array | None:
        """The inputs at the nodes, in the form that `Model.field` requires."""
        return self.node_u if self.node_u.shape[1] else None

    def view(self, values: Array) -> Array:
        """Rates at the nodes (nodes, states) filtered by the windows (windows, states)."""
        return self._sums(self.weights * values)

    def seen(self, values: Array, state: int) -> Array:
        """Values at the nodes (nodes, ...) filtered as one state's rate (windows, ...)."""
        shape = (-1, *([1] * (values.ndim - 1)))
        return self._sums(self.weights[:, state].reshape(shape) * values)

    def _sums(self, values: Array) -> Array:
        if not len(self):
            return np.zeros((0, *values.shape[1:]))
        return np.asarray(np.add.reduceat(values, self.first, axis=0))

    @cached_property
    def weight(self) -> Array:
        """Weight of each window in sums over squared rates (windows, states): smaller with more noise, mean 1."""
        if not len(self):
            return np.zeros(self.floor.shape)
        variance = self.floor**2 + np.median(self.floor, axis=0) ** 2 + 1e-300
        inverse = variance.min(axis=0) / variance
        return np.asarray(inverse / inverse.mean(axis=0))

    def rms(self, values: Array) -> Array:
        """Weighted RMS of values (windows, states)."""
        return np.asarray(np.sqrt(np.mean(self.weight * values**2, axis=0)))

    def r2(self, left: Array, state: int) -> float:
        """R^2 of a model with this unexplained remainder (windows,) of a state's rate.

        A window is weighted by the inverse of its noise variance; one in which the state jumps is excluded.
        """
        steady = self.room > 0 if np.any(self.room > 0) else np.ones(len(self), dtype=bool)
        rate, floor = self.dx[steady, state], self.floor[steady, state]
        size = np.average(rate**2, weights=1.0 / (floor**2 + 1e-300))  # short windows' rates are mostly noise
        weight = 1.0 / (floor**2 + SURE**2 * size + 1e-300)
        spread = rate - np.average(rate, weights=weight)
        return 1.0 - float(weight @ left[steady] ** 2) / max(float(weight @ spread**2), 1e-300)

    def where(self, chosen: Array) -> Windows:
        """The windows where `chosen` (windows,) is true."""
        nodes = chosen[self.owner]
        by_window = ("run", "centre", "half", "times", "room", "x", "dx", "x_error", "u", "floor")
        by_node = ("node_x", "node_u", "weights")
        return replace(
            self,
            owner=(np.cumsum(chosen) - 1)[self.owner[nodes]],
            **{name: getattr(self, name)[chosen] for name in by_window},
            **{name: getattr(self, name)[nodes] for name in by_node},
        )

    def with_values(self, **changed: Any) -> Windows:
        """The same windows with other states, rates or inputs: nodes and noise stay, so `first` and `weight` do too."""
        other = replace(self, **changed)
        vars(other).update(first=self.first, weight=self.weight)
        return other

    def long(self) -> Windows:
        """Windows of the usual length or longer: their noise is similar."""
        return self.where(self.half >= self.usual)
