"""Dead reckoning: an angle that is far noisier than its rate is carried on by the rate, beyond the window.

    theta <- theta + omega dt,  theta <- theta + gain (sensed - theta),  gain = sigma_omega dt / sigma_theta

balances the two noises and leaves the variance gain * sigma_theta^2, against sigma_theta^2 / samples of a window's
mean. Where that is less, the carried angle, taken back by the rate's polynomial T (w_0 + w_1 / 3) from the newest
sample to the mean over a window of half width T, takes the place of the window's own mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.signal.window import Window

Array = NDArray[Any]
LONGEST = 4.0  # windows that are remembered at most: neither a small bias of the rate nor an error may reach far
BETTER = 0.5  # variance, in units of a window's own, below which the carried angle is trusted
ASTRAY = 5.0  # standard errors from the window's own angle at which it is not, and starts anew


@dataclass
class Reckon:
    angle: Array  # (channels,) at the newest sample
    count: Array  # (channels,) samples that went into it; 0: none yet
    rate: Array  # (channels,) at that sample


def reckon_init(channels: int) -> Reckon:
    return Reckon(np.zeros(channels), np.zeros(channels), np.zeros(channels))


def reckon_push(reckon: Reckon, config: Config, window: Window, sigma: Array, rows: Array) -> None:
    """The newest samples (count, channels), which follow on those of the last call."""
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0:
            continue
        least = _least_gain(config, window, channel, sigma)
        for sensed, now in rows[:, [channel, rate - 1]]:
            if reckon.count[channel] == 0:
                reckon.angle[channel] = sensed
            else:
                reckon.angle[channel] += 0.5 * config.sample_period * (now + reckon.rate[channel])
            reckon.rate[channel] = now
            reckon.count[channel] += 1
            reckon.angle[channel] += max(least, 1.0 / reckon.count[channel]) * (sensed - reckon.angle[channel])


def reckon_window(reckon: Reckon, config: Config, window: Window, coefficients: Array, sigma: Array) -> Array:
    """Coefficients (poly + 1, channels) of the newest window, with carried angles made use of."""
    moved = np.array(coefficients)
    samples = 2 * window.half + 1
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0 or reckon.count[channel] == 0:
            continue
        if max(_least_gain(config, window, channel, sigma), 1.0 / reckon.count[channel]) * samples > BETTER:
            continue
        mean, slope = coefficients[:2, rate - 1]
        carried = reckon.angle[channel] - window.seconds * (mean + slope / 3.0)
        if abs(carried - moved[0, channel]) > ASTRAY * sigma[channel] / np.sqrt(samples):
            reckon.count[channel] = 0
        else:
            moved[0, channel] = carried
    return moved


def _least_gain(config: Config, window: Window, channel: int, sigma: Array) -> float:
    """Where the two noises balance, within the longest memory."""
    balance = sigma[config.rate_channel[channel] - 1] * config.sample_period / sigma[channel]
    return max(float(balance), 1.0 / (LONGEST * (2 * window.half + 1)))
