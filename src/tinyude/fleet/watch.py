"""Which machines differ from the fleet and which are changing: tests with a stated false-alarm rate.

Every test is a contrast (a weighted sum) of a machine's values over its periods, without the changes that all machines
share: the mean against the fleet, the slope over time, and the step at each possible moment. The variance of a
contrast is known from the units' errors and from how much healthy machines vary from period to period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import t as student

from tinyude.fleet.population import CONFIDENCE, ERROR_FREEDOM, ROBUST, Population, population, variance_at_zero

Array = NDArray[Any]

LEVEL, TREND, STEP = "level", "trend", "step"
FALSE_ALARMS = 1e-3  # share of healthy machines that one evaluation flags, all tests of a machine together
SHARED = 5  # machines that must report in a period before what they have in common is taken out
MEDIAN_COST = 1.57  # variance of a median over that of a mean
LEAST_PERIODS = 3  # for a slope
CHANGES = 1e-4  # chance at which a machine is left out of healthy variation, and of the fleet's spread
LEVEL_SHARE = 0.8  # of a quantity's false alarms


@dataclass(frozen=True)
class Panel:
    """One quantity of all machines over time: (machines, periods), NaN where there is no report."""

    values: Array
    errors: Array
    times: Array  # of the periods


@dataclass(frozen=True)
class Findings:
    """The tests of one quantity; arrays have an entry per machine, NaN where there is too little data."""

    fleet: Population
    level: Array  # mean over the periods, movement of the whole fleet taken out
    level_p: Array
    slope: Array  # a unit of time
    slope_low: Array
    slope_high: Array
    slope_p: Array
    step: Array  # size of the largest step
    step_at: Array  # number of the first period after it
    step_p: Array
    trend_fits: Array  # whether a slope fits better than a step
    common: Array  # (periods,) movement of the whole fleet
    variation: float  # standard deviation of a healthy machine's true value from period to period

    def chances(self) -> Array:
        """p values of level, trend and step, (3, machines), each for all three together; 1 where there is no test.

        The level has most of the false alarms: machines differ by their spread, while a change is compared with small
        errors.
        """
        p = np.stack([self.level_p, self.slope_p, self.step_p])
        shares = np.array([LEVEL_SHARE, *[(1.0 - LEVEL_SHARE) / 2.0] * 2]) * np.isfinite(p).any(axis=1)
        shares = shares / max(shares.sum(), 1e-300)
        return np.asarray(np.minimum(np.where(np.isfinite(p), p, 1.0) / np.maximum(shares, 1e-300)[:, None], 1.0))


def examine(panel: Panel) -> Findings:
    """All tests of one quantity.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = 1.0 + 0.05 * rng.standard_normal((50, 1)) + 0.01 * rng.standard_normal((50, 8))
    >>> values[7, 5:] += 0.2
    >>> found = examine(Panel(values, np.full((50, 8), 0.005), np.arange(8.0)))
    >>> int(np.argmin(found.step_p)), int(found.step_at[7])
    (7, 5)
    """
    common = common_movement(panel.values)
    moved = panel.values - common
    present = np.isfinite(moved) & np.isfinite(panel.errors)
    squares = np.where(present, panel.errors, 0.0) ** 2
    variation, freedom, carry = _variation(moved, squares, present)
    spare = MEDIAN_COST / np.maximum(present.sum(axis=0), 1) if common.any() else np.zeros(len(common))
    extra = (variation**2 + spare * (variation**2 + _typical(squares, present))) * present
    usual = np.maximum(squares, _typical(squares, present))  # a small error may be chance: it gets no more weight
    weights = np.where(present, 1.0 / np.maximum(usual + extra, 1e-300), 0.0)
    tester = _Tester(np.where(present, moved, 0.0), squares, extra * carry, freedom, present)

    times = panel.times - panel.times.mean()
    slope, low, high, slope_p = _slopes(tester, weights, times)
    step, step_at, step_p = _steps(tester, weights)
    level, level_variance, _, level_freedom = tester.contrast(_normed(weights), reports=1)
    fleet = population(np.where(_steady(slope_p, step_p), level, np.nan), np.sqrt(level_variance))
    level_p = _level_p(level, level_variance, level_freedom, fleet)
    line = _misfit(moved, weights, level[:, None] + slope[:, None] * (times - _centre(weights, times)[:, None]))
    broken = _misfit(moved, weights, _stepped(moved, weights, step_at))
    return Findings(
        fleet, level, level_p, slope, low, high, slope_p, step, step_at, step_p, line <= broken, common, variation
    )


def common_movement(values: Array) -> Array:
    """What all machines share in each period, such as a season: the median deviation from their own means."""
    present = np.isfinite(values)
    if values.shape[1] < 2:
        return np.zeros(values.shape[1])
    own = np.array([np.median(row[ok]) if ok.any() else np.nan for row, ok in zip(values, present, strict=True)])
    deviations = values - own[:, None]
    return np.array(
        [np.median(column[ok]) if (ok := np.isfinite(column)).sum() >= SHARED else 0.0 for column in deviations.T]
    )


class _Tester:
    """Contrasts of the machines' values with variance and degrees of freedom (Satterthwaite)."""

    def __init__(self, values: Array, squares: Array, extra: Array, freedom: float, present: Array) -> None:
        self.values, self.squares, self.extra, self.freedom = values, squares, extra, freedom
        self.reports = present.sum(axis=1)

    def contrast(self, weights: Array, reports: int) -> tuple[Array, Array, Array, Array]:
        """Size, variance, p value and freedom; NaN for machines with fewer reports."""
        own, shared = weights**2 * self.squares, (weights**2 * self.extra).sum(axis=1)
        variance = own.sum(axis=1) + shared
        loose = (own**2).sum(axis=1) / ERROR_FREEDOM + shared**2 / self.freedom
        freedom = np.clip(variance**2 / np.maximum(loose, 1e-300), 1.0, 1e6)
        size = (weights * self.values).sum(axis=1)
        ratio = np.abs(size) / np.sqrt(np.maximum(variance, 1e-300))
        enough = self.reports >= reports
        p = np.where(enough, 2.0 * student.sf(ratio, freedom), np.nan)
        return np.where(enough, size, np.nan), np.where(enough, variance, np.nan), p, freedom


def _variation(moved: Array, squares: Array, present: Array) -> tuple[float, float, float]:
    """How far healthy machines vary from period to period beyond their errors: standard deviation, degrees of freedom,
    and by how much slow variation (lag-one correlation) raises the variance of means.
    """
    counts = present.sum(axis=1)
    rows = counts >= 2
    if not rows.any():
        return 0.0, 1.0, 1.0
    y, s, ok, free = moved[rows], squares[rows], present[rows], counts[rows] - 1.0

    def deviations(v: float) -> tuple[Array, Array]:
        weights = np.where(ok, 1.0 / np.maximum(s + v, 1e-300), 0.0)
        mean = np.nansum(weights * np.where(ok, y, 0.0), axis=1) / weights.sum(axis=1)
        left = np.where(ok, y - mean[:, None], 0.0) * np.sqrt(weights)
        return left, (left**2).sum(axis=1)

    spans = np.concatenate([np.where(o, r, np.nan)[o] - np.median(r[o]) for r, o in zip(y, ok, strict=True)])
    typical = chi2.ppf(0.5, free)
    variance = variance_at_zero(lambda v: float(np.median(deviations(v)[1] / typical)) - 1.0, spans)
    keep = deviations(variance)[1] <= chi2.isf(CHANGES, free) if len(free) > 3 else np.ones(len(free), bool)
    for _ in range(4):
        variance = variance_at_zero(lambda v, k=keep: float(deviations(v)[1][k].sum() - free[k].sum()), spans)
        now = deviations(variance)[1] <= chi2.isf(CHANGES, free)
        if now.sum() < max(1, len(free) // 2) or np.array_equal(now, keep):
            break
        keep = now
    left = deviations(variance)[0][keep]
    freedom = float(free[keep].sum()) * (1.0 if keep.sum() > 3 else ROBUST)
    return float(np.sqrt(variance)), max(freedom, 1.0), _carry(left, ok[keep])


def _carry(left: Array, ok: Array) -> float:
    """(1 + rho) / (1 - rho) where neighbouring periods are clearly alike, else 1."""
    both = ok[:, 1:] & ok[:, :-1]
    pairs = int(both.sum())
    squares = float((left**2).sum() / max(ok.sum(), 1))
    if pairs < 20 or squares == 0.0:
        return 1.0
    found = float((left[:, 1:] * left[:, :-1])[both].sum() / pairs / squares)
    rho = found + (1.0 + found) / max(float(ok.sum(axis=1).mean()) - 1.0, 1.0)  # taking the mean out makes it negative
    return (1.0 + rho) / (1.0 - rho) if 2.0 / np.sqrt(pairs) < rho < 0.9 else 19.0 if rho >= 0.9 else 1.0


def _typical(squares: Array, present: Array) -> float:
    return float(np.median(squares[present])) if present.any() else 0.0


def _normed(weights: Array) -> Array:
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)


def _steady(slope_p: Array, step_p: Array) -> Array:
    """Machines that do not change: others would widen the fleet's spread; all where most of them do."""
    changing = np.fmin(slope_p, step_p) <= CHANGES
    return np.asarray(~changing if changing.mean() < 0.5 else np.ones(len(changing), bool))


def _level_p(level: Array, variance: Array, freedom: Array, fleet: Population) -> Array:
    """Against the fleet: its spread, the machine's own error, and the error of the fleet's mean.

    Spread and error of the mean come from the scatter of the machines' values, errors included, which is what their
    degrees of freedom belong to: with equal errors the test is Student's.
    """
    if fleet.inside.sum() < 3:
        return np.full(len(level), np.nan)
    spread = fleet.spread**2
    total = spread + variance + fleet.mean_error**2
    usual = float(np.median(variance[fleet.inside]))
    scatter = spread + usual + fleet.mean_error**2
    loose = scatter**2 / fleet.freedom + np.maximum(variance - usual, 0.0) ** 2 / freedom
    ratio = np.abs(level - fleet.mean) / np.sqrt(np.maximum(total, 1e-300))
    return np.asarray(2.0 * student.sf(ratio, np.clip(total**2 / np.maximum(loose, 1e-300), 1.0, 1e6)))


def _centre(weights: Array, times: Array) -> Array:
    return np.asarray((weights * times).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-300))


def _slopes(tester: _Tester, weights: Array, times: Array) -> tuple[Array, Array, Array, Array]:
    """Slope with its interval and p value."""
    arm = weights * (times - _centre(weights, times)[:, None])
    length = (arm * times).sum(axis=1, keepdims=True)
    arm = np.divide(arm, length, out=np.zeros_like(arm), where=length > 0.0)
    slope, variance, p, freedom = tester.contrast(arm, LEAST_PERIODS)
    half = student.isf((1.0 - CONFIDENCE) / 2.0, freedom) * np.sqrt(variance)
    return slope, slope - half, slope + half, p


def _steps(tester: _Tester, weights: Array) -> tuple[Array, Array, Array]:
    """The step that leaves least: its size, the period after it, and its p value for having looked at every moment.

    Not that of the least p value: two values on either side have more degrees of freedom than one, and far out that
    counts for more than which moment it was.
    """
    machines, periods = weights.shape
    least = np.full(machines, np.inf)
    size, at, chance = np.full(machines, np.nan), np.full(machines, -1), np.full(machines, np.nan)
    for after in range(1, periods):
        late = np.arange(periods) >= after
        split = (weights[:, late].sum(axis=1) > 0.0) & (weights[:, ~late].sum(axis=1) > 0.0)
        arm = _normed(weights * late) - _normed(weights * ~late)
        step, _, p, _ = tester.contrast(arm, 2)
        left = _misfit(tester.values, weights, _stepped(tester.values, weights, np.full(machines, after)))
        better = split & np.isfinite(p) & (left < least)
        least, chance = np.where(better, left, least), np.where(better, p, chance)
        size, at = np.where(better, step, size), np.where(better, after, at)
    looks = np.maximum(tester.reports - 1, 1)
    return size, at, np.minimum(chance * looks, 1.0)


def _stepped(moved: Array, weights: Array, at: Array) -> Array:
    late = np.arange(moved.shape[1]) >= at[:, None]
    filled = np.where(np.isfinite(moved), moved, 0.0)
    before, after = ((_normed(weights * part) * filled).sum(axis=1, keepdims=True) for part in (~late, late))
    return np.where(late, after, before)


def _misfit(moved: Array, weights: Array, model: Array) -> Array:
    return np.asarray((weights * np.where(weights > 0.0, moved - model, 0.0) ** 2).sum(axis=1))
