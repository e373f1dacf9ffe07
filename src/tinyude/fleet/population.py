"""What a fleet knows that a machine does not: mean and spread of a coefficient, and each machine's value shrunk to it.

Empirical Bayes: the true value of machine i is N(mean, spread^2), its estimate N(true value, error_i^2). Mean and
spread come from the fleet itself, without the machines that do not belong to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm
from scipy.stats import t as student

Array = NDArray[Any]

ERROR_FREEDOM = 15.0  # degrees of freedom of a unit's standard error: sixteen jackknife groups
LEAVES = 1e-4  # two-sided chance at which a machine is left out of mean and spread; costs 0.2 % of the variance
DOUBTED = 1e-2  # the same at first: a few outliers of a small fleet would hide in the spread; who belongs comes back
ROBUST = 0.37  # efficiency of a spread by medians: it is worth so many degrees of freedom a machine
ROUNDS = 8
CONFIDENCE = 0.90


@dataclass(frozen=True)
class Population:
    """Mean and spread of a quantity over the machines that belong together."""

    mean: float
    mean_error: float
    spread: float  # standard deviation of true values
    freedom: float  # degrees of freedom of the spread
    inside: NDArray[np.bool_]  # machines it was computed from


def population(values: Array, errors: Array) -> Population:
    """Mean and spread of a fleet from estimates and their standard errors, whatever some machines do.

    Parameters
    ----------
    values, errors
        An estimate and its standard error for each machine; NaN where there is none.

    Examples
    --------
    >>> fleet = population(np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 9.0]), np.full(7, 0.01))
    >>> round(fleet.mean, 2), bool(fleet.inside[-1])
    (1.0, False)
    """
    usable = np.isfinite(values) & np.isfinite(errors)
    y, squares = values[usable], errors[usable] ** 2
    if len(y) < 2:
        mean = float(y[0]) if len(y) else np.nan
        return Population(mean, np.inf, 0.0, 1.0, usable)
    mean = float(np.median(y))
    variance = _solve(lambda v: float(np.median((y - mean) ** 2 / (squares + v))) - chi2.ppf(0.5, 1), y)
    freedom = max(1.0, ROBUST * (len(y) - 1))
    keep = np.ones(len(y), bool)
    for turn in range(ROUNDS):
        limit = student.isf((LEAVES if turn else DOUBTED) / 2.0, freedom)
        now = np.abs(y - mean) <= limit * np.sqrt(squares + variance)
        if now.sum() < max(2, len(y) // 2) or (np.array_equal(now, keep) and freedom == now.sum() - 1.0):
            break
        keep = now
        mean, variance = _moments(y[keep], squares[keep])
        freedom = keep.sum() - 1.0
    inside = np.zeros(len(values), bool)
    inside[np.flatnonzero(usable)[keep]] = True
    weights = 1.0 / (squares[keep] + variance) if variance + squares.min() > 0.0 else np.full(keep.sum(), np.inf)
    return Population(mean, float(1.0 / np.sqrt(weights.sum())), float(np.sqrt(variance)), float(freedom), inside)


def _moments(y: Array, squares: Array) -> tuple[float, float]:
    """Paule and Mandel: the spread at which weighted squared deviations come to their degrees of freedom."""

    def mean_at(v: float) -> float:
        weights = 1.0 / np.maximum(squares + v, 1e-300)
        return float(weights @ y / weights.sum())

    def excess(v: float) -> float:
        return float(np.sum((y - mean_at(v)) ** 2 / np.maximum(squares + v, 1e-300))) - (len(y) - 1)

    variance = _solve(excess, y)
    return mean_at(variance), variance


def _solve(excess: Any, y: Array) -> float:
    """The variance at which a falling function crosses 0; 0 where it is negative throughout."""
    high = float(np.ptp(y)) ** 2 + 1e-300
    if excess(1e-12 * high) <= 0.0:
        return 0.0
    low = 1e-12 * high
    while excess(high) > 0.0:
        high *= 4.0
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return float(np.sqrt(low * high))


def shrunk(values: Array, errors: Array, fleet: Population, level: float = CONFIDENCE) -> tuple[Array, Array, Array]:
    """Each machine's value drawn towards the fleet by as much as its own error is large; with low and high ends.

    Morris's corrections allow for mean and spread being estimated. A machine outside the fleet keeps its own estimate
    and interval.

    Returns
    -------
    values, low, high : arrays
    """
    own = student.isf((1.0 - level) / 2.0, ERROR_FREEDOM) * errors
    count = float(fleet.inside.sum())
    if count < 4:
        return values, values - own, values + own
    squares = errors**2
    weight = (count - 3.0) / (count - 1.0) * squares / np.maximum(squares + fleet.spread**2, 1e-300)
    middle = weight * fleet.mean + (1.0 - weight) * values
    variance = (
        squares * (1.0 - weight * (count - 1.0) / count) + 2.0 / (count - 3.0) * weight**2 * (values - fleet.mean) ** 2
    )
    # The degrees of freedom of the machine's own error matter as far as the interval rests on it.
    freedom = ERROR_FREEDOM / np.maximum(1.0 - weight, 1e-6) ** 2
    half = np.where(freedom < 1e6, student.isf((1.0 - level) / 2.0, freedom), norm.isf((1.0 - level) / 2.0))
    half = half * np.sqrt(variance)
    alone = ~fleet.inside
    middle, half = np.where(alone, values, middle), np.where(alone, own, half)
    return middle, middle - half, middle + half
