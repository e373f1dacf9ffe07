"""Measurement and process noise by the likelihood of the innovations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.filter import Noise, Passed
from tinyude.refinement.gauss_newton import Filter

Array = NDArray[Any]
GRID = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # process noise, in rate^2 per second
WORTH = 3.0  # log-likelihood that more process noise must gain: without any, all rows have full weight
ROUNDS = 3  # updates of the measurement noise, for each process noise


def fit_noise(
    filter_: Filter, values: Array, noise: Noise, rate: Array, floor: Array, gate: float = 0.0,
    grid: Sequence[float] = GRID, near: float | None = None, spent: Callable[[], bool] = bool,
) -> tuple[Noise, float, float]:  # fmt: skip
    """The noise under which the innovations are most likely.

    Parameters
    ----------
    noise : Noise
        Where to start; its process noise is ignored.
    rate : array (states,)
        Typical rate of the states whose equation may be incomplete; 0 for the others.
    floor : array (channels,)
        Least variance of each channel.
    grid : sequence of float
        Process noise to try, as a share of rate^2 per second. The likelihood has one maximum in practice: the search
        goes uphill.
    near : float, optional
        An entry of the grid to begin from, if the noise was found before; otherwise the whole grid is searched.
    spent : callable
        Whether the work budget is spent: then the best so far is returned, or `near` if nothing was tried.

    Returns
    -------
    noise : Noise
    kappa : float
        The entry of the grid.
    log_likelihood : float
    """
    tried: dict[int, tuple[float, Noise]] = {}
    steps: Sequence[int]

    def likelihood(place: int) -> float:
        if place not in tried:
            near = min(tried, key=lambda k: abs(k - place), default=place)
            start = tried[near][1] if tried else noise
            tried[place] = _measurement_noise(filter_, values, start, grid[place] * rate**2, floor, gate)
        return tried[place][0]

    if near is not None and near in grid and spent():
        best, steps = list(grid).index(near), ()
    elif near is not None and near in grid:
        best = max({0, list(grid).index(near)}, key=likelihood)
        steps = (1,) * len(grid)
    else:
        best = max({0, *range(0, len(grid), 3)}, key=likelihood)
        steps = (2, 1, 1)
    for step in steps:
        before, beside = best, [k for k in (best - step, best, best + step) if 0 <= k < len(grid)]
        best = max(beside, key=likelihood)
        if spent() or (best == before and step == 1):
            break
    highest = likelihood(best)
    best = min((k for k, (score, _) in tried.items() if score > highest - WORTH), default=best)
    return tried[best][1], float(grid[best]), tried[best][0]


def _measurement_noise(
    filter_: Filter, values: Array, noise: Noise, process: Array, floor: Array, gate: float
) -> tuple[float, Noise]:
    """Measurement noise for one process noise: its variance times the mean of e^2 / S, until that is about 1."""
    measurement = noise.measurement
    best = -np.inf, Noise(measurement, process)
    for _ in range(ROUNDS):
        now = Noise(measurement, process)
        passed = filter_.run(values, now, gate, sensitivities=False)
        score = robust_log_likelihood(passed, gate)
        if score > best[0]:
            best = score, now
        ratio = mean_squares(passed)
        if not np.all(np.isfinite(ratio)) or np.all(np.abs(ratio - 1.0) < 0.02):
            break
        measurement = np.maximum(measurement * np.clip(ratio, 0.01, 100.0), floor)
    return best


def mean_squares(passed: Passed) -> Array:
    """Mean of e^2 / S of each channel."""
    return np.asarray(passed.squares.sum(axis=0) / np.maximum(passed.counts.sum(axis=0), 1.0))


def robust_log_likelihood(passed: Passed, gate: float) -> float:
    """Log-likelihood in which an unused row counts as if at the gate, so that rejecting rows gains nothing."""
    if not np.isfinite(passed.squares).all():
        return -np.inf
    rejected = np.isinf(passed.variances).sum(axis=0)
    typical = passed.logs.sum(axis=0) / np.maximum(passed.counts.sum(axis=0), 1.0)
    return passed.log_likelihood - 0.5 * float(np.sum(rejected * (gate**2 + typical)))
