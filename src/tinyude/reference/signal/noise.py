"""Sensor noise estimated from the stream: the paper's residual estimator on neighbouring samples, made robust.

Eleven neighbouring samples follow a quartic to far below any sensor's noise, so y_mu - D0'y is noise alone (eq.
sigmahat). Jumps and outliers are not noise: residuals beyond CLIP sigma are counted, not averaged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.ring import Ring, ring_row, ring_window
from tinyude.reference.signal.window import savgol_rows

HALF, POLY = 5, 4
CLIP = 3.5
CLIPPED = 0.99367  # remaining share of a Gaussian variance when such residuals are excluded
WARM = 64  # residuals whose median starts the average
MEMORY = 1 << 20  # maximum memory in samples: float32 averages over more would not change
READY = 256  # residuals averaged before the estimate is used to detect outliers
REPEATED = 100  # one change in so many follows a repeated value: the channel is quantised
REMEMBERED = 10_000  # changes, at most, by which this is decided
RELATIVE_FLOOR = 1e-6  # of the channel's RMS


@dataclass
class Noise:
    row: NDArray[np.float64]  # centre minus D0
    gain: float  # variance of the residual per unit of noise variance
    start: NDArray[np.float64]  # (WARM, channels) first squared residuals
    variance: NDArray[np.float64]
    power: NDArray[np.float64]  # running mean square of the signal
    smallest: NDArray[np.float64]  # change seen; infinite before any
    count: NDArray[np.int64]  # residuals averaged, by channel
    still: NDArray[np.int64]  # consecutive samples without a change: they carry no information on the noise
    repeats: NDArray[np.int64]  # > 0: values repeat, so the channel is quantised
    seen: int = 0  # residuals computed
    samples: int = 0


def noise_init(channels: int) -> Noise:
    d0 = savgol_rows(HALF, POLY)[0]
    row = -d0
    row[HALF] += 1.0
    return Noise(
        row,
        float(1.0 - 2.0 * d0[HALF] + d0 @ d0),
        np.zeros((WARM, channels)),
        np.zeros(channels),
        np.zeros(channels),
        np.full(channels, np.inf),
        np.zeros(channels, dtype=np.int64),
        np.zeros(channels, dtype=np.int64),
        np.zeros(channels, dtype=np.int64),
    )


def noise_update(noise: Noise, ring: Ring, learn: bool = True) -> None:
    """Process the newest sample of the ring; learn: its residual may enter the estimate."""
    channels = len(noise.variance)
    newest = ring_row(ring, 0)[:channels]
    noise.samples = min(noise.samples + 1, MEMORY)
    noise.power += (newest**2 - noise.power) / noise.samples
    if ring.pushed < 2:
        return
    change = np.abs(newest - ring_row(ring, 1)[:channels])
    _find_step(noise, change)
    if not learn or ring.pushed <= 2 * HALF or np.any(noise.still >= 2 * HALF):
        return
    squared = (noise.row @ ring_window(ring, HALF, 1)[:, :channels]) ** 2 / noise.gain
    if noise.seen < WARM:
        noise.start[noise.seen] = squared
        noise.seen += 1
        if noise.seen == WARM:
            median = np.sort(noise.start, axis=0)[WARM // 2]
            noise.variance = np.maximum(median / 0.455, _floor(noise) ** 2)  # median of chi-square(1)
            noise.count[:] = WARM // 4  # a median is as precise as this many averaged squares
        return
    keep = squared <= CLIP**2 * np.maximum(noise.variance, _floor(noise) ** 2)
    noise.count = np.minimum(noise.count + keep, MEMORY)
    noise.variance = np.where(
        keep, noise.variance + (squared - noise.variance) / np.maximum(noise.count, 1), noise.variance
    )


def noise_hold(noise: Noise) -> NDArray[np.float64]:
    """Save the variances."""
    return noise.variance.copy()


def noise_restore(noise: Noise, variance: NDArray[np.float64]) -> None:
    """Restore saved variances."""
    noise.variance = variance.copy()
    noise.count[:] = READY
    noise.seen = WARM


def noise_ready(noise: Noise) -> bool:
    return bool(noise.count.min() >= READY)


def noise_sigma(noise: Noise) -> NDArray[np.float64]:
    """Standard deviation by channel: never 0, never below the quantisation noise."""
    return np.maximum(np.sqrt(noise.variance / CLIPPED), _floor(noise))


def noise_step(noise: Noise) -> NDArray[np.float64]:
    """Quantisation step by channel; 0 where values do not repeat: the smallest change of a smooth signal is no step."""
    return np.where(noise.repeats > 0, noise.smallest, 0.0)


def _find_step(noise: Noise, change: NDArray[np.float64]) -> None:
    changed = change > 0.0
    counted = noise.repeats + np.where(noise.still > 0, REPEATED, -1)
    noise.repeats = np.where(changed & (np.abs(counted) <= REMEMBERED), counted, noise.repeats)
    noise.smallest = np.where(changed & (change < noise.smallest), change, noise.smallest)
    noise.still = np.where(changed, 0, noise.still + 1)


def _floor(noise: Noise) -> NDArray[np.float64]:
    step = noise_step(noise) / np.sqrt(12.0)
    return np.maximum(np.maximum(step, RELATIVE_FLOOR * np.sqrt(noise.power)), np.finfo(np.float32).tiny)
