"""An angle that is far noisier than its measured rate, replaced by the integral of the rate plus a slow offset.

    theta(t) = integral of omega + offset(t),   offset: a random walk of step sigma_omega dt, noise sigma_theta

The two-sided exponential smoother of theta minus the integral has a memory of sigma_theta / (sigma_omega dt)
samples. Its error is a slow offset of variance sigma_theta^2 / (2 memory), far below that of any window's mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.numeric.statistics import MEDIAN
from tinyude.training.batch.samples import SensorNoise
from tinyude.training.batch.windows import LONGEST

Array = NDArray[Any]

KNOTS = 500  # samples between two knots of a remaining offset
AGREES = 1.5  # times the angle's noise: beyond, what is left of it after carrying is no noise
WORTH = 2 * LONGEST  # least memory in samples: below that, windows alone are as good


@dataclass(frozen=True)
class Carried:
    """Runs with carried angles, and their remaining noise."""

    runs: list[Array]
    noise: SensorNoise
    channels: tuple[int, ...]  # those that were carried
    priors: tuple[Array, ...]  # prior of the remaining offset of each


def carry_angles(runs: Sequence[Array], noise: SensorNoise, rates: dict[int, int], period: float) -> Carried:
    """Replace every channel of `rates` by the integral of its measured rate, where the memory is long enough.

    And where both agree: an angle in degrees, or another column, would vanish in the offset, unseen by the verdict.
    """
    sigma, changed, done, priors = noise.sigma.copy(), list(runs), [], []
    for channel, rate in rates.items():
        memory = noise.sigma[channel] / (noise.sigma[rate] * period)
        if memory < WORTH or not all(np.isfinite(run[:, [channel, rate]]).all() for run in runs):
            continue
        carried = [_carry(run[:, channel], run[:, rate], period, memory) for run in changed]
        left = np.concatenate([run[:, channel] - angle for run, angle in zip(changed, carried, strict=True)])
        if MEDIAN * float(np.median(np.abs(left))) > AGREES * noise.sigma[channel]:
            continue
        for k, angle in enumerate(carried):
            changed[k] = changed[k].copy()
            changed[k][:, channel] = angle
        offset = noise.sigma[channel] / np.sqrt(2.0 * memory)
        sigma[channel] = max(offset, noise.sigma[rate] * period * np.sqrt(2.0 * LONGEST))
        done.append(channel)
        priors.append(offset_prior([len(run) for run in runs], noise.sigma[rate] * period, offset))
    return Carried(changed, SensorNoise(sigma, noise.step), tuple(done), tuple(priors))


def offset_shapes(time: Array, run: Array, lengths: Sequence[int]) -> Array:
    """Linear interpolation between knots, run by run, at times in samples (rows,): (rows, knots)."""
    parts = []
    for index, length in enumerate(lengths):
        count = max(2, round(length / KNOTS) + 1)
        place = np.clip(time / max(length - 1, 1), 0.0, 1.0) * (count - 1)
        hats = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(count)))
        parts.append(np.where((run == index)[:, None], hats, 0.0))
    return np.concatenate(parts, axis=1)


def offset_prior(lengths: Sequence[int], step: float, size: float) -> Array:
    """Prior rows of an offset's knots: a random walk of `step` from sample to sample, `size` overall."""
    blocks = []
    for length in lengths:
        count = max(2, round(length / KNOTS) + 1)
        walk = step * np.sqrt(max(length - 1, 1) / (count - 1))
        blocks.append(np.concatenate([np.diff(np.eye(count), axis=0) / walk, np.eye(count) / (size * np.sqrt(count))]))
    rows, columns = (sum(block.shape[k] for block in blocks) for k in (0, 1))
    answer, row, column = np.zeros((rows, columns)), 0, 0
    for block in blocks:
        answer[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return answer


def _carry(angle: Array, rate: Array, period: float, memory: float) -> Array:
    from scipy.signal import lfilter  # most records carry no angle, and its import takes longer than a fit

    integrated = np.concatenate([[0.0], np.cumsum(0.5 * period * (rate[1:] + rate[:-1]))])
    offset = angle - integrated
    keep = 1.0 - 1.0 / memory
    total, mass = np.zeros(len(angle)), np.zeros(len(angle))
    for flip in (1, -1):
        total += lfilter([1.0], [1.0, -keep], offset[::flip])[::flip]
        mass += lfilter([1.0], [1.0, -keep], np.ones(len(angle)))
        mass = mass[::-1]
    return integrated + (total - offset) / (mass - 1.0)
