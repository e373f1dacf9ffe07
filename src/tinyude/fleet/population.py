"""Mean and spread of a coefficient over a fleet, and each machine's value shrunk towards the mean.

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
LEAVES = 1e-3  # two-sided chance at which a machine is left out of mean and spread; costs 1 % of the variance
SELECTED = 3.0  # power of the number of machines left out by which that chance is less: measured on healthy fleets
MOST_OUTSIDE = 0.2  # share of the machines: with more, small healthy fleets lose some of their own
ROBUST = 0.37  # efficiency of a spread by medians: it is worth so many degrees of freedom a machine
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
    keep = _members(y, squares)
    mean, variance = _moments(y[keep], squares[keep])
    inside = np.zeros(len(values), bool)
    inside[np.flatnonzero(usable)[keep]] = True
    weights = 1.0 / (squares[keep] + variance) if variance + squares.min() > 0.0 else np.full(len(keep), np.inf)
    return Population(mean, float(1.0 / np.sqrt(weights.sum())), float(np.sqrt(variance)), len(keep) - 1.0, inside)


def _members(y: Array, squares: Array) -> NDArray[np.intp]:
    """Machines that belong together: from those nearest the median outwards, until the next one is too far from these.

    Who lies far out is judged by a spread that it is no part of: a few of a small fleet would hide in their own. For
    one machine outside this is Student's test. For more, the others are a selection, of small spread by chance too, and
    less chance is allowed: two machines of a healthy fleet leave it in one of three thousand.
    """
    median = float(np.median(y))
    variance = variance_at_zero(lambda v: float(np.median((y - median) ** 2 / (squares + v))) - chi2.ppf(0.5, 1), y)
    weights = 1.0 / np.maximum(squares + variance, 1e-300)
    order = np.argsort(np.abs(y - median) * np.sqrt(weights), kind="stable")
    w, z, own = weights[order], y[order] - median, squares[order]
    total = np.cumsum(w)
    mean = np.cumsum(w * z) / total
    freedom = np.arange(len(y), dtype=np.float64)
    scatter = np.maximum(np.cumsum(w * z**2) - total * mean**2, 0.0) / np.maximum(freedom, 1.0)
    gap = z[1:] - mean[:-1]
    error = np.maximum(scatter[:-1] * (1.0 / w[1:] + 1.0 / total[:-1]), own[1:])
    chance = 2.0 * student.sf(np.abs(gap) / np.sqrt(np.maximum(error, 1e-300)), np.maximum(freedom[:-1], 1.0))
    outside = len(y) - 1.0 - freedom[:-1]  # machines from the next one on
    far = np.flatnonzero((chance <= LEAVES / outside**SELECTED) & (outside <= max(1.0, MOST_OUTSIDE * len(y))))
    return order[: 1 + int(far[0])] if len(far) else order


def _moments(y: Array, squares: Array) -> tuple[float, float]:
    """Paule and Mandel: the spread at which weighted squared deviations come to their degrees of freedom."""

    def mean_at(v: float) -> float:
        weights = 1.0 / np.maximum(squares + v, 1e-300)
        return float(weights @ y / weights.sum())

    def excess(v: float) -> float:
        return float(np.sum((y - mean_at(v)) ** 2 / np.maximum(squares + v, 1e-300))) - (len(y) - 1)

    variance = variance_at_zero(excess, y)
    return mean_at(variance), variance


def variance_at_zero(excess: Any, y: Array) -> float:
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
