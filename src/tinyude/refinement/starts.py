"""The start state of a stretch, from a local polynomial over its first rows, with its variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.physics.holds import Hold
from tinyude.refinement.stretches import Stretch

Array = NDArray[Any]
LENGTHS = (5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129)  # rows of the polynomial
ORDER = 3  # of polynomials over at least 7 rows; 2 over fewer


@dataclass(frozen=True)
class Sensors:
    """Which states are measured, and what is known about the others and the inputs.

    Attributes
    ----------
    channel, order : tuple of int
        For each state its channel and the order of the derivative; channel -1: not measured.
    holds : tuple of Hold
        What each input does between samples.
    guess : mapping
        State number to (guess, spread), for unmeasured states.
    """

    channel: tuple[int, ...]
    order: tuple[int, ...]
    holds: tuple[Hold, ...] = ()
    guess: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def measured(self) -> tuple[int, ...]:
        """The state that each channel measures."""
        found = {c: s for s, (c, k) in enumerate(zip(self.channel, self.order, strict=True)) if k == 0 and c >= 0}
        return tuple(found[c] for c in sorted(found))


@dataclass(frozen=True)
class MeasurementModel:
    """The sensors with their noise, and the scale of the states.

    Attributes
    ----------
    sensors : Sensors
    sigma : array (channels,)
        Standard deviation of the noise.
    spread : array (states,)
        Typical size of each state's motion.
    """

    sensors: Sensors
    sigma: Array
    spread: Array


class _Fit(NamedTuple):
    """A polynomial at the beginning of a stretch: coefficients by powers of time, half length, misfit over sigma."""

    coefficients: Array
    half: float
    misfit: float


_NOTHING = _Fit(np.zeros(1), 1.0, 1e3)  # for a column without a sample


def with_starts(stretches: Sequence[Stretch], measurement: MeasurementModel) -> list[Stretch]:
    """The stretches, each with a start state from its own first rows."""
    channels = sorted(set(measurement.sensors.channel) - {-1})
    fits = {c: _fits(stretches, c, float(measurement.sigma[c])) for c in channels}
    made = []
    for k, stretch in enumerate(stretches):
        start, variance = _start_state({c: fits[c][k] for c in channels}, measurement)
        made.append(replace(stretch, start=start, start_variance=variance))
    return made


def _start_state(fits: Mapping[int, _Fit], measurement: MeasurementModel) -> tuple[Array, Array]:
    """The state at the first row, and the variance of each entry."""
    sensors = measurement.sensors
    x, variance = np.zeros(len(sensors.channel)), np.zeros(len(sensors.channel))
    for state, (channel, order) in enumerate(zip(sensors.channel, sensors.order, strict=True)):
        if channel < 0:
            x[state], spread = sensors.guess[state]
            variance[state] = spread**2
            continue
        coefficients, half, misfit = fits[channel]
        sigma = float(measurement.sigma[channel]) * max(1.0, misfit)
        factorial = float(np.prod(np.arange(1, order + 1)))
        x[state] = coefficients[order] * factorial if order < len(coefficients) else 0.0
        if order == 0:
            variance[state] = (2.0 * sigma) ** 2
        else:
            rate = 4.0 * factorial * sigma / half**order
            variance[state] = max(rate**2, (0.1 * measurement.spread[state]) ** 2)
    return x, variance


def _fits(stretches: Sequence[Stretch], channel: int, sigma: float) -> list[_Fit]:
    """For each stretch the longest polynomial at the beginning of a channel whose misfit is only noise."""
    rows = [_first_rows(stretch, channel) for stretch in stretches]
    times, values = [t for t, _ in rows], [v for _, v in rows]
    best = [_NOTHING] * len(stretches)
    for count in range(1, LENGTHS[0]):  # too few samples for the shortest polynomial
        for k, fit in _polynomials(times, values, [k for k, t in enumerate(times) if len(t) == count], count, sigma):
            best[k] = fit
    active = [k for k, t in enumerate(times) if len(t) >= LENGTHS[0]]
    for length in LENGTHS:
        active = [k for k in active if len(times[k]) >= length]
        fits = _polynomials(times, values, active, length, sigma)
        most = 1.0 + 4.0 / np.sqrt(2.0 * _freedom(length))
        active = []
        for k, fit in fits:
            if best[k] is _NOTHING or fit.misfit**2 <= most:
                best[k] = fit
                active.append(k)
    return best


def _first_rows(stretch: Stretch, channel: int) -> tuple[Array, Array]:
    """Times since the beginning and values of a channel's first samples."""
    column = stretch.samples[: LENGTHS[-1] * 2, channel]
    rows = np.flatnonzero(np.isfinite(column))[: LENGTHS[-1]]
    return stretch.times[rows] - stretch.times[0], column[rows]


def _order(rows: int) -> int:
    return min(ORDER if rows >= 7 else 2, max(rows - 2, 0))


def _freedom(rows: int) -> int:
    return max(rows - _order(rows) - 1, 1)


def _polynomials(
    times: Sequence[Array], values: Sequence[Array], which: Sequence[int], rows: int, sigma: float
) -> list[tuple[int, _Fit]]:
    """Polynomials fitted to the first rows of those stretches, all at once."""
    if not which:
        return []
    t, y = (np.stack([column[k][:rows] for k in which]) for column in (times, values))
    reach = np.maximum(t[:, -1], 1e-12)
    powers = np.arange(_order(rows) + 1)
    design = (t / reach[:, None])[..., None] ** powers
    across = np.swapaxes(design, 1, 2)
    found = np.linalg.solve(across @ design, across @ y[..., None])
    misfit = np.sqrt(np.sum((y - (design @ found)[..., 0]) ** 2, axis=1) / _freedom(rows)) / sigma
    coefficients = found[..., 0] / reach[:, None] ** powers
    return [(k, _Fit(coefficients[j], 0.5 * float(reach[j]), float(misfit[j]))) for j, k in enumerate(which)]
