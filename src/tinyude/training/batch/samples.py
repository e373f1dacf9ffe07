"""Samples before windows are fitted: single faults repaired, unusable stretches marked, sensor noise estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.data.resolution import quantisation_steps
from tinyude.reference.numeric.statistics import MEDIAN
from tinyude.reference.signal.gates import STUCK_RUN
from tinyude.reference.signal.noise import RELATIVE_FLOOR
from tinyude.reference.signal.repair import BENT, OUTLIER, REACH
from tinyude.reference.signal.window import legendre, savgol_rows

Array = NDArray[Any]

NEIGHBOURS = (5, 3)  # half widths of the quartics whose central residual gives the noise
LONGER = (7, 10, 14, 20, 28, 40, 56, 80)  # half widths over which noise that comes in bursts averages out
ORDERS = (4, 8)  # of the two polynomials that separate motion from noise there
ALIKE = 1.5  # median ratio of the variance between the two orders to that beyond: larger is motion
BURSTS = 1.5  # times the neighbours' variance, from which the longer stretches are used
STRETCHES = 500  # stretches used
SHIFTED = 0.5  # of its deviation: a sample nearer than this to a neighbour is a level shift, not an outlier


@dataclass(frozen=True)
class SensorNoise:
    """Sensor noise and resolution, by channel."""

    sigma: Array  # standard deviation, never 0
    step: Array  # quantisation step; 0 where there is none, infinite where nothing ever changed


def sensor_noise(runs: Sequence[Array], step: Array | None = None) -> SensorNoise:
    """Noise of every channel from the central residual of a quartic over 11 and over 7 neighbours.

    The smaller of the two: motion that a quartic does not follow adds to the longer one first. Both are medians: noise
    that comes in bursts is larger than its median, so longer stretches are used too, without single outliers. Lower
    limits: the quantisation noise, and 1e-6 of the RMS.

    step: of the samples as they were logged; those moved to a grid are no multiples of it any more.
    """
    sigma = np.full(runs[0].shape[1], np.inf)
    for half in NEIGHBOURS:
        d0 = savgol_rows(half, 4)[0]
        row = -d0
        row[half] += 1.0
        views = [sliding_window_view(run, 2 * half + 1, axis=0) @ row for run in runs if len(run) > 2 * half]
        if views:
            gain = np.sqrt(1.0 - 2.0 * d0[half] + d0 @ d0)
            sigma = np.minimum(sigma, MEDIAN * _nanmedian(np.abs(np.concatenate(views))) / gain)
    step = quantisation_steps(runs) if step is None else step
    power = np.sqrt(np.nanmean(np.concatenate(runs) ** 2, axis=0))
    floor = np.maximum(np.where(np.isfinite(step), step, 0.0) / np.sqrt(12.0), RELATIVE_FLOOR * power)
    sigma = np.maximum(np.where(np.isfinite(sigma), sigma, 0.0), np.maximum(floor, 1e-30))
    return SensorNoise(_with_bursts([repaired(run, sigma)[0] for run in runs], sigma), step)


def _with_bursts(runs: Sequence[Array], sigma: Array) -> Array:
    """The noise over the longest stretches whose motion a quartic still follows, where that is clearly more."""
    raised, still = sigma.copy(), np.ones(len(sigma), dtype=bool)
    for half in LONGER:
        left = [_left(run, half, -(-sum(map(len, runs)) // STRETCHES)) for run in runs if len(run) > 2 * half]
        if not left:
            break
        short, long = (np.concatenate(parts) for parts in zip(*left, strict=True))
        freedom, between = 2 * half - ORDERS[0], ORDERS[1] - ORDERS[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = ((short - long) / between) / (long / (freedom - between))
        still &= _nanmedian(ratio) < ALIKE
        variance = _nanmedian(short) / freedom
        raised = np.where(still & (variance > BURSTS * sigma**2), np.sqrt(variance), raised)
    return np.asarray(raised)


def _left(run: Array, half: int, step: int) -> tuple[Array, Array]:
    """Squared residuals of polynomials of the two orders over stretches of a run (stretches, channels)."""
    basis = np.linalg.qr(legendre(np.arange(-half, half + 1) / half, ORDERS[1] + 1))[0]
    stretches = sliding_window_view(run, 2 * half + 1, axis=0)[::step]
    along = stretches @ basis
    rest = stretches - along @ basis.T
    long = np.einsum("nct,nct->nc", rest, rest)
    higher = along[..., ORDERS[0] + 1 :]
    return long + np.einsum("nck,nck->nc", higher, higher), long


@dataclass(frozen=True)
class Counts:
    """Counts of a record's samples and windows."""

    samples: int
    filled: int
    outliers: int
    rejected: list[tuple[str, int, int]]  # reason, run and row of every window


def repaired(samples: Array, sigma: Array) -> tuple[Array, int, int]:
    """Samples with single dropouts filled and single outliers replaced by the median of the pairs around them.

    Also how many of each. A level shift (a rate after a kick) agrees with one of its neighbours and is kept.
    """
    count = len(samples)
    padded = np.pad(samples, ((REACH, REACH), (0, 0)), constant_values=np.nan)
    before, after = padded[REACH - 1 : REACH - 1 + count], padded[REACH + 1 : REACH + 1 + count]
    rows, channels = np.nonzero(~(np.abs(samples - 0.5 * (before + after)) <= OUTLIER * sigma))
    away = np.arange(1, REACH + 1)[:, None]
    pairs = 0.5 * (padded[rows + REACH - away, channels] + padded[rows + REACH + away, channels])
    whole, pairs = np.isfinite(pairs).sum(axis=0), np.sort(pairs, axis=0)  # NaN sorts last
    low, high = (pairs[middle, np.arange(len(rows))] for middle in ((whole - 1) // 2, whole // 2))
    guess = 0.5 * (low + high)
    value = samples[rows, channels]
    beside = np.minimum(np.abs(value - before[rows, channels]), np.abs(value - after[rows, channels]))
    lost = ~np.isfinite(value) & np.isfinite(guess)
    far = np.abs(value - guess) > OUTLIER * sigma[channels] + BENT * (high - low)
    outlier = far & ~(beside < SHIFTED * np.abs(value - guess))
    mended = samples.copy()
    for found in (lost, outlier):
        mended[rows[found], channels[found]] = guess[found]
    return mended, int(lost.sum()), int(outlier.sum())


def unusable_rows(samples: Array, noise: SensorNoise) -> tuple[Array, Array]:
    """Rows that are not finite, and rows where a channel is stuck although its noise should move it."""
    finite = np.isfinite(samples).all(axis=1)
    stuck = np.zeros(len(samples), dtype=bool)
    fine = ~np.isfinite(noise.step) | (noise.step < noise.sigma)
    for channel in np.flatnonzero(fine):
        same = np.concatenate([[False], np.diff(samples[:, channel]) == 0.0])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            if stop - start >= STUCK_RUN:
                stuck[start - 1 : stop] = True
    return np.asarray(~finite), stuck


def _nanmedian(values: Array) -> Array:
    return np.array(
        [np.median(column[np.isfinite(column)]) if np.isfinite(column).any() else 0.0 for column in values.T]
    )
